"""The file itself: the peer's shape, and no way past append-only."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.ledger.writer import open_writer
from tests.engine.ledger.ledgers import draft, source, write
from tests.peers import needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPEND_ONLY = "the ledger is append-only"


@pytest.fixture
async def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    artifact = source()
    await write(path, draft(event_id="e-1", payload=artifact.reference()), artifacts=[artifact])
    return path


@pytest.fixture
def connection(ledger: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        yield connection


def dump(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    tables = ("events", "artifacts", "artifact_bytes")
    return [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]  # noqa: S608 - constants


@pytest.mark.parametrize("table", ["events", "artifacts", "artifact_bytes"])
@pytest.mark.parametrize("statement", ["DELETE FROM {table}", "UPDATE {table} SET rowid = 7"])
def test_no_row_is_changed_or_deleted(
    connection: sqlite3.Connection, table: str, statement: str
) -> None:
    before = dump(connection)
    with pytest.raises(sqlite3.IntegrityError, match=APPEND_ONLY):
        connection.execute(statement.format(table=table))
    assert dump(connection) == before


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])
@pytest.mark.parametrize(
    ("sequence", "event_id"),
    [("2", "e-1"), ("1", "e-2"), ("3", "e-2"), ("NULL", "e-2"), ("0", "e-2"), ("'x'", "e-2")],
)
def test_no_insert_takes_an_id_that_exists_or_a_sequence_that_is_not_the_next(
    connection: sqlite3.Connection, verb: str, sequence: str, event_id: str
) -> None:
    before = dump(connection)
    columns = "sequence, event_id, stream_id, kind, actor_id, payload_json, created_at"
    values = f"{sequence}, '{event_id}', 's', 'k', 'a', '{{}}', 't'"
    with pytest.raises(sqlite3.IntegrityError, match=rf"{APPEND_ONLY}|datatype mismatch"):
        connection.execute(f"{verb} INTO events ({columns}) VALUES ({values})")
    assert dump(connection) == before


def test_an_upsert_does_not_get_past_the_guard(connection: sqlite3.Connection) -> None:
    before = dump(connection)
    with pytest.raises(sqlite3.IntegrityError, match=APPEND_ONLY):
        connection.execute(
            "INSERT INTO events (sequence, event_id, stream_id, kind, actor_id, payload_json,"
            " created_at) VALUES (2, 'e-1', 's', 'k', 'a', '{}', 't')"
            " ON CONFLICT (event_id) DO UPDATE SET payload_json = 'changed'"
        )
    assert dump(connection) == before


def test_the_writer_of_the_peer_cannot_append(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="sequence must be the next one"):
        connection.execute(
            "INSERT INTO events (event_id, stream_id, kind, actor_id, payload_json, created_at)"
            " VALUES ('e-2', 's', 'k', 'a', '{}', 't')"
        )


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"])
@pytest.mark.parametrize(
    ("table", "rest"),
    [("artifacts", "'s', 'm', 'other type', 1, NULL, 't'"), ("artifact_bytes", "x'00'")],
)
def test_no_insert_replaces_an_artifact(
    connection: sqlite3.Connection, verb: str, table: str, rest: str
) -> None:
    before = dump(connection)
    with pytest.raises(sqlite3.IntegrityError, match=APPEND_ONLY):
        connection.execute(f"{verb} INTO {table} VALUES ('{source().artifact_id}', {rest})")
    assert dump(connection) == before


@pytest.mark.parametrize(
    ("table", "columns", "rest"),
    [
        (
            "artifacts",
            "artifact_id, sha256, media_type, artifact_type, byte_length, created_at",
            "'new', 's', 'm', 't', 1, 't'",
        ),
        ("artifact_bytes", "artifact_id, bytes", "'new', x'00'"),
    ],
)
def test_no_replace_takes_the_place_of_an_artifact_by_its_rowid(
    connection: sqlite3.Connection, table: str, columns: str, rest: str
) -> None:
    before = dump(connection)
    with pytest.raises(sqlite3.IntegrityError, match=APPEND_ONLY):
        connection.execute(f"INSERT OR REPLACE INTO {table} (rowid, {columns}) VALUES (1, {rest})")  # noqa: S608 - constants
    assert dump(connection) == before


def test_the_file_names_its_format(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA application_id").fetchone() == (0x434F4149,)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_writer_is_durable_and_trusts_no_schema(ledger: Path) -> None:
    def ask(raw: sqlite3.Connection) -> list[object]:
        names = ("synchronous", "foreign_keys", "trusted_schema", "busy_timeout", "journal_mode")
        return [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    async with open_writer(ledger, clock=FixedClock()) as writer:
        assert await writer._thread.run(ask) == [2, 1, 0, 30_000, "wal"]


def test_an_artifact_names_no_path(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT artifact_id, sha256, uri, byte_length FROM artifacts")
    digest = source().artifact_id
    assert rows.fetchall() == [(digest, digest, None, len(source().content))]


@needs_peer_ledgers
@pytest.mark.parametrize("table", ["events", "artifacts"])
def test_our_tables_have_the_shape_of_the_peer(connection: sqlite3.Connection, table: str) -> None:
    uri = f"{peer_ledger('clean_fanout').as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as peer:
        shapes = [
            database.execute(f"PRAGMA table_xinfo({table})").fetchall()
            for database in (connection, peer)
        ]
        keys = [
            re.findall(
                r"PRIMARY KEY(?: AUTOINCREMENT)?|UNIQUE",
                database.execute(
                    "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
                ).fetchone()[0],
            )
            for database in (connection, peer)
        ]
    assert shapes[0] == shapes[1]
    assert keys[0] == keys[1]


def test_the_indexes_are_there(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL")
    assert sorted(sql.partition(" ON ")[2] for (sql,) in rows) == [
        "events (kind, sequence)",
        "events (sequence) WHERE kind = 'fanout.requested'",
        "events (stream_id, sequence)",
    ]
