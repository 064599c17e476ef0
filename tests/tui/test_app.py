"""What works everywhere: history, palette, themes, copying, resizing, problems."""

from __future__ import annotations

import stat
import tempfile
from typing import TYPE_CHECKING

import pytest

from codeai_engine import CodeAIError
from codeai_tui.messages import ProblemMet
from codeai_tui.places import Place
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.themes import PALETTES
from codeai_tui.widgets.branch_columns import BranchColumns
from codeai_tui.widgets.line_grid import LineGrid
from tests.tui.driving import press, screen_text, settle
from tests.tui.ledgers import peer_like_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.conftest import AppMaker

NARROW, WIDE = (80, 24), (160, 48)


async def test_g_and_a_letter_go_to_each_place(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            for letter, kind in (
                ("f", "fanouts"),
                ("b", "fanout"),
                ("e", "events"),
                ("c", "checks"),
                ("k", "claims"),
                ("o", "overview"),
            ):
                await press(pilot, "g", letter)
                assert app.history.current.place.kind == kind
            await press(pilot, "g", "escape")
            assert isinstance(app.screen, PlaceScreen)


async def test_back_and_forward_walk_through_the_places(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "g", "f", "enter")
            kinds = []
            for key in ("left_square_bracket",) * 3 + ("right_square_bracket",) * 3:
                await press(pilot, key)
                kinds.append(app.history.current.place.kind)
            assert kinds == ["fanouts", "overview", "overview", "fanouts", "fanout", "fanout"]


async def test_an_id_is_jumped_to_by_its_head(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "number_sign", *"fanout-2", "enter")
            assert "✗ refused" in screen_text(app)
            await press(pilot, "number_sign", *"43", "enter")
            assert app.screen.query_one("#events", LineGrid).cursor_key == "43"


async def test_the_palette_has_every_action_and_runs_them(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            titles = {command.title for command in app.get_system_commands(app.screen)}
            for title in (
                "Help",
                "Search",
                "Back",
                "Quit",
                "Down",
                "Open",
                "Theme day",
                "Go to events",
            ):
                assert title in titles
            await press(pilot, "colon")
            await pilot.press(*"events")
            await pilot.pause(0.5)
            await press(pilot, "enter")
            await settle(pilot)
            assert app.history.current.place == Place("events")


async def test_help_lists_the_keys_of_the_place_and_of_the_app(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=(100, 60)) as pilot:
            await settle(pilot)
            await press(pilot, "question_mark")
            said = screen_text(app)
            for part in ("filter", "PgDn", "jump to id or sequence", "Ctrl+R", "read again"):
                assert part in said
            await press(pilot, "q")
            assert isinstance(app.screen, PlaceScreen)


@pytest.mark.parametrize("name", PALETTES)
async def test_every_theme_draws_every_place(an_app: AppMaker, pilot_db: Path, name: str) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            app.theme = name
            await press(pilot, "g", "b", "g", "e")
            assert "fanout.requested" in screen_text(app)


async def test_t_goes_through_the_themes(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            seen = [app.theme]
            for _ in range(4):
                await press(pilot, "t")
                seen.append(app.theme)
            assert seen == [*PALETTES, next(iter(PALETTES))]


async def test_y_copies_the_exact_text_under_the_cursor(an_app: AppMaker, tmp_path: Path) -> None:
    path = peer_like_ledger(tmp_path / "x.db", [("a.b", "s", '{"text":"a\\u001b[31mb\\ud800"}')])
    with an_app(path, "event/1") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "tab", "end", "y")
            assert app.clipboard == "a\x1b[31mb\\ud800"


async def test_what_is_too_long_for_a_clipboard_goes_to_a_file_of_its_owner_alone(
    an_app: AppMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    text = "x" * 200_000
    path = peer_like_ledger(tmp_path / "x.db", [("a.b", "s", f'{{"text":"{text}"}}')])
    with an_app(path, "event/1") as app:
        async with app.run_test(size=WIDE, notifications=True) as pilot:
            await settle(pilot)
            await press(pilot, "tab", "end", "y")
            assert app.clipboard == ""
            assert "200,000 bytes" in screen_text(app)
    kept = next(tmp_path.glob("codeai-*.txt"))  # noqa: ASYNC240 - the app is closed
    assert kept.read_text() == text
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_a_problem_is_one_row_and_the_last_good_view_stays(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            screen = app.screen
            assert isinstance(screen, PlaceScreen)
            error = CodeAIError("the disk went away [/bad]", hint="look for it")
            screen.show_problem(error)
            screen.post_message(ProblemMet(error))
            await settle(pilot)
            assert "! ERROR the disk went away [/bad]" in screen_text(app)
            assert "3 of 3 fan-outs" in screen_text(app)
            await press(pilot, "exclamation_mark")
            assert "hint: look for it" in screen_text(app)
            await press(pilot, "escape", "ctrl+r")
            assert "the disk went away" not in screen_text(app)


async def test_zoom_shows_one_pane_and_esc_brings_the_others_back(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "z")
            assert "Not established here" not in screen_text(app)
            await press(pilot, "escape")
            assert "Not established here" in screen_text(app)


async def test_tab_goes_through_every_pane_and_back(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            seen = []
            for _ in range(5):
                assert app.screen.focused is not None
                seen.append(app.screen.focused.id)
                await press(pilot, "tab")
            assert seen == ["established", "denied", "recent", "kinds", "why"]
            await press(pilot, "shift+tab")
            assert app.screen.focused is not None
            assert app.screen.focused.id == "why"


@pytest.mark.parametrize("size", [(20, 5), (59, 24), (80, 14), (1, 24), (1, 1)])
async def test_a_small_terminal_says_so_and_everything_is_as_it_was_afterwards(
    an_app: AppMaker, pilot_db: Path, size: tuple[int, int]
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        async with app.run_test(size=(120, 30)) as pilot:
            await settle(pilot)
            await press(pilot, "l", *"jjjjjjjjjjjj")
            columns = app.screen.query_one(BranchColumns)
            before = (columns.branch, columns.field, columns.scroll_offset.y)
            shown = screen_text(app)
            for width, height in (size, (120, 30)):
                await pilot.resize_terminal(width, height)
                await settle(pilot)
                if (width, height) == (20, 5):
                    assert "needs 60x15" in screen_text(app)
            assert (columns.branch, columns.field, columns.scroll_offset.y) == before
            assert screen_text(app) == shown


async def test_thirty_resizes_break_nothing(an_app: AppMaker, pilot_db: Path) -> None:
    with an_app(pilot_db, "events") as app:
        async with app.run_test(size=(120, 30)) as pilot:
            await settle(pilot)
            for at in range(30):
                await pilot.resize_terminal((120, 1, 80, 20)[at % 4], (30, 1, 24, 5)[at % 4])
            await pilot.resize_terminal(120, 30)
            await settle(pilot)
            assert "fanout.requested" in screen_text(app)
            assert app.crash is None


async def test_a_click_puts_the_cursor_on_a_row_and_a_second_one_opens_it(
    an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanouts") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await pilot.click("#fanouts", offset=(10, 4), times=1)
            assert app.screen.query_one("#fanouts", LineGrid).cursor_key == "fanout-1"
            await pilot.click("#fanouts", offset=(10, 4), times=2)
            await settle(pilot)
            assert app.history.current.place == Place("fanout", "fanout-1")


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 130)])
async def test_q_and_ctrl_c_end_the_app(
    an_app: AppMaker, pilot_db: Path, key: str, code: int
) -> None:
    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await pilot.press(key)
            await pilot.pause()
        assert app.return_code == code
        assert app.crash is None


async def test_pasted_text_that_drives_a_terminal_is_not_taken(
    an_app: AppMaker, pilot_db: Path
) -> None:
    from textual import events
    from textual.widgets import Input

    with an_app(pilot_db) as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "slash")
            field = app.screen.query_one(Input)
            field.post_message(events.Paste("\x1b]52;c;x\x07"))
            await settle(pilot)
            assert field.value == ""
            field.post_message(events.Paste("plain é"))
            await settle(pilot)
            assert field.value == "plain é"
            await press(pilot, "escape")
