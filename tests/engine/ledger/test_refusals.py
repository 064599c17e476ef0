"""What is no ledger, or not ours to write: one clear sentence, and nothing is changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.errors import (
    LedgerError,
    LedgerUnwritable,
    NotALedger,
    UnsupportedVersion,
)
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.writer import open_writer
from tests.engine.ledger.ledgers import (
    draft,
    folder_facts,
    make,
    names_in,
    read_everything,
    source,
)
from tests.peers import PEER_NAMES, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = (
    "event_id TEXT, stream_id TEXT, kind TEXT, actor_id TEXT, payload_json TEXT, created_at TEXT,"
    " causation_id TEXT, correlation_id TEXT"
)
EVENTS = f"CREATE TABLE events (sequence INTEGER PRIMARY KEY, {COLUMNS});"


def text_file(path: Path) -> None:
    path.write_text("just some text\n" * 100)


def empty_file(path: Path) -> None:
    path.touch()


def folder(path: Path) -> None:
    path.mkdir()


def nothing(_: Path) -> None:
    pass


def pipe(path: Path) -> None:
    os.mkfifo(path)


def database(script: str) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)

    return build


NO_LEDGERS = {
    "text": (text_file, "not an SQLite file"),
    "empty": (empty_file, "the file is empty"),
    "folder": (folder, "it is a folder"),
    "missing": (nothing, "there is no such file"),
    "pipe": (pipe, "it is not a regular file"),
    "other tables": (
        database("CREATE TABLE a (x); CREATE TABLE b (y);"),
        "no table events in it (a, b)",
    ),
    "no tables": (database("PRAGMA user_version = 1;"), "no table events in it (no tables)"),
    "a view": (
        database("CREATE TABLE t (x); CREATE VIEW events AS SELECT x AS sequence FROM t;"),
        "its events are a view",
    ),
    "a virtual table": (
        database("CREATE VIRTUAL TABLE events USING fts5 (sequence, event_id);"),
        "its events are a virtual table",
    ),
    "a missing column": (
        database("CREATE TABLE events (sequence INTEGER PRIMARY KEY, event_id TEXT);"),
        "the table events has no column stream_id, kind, actor_id, payload_json, created_at,"
        " causation_id, correlation_id",
    ),
    "a computed column": (
        database(EVENTS.replace("kind TEXT", "kind TEXT GENERATED ALWAYS AS ('k')")),
        "the table events has no column kind",
    ),
    "artifacts of another shape": (
        database(f"{EVENTS} CREATE TABLE artifacts (artifact_id TEXT);"),
        "the table artifacts has no column sha256, media_type",
    ),
    "sequence is no key": (
        database(f"CREATE TABLE events (sequence INTEGER, {COLUMNS});"),
        "sequence is not the integer primary key of events",
    ),
}


@pytest.mark.parametrize("case", NO_LEDGERS)
@pytest.mark.parametrize("snapshot", [False, True])
def test_what_is_no_ledger_is_refused_by_name_and_left_alone(
    tmp_path: Path, case: str, *, snapshot: bool
) -> None:
    build, reason = NO_LEDGERS[case]
    path = tmp_path / "ledger.db"
    build(path)
    before = folder_facts(tmp_path)
    with pytest.raises(NotALedger) as refused:
        open_ledger(path, snapshot=snapshot)
    assert reason in refused.value.message
    assert refused.value.message.startswith(f"{path}: ")
    assert "\n" not in refused.value.message
    assert refused.value.path == str(path)
    assert refused.value.exit_code == 2
    assert folder_facts(tmp_path) == before


@pytest.mark.parametrize("case", [name for name in NO_LEDGERS if name != "missing"])
async def test_what_is_no_ledger_is_not_written_to(tmp_path: Path, case: str) -> None:
    build, reason = NO_LEDGERS[case]
    path = tmp_path / "ledger.db"
    build(path)
    before = folder_facts(tmp_path)
    with pytest.raises(NotALedger) as refused:
        async with open_writer(path, clock=FixedClock()):
            pass
    assert reason in refused.value.message
    assert folder_facts(tmp_path) == before


@pytest.mark.parametrize(
    "script",
    [
        "PRAGMA application_id = 0x434F4149; PRAGMA user_version = 2; CREATE TABLE whatever (x);",
        f"{EVENTS} PRAGMA application_id = 0x434F4149; PRAGMA user_version = 2;",
        f"{EVENTS} PRAGMA user_version = 2;",
    ],
    ids=["ours with other tables", "ours", "the peer's tables"],
)
async def test_a_newer_format_is_refused_with_what_was_found_and_what_is_read(
    tmp_path: Path, script: str
) -> None:
    path = tmp_path / "ledger.db"
    database(script)(path)
    before = folder_facts(tmp_path)
    with pytest.raises(UnsupportedVersion) as refused:
        open_ledger(path)
    assert (refused.value.found, refused.value.supported) == (2, 1)
    assert refused.value.message == (
        f"{path}: the ledger has format version 2, this engine reads 1"
    )
    with pytest.raises(UnsupportedVersion):
        async with open_writer(path, clock=FixedClock()):
            pass
    assert folder_facts(tmp_path) == before


@needs_peer_ledgers
@pytest.mark.parametrize("name", PEER_NAMES)
async def test_a_ledger_of_the_peer_is_never_written_to(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "peer"
    shutil.copytree(peer_ledger(name).parent, copy)
    for found in (copy, *copy.rglob("*")):
        found.chmod(found.stat().st_mode | 0o200)
    before = folder_facts(copy)
    with pytest.raises(LedgerUnwritable, match="was made by another tool and is only read"):
        async with open_writer(copy / "ledger.sqlite", clock=FixedClock()):
            pass
    assert folder_facts(copy) == before


@pytest.mark.parametrize("inside", ["no/such", "file"])
async def test_a_place_where_no_ledger_can_be_made_is_refused_by_name(
    tmp_path: Path, inside: str
) -> None:
    (tmp_path / "file").write_text("x")
    path = tmp_path / inside / "ledger.db"
    with pytest.raises(LedgerUnwritable) as refused:
        async with open_writer(path, clock=FixedClock()):
            pass
    assert refused.value.message.startswith(f"{path}: a ledger cannot be made there: ")
    assert names_in(tmp_path) == ["file"]


async def test_a_name_that_is_too_long_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        async with open_writer(tmp_path / ("x" * 300), clock=FixedClock()):
            pass
    assert names_in(tmp_path) == []


async def test_where_making_fails_halfway_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "codeai_engine.ledger.creation.CREATE_LEDGER", "CREATE TABLE events (x); NOT SQL;"
    )
    with pytest.raises(LedgerError, match="nothing was written"):
        async with open_writer(tmp_path / "ledger.db", clock=FixedClock()):
            pass
    assert names_in(tmp_path) == []


def test_a_damaged_page_is_an_error_or_unseen_and_never_a_crash(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", *(draft() for _ in range(200)), artifacts=[source()])
    whole = path.read_bytes()
    refused = []
    for page in range(len(whole) // 4_096):
        at = page * 4_096
        path.write_bytes(whole[:at] + b"\xff" * 4_096 + whole[at + 4_096 :])
        try:
            with open_ledger(path) as ledger:
                read_everything(ledger)
        except LedgerError as error:
            refused.append(error)
    assert len(refused) > 5
    assert all(error.message.startswith(f"{path}: ") for error in refused)


def test_a_file_cut_short_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", *(draft() for _ in range(200)))
    os.truncate(path, 20_000)
    with pytest.raises(LedgerError, match="cannot be read"), open_ledger(path) as ledger:
        ledger.rows(limit=1_000)
