"""Several processes on one ledger, and processes that end badly. All of them are real."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.errors import LedgerBusy, LedgerError
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.writer import open_writer
from tests.engine.ledger.ledgers import (
    ROOT,
    draft,
    environment,
    make,
    names_in,
    run_child,
    source,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCKS = Path("/proc/locks")
APPENDER = """
import sys
from pathlib import Path
import anyio
from codeai_engine.ambient import SystemClock, TimeOrderedIds
from codeai_engine.domain.events import EventDraft
from codeai_engine.ledger.writer import open_writer

async def main(path, name, count):
    ids = TimeOrderedIds()
    async with open_writer(Path(path), clock=SystemClock()) as ledger:
        for place in range(int(count)):
            await ledger.stream(name)
            await ledger.append([EventDraft(ids.new_id(), name, "note", name, {"place": place})])
            if name == "kill":
                print(place, flush=True)

anyio.run(main, *sys.argv[1:])
"""
RAISER = """
import sys
from pathlib import Path
import anyio
from codeai_engine.ambient import SystemClock
from codeai_engine.domain.events import EventDraft
from codeai_engine.ledger.writer import open_writer

async def forever(ledger):
    for place in range(10**9):
        await ledger.append([EventDraft(f"e-{place}", "s", "note", "a", {})])

async def main(path):
    async with open_writer(Path(path), clock=SystemClock()) as ledger:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forever, ledger)
            await ledger.append([EventDraft("first", "s", "note", "a", {})])
            raise ZeroDivisionError("in the middle")

anyio.run(main, sys.argv[1])
"""
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
connection.close()
"""
EXCLUSIVE_HOLDER = HOLDER.replace(
    'connection.execute("BEGIN IMMEDIATE")',
    'connection.execute("PRAGMA locking_mode = EXCLUSIVE")\nconnection.execute("BEGIN EXCLUSIVE")',
)
# A limit on the size of files stands for a full disk: the next page cannot be written.
FULL = """
import resource, sys
from pathlib import Path
import anyio
from codeai_engine.ambient import SystemClock
from codeai_engine.domain.events import EventDraft
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.writer import open_writer

async def append(ledger, place):
    try:
        await ledger.append([EventDraft(f"e-{place}", "s", "note", "a", {"text": "x" * 90_000})])
    except LedgerError as error:
        print(f"{error.code}: {error}", flush=True)

async def main(path):
    async with open_writer(Path(path), clock=SystemClock()) as ledger:
        await ledger.append([EventDraft("first", "s", "note", "a", {})])
        if sys.argv[2] == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        async with anyio.create_task_group() as tasks:
            for place in range(5):
                tasks.start_soon(append, ledger, place)
        if sys.argv[2] == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            await ledger.append([EventDraft("last", "s", "note", "a", {})])

anyio.run(main, sys.argv[1])
"""


