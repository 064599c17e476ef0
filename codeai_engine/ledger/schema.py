"""The file: tables, triggers and pragmas, and what is refused at opening.

Source: DESIGN 3. `events` and `artifacts` have the peer's shape (PEER_FORMAT 1), so that either
tool reads the other's files; the rest is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any

from codeai_engine.domain.view import EventRow
from codeai_engine.errors import NotALedger, UnsupportedVersion

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from codeai_engine.domain.view import Origin

APPLICATION_ID = 0x434F4149
FORMAT_VERSION = 1

EVENT_COLUMNS = (
    "sequence",
    "event_id",
    "stream_id",
    "kind",
    "actor_id",
    "payload_json",
    "created_at",
    "causation_id",
    "correlation_id",
)
ARTIFACT_COLUMNS = (
    "artifact_id",
    "sha256",
    "media_type",
    "artifact_type",
    "byte_length",
    "uri",
    "created_at",
)
_USUAL_TYPES = frozenset(
    (int, *[str] * 6, causation, correlation)
    for causation in (str, NoneType)
    for correlation in (str, NoneType)
)
DERIVED_TABLES = frozenset({"open_attempts", "kind_counts"})
STARTED = "attempt.started"
ENDED = ("attempt.observed", "attempt.interpreted", "attempt.completed")

SELECT_EVENT = f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"  # noqa: S608 - constants
INSERT_EVENT = (
    f"INSERT INTO events ({', '.join(EVENT_COLUMNS)}) "  # noqa: S608 - constants
    f"VALUES ({', '.join('?' * len(EVENT_COLUMNS))})"
)

_TABLES = """
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    stream_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    payload_json TEXT NOT NULL,
    created_at TEXT NOT NULL,
    causation_id TEXT,
    correlation_id TEXT
);
CREATE INDEX ix_events_stream ON events (stream_id, sequence);
CREATE INDEX ix_events_kind ON events (kind, sequence);
CREATE INDEX ix_events_fanouts ON events (sequence) WHERE kind = 'fanout.requested';
CREATE TABLE artifacts (
    artifact_id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    media_type TEXT NOT NULL,
    artifact_type TEXT NOT NULL,
    byte_length INTEGER NOT NULL,
    uri TEXT,
    created_at TEXT NOT NULL
);
CREATE TABLE artifact_bytes (artifact_id TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE open_attempts (attempt_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE kind_counts (kind TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
"""
# INSERT OR REPLACE fires no delete trigger, OR IGNORE and ON CONFLICT act only after BEFORE
# triggers: so what exists is refused before the insert. An automatic rowid reads -1 here.
_GUARDS = """
CREATE TRIGGER events_insert BEFORE INSERT ON events BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: this event_id exists')
        WHERE EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id);
    SELECT raise(ABORT, 'the ledger is append-only: sequence must be the next one')
        WHERE NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM events);
END;
CREATE TRIGGER artifacts_insert BEFORE INSERT ON artifacts BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: this artifact_id exists')
        WHERE EXISTS (SELECT 1 FROM artifacts WHERE artifact_id = NEW.artifact_id);
    SELECT raise(ABORT, 'the ledger is append-only: this rowid exists')
        WHERE EXISTS (SELECT 1 FROM artifacts WHERE rowid = NEW.rowid);
END;
CREATE TRIGGER artifact_bytes_insert BEFORE INSERT ON artifact_bytes BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: this artifact_id exists')
        WHERE EXISTS (SELECT 1 FROM artifact_bytes WHERE artifact_id = NEW.artifact_id);
    SELECT raise(ABORT, 'the ledger is append-only: this rowid exists')
        WHERE EXISTS (SELECT 1 FROM artifact_bytes WHERE rowid = NEW.rowid);
END;
"""
_APPEND_ONLY = "".join(
    f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN "
    f"SELECT raise(ABORT, 'the ledger is append-only: no {verb} of {table}'); END;\n"
    for table in ("events", "artifacts", "artifact_bytes")
    for verb in ("UPDATE", "DELETE")
)
CREATE_LEDGER = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
{_TABLES}{_GUARDS}{_APPEND_ONLY}
COMMIT;
"""
WRITER_PRAGMAS = """
PRAGMA trusted_schema = OFF;
PRAGMA foreign_keys = ON;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
"""
READER_PRAGMAS = """
PRAGMA trusted_schema = OFF;
PRAGMA query_only = ON;
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the schema of a file says it is.

    Args:
        tables: Names of its real tables.
        notes: What a reader should know of it, in plain words.
    """

    origin: Origin
    tables: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def has_derived(self) -> bool:
        """Whether the tables that spare a scan are there."""
        return self.origin == "ours" and self.tables >= DERIVED_TABLES


def is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file says that this engine made it.

    Raises:
        UnsupportedVersion: It did, in a format that this engine does not read.
    """
    if _pragma(connection, "application_id") != APPLICATION_ID:
        return False
    version = _pragma(connection, "user_version")
    if version != FORMAT_VERSION:
        raise _unsupported(path, version)
    return True


def examine(connection: sqlite3.Connection, path: Path) -> Shape:
    """Say what kind of ledger a file is, from its pragmas and its schema table alone.

    Raises:
        NotALedger: Its tables are neither ours nor the peer's.
        UnsupportedVersion: It names a format that this engine does not read.
        sqlite3.Error: It is not SQLite, or damaged.
    """
    origin: Origin = "ours" if is_ours(connection, path) else "peer"
    entries = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    tables = frozenset(name for kind, name, sql in entries if kind == "table" and _is_plain(sql))
    _refuse_other_tables(connection, path, entries, tables)
    version = _pragma(connection, "user_version")
    if origin == "peer" and version > FORMAT_VERSION:
        raise _unsupported(path, version)
    return Shape(origin, tables, _notes(origin, entries, tables))


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _unsupported(path: Path, version: int) -> UnsupportedVersion:
    return UnsupportedVersion(
        f"{path}: the ledger has format version {version}, this engine reads {FORMAT_VERSION}",
        path=str(path),
        found=version,
        supported=FORMAT_VERSION,
    )


def _is_plain(sql: object) -> bool:
    # A virtual table is a table in the schema, and runs code of its own when it is read.
    return not str(sql).upper().startswith("CREATE VIRTUAL")


def _refuse_other_tables(
    connection: sqlite3.Connection,
    path: Path,
    entries: Sequence[tuple[str, str, object]],
    tables: frozenset[str],
) -> None:
    if "events" not in tables:
        kinds = [kind for kind, name, _ in entries if name == "events"]
        found = ", ".join(sorted(tables)) or "no tables"
        what = f"no table events in it ({found})"
        if kinds:
            what = f"its events are a {kinds[0] if kinds[0] != 'table' else 'virtual table'}"
        raise NotALedger(f"{path}: not a ledger: {what}", path=str(path))
    wanted = {"events": EVENT_COLUMNS, "artifacts": ARTIFACT_COLUMNS}
    for table in sorted(wanted.keys() & tables):
        columns = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
        # hidden is not 0 for generated columns: what they hold is computed, not stored.
        stored = {name for _, name, *_, hidden in columns if hidden == 0}
        missing = [name for name in wanted[table] if name not in stored]
        if missing:
            what = f"the table {table} has no column {', '.join(missing)}"
            raise NotALedger(f"{path}: not a ledger: {what}", path=str(path))
    keys = [(name, kind.upper(), pk) for _, name, kind, _, _, pk in _columns(connection) if pk]
    if keys != [("sequence", "INTEGER", 1)]:
        what = "sequence is not the integer primary key of events"
        raise NotALedger(f"{path}: not a ledger: {what}", path=str(path))


def _columns(connection: sqlite3.Connection) -> list[tuple[int, str, str, int, Any, int]]:
    return connection.execute("PRAGMA table_info(events)").fetchall()


def _notes(
    origin: Origin, entries: Sequence[tuple[str, str, object]], tables: frozenset[str]
) -> tuple[str, ...]:
    notes = []
    if origin == "peer":
        notes.append("written by the peer's tool: read only, nothing in it is chained or signed")
        if "artifacts" not in tables:
            notes.append("an old ledger: it has no artifacts table")
    elif not tables >= DERIVED_TABLES:
        notes.append("its derived tables are missing: counts and open attempts are computed")
    indexes = {name for kind, name, _ in entries if kind == "index"}
    if not indexes >= {"ix_events_stream", "ix_events_kind"}:
        notes.append("it lacks the indexes by stream and kind: lists read the whole ledger")
    return tuple(notes)


def event_row(values: tuple[Any, ...]) -> EventRow:
    """Return one row of `SELECT_EVENT`; what is not text there is made visible, never refused."""
    if tuple(map(type, values)) in _USUAL_TYPES:
        return EventRow(*values)
    names, links = map(visible_text, values[1:7]), map(visible_or_none, values[7:])
    return EventRow(values[0], *names, *links)


def visible_text(value: object) -> str:
    """Return a stored value as text: bytes that are no UTF-8 as escapes, NULL as that word."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case None:
            return "NULL"
        case _:
            return repr(value)


def visible_or_none(value: object) -> str | None:
    """Return a stored value that may be NULL as text, or None."""
    return None if value is None else visible_text(value)


def select(
    connection: sqlite3.Connection, sql: str, values: Sequence[object] = ()
) -> list[tuple[Any, ...]]:
    """Return all rows of a query, so that no transaction stays open behind it.

    A value that SQLite cannot hold, such as text without UTF-8 or an integer past 64 bits, equals
    nothing that is stored: then there are no rows.
    """
    try:
        return connection.execute(sql, values).fetchall()
    except (UnicodeEncodeError, OverflowError):
        return []
