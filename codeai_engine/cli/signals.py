"""Ctrl-C and SIGTERM as recorded cancellations: branches end in records before the process does."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

from codeai_engine.cli.exits import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

EXIT_OF_SIGNAL = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


class StopCause:
    """Why a cancellation comes from outside: `caller`, and `signal` once one was received."""

    def __init__(self) -> None:
        self._cause = "caller"

    def __call__(self) -> str:
        """Return the cause in the words of `branch.cancelled`."""
        return self._cause

    def signalled(self) -> None:
        """Note that a signal came."""
        self._cause = "signal"


async def until_signal(body: Callable[[StopCause], Awaitable[int]]) -> int:
    """Run `body`; on a signal cancel it, let it record its end, and return the signal's code.

    Signals are taken until `body` is at its end, so that a second one cannot tear a record.

    Args:
        body: What to run; told whom to ask why it is being stopped; returns an exit code.
    """
    cause, code = StopCause(), 0
    failure: Exception | None = None

    async def listen(scope: anyio.CancelScope) -> None:
        nonlocal code
        with anyio.open_signal_receiver(*EXIT_OF_SIGNAL) as received:
            async for number in received:
                code = EXIT_OF_SIGNAL[number]
                cause.signalled()
                scope.cancel()

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(listen, scope)
            try:
                code = await body(cause)
            except Exception as error:  # noqa: BLE001 - raised below: a group would wrap it
                failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return code
