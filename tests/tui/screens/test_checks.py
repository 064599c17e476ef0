"""Checks on the screen: two axes, the checks of a cell, one of them whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from codeai_tui.places import Place
from codeai_tui.screens.checks import ChecksScreen
from codeai_tui.widgets.cell_matrix import CellMatrix
from codeai_tui.widgets.line_grid import LineGrid
from tests.peers import needs_peer_ledgers, peer_ledger
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_tui.app import LedgerApp
    from tests.tui.conftest import AppMaker

NARROW, WIDE = (80, 24), (160, 48)
NEWEST_FIRST = [
    "k-open",
    "k-loose",
    "k-label",
    "k-blind",
    "k-lost",
    "k-unsure",
    "k-stale",
    "k-repaired",
    "k-other",
    "k-todo",
    "k-dated",
]


def listed(app: LedgerApp) -> list[str]:
    return [row.copy for row in app.screen.query_one("#list", LineGrid).rows]


def matrix_of(app: LedgerApp) -> CellMatrix:
    return app.screen.query_one(CellMatrix)


async def test_the_matrix_stands_above_every_check_newest_first(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            said = screen_text(app)
            assert "Verdict by state binding" in said
            assert "10 checks: every completed check" in said
            assert listed(app) == NEWEST_FIRST
            assert "○ no completi" in said


async def test_a_cell_lists_its_checks_and_says_what_it_means(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "home")
            assert matrix_of(app).cell == ("PASS", "bound")
            assert listed(app) == ["k-repaired", "k-other"]
            await press(pilot, "right")
            assert listed(app) == ["k-loose", "k-blind", "k-dated"]
            assert "passed, but against no identified state" in screen_text(app)
            await press(pilot, "l", "j", "j", "j")
            assert listed(app) == ["k-stale"]
            assert "nothing was run" in screen_text(app)
            await press(pilot, "k")
            assert listed(app) == []
            assert "No check in this cell." in screen_text(app)


async def test_b_switches_the_axis_and_back(an_app: AppMaker, checks_db: Path) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "b")
            said = screen_text(app)
            assert "Verdict by artifact binding" in said
            assert "_ UNCONSUMED" in said
            await press(pilot, "home")
            assert listed(app) == ["k-blind", "k-dated"]
            await press(pilot, "b")
            assert "Verdict by state binding" in screen_text(app)
            assert listed(app) == NEWEST_FIRST


async def test_enter_goes_from_the_cell_to_its_list_to_the_check_and_esc_back(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "home", "enter", "enter")
            said = screen_text(app)
            assert "k-repaired  event 24" in said
            assert "before: k-todo ✗ FAIL" in said
            assert "Verdict by" not in said
            await press(pilot, "escape")
            assert "Verdict by" in screen_text(app)
            await press(pilot, "escape")
            assert app.history.current.place == Place("overview")


async def test_wide_the_check_under_the_cursor_stands_beside_the_list(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "tab", *["down"] * 5)
            said = screen_text(app)
            assert "exit code 2 is declared inconclusive" in said
            assert "the speller is not here" in said
            await press(pilot, "up")
            assert "is not in the ledger" in screen_text(app)
            await press(pilot, "up")
            assert "supplied, not observed" in screen_text(app)


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_a_place_names_one_check_and_p_shows_its_policy(
    an_app: AppMaker, checks_db: Path, size: tuple[int, int]
) -> None:
    with an_app(checks_db, "check/k-unsure") as app:
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            assert "the speller is not here" in screen_text(app)
            await press(pilot, "p")
            assert "0 PASS, 1 FAIL, 2 INCONCLUSIVE, every other code ERROR" in screen_text(app)
            await press(pilot, "escape")
            assert isinstance(app.screen, ChecksScreen)
            await press(pilot, "e")
            filters = Place("events", keys=(("filter", "stream:k-unsure"),)).keys
            assert app.history.current.place.keys == filters
            await press(pilot, "left_square_bracket")
            assert app.screen.query_one("#list", LineGrid).rows[0].copy == "k-open"
            assert "the speller is not here" in screen_text(app)


async def test_back_finds_axis_cell_and_cursor_as_they_were(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "b", "home", "enter", "down", "g", "o", "left_square_bracket")
            assert matrix_of(app).cell == ("PASS", "bound")
            assert "Verdict by artifact binding" in screen_text(app)
            assert app.screen.query_one("#list", LineGrid).cursor == 1


async def test_a_check_that_is_not_there_is_a_problem_and_the_list_stays(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await app.open_place(Place("check", "nowhere"))
            await settle(pilot)
            assert "no check nowhere in this ledger" in screen_text(app)


async def test_a_ledger_without_checks_says_so_and_takes_every_key(
    an_app: AppMaker, empty_db: Path
) -> None:
    with an_app(empty_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            assert "No check in this ledger." in screen_text(app)
            await press(pilot, "enter", "down", "end", "home", "pagedown", "p", "e", "y", "n", "b")
            assert app.history.current.place == Place("checks")


async def test_a_click_chooses_a_cell(an_app: AppMaker, checks_db: Path) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await pilot.click(CellMatrix, offset=(24, 3))
            await settle(pilot)
            assert matrix_of(app).cell == ("FAIL", "bound")
            assert listed(app) == ["k-todo"]


async def test_a_search_goes_to_cells_and_to_checks(an_app: AppMaker, checks_db: Path) -> None:
    with an_app(checks_db, "checks") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "slash", *"error mismatch", "enter")
            assert matrix_of(app).cell == ("ERROR", "mismatch")
            await press(pilot, "end", "tab", "slash", *"k-lost", "enter")
            assert app.screen.query_one("#list", LineGrid).rows[4].copy == "k-lost"
            assert app.screen.query_one("#list", LineGrid).cursor == 4


@needs_peer_ledgers
async def test_every_completion_of_a_repeated_check_id_has_its_row(an_app: AppMaker) -> None:
    with an_app(peer_ledger("checks_all"), "check/c-pass-unbound?item=9") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            assert listed(app).count("c-pass-unbound") == 2
            assert app.screen.query_one("#list", LineGrid).cursor_key == "9"
            assert "this check id has 2 completions" in screen_text(app)


def tones_of(app: LedgerApp) -> set[Any]:
    """Return the tones of every PASS that is listed without a bound subject."""
    rows = app.screen.query_one("#list", LineGrid).rows
    loose = [row for row in rows if "BOUND" not in [span.text[2:] for span in row.cells[3]]]
    return {span.tone for row in loose for span in row.cells[2] if "PASS" in span.text}


@needs_peer_ledgers
async def test_no_pass_without_a_bound_subject_is_green(an_app: AppMaker) -> None:
    with an_app(peer_ledger("checks_all"), "checks") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            assert tones_of(app) == {"open"}
