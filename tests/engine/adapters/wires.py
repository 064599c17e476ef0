"""Wires that tests can look at, and a pipe that tells whether a process still holds it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio
from typing_extensions import override

from codeai_engine.adapters.base import OUTPUT_LIMIT_BYTES, Wire

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class WatchedWire(Wire):
    """Counts `sending`, and says when the first bytes came back.

    Args:
        look: Called while `sending` is awaited: what is true then was true before any byte left.
    """

    def __init__(
        self, look: Callable[[], None] | None = None, *, limit_bytes: int = OUTPUT_LIMIT_BYTES
    ) -> None:
        super().__init__(self._look, limit_bytes=limit_bytes)
        self.sending_count = 0
        self._looked = look
        self._came = anyio.Event()

    async def _look(self) -> None:
        self.sending_count += 1
        if self._looked is not None:
            self._looked()

    @override
    def receive(self, chunk: bytes) -> None:
        super().receive(chunk)
        if self.received:
            self._came.set()

    async def came(self) -> None:
        """Wait until something has come back."""
        await self._came.wait()


class Holders:
    """The processes that hold a named pipe open.

    A program that takes `path` as `$0` and runs `exec 9<>"$0"` holds it, and so does whatever it
    starts.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "held"
        os.mkfifo(self.path)

    async def gone(self) -> None:
        """Wait until no process holds it, zombies aside."""
        end = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with anyio.fail_after(10):
                while not _is_at_end(end):
                    await anyio.wait_readable(end)
        finally:
            os.close(end)


def _is_at_end(end: int) -> bool:
    try:
        return os.read(end, 1) == b""
    except BlockingIOError:
        return False
