"""Opening to read: in place, live or a copy, and never a change of what is read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.errors import LedgerBusy, LedgerError, NotALedger
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.writer import open_writer
from tests.engine.ledger.ledgers import (
    ROOT,
    draft,
    environment,
    folder_facts,
    make,
    names_in,
    read_everything,
    run_child,
    source,
    write,
)
from tests.peers import PEER_LEDGERS, PEER_NAMES, expected_facts, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from pathlib import Path


# Puts a journal of an interrupted transaction beside a ledger that uses no WAL.
INTERRUPTED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = DELETE")
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
for number in range(100):
    connection.execute(
        "INSERT INTO events (event_id, stream_id, kind, actor_id, payload_json, created_at)"
        " VALUES (?, 's', 'k', 'a', ?, 't')", (f"lost-{number}", "x" * 9000))
os.kill(os.getpid(), signal.SIGKILL)
"""
READ_ONLY = """
import sys
from pathlib import Path
import anyio
from codeai_engine.ambient import SystemClock
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.writer import open_writer

path = Path(sys.argv[1])
try:
    (path.parent / "probe").touch()
except OSError:
    print("the folder is read-only")
with open_ledger(path) as ledger:
    print(ledger.mode, ledger.last_sequence())

async def write(path):
    try:
        async with open_writer(path, clock=SystemClock()):
            print("opened for writing")
    except LedgerError as error:
        print(error.code)

anyio.run(write, path)
anyio.run(write, path.with_name("new.db"))
"""


def copy_with_wal(path: Path, folder: Path, *suffixes: str) -> Path:
    """Copy a ledger whose writer has it open, with the side files that are named."""
    folder.mkdir()
    for suffix in ("", *suffixes):
        shutil.copy(f"{path}{suffix}", folder / f"left.db{suffix}")
    return folder / "left.db"


@needs_peer_ledgers
@pytest.mark.parametrize("name", PEER_NAMES)
def test_reading_a_ledger_of_the_peer_changes_nothing(name: str) -> None:
    path = peer_ledger(name)
    before = folder_facts(PEER_LEDGERS)
    with open_ledger(path) as ledger:
        assert ledger.mode == ("SNAP" if name == "wal_live" else "RO")
        assert ledger.origin == "peer"
        assert read_everything(ledger) == expected_facts(name)["event_count"]
        assert folder_facts(PEER_LEDGERS) == before
    assert folder_facts(PEER_LEDGERS) == before


@pytest.mark.parametrize("snapshot", [False, True])
def test_reading_a_ledger_of_ours_at_rest_changes_nothing(
    tmp_path: Path, *, snapshot: bool
) -> None:
    path = make(tmp_path / "ledger.db", draft(), draft(), artifacts=[source()])
    before = folder_facts(tmp_path)
    with open_ledger(path, snapshot=snapshot) as ledger:
        assert ledger.mode == ("SNAP" if snapshot else "RO")
        assert ledger.origin == "ours"
        assert read_everything(ledger) == 2
        assert folder_facts(tmp_path) == before
    assert folder_facts(tmp_path) == before


@needs_peer_ledgers
def test_events_that_are_only_in_a_wal_are_shown() -> None:
    path, facts = peer_ledger("wal_live"), expected_facts("wal_live")
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as connection:
        (merged,) = connection.execute("SELECT count(*) FROM events").fetchone()
    with open_ledger(path) as ledger:
        assert len(ledger.rows()) == facts["event_count"] > merged
        assert ledger.info().notes[-1].startswith("a private copy: its -wal is not merged")


@pytest.mark.parametrize("suffixes", [("-wal",), ("-wal", "-shm")])
async def test_what_a_killed_writer_left_is_read_whole(
    tmp_path: Path, suffixes: tuple[str, ...]
) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        left = copy_with_wal(path, tmp_path / "left", *suffixes)
    before = folder_facts(left.parent)
    with open_ledger(left) as ledger:
        assert ledger.mode == ("SNAP" if len(suffixes) == 1 else "LIVE")
        assert read_everything(ledger) == 1
    after = folder_facts(left.parent)
    # Read live, SQLite keeps its marks in -shm; nothing else moves.
    shm = f"{left}-shm"
    assert {name: found for name, found in after.items() if name != shm} == {
        name: found for name, found in before.items() if name != shm
    }


