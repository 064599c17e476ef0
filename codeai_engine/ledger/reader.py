"""Reading a ledger: by sequence, stream, kind and id. The standard library's SQLite only.

Synchronous: whoever reads owns the threads, and asks one question at a time. Every answer is read
whole, so that no transaction stays open behind it (SPEED 6). Source: DESIGN 3.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from codeai_engine.domain.view import ArtifactRow, EventRow, EventSummary, LedgerInfo, Page
from codeai_engine.errors import LedgerBusy
from codeai_engine.ledger.artifacts import find_folder, read_in_folder, read_stored
from codeai_engine.ledger.failures import reading_failed
from codeai_engine.ledger.pages import MAX_LIMIT, EventList
from codeai_engine.ledger.schema import (
    ENDED,
    SELECT_EVENT,
    STARTED,
    Shape,
    event_row,
    examine,
    select,
    visible_text,
)
from codeai_engine.ledger.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from codeai_engine.domain.view import Mode, Origin

T = TypeVar("T")
_ATTEMPTS = 10
_END = 2**63 - 1
_FANOUT = "fanout.requested"
_SELECT_ARTIFACT = (
    "SELECT artifact_id, sha256, media_type, artifact_type, byte_length, created_at FROM artifacts"
)
_LAST = "SELECT coalesce(max(sequence), 0) FROM events"
# One statement, so that the three agree while another process appends. The peer keeps no counts:
# its rows are counted up to a million (7 ms), beyond that the sequences must do.
_EXTENT = """
SELECT first, last, {count}
FROM (SELECT (SELECT min(sequence) FROM events) AS first,
             (SELECT max(sequence) FROM events) AS last)
