"""Driving an app in a test: wait until it is quiet, read what is on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from codeai_tui.app import LedgerApp

_QUIET_ROUNDS = 2


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until every worker has answered and every answer is drawn."""
    quiet = 0
    while quiet < _QUIET_ROUNDS:
        await pilot.pause()
        reading = list(pilot.app.workers)
        quiet = 0 if reading else quiet + 1
        if reading:
            await pilot.app.workers.wait_for_complete(reading)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after another, waiting for the answer to each."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


def screen_text(app: LedgerApp) -> str:
    """Return what is on the screen, row by row, as plain text."""
    width, height = app.size
    rows = app.screen._compositor.render_strips(app.size)
    assert width
    return "\n".join(strip.text.rstrip() for strip in rows[:height])
