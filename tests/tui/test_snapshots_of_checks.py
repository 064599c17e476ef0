"""Pictures of checks and claims at both sizes: a change of look is seen, and accepted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tui.driving import press, settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from tests.tui.conftest import AppMaker

SIZES = [(80, 24), (160, 48)]


def after(*keys: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        await press(pilot, *keys)

    return run


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("checks", ("b", "home")),
        ("check/k-repaired", ()),
        ("claims", ("down",)),
        ("claim/clean", ("end",)),
    ],
    ids=["checks", "check", "claims", "claim"],
)
def test_a_screen_looks_as_it_did(
    an_app: AppMaker,
    checks_db: Path,
    snap_compare: Callable[..., bool],
    size: tuple[int, int],
    place: str,
    keys: tuple[str, ...],
) -> None:
    with an_app(checks_db, place) as app:
        assert snap_compare(app, terminal_size=size, run_before=after(*keys))


@pytest.mark.parametrize("place", ["checks", "claims"])
def test_a_hostile_screen_looks_as_it_did(
    an_app: AppMaker, hostile_checks_db: Path, snap_compare: Callable[..., bool], place: str
) -> None:
    with an_app(hostile_checks_db, place) as app:
        assert snap_compare(app, terminal_size=(80, 24), run_before=after("down"))