@contextmanager
def child(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script beside the test; whatever happens, it is ended and its pipes are closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def holder(pid: int) -> str:
    return f"process {pid} (" if LOCKS.exists() else "another process"


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_eight_processes_append_fifty_events_each_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"  # nobody has made it: they also race to do that
    names = [f"writer-{place}" for place in range(8)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(path), name, "50"],
            cwd=ROOT,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, errors
    with open_ledger(path) as ledger:
        rows = ledger.rows(limit=1_000)
        assert ledger.kind_counts() == (("note", 400),)
    assert [row.sequence for row in rows] == list(range(1, 401))
    places = {name: [r.payload_json for r in rows if r.stream_id == name] for name in names}
    assert all(found == [f'{{"place":{n}}}' for n in range(50)] for found in places.values())
    assert names_in(tmp_path) == ["ledger.db"]


async def test_two_writers_that_read_and_then_append_both_succeed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with (
        open_writer(path, clock=FixedClock()) as first,
        open_writer(path, clock=FixedClock()) as second,
    ):
        for writer in (first, second):
            assert await writer.stream("stream-1") == ()
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                for writer in (first, second):
                    tasks.start_soon(writer.append, [draft()])
        assert len(await first.stream("stream-1")) == len(await second.stream("stream-1")) == 40


def test_a_process_that_raises_in_the_middle_ends_with_its_failure(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    done = run_child(RAISER, str(path))
    assert done.returncode == 1
    assert "ZeroDivisionError: in the middle" in done.stderr
    assert names_in(tmp_path) == ["ledger.db"]
    with open_ledger(path) as ledger:
        assert ledger.event_by_id("first") is not None


def test_a_killed_writer_leaves_a_ledger_that_opens_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with child(APPENDER, str(path), "kill", "1000000") as process:
        while first_line(process) != "30":
            pass
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert (tmp_path / "ledger.db-wal").exists()
    with open_ledger(path, snapshot=True) as ledger:
        durable = ledger.last_sequence()
    assert durable >= 31
    anyio.run(write, path, draft())
    with open_ledger(path) as ledger:
        assert [row.sequence for row in ledger.rows(limit=durable + 9)] == [*range(1, durable + 2)]
    assert names_in(tmp_path) == ["ledger.db"]


async def test_when_the_wait_runs_out_every_caller_hears_who_holds_the_ledger(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    await write(path, draft())
    errors: list[LedgerError] = []

    async with open_writer(path, clock=FixedClock(), busy_timeout_s=0.05) as writer:

        async def append() -> None:
            try:
                await writer.append([draft()])
            except LedgerBusy as error:
                errors.append(error)

        with child(HOLDER, str(path)) as process:
            assert await anyio.to_thread.run_sync(first_line, process) == "held"
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(append)
            assert len({id(error) for error in errors}) == 3
            who = holder(process.pid)
            assert all(who in error.message for error in errors)
            assert all("nothing was written" in error.message for error in errors)
        (row,) = await writer.append([draft()])
    assert row.sequence == 2


async def test_a_ledger_that_is_locked_at_opening_is_busy_for_writer_and_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    await write(path, draft())
    monkeypatch.setattr("codeai_engine.ledger.source._BUSY_SECONDS", 0.05)
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        left = tmp_path / "left.db"
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    with child(EXCLUSIVE_HOLDER, str(left)) as process:
        assert await anyio.to_thread.run_sync(first_line, process) == "held"
        with pytest.raises(LedgerBusy, match=r"left\.db: .* nothing was written"):
            await open_and_close(left)
        with pytest.raises(LedgerBusy, match=r"left\.db: locked by another process"):
            open_ledger(left)
    await open_and_close(left)
    with open_ledger(left) as ledger:
        assert ledger.last_sequence() == 2


async def open_and_close(path: Path) -> None:
    async with open_writer(path, clock=FixedClock(), busy_timeout_s=0.05):
        pass


def test_a_full_disk_is_an_error_and_the_ledger_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    done = run_child(FULL, str(path), "limit")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said
    assert all(line.startswith(f"LEDGER: {path}: nothing was written: ") for line in said)
    with open_ledger(path) as ledger:
        rows = ledger.rows()
    assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0].event_id == "first"
    assert rows[-1].event_id == "last"
    assert len(rows) == 2 + 5 - len(said)


def test_a_disk_that_is_full_is_called_that(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=400k tmpfs "{disk}" && exec "$0" -c "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, sys.executable]
    trial = ["import sys", "--"]
    try:
        if subprocess.run([*command, *trial], capture_output=True, check=False).returncode:
            pytest.skip("no permission to mount a small disk")
    except FileNotFoundError:
        pytest.skip("no unshare here to mount a small disk with")
    check = FULL.replace(
        "anyio.run(main, sys.argv[1])",
        "anyio.run(main, sys.argv[1])\n"
        "from codeai_engine.ledger.reader import open_ledger\n"
        "with open_ledger(sys.argv[1]) as ledger:\n"
        "    print([row.sequence for row in ledger.rows()])\n",
    )
    done = subprocess.run(
        [*command, check, str(disk / "ledger.db"), "disk"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *said, kept = done.stdout.splitlines()
    full = f"LEDGER: {disk / 'ledger.db'}: the disk is full; nothing was written"
    assert said
    assert set(said) == {full}
    assert kept == str(list(range(1, 7 - len(said))))


async def test_a_long_read_fails_no_append_and_the_wal_is_used_again_after_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    wal = tmp_path / "ledger.db-wal"

    async def append_many(count: int) -> int:
        for _ in range(count):
            await writer.append([draft(payload={"text": "x" * 500})], [source(b"x")])
        return wal.stat().st_size

    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft()])
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reading:
            cursor = reading.execute("SELECT * FROM events")
            cursor.fetchone()  # a read that goes on while the engine writes
            grown = await append_many(2_000)
            cursor.close()
        with open_ledger(path) as ledger:
            assert ledger.last_sequence() == 2_001
        assert await append_many(2_000) <= grown + 200_000
    assert names_in(tmp_path) == ["ledger.db"]


def test_a_snapshot_in_the_process_of_the_writer_keeps_the_locks_of_the_writer(
    tmp_path: Path,
) -> None:
    path = make(tmp_path / "ledger.db", draft())
    if not LOCKS.exists():
        pytest.skip("no list of locks on this system")

    def own_locks() -> int:
        inode = str(path.stat().st_ino)
        lines = LOCKS.read_text().splitlines()
        return sum(f" {os.getpid()} " in line and f":{inode} " in line for line in lines)

    async def use() -> tuple[int, int]:
        async with open_writer(path, clock=FixedClock()) as writer:
            await writer.append([draft()])
            before = own_locks()
            with open_ledger(path, snapshot=True) as ledger:
                assert ledger.last_sequence() == 2
            return before, own_locks()

    before, after = anyio.run(use)
    assert before == after > 0