"""
_COUNT_OURS = "(SELECT sum(n) FROM kind_counts)"
_COUNT_PEER = "CASE WHEN last - first < 1000000 THEN (SELECT count(*) FROM events) END"
_KINDS_OURS = "SELECT kind, n FROM kind_counts ORDER BY kind"
_KINDS_PEER = "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind"
_OPEN_OURS = "SELECT attempt_id, sequence FROM open_attempts ORDER BY sequence"
_OPEN_PEER = f"""
SELECT stream_id, min(sequence) FROM events AS started
WHERE kind = '{STARTED}' AND NOT EXISTS (
    SELECT 1 FROM events WHERE stream_id = started.stream_id AND +kind IN {ENDED}
)
GROUP BY stream_id ORDER BY 2
"""  # noqa: S608 - constants


def open_ledger(
    path: str | Path, *, snapshot: bool = False, artifacts: str | Path | None = None
) -> LedgerReader:
    """Open a ledger of ours or of the peer's to read; it and its folder stay as they are.

    Args:
        path: The file; a symbolic link is followed.
        snapshot: Read a private copy, taken now.
        artifacts: The folder of a peer's artifact files; beside the ledger when not given.

    Raises:
        NotALedger: The file is missing, or something else.
        UnsupportedVersion: It has a format that this engine does not read.
        LedgerError: It cannot be read.
    """
    named = None if artifacts is None else Path(artifacts)
    return LedgerReader(Path(path), snapshot=snapshot, artifacts=named)


class LedgerReader:
    """An open ledger. Made by `open_ledger`; close it, or use it in a `with`.

    While it is open, another process may begin to write: then the answer under way is thrown away,
    the file is opened anew in the mode that fits, and the question is asked again.

    Attributes:
        path: The file as it was named.
        rows_read: How many rows were fetched so far, so that a test can see what a list costs.
    """

    def __init__(self, path: Path, *, snapshot: bool, artifacts: Path | None) -> None:
        self.path = path
        self.rows_read = 0
        self._file = Path(os.path.realpath(path))
        self._snapshot = snapshot
        self._artifacts = find_folder(self._file, artifacts)
        self._openings = 0
        self._source, self._shape = self._open()
        self._seen = self._token()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove a private copy."""
        self._source.close()

    @property
    def mode(self) -> Mode:
        """How the file is read at present: `RO` at rest, `LIVE`, or `SNAP` from a copy."""
        return self._source.mode

    @property
    def origin(self) -> Origin:
        """Whose format it has: `ours` or `peer`."""
        return self._shape.origin

    def info(self) -> LedgerInfo:
        """Return the ledger as a whole.

        `artifacts` is the folder of artifact files, None where the bytes are in the file or absent.
        """
        count_sql = _COUNT_OURS if self._shape.has_derived else _COUNT_PEER
        ((first, last, count),) = self._select(_EXTENT.format(count=count_sql))
        span = 0 if first is None else last - first + 1
        notes = [*self._shape.notes, *([self._source.note] if self._source.note else [])]
        if count is None and span:
            notes.append("events are counted by the first and the last sequence")
        elif (count or 0) != span:
            notes.append(f"{count or 0} events, but the sequences {first} to {last} are {span}")
        in_folder = not self._has_bytes()
        if in_folder and self._artifacts is None and "artifacts" in self._shape.tables:
            notes.append("no folder of artifacts beside it: their bytes are not at hand")
        return LedgerInfo(
            name=self.path.name,
            path=str(self.path),
            mode=self.mode,
            origin=self.origin,
            event_count=span if count is None else count,
            first_sequence=first,
            last_sequence=last,
            artifacts=str(self._artifacts) if in_folder and self._artifacts else None,
            notes=tuple(notes),
        )

    def last_sequence(self) -> int:
        """Return the sequence of the newest event, 0 where there is none."""
        ((last,),) = self._select(_LAST)
        return int(last)

    def has_changed(self) -> bool:
        """Return whether anything was committed since this was last asked, or since opening.

        A snapshot that was asked for stays as it is. A copy that the mode demanded is taken anew.
        """
        if self._snapshot:
            return False
        if self._source.is_behind():
            self._reopen()
        token = self._token()
        changed = token != self._seen
        self._seen = token
        return changed

    def event(self, sequence: int) -> EventRow | None:
        """Return one event by its place."""
        return self._first(f"{SELECT_EVENT} WHERE sequence = ?", sequence)

    def event_by_id(self, event_id: str) -> EventRow | None:
        """Return one event by its id."""
        return self._first(f"{SELECT_EVENT} WHERE event_id = ?", event_id)

    def rows(
        self, *, after: int = 0, until: int | None = None, limit: int = 500
    ) -> tuple[EventRow, ...]:
        """Return events by sequence: those past `after`, up to and with `until`."""
        sql = f"{SELECT_EVENT} WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"
        return self._events(sql, after, _END if until is None else until, limit)

    def stream(
        self, stream_id: str, *, after: int = 0, until: int | None = None
    ) -> tuple[EventRow, ...]:
        """Return the events of one stream by sequence: past `after`, up to and with `until`."""
        place = "stream_id = ? AND sequence > ? AND sequence <= ?"
        sql = f"{SELECT_EVENT} WHERE {place} ORDER BY sequence"
        return self._events(sql, stream_id, after, _END if until is None else until)

    def of_kind(
        self,
        kind: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> tuple[EventRow, ...]:
        """Return the events of one kind: past `after`, up to and with `until`."""
        order = "DESC" if newest_first else "ASC"
        place = "kind = ? AND sequence > ? AND sequence <= ?"
        sql = f"{SELECT_EVENT} WHERE {place} ORDER BY sequence {order} LIMIT ?"
        end = _END if until is None else until
        return self._events(sql, kind, after, end, -1 if limit is None else limit)

    def summaries(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 200,
        kind: str | None = None,
        stream_id: str | None = None,
    ) -> Page[EventSummary]:
        """Return a page of a list, ascending; its cost does not grow with the ledger.

        Args:
            after: The page begins past this sequence.
            before: The page ends before this sequence. With neither, it is the newest page.
            limit: 1 to 10,000.
            kind: A kind, or a prefix that ends in `.*`.
            stream_id: Only this stream.

        Raises:
            ValueError: Both ends are given, or the limit is out of range.
        """
        if after is not None and before is not None:
            msg = "a page begins after one sequence or ends before one, not both"
            raise ValueError(msg)
        if not 1 <= limit <= MAX_LIMIT:
            msg = f"limit {limit} is not within 1 and {MAX_LIMIT}"
            raise ValueError(msg)
        events = EventList(
            self._select, kind=kind, stream_id=stream_id, has_counts=self._shape.has_derived
        )
        return events.page(after=after, before=before, limit=limit)

    def kind_counts(self) -> tuple[tuple[str, int], ...]:
        """Return how many events each kind has; of a peer's ledger by reading a whole index."""
        sql = _KINDS_OURS if self._shape.has_derived else _KINDS_PEER
        return tuple((visible_text(kind), count) for kind, count in self._select(sql))

    def open_attempts(self) -> tuple[tuple[str, int], ...]:
        """Return attempts without observation, interpretation or completion, oldest first.

        Returns:
            Pairs of the attempt's id and the sequence of its `attempt.started`.
        """
        sql = _OPEN_OURS if self._shape.has_derived else _OPEN_PEER
        return tuple((visible_text(attempt), sequence) for attempt, sequence in self._select(sql))

    def artifact(self, artifact_id: str) -> ArtifactRow | None:
        """Return the row of an artifact; its type is the first writer's."""
        rows = self._artifact_rows("WHERE artifact_id = ?", artifact_id)
        return rows[0] if rows else None

    def artifacts(self, *, after: str = "", limit: int = 500) -> tuple[ArtifactRow, ...]:
        """Return registered artifacts in the order of their ids, past the id `after`."""
        return self._artifact_rows(
            "WHERE artifact_id > ? ORDER BY artifact_id LIMIT ?", after, limit
        )

    def artifact_bytes(
        self, artifact_id: str, *, start: int = 0, length: int | None = None
    ) -> bytes | None:
        """Return a range of an artifact's bytes, unchecked; None where they are not at hand.

        Args:
            artifact_id: The digest.
            start: Offset in bytes.
            length: At most so many; None for the rest.
        """
        if self._has_bytes():
            read = partial(read_stored, artifact_id=artifact_id, start=start, length=length)
            return self._ask(read)
        if self._artifacts is None:
            return None
        return read_in_folder(self._artifacts, artifact_id, start, length)

    def _has_bytes(self) -> bool:
        return self.origin == "ours" and "artifact_bytes" in self._shape.tables

    def _artifact_rows(self, where: str, *values: object) -> tuple[ArtifactRow, ...]:
        if "artifacts" not in self._shape.tables:
            return ()
        return tuple(
            _artifact_row(row) for row in self._select(f"{_SELECT_ARTIFACT} {where}", values)
        )

    def _first(self, sql: str, value: object) -> EventRow | None:
        rows = self._events(sql, value)
        return rows[0] if rows else None

    def _events(self, sql: str, *values: object) -> tuple[EventRow, ...]:
        return tuple(event_row(row) for row in self._select(sql, values))

    def _select(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        rows = self._ask(partial(select, sql=sql, values=values))
        self.rows_read += len(rows)
        return rows

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Ask, and give no answer that was read while the file moved underneath."""
        for _ in range(_ATTEMPTS):
            if self._source.is_stale():
                self._reopen()
            try:
                answer = _ask_leniently(self._source.connection, question)
            except sqlite3.Error as error:
                if self._source.is_stale():
                    continue
                raise reading_failed(error, self.path) from error
            if not self._source.is_stale():
                return answer
        raise self._moving()

    def _reopen(self) -> None:
        former = self._source
        self._source, self._shape = self._open()  # if it cannot be opened, the former stays
        former.close()

    def _open(self) -> tuple[Source, Shape]:
        for _ in range(_ATTEMPTS):
            with ExitStack() as stack:
                source = open_source(self._file, snapshot=self._snapshot)
                stack.callback(source.close)
                try:
                    shape = examine(source.connection, self.path)
                except sqlite3.Error as error:
                    if source.is_stale():
                        continue
                    raise reading_failed(error, self.path) from error
                if not source.is_stale():
                    stack.pop_all()
                    self._openings += 1
                    return source, shape
        raise self._moving()

    def _token(self) -> tuple[int, int]:
        """Return what differs once something was committed: which opening, and its version."""
        if self.mode != "LIVE":
            return self._openings, 0
        ((version,),) = self._select("PRAGMA data_version")
        return self._openings, version

    def _moving(self) -> LedgerBusy:
        return LedgerBusy(
            f"{self.path}: it was written to during each of {_ATTEMPTS} attempts to read it",
            path=str(self.path),
            hint="open a snapshot of it",
        )


def _ask_leniently(
    connection: sqlite3.Connection, question: Callable[[sqlite3.Connection], T]
) -> T:
    """Ask; where a text is no UTF-8, show its bytes as escapes from then on."""
    try:
        return question(connection)
    except sqlite3.OperationalError as error:
        # The module's own error for such a text, not SQLite's: it has no code. Decoding leniently
        # from the start would cost half as much again for every row.
        if hasattr(error, "sqlite_errorcode") or connection.text_factory is not str:
            raise
        connection.text_factory = methodcaller("decode", "utf-8", "backslashreplace")
        return question(connection)


def _artifact_row(row: tuple[Any, ...]) -> ArtifactRow:
    artifact_id, sha256, media_type, artifact_type, size, created_at = row
    return ArtifactRow(
        artifact_id=visible_text(artifact_id),
        sha256=visible_text(sha256),
        media_type=visible_text(media_type),
        artifact_type=visible_text(artifact_type),
        byte_length=size if isinstance(size, int) else -1,
        created_at=visible_text(created_at),
    )
