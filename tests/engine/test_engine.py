"""The engine opens its ledger late, ends its session always, and never outlives its block."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from codeai_engine import open_engine, open_ledger
from codeai_engine.errors import SpecError
from tests.engine.runtime.doubles import FakeProvider, branch, fanout, item

if TYPE_CHECKING:
    from pathlib import Path

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


async def test_a_process_that_raises_in_the_middle_ends_with_its_own_code(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with anyio.fail_after(60):  # a thread that is still there would hold it for ever
        done = await anyio.run_process([sys.executable, "-c", RAISES, str(path)], check=False)
    assert done.returncode == 7
    assert reasons(path) == ["failed"]
