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
    from codeai_engine.ledger.batch import Batch

Outcome: TypeAlias = tuple[EventRow, ...] | LedgerError

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
        For each batch its stored events, or why it was refused.

    Raises:
        sqlite3.Error: The database itself refuses; then nothing of the group is in it.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (last,) = connection.execute(_LAST_SEQUENCE).fetchone()
        outcomes = []
        for batch in batches:
            outcome = _insert_or_refuse(connection, batch, last)
            if not isinstance(outcome, LedgerError):
                last += len(outcome)
            outcomes.append(outcome)
        _keep_derived(connection, outcomes)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some failures have rolled back already
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _insert_or_refuse(connection: sqlite3.Connection, batch: Batch, last: int) -> Outcome:
    connection.execute("SAVEPOINT batch")
    try:
        outcome: Outcome = _insert(connection, batch, last)
    except (AppendConflict, sqlite3.IntegrityError, sqlite3.DataError) as error:
        connection.execute("ROLLBACK TO batch")
        outcome = _refusal(connection, batch, error)
    connection.execute("RELEASE batch")
    return outcome


def _insert(connection: sqlite3.Connection, batch: Batch, last: int) -> tuple[EventRow, ...]:
    for absent in batch.absent:
        if connection.execute(_HAS_KIND, (absent.stream_id, absent.kind)).fetchone():
            raise kind_is_present(absent)
    rows = [(last + place, *columns) for place, columns in enumerate(batch.columns, start=1)]
    connection.executemany(INSERT_EVENT, rows)
    for artifact in batch.artifacts:
        _store(connection, artifact, batch.created_at)
    return tuple(EventRow(*row) for row in rows)


def _store(connection: sqlite3.Connection, artifact: ArtifactDraft, created_at: str) -> None:
    artifact_id = artifact.artifact_id
    if not connection.execute(_HAS_ARTIFACT, (artifact_id,)).fetchone():
        kind, size = artifact.artifact_type, len(artifact.content)
        values = (artifact_id, artifact.media_type, kind, size, created_at)
        connection.execute(_INSERT_ARTIFACT, values)
    if not connection.execute(_HAS_BYTES, (artifact_id,)).fetchone():
        connection.execute(_INSERT_BYTES, (artifact_id, artifact.content))


def _refusal(connection: sqlite3.Connection, batch: Batch, error: Exception) -> LedgerError:
    if isinstance(error, AppendConflict):
        return error
    if isinstance(error, sqlite3.DataError):
        return LedgerError(f"SQLite cannot hold a value of this append: {error}")
    seen: set[str] = set()
    for event_id, *_ in batch.columns:
        if event_id in seen or connection.execute(_HAS_EVENT, (event_id,)).fetchone():
            return event_is_present(event_id)
        seen.add(event_id)
    return AppendConflict(str(error))


def _keep_derived(connection: sqlite3.Connection, outcomes: Sequence[Outcome]) -> None:
    """Bring the derived tables up to the group: once, in its own transaction."""
    rows = [row for rows in outcomes if not isinstance(rows, LedgerError) for row in rows]
    connection.executemany(_COUNT_KIND, Counter(row.kind for row in rows).items())
    started = [(row.stream_id, row.sequence) for row in rows if row.kind == STARTED]
    ended = {row.stream_id for row in rows if row.kind in ENDED}
    # The events are in: an attempt that has ended, in this group or before it, does not open.
    connection.executemany(_OPEN_ATTEMPT, started)
    connection.executemany(_CLOSE_ATTEMPT, [(attempt_id,) for attempt_id in ended])