async def test_a_reader_at_rest_follows_a_writer_that_begins(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await write(path, draft())
    with open_ledger(path) as ledger:
        assert (ledger.mode, ledger.last_sequence()) == ("RO", 1)
        assert not ledger.has_changed()
        async with open_writer(path, clock=FixedClock()) as writer:
            await writer.append([draft()])
            assert (ledger.last_sequence(), ledger.mode) == (2, "LIVE")
            assert [ledger.has_changed(), ledger.has_changed()] == [True, False]
            await writer.append([draft()])
            assert [ledger.has_changed(), ledger.has_changed()] == [True, False]
            assert len(ledger.rows()) == 3
        assert ledger.last_sequence() == 3
    await write(path, draft())
    with open_ledger(path) as ledger:
        assert (ledger.mode, ledger.last_sequence()) == ("RO", 4)
    assert names_in(tmp_path) == ["ledger.db"]


async def test_a_reader_at_rest_sees_what_was_written_between_two_questions(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    await write(path, draft())
    with open_ledger(path) as ledger:
        assert ledger.last_sequence() == 1
        await write(path, draft())
        assert ledger.has_changed()
        assert not ledger.has_changed()
        await write(path, draft())
        assert (ledger.mode, ledger.last_sequence()) == ("RO", 3)
        assert ledger.has_changed()


async def test_a_snapshot_stays_as_it_was_taken(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        with open_ledger(path, snapshot=True) as ledger:
            await writer.append([draft()])
            assert not ledger.has_changed()
            assert (ledger.mode, ledger.last_sequence()) == ("SNAP", 1)
            assert ledger.info().notes == ("a private copy, as asked",)


async def test_a_copy_that_the_mode_demanded_is_taken_anew_to_follow(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        left = copy_with_wal(path, tmp_path / "left", "-wal")
        with open_ledger(left) as ledger:
            assert not ledger.has_changed()
            await writer.append([draft()])
            shutil.copy(f"{path}-wal", f"{left}-wal")
            assert ledger.last_sequence() == 1
            assert ledger.has_changed()
            assert (ledger.mode, ledger.last_sequence()) == ("SNAP", 2)
            assert not ledger.has_changed()


def test_an_answer_that_was_read_while_the_file_moved_is_thrown_away(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", draft())
    asked: list[sqlite3.Connection] = []

    def move_once(connection: sqlite3.Connection) -> int:
        asked.append(connection)
        if len(asked) == 1:
            make(path, draft())
        return int(connection.execute("SELECT max(sequence) FROM events").fetchone()[0])

    with open_ledger(path) as ledger:
        assert ledger._ask(move_once) == 2
    assert len(asked) == 2
    assert asked[0] is not asked[1]


def test_a_file_that_never_rests_is_busy_and_not_read_by_halves(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", draft())
    times = iter(range(1, 10**6))

    def move(_: sqlite3.Connection) -> int:
        os.utime(path, ns=(next(times), next(times)))
        return 1

    with (
        open_ledger(path) as ledger,
        pytest.raises(LedgerBusy, match="each of 10 attempts to read"),
    ):
        ledger._ask(move)


def test_a_file_that_moves_during_every_copy_is_busy(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", draft())
    stopped = Event()

    def move() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            os.utime(path, ns=(number, number))

    thread = Thread(target=move)
    thread.start()
    try:
        with pytest.raises(LedgerBusy, match="each of 10 attempts to copy"):
            open_ledger(path, snapshot=True)
    finally:
        stopped.set()
        thread.join()


def test_another_file_under_the_same_name_is_what_is_read_next(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", draft())
    other = make(tmp_path / "other.db", draft(), draft())
    with open_ledger(path) as ledger:
        assert ledger.last_sequence() == 1
        other.replace(path)
        assert ledger.last_sequence() == 2
        path.unlink()
        with pytest.raises(NotALedger, match="there is no such file"):
            ledger.last_sequence()


def test_an_interrupted_transaction_without_wal_is_rolled_back_in_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "CREATE TABLE events (sequence INTEGER PRIMARY KEY, event_id, stream_id, kind,"
            " actor_id, payload_json, created_at, causation_id, correlation_id)"
        )
        connection.execute("INSERT INTO events VALUES (1, 'e', 's', 'k', 'a', '{}', 't', '', '')")
    run_child(INTERRUPTED, str(path))
    before = folder_facts(tmp_path)
    assert names_in(tmp_path) == ["ledger.db", "ledger.db-journal"]
    with open_ledger(path) as ledger:
        assert ledger.mode == "SNAP"
        assert [row.event_id for row in ledger.rows()] == ["e"]
    assert folder_facts(tmp_path) == before


def test_closing_removes_the_private_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "ledger.db", draft())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with open_ledger(path, snapshot=True) as ledger:
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert ledger.last_sequence() == 1
    assert names_in(scratch) == []
    text = tmp_path / "text.db"
    text.write_text("not a ledger, but long enough to be looked at by SQLite" * 20)
    with pytest.raises(NotALedger):
        open_ledger(text, snapshot=True)
    assert names_in(scratch) == []


def test_a_copy_that_cannot_be_made_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "ledger.db", draft())
    monkeypatch.setattr(sys, "executable", str(shutil.which("false")))
    with pytest.raises(LedgerError, match=r"ledger\.db: cannot be copied: no reason given"):
        open_ledger(path, snapshot=True)


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    make(real / "ledger.db", draft())
    link = tmp_path / "link.db"
    link.symlink_to(real / "ledger.db")
    before = folder_facts(tmp_path)
    for snapshot in (False, True):
        with open_ledger(link, snapshot=snapshot) as ledger:
            assert ledger.last_sequence() == 1
            assert (ledger.path, ledger.info().name) == (link, "link.db")
    assert folder_facts(tmp_path) == before


async def test_a_live_ledger_behind_a_link_is_read_with_its_wal(tmp_path: Path) -> None:
    path = tmp_path / "real.db"
    link = tmp_path / "link.db"
    link.symlink_to(path)
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        with open_ledger(link) as ledger:
            assert (ledger.mode, ledger.last_sequence()) == ("LIVE", 1)


def run_in_read_only(folder: Path, script: str, argument: str) -> list[str]:
    """Run a script where a folder is read-only: for root, whom no permission binds, by a mount."""
    command = [sys.executable, "-c", script, argument]
    if os.geteuid() == 0:
        mount = (
            f'mount --bind "{folder}" "{folder}" && mount -o remount,bind,ro "{folder}"'
            ' && exec "$@"'
        )
        unshare = ["unshare", "--mount", "sh", "-c", mount, "sh"]
        if (
            not shutil.which("unshare")
            or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode
        ):
            pytest.skip("as root, only a read-only mount binds, and none can be made here")
        command = [*unshare, *command]
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("suffixes", "mode"), [((), "RO"), (("-wal",), "SNAP"), (("-wal", "-shm"), "SNAP")]
)
async def test_a_ledger_in_a_read_only_folder_opens_and_nothing_in_it_is_hidden(
    tmp_path: Path, suffixes: tuple[str, ...], mode: str
) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft(), draft()])
        left = copy_with_wal(path, tmp_path / "left", *suffixes)
    if not suffixes:  # at rest, all of it is in the one file
        shutil.copy(path, left)
    for found in left.parent.iterdir():
        found.chmod(0o444)
    before = {name: facts[:2] for name, facts in folder_facts(left.parent).items()}
    said = run_in_read_only(left.parent, READ_ONLY, str(left))
    assert said == [
        "the folder is read-only",
        f"{mode} 2",
        "LEDGER_UNWRITABLE",
        "LEDGER_UNWRITABLE",
    ]
    assert {name: facts[:2] for name, facts in folder_facts(left.parent).items()} == before
