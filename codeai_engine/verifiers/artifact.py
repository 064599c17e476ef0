"""The verified bytes of an artifact where a command can read them: a fresh folder of their own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FILE_NAME = "artifact"


@asynccontextmanager
async def materialised(content: bytes) -> AsyncIterator[str]:
    """Write bytes into a fresh folder; leaving the block removes it with all that is in it.

    Returns:
        The path of the file.

    Raises:
        OSError: It cannot be written.
    """
    folder, path = await anyio.to_thread.run_sync(_write, content)
    try:
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(folder.cleanup)


def _write(content: bytes) -> tuple[TemporaryDirectory[str], str]:
    # What a command makes in it may be undeletable, which is no reason to lose the verdict.
    folder = TemporaryDirectory(prefix="codeai-check-", ignore_cleanup_errors=True)
    try:
        path = Path(folder.name, FILE_NAME)
        path.write_bytes(content)
    except OSError:
        folder.cleanup()
        raise
    return folder, str(path)
