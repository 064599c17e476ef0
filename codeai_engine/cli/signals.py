"""Ctrl-C and SIGTERM as recorded cancellations: branches end in records before the process does."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

from codeai_engine.cli.exits import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from codeai_engine.engine import Engine

EXIT_OF_SIGNAL = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


async def until_signal(engine: Engine, body: Callable[[], Awaitable[int]]) -> int:
    """Run `body`; on a signal cancel it, let it record its end, and return the signal's code.

    Args:
        engine: Told that a cancellation comes from a signal.
        body: What to run; returns an exit code.
    """
    code = 0

    async def listen(scope: anyio.CancelScope) -> None:
        nonlocal code
        with anyio.open_signal_receiver(*EXIT_OF_SIGNAL) as received:
            async for number in received:
                code = EXIT_OF_SIGNAL[number]
                engine.stop_cause = "signal"
                scope.cancel()

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(listen, scope)
            try:
                code = await body()
            except Exception as error:  # noqa: BLE001 - raised below: a group would wrap it
                failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return code
