"""The one writer of a process: batches in, answers after COMMIT.

Callers queue batches; one task drains the queue whenever the last commit ends, so that a group is
what came in meanwhile (SPEED 1). Source: DESIGN 3.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import aiosqlite
import anyio
import anyio.lowlevel

from codeai_engine.errors import LedgerError
from codeai_engine.ledger.artifacts import read_stored
from codeai_engine.ledger.batch import Absent, Batch, Ledger, prepare_batch
from codeai_engine.ledger.creation import make_ready
from codeai_engine.ledger.failures import reading_failed, writing_failed
from codeai_engine.ledger.schema import SELECT_EVENT, WRITER_PRAGMAS, event_row, select
from codeai_engine.ledger.transaction import Outcome, commit_group

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from codeai_engine.ambient import Clock
    from codeai_engine.domain.events import ArtifactDraft, EventDraft
    from codeai_engine.domain.view import EventRow

__all__ = ["Absent", "Ledger", "LedgerWriter", "open_writer"]

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiting:
    """A batch in the queue, and what its caller waits for."""

    batch: Batch
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: Outcome | None = None


class _Thread:
    """A connection on aiosqlite's thread, on which whole functions run."""

    def __init__(self, connection: aiosqlite.Connection, raw: sqlite3.Connection) -> None:
        self._connection = connection
        self._raw = raw

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function of the connection there: one hop, however many statements."""
        # A transaction of several statements in one hop is what SPEED 1 asks for, and the public
        # names of aiosqlite have no call for it. This is the only use of a private one.
        result: T = await self._connection._execute(function, self._raw)  # type: ignore[no-untyped-call] # noqa: SLF001
        return result


class LedgerWriter:
    """Appends to one ledger of ours. Made by `open_writer`, never by hand.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, thread: _Thread, clock: Clock) -> None:
        self.path = path
        self._thread = thread
        self._clock = clock
        self._queue: deque[_Waiting] = deque()
        self._wake = anyio.Event()
        self._is_stopped = False

    async def append(
        self,
        events: Sequence[EventDraft],
        artifacts: Sequence[ArtifactDraft] = (),
        *,
        absent: Sequence[Absent] = (),
    ) -> tuple[EventRow, ...]:
        """See `Ledger.append`."""
        # The wait below is shielded: without this, a task that only appends could not be stopped.
        await anyio.lowlevel.checkpoint_if_cancelled()
        batch = prepare_batch(events, artifacts, absent, self._clock)
        if self._is_stopped:
            raise self._closed()
        waiting = _Waiting(batch)
        self._queue.append(waiting)
        self._wake.set()
        await _outlast(waiting.done)
        match waiting.outcome:
            case tuple() as rows:
                return rows
            case sqlite3.Error() as error:
                raise writing_failed(error, self.path) from error
            case refused:
                raise refused or self._closed()

    async def stream(self, stream_id: str) -> tuple[EventRow, ...]:
        """See `Ledger.stream`."""
        sql = f"{SELECT_EVENT} WHERE stream_id = ? ORDER BY sequence"
        return tuple(event_row(row) for row in await self._select(sql, stream_id))

    async def event(self, event_id: str) -> EventRow | None:
        """See `Ledger.event`."""
        rows = await self._select(f"{SELECT_EVENT} WHERE event_id = ?", event_id)
        return event_row(rows[0]) if rows else None

    async def artifact_bytes(self, artifact_id: str) -> bytes | None:
        """See `Ledger.artifact_bytes`."""
        return await self._read(partial(read_stored, artifact_id=artifact_id))

    async def run(self) -> None:
        """Commit what is queued, group by group, until `stop`; cancellation does not reach it."""
        group: list[_Waiting] = []
        try:
            with anyio.CancelScope(shield=True):
                while self._queue or not self._is_stopped:
                    group = list(self._queue)
                    self._queue.clear()
                    if group:
                        await self._commit(group)
                    else:
                        await self._wake.wait()
                        self._wake = anyio.Event()
        finally:
            # Only a defect leaves someone waiting; a wait without end would hide it.
            self._is_stopped = True
            for waiting in (*group, *self._queue):
                waiting.done.set()

    def stop(self) -> None:
        """Take no more; `run` ends when what is queued has been committed."""
        self._is_stopped = True
        self._wake.set()

    async def _commit(self, group: Sequence[_Waiting]) -> None:
        batches = [waiting.batch for waiting in group]
        outcomes = await self._thread.run(partial(commit_group, batches=batches))
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.outcome = outcome
            waiting.done.set()

    async def _select(self, sql: str, *values: str) -> list[tuple[object, ...]]:
        return await self._read(partial(select, sql=sql, values=values))

    async def _read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._thread.run(function)
        except sqlite3.Error as error:
            raise reading_failed(error, self.path) from error

    def _closed(self) -> LedgerError:
        return LedgerError(f"{self.path}: the writer is closed", path=str(self.path))


@asynccontextmanager
async def open_writer(
    path: Path, *, clock: Clock, busy_timeout_s: float = 30.0
) -> AsyncIterator[LedgerWriter]:
    """Open a ledger of ours for appending; make it where there is no file.

    Leaving the block commits what is queued and closes the file; where no one else has it open,
    one file is left.

    Args:
        path: The ledger; a symbolic link is followed.
        clock: Stamps the events.
        busy_timeout_s: How long a commit waits for another process that writes.

    Raises:
        LedgerUnwritable: The file or its folder cannot be written, or another tool made it.
        UnsupportedVersion: It has a format that this engine does not read.
        NotALedger: It is something else.
        LedgerBusy: Another process holds it for longer than the wait.
    """
    file = await anyio.to_thread.run_sync(make_ready, path)
    failure: BaseExceptionGroup[BaseException] | None = None
    async with _connect(file, busy_timeout_s) as thread:
        writer = LedgerWriter(path, thread, clock)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.run)
                try:
                    yield writer
                finally:
                    writer.stop()
        except BaseExceptionGroup as group:
            failure = group
    if failure is not None:
        # What left the block is not ours to wrap: who opened the writer catches that.
        raise failure.exceptions[0] if len(failure.exceptions) == 1 else failure


@asynccontextmanager
async def _connect(file: Path, busy_timeout_s: float) -> AsyncIterator[_Thread]:
    """Open the file on a thread of aiosqlite's, and end that thread whatever happens.

    The thread is no daemon: left open, it keeps the process alive for ever.
    """
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        uri = f"{file.as_uri()}?mode=rw"
        opened.append(sqlite3.connect(uri, uri=True, timeout=busy_timeout_s, isolation_level=None))
        return opened[0]

    try:
        with anyio.CancelScope(shield=True):
            connection = await aiosqlite.Connection(connect, iter_chunk_size=64)
    except sqlite3.Error as error:
        raise writing_failed(error, file) from error
    try:
        await _configure(connection, file)
        yield _Thread(connection, opened[0])
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


async def _configure(connection: aiosqlite.Connection, file: Path) -> None:
    try:
        _ = await connection.executescript(WRITER_PRAGMAS)
    except sqlite3.Error as error:
        raise writing_failed(error, file) from error


async def _outlast(done: anyio.Event) -> None:
    """Wait for `done` whatever happens to this task; a cancellation is late, never swallowed."""
    stopped: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not done.is_set():
            try:
                await done.wait()
            except asyncio.CancelledError as error:  # past the shield: the task's own cancel()
                stopped = error
    if stopped is not None:
        raise stopped
