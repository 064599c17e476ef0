"""The event browser on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.places import Place
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.payload_tree import PayloadTree
from tests.tui.driving import press, screen_text, settle
from tests.tui.ledgers import peer_like_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_tui.app import LedgerApp
    from tests.tui.conftest import AppMaker

NARROW, WIDE = (80, 24), (160, 48)


def grid_of(app: LedgerApp) -> LineGrid:
    return app.screen.query_one("#events", LineGrid)


async def test_narrow_the_payload_takes_the_place_of_the_list(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            assert "fanout.requested" in screen_text(app)
            await press(pilot, "enter")
            assert "base_declared_none" in screen_text(app)
            assert "context.compiled" not in screen_text(app)
            await press(pilot, "escape")
            assert "context.compiled" in screen_text(app)


async def test_wide_list_and_payload_stand_side_by_side(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "j")
            said = screen_text(app)
            assert "package_id" in said
            assert "fanout.requested" in said
            assert "seq 2 of 176" in said


async def test_a_filter_leaves_only_what_it_names_and_an_empty_one_brings_all_back(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "f", *"kind", "colon", *"fanout", "full_stop", "asterisk", "enter")
            assert "[kind:fanout.*] 6 loaded that match" in screen_text(app)
            assert len(grid_of(app).rows) == 6
            await press(pilot, "f", *["backspace"] * 20, "enter")
            assert len(grid_of(app).rows) == 176
            assert "loaded that match" not in screen_text(app)


async def test_a_filter_that_cannot_be_read_is_explained_where_it_is_typed(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "f", *"verdict", "enter")
            assert "'verdict' is no filter" in screen_text(app)
            await press(pilot, "escape")
            assert len(grid_of(app).rows) == 176


async def test_a_filter_that_nothing_matches_says_so(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "events?filter=kind%3Anone") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            assert "No event matches kind:none" in screen_text(app)
            await press(pilot, "down", "enter", "y")


async def test_a_sequence_is_jumped_to_with_its_neighbours_on_both_sides(
    an_app: AppMaker, tmp_path: Path
) -> None:
    path = long_ledger(tmp_path)
    with an_app(path) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "number_sign", *"1500", "enter")
            grid = grid_of(app)
            assert grid.cursor_key == "1500"
            keys = [row.key for row in grid.rows]
            assert keys == [str(number) for number in range(1300, 1700)]
            rows = screen_text(app).split("\n")
            at = next(index for index, row in enumerate(rows) if "▸" in row)
            assert 6 < at < 18


async def test_pages_are_read_in_both_directions_and_the_cursor_keeps_its_row(
    an_app: AppMaker, tmp_path: Path
) -> None:
    path = long_ledger(tmp_path)
    with an_app(path, "event/1500") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            grid = grid_of(app)
            for _ in range(9):
                await press(pilot, "pageup")
            keys = [int(row.key) for row in grid.rows]
            assert keys[0] <= 1100
            assert keys == list(range(keys[0], keys[-1] + 1))
            assert keys[0] < int(grid.cursor_key) < 1500
            for _ in range(30):
                await press(pilot, "pagedown")
            keys = [int(row.key) for row in grid.rows]
            assert keys[-1] > 1700
            assert keys == list(range(keys[0], keys[-1] + 1))


async def test_home_and_end_go_to_the_ends_of_the_ledger_without_reading_all_of_it(
    an_app: AppMaker, tmp_path: Path
) -> None:
    path = long_ledger(tmp_path)
    with an_app(path, "event/1500") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "end")
            assert grid_of(app).cursor_key == "3000"
            assert len(grid_of(app).rows) == 200
            await press(pilot, "home")
            assert grid_of(app).cursor_key == "1"
            assert len(grid_of(app).rows) == 200


async def test_an_event_that_is_not_there_is_a_problem(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "number_sign", *"999999", "enter")
            assert grid_of(app).cursor_key == "176"


async def test_a_node_closes_and_opens_and_enter_shows_a_value_whole(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "event/2") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "tab")
            tree = app.screen.query_one(PayloadTree)
            whole = len(tree.rows)
            await press(pilot, "slash", *"seal", "enter")
            assert "seal:" in tree.texts()[tree.cursor]
            await press(pilot, "minus")
            closed = len(tree.rows)
            assert closed < whole
            await press(pilot, "plus")
            assert len(tree.rows) == whole
            await press(pilot, "enter")
            assert "forbidden_call_ids" in screen_text(app)
            await press(pilot, "escape")


async def test_a_payload_that_does_not_parse_is_text_with_its_problem_and_its_neighbours_load(
    an_app: AppMaker, tmp_path: Path
) -> None:
    path = peer_like_ledger(
        tmp_path / "odd.db",
        [("a.b", "s", '{"a":1}'), ("a.b", "s", "{oh\x1b[31m"), ("a.b", "s", '{"order": NaN}')],
    )
    with an_app(path, "event/2") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            assert "! not JSON" in screen_text(app)
            assert r"{oh\x1b[31m" in screen_text(app)
            await press(pilot, "down")
            assert "! NaN is not JSON" in screen_text(app)
            await press(pilot, "home")
            assert "a: 1" in screen_text(app)


async def test_back_finds_filter_and_cursor_as_they_were(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "events?filter=kind%3Acall.manifest") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "j", "j")
            cursor = grid_of(app).cursor_key
            await press(pilot, "g", "o", "left_square_bracket")
            assert grid_of(app).cursor_key == cursor
            assert "[kind:call.manifest]" in screen_text(app)
            place = app.history.current.place
            assert place == Place("event", cursor, (("filter", "kind:call.manifest"),))


def long_ledger(folder: Path) -> Path:
    return peer_like_ledger(
        folder / "long.db", [("odd.event", f"s{at % 7}", '{"a":1}') for at in range(3000)]
    )
