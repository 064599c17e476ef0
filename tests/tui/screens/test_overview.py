"""The overview on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.places import Place
from codeai_tui.widgets.line_grid import LineGrid
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import AppMaker


async def test_what_is_and_what_is_not_established_are_both_in_sight_at_eighty_columns(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            said = screen_text(app)
            assert "pilot.db › Overview" in said  # noqa: RUF001 - the glyph of the breadcrumb
            assert "RO  176 events" in said
            assert "3 of 3 fan-outs" in said
            assert "2 of 16 attempts" in said
            assert "answers independent or diverse: a record of inputs cannot show either" in said
            assert "Events by kind" in said


async def test_wide_it_also_says_why_and_lists_the_newest_fan_outs(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(160, 48)) as pilot:
            await settle(pilot)
            assert "the seal names every sibling" in screen_text(app)
            assert "fanout-3" in screen_text(app)
            await press(pilot, "down", "down", "down")
            assert "internally consistent at most" in screen_text(app)


async def test_counts_are_there_before_the_levels(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            first = screen_text(app)
            assert "176 events" in first
            assert "reading" in first
            await settle(pilot)
            assert "reading" not in screen_text(app)


async def test_enter_on_a_level_lists_the_fan_outs(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await press(pilot, "enter")
            assert app.history.current.place == Place("fanouts")


async def test_enter_on_orphans_lists_attempts_and_on_a_kind_its_events(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await press(pilot, "j", "j", "j", "j", "enter")
            assert app.history.current.place.key("filter") == "kind:attempt.*"
            await press(pilot, "left_square_bracket", "tab", "tab", "tab", "enter")
            assert app.history.current.place.key("filter") == "kind:call.completed"


async def test_back_finds_the_cursor_where_it_was(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await press(pilot, "j", "j", "enter", "left_square_bracket")
            assert app.screen.query_one("#established", LineGrid).cursor_key == "wire-observed"


async def test_an_empty_ledger_says_what_was_looked_for(an_app: AppMaker, empty_db: Path) -> None:
    with an_app(empty_db) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            assert "no fanout.requested in 0 events" in screen_text(app)
            await press(pilot, "g", "b")
            assert app.history.current.place == Place("overview")
