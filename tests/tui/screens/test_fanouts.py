"""The list of fan-outs on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_tui.places import Place
from codeai_tui.widgets.line_grid import LineGrid
from tests.engine.fanout_script import FanoutScript
from tests.tui.driving import press, screen_text, settle
from tests.tui.ledgers import write_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import AppMaker


async def test_the_newest_fan_out_stands_first_with_how_it_ended(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanouts") as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            said = screen_text(app)
            assert said.index("fanout-3") < said.index("fanout-1")
            assert "✓ 2 ok  ✗ 1 failed" in said
            assert "3 fan-outs" in said


async def test_enter_opens_and_esc_comes_back_to_the_same_row(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanouts") as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await press(pilot, "j", "enter")
            assert app.history.current.place == Place("fanout", "fanout-2")
            await press(pilot, "escape")
            assert app.screen.query_one("#fanouts", LineGrid).cursor_key == "fanout-2"
            await press(pilot, "escape")
            assert app.history.current.place == Place("overview")


async def test_wide_the_fan_out_under_the_cursor_is_pictured_below(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanouts") as app:
        async with app.run_test(size=(160, 48)) as pilot:
            await settle(pilot)
            await press(pilot, "end")
            said = screen_text(app)
            assert "A careful" in said
            assert "question What is wrong?" in said


@pytest.fixture
def many_db(tmp_path: Path) -> Path:
    drafts = []
    for number in range(450):
        drafts += FanoutScript(names=(), base=(), fanout_id=f"fo-{number:03}").whole()
    return write_ledger(tmp_path / "many.db", drafts)


async def test_a_long_list_is_read_page_by_page(an_app: AppMaker, many_db: Path) -> None:
    with an_app(many_db, "fanouts") as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            grid = app.screen.query_one("#fanouts", LineGrid)
            assert len(grid.rows) == 200
            assert "200+ fan-outs" in screen_text(app)
            await press(pilot, "end")
            assert len(grid.rows) == 400
            await press(pilot, "end", "end")
            assert grid.cursor_key == "fo-000"
            assert "450 fan-outs" in screen_text(app)


async def test_a_ledger_without_fan_outs_says_so(an_app: AppMaker, empty_db: Path) -> None:
    with an_app(empty_db, "fanouts") as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            assert "No fan-out in this ledger." in screen_text(app)
            await press(pilot, "enter", "down", "end", "y", "n")
            assert app.history.current.place == Place("fanouts")
