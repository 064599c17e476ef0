"""The peer's sample ledgers: each opens, and every screen of it can be walked through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_tui.cli import main
from codeai_tui.widgets.line_grid import LineGrid
from tests.peers import PEER_NAMES, expected_facts, needs_peer_ledgers, peer_ledger
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from tests.tui.conftest import AppMaker

pytestmark = needs_peer_ledgers


@pytest.mark.parametrize("name", PEER_NAMES)
async def test_every_screen_is_walked_through_without_a_problem(
    an_app: AppMaker, name: str
) -> None:
    facts = expected_facts(name)
    with an_app(peer_ledger(name)) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            assert f"{facts['event_count']:,} event" in screen_text(app)
            await pilot.press("tab", "end", "tab", "tab")
            await press(pilot, "g", "f")
            fanouts = app.screen.query_one("#fanouts", LineGrid)
            assert {row.key for row in fanouts.rows} == {
                entry["fanout_id"] for entry in facts["fanouts"]
            }
            await press(pilot, "end", "enter")
            if fanouts.rows:
                await pilot.press("end", "l", "pageup", "enter", "escape", "B", "B", "tab")
                await press(pilot, "enter")
            await pilot.resize_terminal(160, 48)
            await press(pilot, "g", "e", "end", "tab", "enter", "escape")
            await press(pilot, "left_square_bracket", "g", "o")
            assert app.errors == []
            assert app.crash is None


@pytest.mark.parametrize("name", PEER_NAMES)
def test_the_text_of_it_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", str(peer_ledger(name))]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert all(line.isprintable() for line in captured.out.splitlines())
    for fanout in expected_facts(name)["fanouts"]:
        assert f"Fan-out {fanout['fanout_id']}" in captured.out
