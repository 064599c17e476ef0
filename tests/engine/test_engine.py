"""The engine opens its ledger late, ends its session always, and never outlives its block."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from codeai_engine import open_engine, open_ledger
from codeai_engine.errors import SpecError
from tests.engine.runtime.doubles import FakeProvider, branch, fanout, item

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.adapters.base import PreparedRequest, Wire

RAISES = """
import asyncio, sys
from codeai_engine import open_engine
from tests.engine.runtime.doubles import branch, fanout

async def main():
    async with open_engine(sys.argv[1]) as engine:
        await engine.run_fanout(fanout(branch("A")))
        raise SystemExit(7)

asyncio.run(main())
"""


def reasons(path: Path) -> list[str]:
    with open_ledger(path) as ledger:
        return [json.loads(row.payload_json)["reason"] for row in ledger.of_kind("session.ended")]


async def test_an_engine_that_runs_nothing_leaves_no_file(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "l.db"):
        pass
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - not awaited, a test


async def test_a_base_item_that_no_ledger_holds_is_refused_before_a_file_is_made(
    tmp_path: Path,
) -> None:
    missing = item("x", draft=None)
    async with open_engine(tmp_path / "l.db") as engine:
        with pytest.raises(SpecError, match="is not in the ledger"):
            await engine.run_fanout(fanout(branch("A"), base=(missing,)))
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - not awaited, a test


async def test_an_artifact_of_an_earlier_fanout_is_a_base_item_of_a_later_one(
    tmp_path: Path,
) -> None:
    base = item("The text.")
    later = FakeProvider()
    async with open_engine(tmp_path / "l.db") as engine:
        await engine.run_fanout(fanout(branch("A"), base=(base,)))
        again = item("The text.", draft=None)
        await engine.run_fanout(fanout(branch("B", later), base=(again,)))
    assert "The text." in later.seen[0]


async def test_events_and_claims_of_the_ledger_are_candidates(tmp_path: Path) -> None:
    from codeai_engine.runtime.request import BaseItem

    path = tmp_path / "l.db"
    provider = FakeProvider()
    async with open_engine(path) as engine:
        await engine.run_fanout(fanout(branch("A")))
        with open_ledger(path, snapshot=True) as ledger:
            (task,) = ledger.of_kind("task.created")
        event = BaseItem("event", task.event_id)
        await engine.run_fanout(fanout(branch("B", provider), base=(event,)))
    assert task.payload_json in provider.seen[0]


async def test_several_fanouts_at_once_share_one_session(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with open_engine(path) as engine, anyio.create_task_group() as group:
        for name in "ABCDE":
            group.start_soon(engine.run_fanout, fanout(branch(name)))
    with open_ledger(path) as ledger:
        assert dict(ledger.kind_counts())["session.started"] == 1
        assert dict(ledger.kind_counts())["fanout.completed"] == 5
    assert reasons(path) == ["done"]


async def test_what_leaves_the_block_is_the_callers_own_error(tmp_path: Path) -> None:
    path = tmp_path / "l.db"

    async def fail_after_a_fanout() -> None:
        async with open_engine(path) as engine:
            await engine.run_fanout(fanout(branch("A")))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_after_a_fanout()
    assert reasons(path) == ["failed"]


async def test_adapters_are_let_go_when_the_block_ends(tmp_path: Path) -> None:
    closed = []

    class Held(FakeProvider):
        async def aclose(self) -> None:
            closed.append(self)

    held = Held()
    async with open_engine(tmp_path / "l.db") as engine:
        await engine.run_fanout(fanout(branch("A", held), branch("B", held)))
        assert not closed
    assert closed == [held]


async def test_an_adapter_that_cannot_be_let_go_keeps_neither_record_nor_process(
    tmp_path: Path,
) -> None:
    class Stuck(FakeProvider):
        async def aclose(self) -> None:
            raise RuntimeError("cannot")

    path = tmp_path / "l.db"
    with anyio.fail_after(60):
        async with open_engine(path) as engine:
            await engine.run_fanout(fanout(branch("A", Stuck())))
    assert reasons(path) == ["done"]


@pytest.mark.parametrize("delay_s", [0.0, 0.001, 0.01, 0.05, 0.2])
async def test_a_tasks_own_cancel_at_any_moment_ends_in_records(
    tmp_path: Path, delay_s: float
) -> None:
    path = tmp_path / "l.db"

    async def never(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        await anyio.sleep_forever()
        return b""

    async def run() -> None:
        async with open_engine(path) as engine:
            await engine.run_fanout(fanout(branch("A", FakeProvider(never)), branch("B")))

    with anyio.fail_after(60), pytest.raises(TimeoutError):
        await asyncio.wait_for(run(), delay_s)
    if path.exists():
        with open_ledger(path) as ledger:
            counts = dict(ledger.kind_counts())
        assert counts.get("fanout.requested", 0) == counts.get("fanout.completed", 0)
        assert counts.get("session.started", 0) == counts.get("session.ended", 0)


async def test_a_stop_while_the_ledger_is_held_by_another_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with open_engine(path) as engine:
        await engine.run_fanout(fanout(branch("A")))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    async def run() -> None:
        async with open_engine(path) as engine:
            await engine.run_fanout(fanout(branch("B")))

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            holder.execute("ROLLBACK")
    finally:
        holder.close()
    assert set(reasons(path)) <= {"done", "interrupted"}


async def test_a_call_id_that_waits_for_its_turn_cannot_be_taken_by_another_fanout(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    started, go_on = anyio.Event(), anyio.Event()

    async def wait(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        started.set()
        await go_on.wait()
        return b"ok"

    async def first() -> None:
        async with open_engine(path) as engine:
            request = fanout(branch("A", FakeProvider(wait)), branch("B"), concurrency=1)
            outcome = await engine.run_fanout(request)
        assert outcome.statuses == ["succeeded", "succeeded"]

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await started.wait()
        async with open_engine(path) as other:
            with pytest.raises(SpecError, match="call-B"):
                await other.run_fanout(fanout(branch("Z"), branch("B")))
        go_on.set()


async def test_a_process_that_raises_in_the_middle_ends_with_its_own_code(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with anyio.fail_after(60):  # a thread that is still there would hold it for ever
        done = await anyio.run_process([sys.executable, "-c", RAISES, str(path)], check=False)
    assert done.returncode == 7
    assert reasons(path) == ["failed"]
