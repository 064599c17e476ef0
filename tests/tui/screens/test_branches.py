"""The branches of a fan-out on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.widgets.branch_columns import BranchColumns
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import AppMaker

NARROW, WIDE = (80, 24), (160, 48)


async def test_narrow_two_branches_stand_side_by_side_under_the_picture(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            said = screen_text(app)
            assert "A careful" in said
            assert "B plain" in said
            assert "○ orphan" in said
            assert "nothing here says what the answers share" in said
            assert app.screen.query_one(BranchColumns).columns_in_sight == 2


async def test_wide_all_three_stand_beside_the_whole_of_a_cell(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            columns = app.screen.query_one(BranchColumns)
            assert columns.columns_in_sight == 3
            while columns.field_key != "request":
                await press(pilot, "j")
            board = columns.board
            assert board is not None
            digest = str(board.branches[0].request_sha256)
            assert digest[:36] in screen_text(app)
            assert "call.manifest" in screen_text(app)


async def test_h_and_l_go_through_the_branches_and_bring_them_into_sight(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "l", "l")
            assert "C terse  ✗ failed" in screen_text(app)
            assert "A careful  ✓" not in screen_text(app)
            await press(pilot, "l", "h", "h", "h")
            assert "A careful  ✓" in screen_text(app)


async def test_all_columns_scroll_as_one(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "end")
            said = screen_text(app)
            assert "answer of careful" in said
            assert "answer of plain" in said
            row = next(entry for entry in said.split("\n") if "answer of careful" in entry)
            assert "answer of plain" in row


async def test_every_row_can_be_reached_down_and_up_again(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            columns = app.screen.query_one(BranchColumns)
            seen = {columns.field}
            for _ in range(120):
                columns.action_move(1)
                seen.add(columns.field)
            assert seen == set(range(columns.row_count))
            for _ in range(120):
                columns.action_move(-1)
            assert columns.field == 0
            assert columns.scroll_offset.y == 0


async def test_enter_opens_the_whole_of_a_cell_and_esc_closes_it(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "end", "enter")
            assert "A output" in screen_text(app)
            await press(pilot, "escape")
            assert "Esc closes" not in screen_text(app)


async def test_the_picture_folds_away_and_stays_so(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "B")
            assert "▶ package" not in screen_text(app)
            assert "[A✓]" in screen_text(app)
            await press(pilot, "g", "f", "j", "enter")
            assert "▶ package" not in screen_text(app)
            await press(pilot, "B")
            assert "▶ package" in screen_text(app) or "✗ refused" in screen_text(app)


async def test_enter_on_a_stage_of_the_picture_goes_to_its_row(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "tab", "down", "right", "right", "enter")
            columns = app.screen.query_one(BranchColumns)
            assert columns.has_focus
            assert (columns.branch, columns.field_key) == (1, "rendered")


async def test_many_branches_have_a_strip_and_the_cursor_reaches_the_last(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-3") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            for _ in range(20):
                await pilot.press("l")
            await settle(pilot)
            assert "[L✓]" in screen_text(app)
            assert "L r12" in screen_text(app)
            assert "L of 12 branches" in screen_text(app)


async def test_a_refused_branch_shows_its_reason(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-2?branch=right") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            assert "✗ refused" in screen_text(app)
            assert "REQUIRED_CONTEXT_MISSING" in screen_text(app)


async def test_a_place_names_branch_and_row_and_says_them_again(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1?branch=terse&item=attempts") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            columns = app.screen.query_one(BranchColumns)
            assert (columns.branch, columns.field_key) == (2, "attempts")
            await press(pilot, "g", "e", "left_square_bracket")
            columns = app.screen.query_one(BranchColumns)
            assert (columns.branch, columns.field_key) == (2, "attempts")


async def test_e_lists_the_events_of_the_branch(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-1?branch=plain") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "e")
            assert "[stream:fanout-1:call-plain]" in screen_text(app)
            assert "call.manifest" in screen_text(app)


async def test_search_goes_from_hit_to_hit(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "slash", *"orphan", "enter")
            columns = app.screen.query_one(BranchColumns)
            assert (columns.branch, columns.field_key) == (2, "attempts")
            assert "orphan: 1 of 1 hit in all branches" in screen_text(app)
            await press(pilot, "slash", *"nowhere at all".replace(" ", "_"), "enter")
            assert "not found in all branches" in screen_text(app)


async def test_a_fan_out_that_is_not_there_is_a_problem_in_one_row(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "number_sign", *"fo-x", "enter")
            assert "LEDGER" in screen_text(app)
            await press(pilot, "exclamation_mark")
            assert "Problems" in screen_text(app)
            await press(pilot, "escape", "left_square_bracket")
            assert "Established by this record" in screen_text(app)
            assert len(app.errors) == 1
