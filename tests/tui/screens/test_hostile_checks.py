"""Whatever a check or a claim is called, no byte of it drives the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_ledger, read_checks, read_claims
from codeai_tui.present.checks import checks_text, detail_lines
from codeai_tui.present.claims import claims_text
from codeai_tui.present.line import plain
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import AppMaker


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (160, 48)])
@pytest.mark.parametrize("place", ["checks", "claims"])
async def test_every_row_of_a_hostile_ledger_can_be_looked_at(
    an_app: AppMaker, hostile_checks_db: Path, size: tuple[int, int], place: str
) -> None:
    with an_app(hostile_checks_db, place) as app:
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            await press(pilot, "tab")
            for _ in range(13):
                await press(pilot, "down")
                assert all(row.isprintable() for row in screen_text(app).split("\n"))
            await press(pilot, "enter", "end", "y", "tab", "escape", "p", "escape")
            assert not app.errors


def test_their_text_for_a_pipe_holds_no_control_character(hostile_checks_db: Path) -> None:
    with open_ledger(hostile_checks_db) as ledger:
        checks, claims = read_checks(ledger), read_claims(ledger)
    lines = [*checks_text(checks), *claims_text(claims)]
    lines += [content for check in checks.items for content in detail_lines(check)]
    assert len(lines) > 100
    assert all(plain(content).isprintable() for content in lines)
