"""One group of batches as one transaction: what the writer runs on SQLite's thread."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from codeai_engine.domain.view import EventRow
from codeai_engine.errors import AppendConflict, LedgerError
from codeai_engine.ledger.batch import event_is_present, kind_is_present
from codeai_engine.ledger.schema import ENDED, INSERT_EVENT, STARTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.events import ArtifactDraft
    from codeai_engine.ledger.batch import Absent, Batch

Outcome: TypeAlias = tuple[EventRow, ...] | LedgerError | sqlite3.Error

_ONE_BATCH_IS_WRONG = (sqlite3.IntegrityError, sqlite3.DataError)

_LAST_SEQUENCE = "SELECT coalesce(max(sequence), 0) FROM events"
# `+kind` keeps the planner on the index by stream: a kind is common, a stream is short.
_HAS_KIND = "SELECT 1 FROM events WHERE stream_id = ? AND +kind = ? LIMIT 1"
_HAS_EVENT = "SELECT 1 FROM events WHERE event_id = ?"
_HAS_ARTIFACT = "SELECT 1 FROM artifacts WHERE artifact_id = ?"
_HAS_BYTES = "SELECT 1 FROM artifact_bytes WHERE artifact_id = ?"
_INSERT_ARTIFACT = (
    "INSERT INTO artifacts "
    "(artifact_id, sha256, media_type, artifact_type, byte_length, uri, created_at) "
    "VALUES (?1, ?1, ?2, ?3, ?4, NULL, ?5)"
)
_INSERT_BYTES = "INSERT INTO artifact_bytes (artifact_id, bytes) VALUES (?, ?)"
_COUNT_KIND = (
    "INSERT INTO kind_counts (kind, n) VALUES (?, ?) "
    "ON CONFLICT (kind) DO UPDATE SET n = n + excluded.n"
)
_OPEN_ATTEMPT = (
    "INSERT INTO open_attempts (attempt_id, sequence) SELECT ?1, ?2 WHERE NOT EXISTS "  # noqa: S608
    f"(SELECT 1 FROM events WHERE stream_id = ?1 AND +kind IN {ENDED}) "
    "ON CONFLICT (attempt_id) DO NOTHING"
)
_CLOSE_ATTEMPT = "DELETE FROM open_attempts WHERE attempt_id = ?"


def commit_group(connection: sqlite3.Connection, batches: Sequence[Batch]) -> list[Outcome]:
    """Commit batches together; a refused one leaves no trace and the others are kept.

    Returns:
        For each batch its stored events, why it was refused, or what SQLite failed with.
    """
    try:
        return _commit(connection, batches)
    except sqlite3.Error as error:
        if len(batches) == 1:
            return [_refusal(connection, batches[0], error)]
        if not isinstance(error, _ONE_BATCH_IS_WRONG):
            return [error] * len(batches)
    # Rare, so that the common way needs no savepoint for each batch: those cost a third.
    return [outcome for batch in batches for outcome in commit_group(connection, [batch])]


def _commit(connection: sqlite3.Connection, batches: Sequence[Batch]) -> list[Outcome]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        outcomes = _insert(connection, batches)
        rows = [row for rows in outcomes if isinstance(rows, tuple) for row in rows]
        keep_derived(connection, [(row.sequence, row.stream_id, row.kind) for row in rows])
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some failures have rolled back already
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _insert(connection: sqlite3.Connection, batches: Sequence[Batch]) -> list[Outcome]:
    (last,) = connection.execute(_LAST_SEQUENCE).fetchone()
    outcomes: list[Outcome] = []
    ready: list[tuple[object, ...]] = []
    for batch in batches:
        if batch.absent:  # what came before in the group counts
            connection.executemany(INSERT_EVENT, ready)
            ready.clear()
            present = _find_present(connection, batch.absent)
            if present:
                outcomes.append(kind_is_present(present))
                continue
        rows = [(last + place, *columns) for place, columns in enumerate(batch.columns, start=1)]
        last += len(rows)
        ready += rows
        outcomes.append(tuple(EventRow(*row) for row in rows))
        for artifact in batch.artifacts:
            _store(connection, artifact, batch.created_at)
    connection.executemany(INSERT_EVENT, ready)
    return outcomes


def _find_present(connection: sqlite3.Connection, absent: Sequence[Absent]) -> Absent | None:
    for condition in absent:
        if connection.execute(_HAS_KIND, (condition.stream_id, condition.kind)).fetchone():
            return condition
    return None


def _store(connection: sqlite3.Connection, artifact: ArtifactDraft, created_at: str) -> None:
    artifact_id = artifact.artifact_id
    if not connection.execute(_HAS_ARTIFACT, (artifact_id,)).fetchone():
        kind, size = artifact.artifact_type, len(artifact.content)
        values = (artifact_id, artifact.media_type, kind, size, created_at)
        connection.execute(_INSERT_ARTIFACT, values)
    if not connection.execute(_HAS_BYTES, (artifact_id,)).fetchone():
        connection.execute(_INSERT_BYTES, (artifact_id, artifact.content))


def _refusal(connection: sqlite3.Connection, batch: Batch, error: sqlite3.Error) -> Outcome:
    """Return why a batch that was alone in its transaction is not in the ledger."""
    if isinstance(error, sqlite3.DataError):
        return LedgerError(f"SQLite cannot hold a value of this append: {error}")
    if not isinstance(error, sqlite3.IntegrityError):
        return error
    seen: set[str] = set()
    for event_id, *_ in batch.columns:
        if event_id in seen or connection.execute(_HAS_EVENT, (event_id,)).fetchone():
            return event_is_present(event_id)
        seen.add(event_id)
    return AppendConflict(str(error))


def keep_derived(connection: sqlite3.Connection, appended: Sequence[tuple[int, str, str]]) -> None:
    """Bring the derived tables up to a group, once, in its own transaction.

    Args:
        connection: Within the transaction; the events are in.
        appended: Sequence, stream and kind of each event of the group.
    """
    connection.executemany(_COUNT_KIND, Counter(kind for _, _, kind in appended).items())
    started = [(stream_id, sequence) for sequence, stream_id, kind in appended if kind == STARTED]
    ended = {stream_id for _, stream_id, kind in appended if kind in ENDED}
    # The events are in: an attempt that has ended, in this group or before it, does not open.
    connection.executemany(_OPEN_ATTEMPT, started)
    connection.executemany(_CLOSE_ATTEMPT, [(attempt_id,) for attempt_id in ended])
