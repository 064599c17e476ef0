"""Pictures of every screen at 80x24 and 160x48, on ledgers that are the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine import CodeAIError
from codeai_tui.screens.place_screen import PlaceScreen
from tests.tui.driving import press, settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from tests.tui.conftest import AppMaker

SIZES = [(80, 24), (160, 48)]
SIZE_IDS = ["80x24", "160x48"]
PLACES = ["overview", "fanouts", "fanout/fanout-1", "events"]
PLACE_IDS = ["overview", "fanouts", "branches", "events"]


def after(*keys: str) -> Callable[[Pilot[Any]], Any]:
    async def drive(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        await press(pilot, *keys)

    return drive


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
@pytest.mark.parametrize("place", PLACES, ids=PLACE_IDS)
def test_a_screen_looks_as_it_did(
    snap_compare: Callable[..., bool],
    an_app: AppMaker,
    pilot_db: Path,
    place: str,
    size: tuple[int, int],
) -> None:
    with an_app(pilot_db, place) as app:
        assert snap_compare(app, terminal_size=size, run_before=after())


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_a_fan_out_with_a_refusal_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, pilot_db: Path, size: tuple[int, int]
) -> None:
    with an_app(pilot_db, "fanout/fanout-2") as app:
        assert snap_compare(app, terminal_size=size, run_before=after("l"))


@pytest.mark.parametrize("theme", ["dusk", "day", "contrast"])
def test_a_theme_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, pilot_db: Path, theme: str
) -> None:
    with an_app(pilot_db, "fanout/fanout-1") as app:
        app.theme = theme
        assert snap_compare(app, terminal_size=(120, 30), run_before=after("l", "j", "j"))


def test_an_empty_ledger_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, empty_db: Path
) -> None:
    with an_app(empty_db) as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=after())


def test_a_hostile_ledger_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, hostile_db: Path
) -> None:
    with an_app(hostile_db, "fanouts") as app:
        keys = ("enter", "end", "enter")
        assert snap_compare(app, terminal_size=(160, 48), run_before=after(*keys))


def test_a_payload_that_does_not_parse_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, hostile_db: Path
) -> None:
    with an_app(hostile_db, "event/27") as app:
        assert snap_compare(app, terminal_size=(160, 48), run_before=after())


def test_a_problem_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, pilot_db: Path
) -> None:
    async def fail(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        assert isinstance(pilot.app.screen, PlaceScreen)
        pilot.app.screen.show_problem(CodeAIError("the ledger was moved"))
        await settle(pilot)

    with an_app(pilot_db) as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=fail)


def test_ascii_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, pilot_db: Path
) -> None:
    with an_app(pilot_db, "fanout/fanout-1", ascii_only=True) as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=after())


def test_without_colour_it_looks_as_it_did(
    snap_compare: Callable[..., bool],
    an_app: AppMaker,
    pilot_db: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with an_app(pilot_db, "fanout/fanout-1") as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=after("l", "j"))


@pytest.mark.parametrize("key", ["question_mark", "g", "f"])
def test_a_sheet_looks_as_it_did(
    snap_compare: Callable[..., bool], an_app: AppMaker, pilot_db: Path, key: str
) -> None:
    with an_app(pilot_db, "events") as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=after(key))
