"""The one writer: groups, refusals that stay with their caller, and a clean end."""

from __future__ import annotations

import asyncio
import inspect
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiosqlite
import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeai_engine import ledger as package
from codeai_engine.ambient import FixedClock, FixedIds
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.reader import _OPEN_PEER, open_ledger
from codeai_engine.ledger.writer import Absent, _Waiting, open_writer
from tests.engine.ledger.ledgers import draft, make, names_in, source, write

if TYPE_CHECKING:
    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.writer import LedgerWriter


class UserError(Exception):
    """What a user's own code may raise inside the block."""


async def test_a_writer_that_closes_leaves_one_file(tmp_path: Path) -> None:
    await write(tmp_path / "ledger.db", draft(), artifacts=[source()])
    assert names_in(tmp_path) == ["ledger.db"]


async def test_opening_and_closing_without_an_append_changes_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await write(path, draft())
    before = path.read_bytes()
    async with open_writer(path, clock=FixedClock()):
        pass
    assert path.read_bytes() == before


async def test_an_append_is_durable_when_it_returns(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        rows = await writer.append([draft(), draft()])
        with open_ledger(path) as ledger:
            assert ledger.rows() == rows


async def test_what_waits_while_a_commit_runs_goes_into_one_group(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    groups: list[str] = []
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer._thread.run(
            lambda raw: raw.set_trace_callback(
                lambda sql: groups.append(sql) if sql == "COMMIT" else None
            )
        )
        async with anyio.create_task_group() as tasks:
            for _ in range(200):
                tasks.start_soon(writer.append, [draft()])
    assert 1 <= len(groups) <= 3


async def test_equal_bytes_are_stored_once_and_keep_their_first_type(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        first, second = source(artifact_type="source"), source(artifact_type="raw_model_output")
        await writer.append([draft(payload=first.reference())], [first])
        await writer.append([draft(payload=second.reference())], [second])
    with open_ledger(path) as ledger:
        (row,) = ledger.artifacts()
        payloads = [event.payload_json for event in ledger.rows()]
    assert row.artifact_type == "source"
    assert ['"artifact_type":"raw_model_output"' in text for text in payloads] == [False, True]


async def test_a_value_that_sqlite_cannot_hold_fails_its_caller_only(tmp_path: Path) -> None:
    async with open_writer(tmp_path / "ledger.db", clock=FixedClock()) as writer:
        await writer._thread.run(lambda raw: raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000))
        refused: list[LedgerError] = []

        async def append(text: str) -> None:
            try:
                await writer.append([draft(stream_id="x", payload={"text": text})])
            except LedgerError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for text in ("short", "y" * 20_000, "short"):
                tasks.start_soon(append, text)
        assert len(await writer.stream("x")) == 2
    assert [error.message for error in refused] == [
        "SQLite cannot hold a value of this append: string or blob too big"
    ]


async def test_after_the_block_the_writer_takes_no_more(tmp_path: Path) -> None:
    async with open_writer(tmp_path / "ledger.db", clock=FixedClock()) as writer:
        pass
    with pytest.raises(LedgerError, match=r"ledger\.db: the writer is closed"):
        await writer.append([draft()])


async def test_what_a_user_raises_in_the_block_comes_out_as_it_is(tmp_path: Path) -> None:
    raised = UserError("mine")

    async def use() -> None:
        async with open_writer(tmp_path / "ledger.db", clock=FixedClock()) as writer:
            await writer.append([draft()])
            raise raised

    with pytest.raises(UserError) as caught:
        await use()
    assert caught.value is raised
    assert names_in(tmp_path) == ["ledger.db"]


async def test_a_group_of_errors_in_the_block_stays_that_group(tmp_path: Path) -> None:
    async def fail() -> None:
        raise UserError

    async def use() -> None:
        async with (
            open_writer(tmp_path / "ledger.db", clock=FixedClock()),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(fail)
            tasks.start_soon(anyio.sleep_forever)

    with pytest.raises(ExceptionGroup) as caught:
        await use()
    assert [type(error) for error in caught.value.exceptions] == [UserError]


async def test_a_cancellation_of_the_block_goes_on_and_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with anyio.CancelScope() as scope:
        async with open_writer(path, clock=FixedClock()) as writer:
            await writer.append([draft()])
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert names_in(tmp_path) == ["ledger.db"]
    with open_ledger(path) as ledger:
        assert ledger.last_sequence() == 1


async def test_a_task_that_is_cancelled_by_hand_hears_of_it_after_its_commit(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"

    async def append(writer: LedgerWriter) -> tuple[EventRow, ...]:
        return await writer.append([draft()])

    async with open_writer(path, clock=FixedClock()) as writer:
        task = asyncio.ensure_future(append(writer))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with open_ledger(path) as ledger:
            assert ledger.last_sequence() == 1


async def test_a_defect_in_a_commit_leaves_nobody_waiting(tmp_path: Path) -> None:
    refused: list[str] = []

    async def use() -> None:
        async with open_writer(tmp_path / "ledger.db", clock=FixedClock()) as writer:
            no_batch: Any = "what only a defect would queue"
            writer._queue.append(_Waiting(no_batch))
            try:
                await writer.append([draft()])
            except LedgerError as error:
                refused.append(error.message)
            await anyio.sleep_forever()

    with pytest.raises(AttributeError):
        await use()
    assert refused == [f"{tmp_path / 'ledger.db'}: the writer is closed"]


def test_the_private_name_of_aiosqlite_is_there_and_used_once() -> None:
    assert inspect.iscoroutinefunction(aiosqlite.Connection._execute)
    assert list(inspect.signature(aiosqlite.Connection._execute).parameters)[:2] == ["self", "fn"]
    folder = Path(str(package.__path__[0]))
    uses = [
        (path.name, found)
        for path in sorted(folder.rglob("*.py"))
        for found in re.findall(r"\._execute\(|\._conn\b", path.read_text("utf-8"))
    ]
    assert uses == [("writer.py", "._execute(")]


async def test_a_symbolic_link_is_followed_also_to_a_file_that_is_not_there_yet(
    tmp_path: Path,
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(real / "ledger.db")
    await write(link, draft())
    await write(link, draft())
    assert link.is_symlink()
    assert names_in(real) == ["ledger.db"]
    assert names_in(tmp_path) == ["link.db", "real"]
    with open_ledger(real / "ledger.db") as ledger:
        assert ledger.last_sequence() == 2


async def test_a_name_with_odd_characters_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20e'f.db"
    await write(path, draft())
    assert names_in(tmp_path) == [path.name]
    with open_ledger(path) as ledger:
        assert ledger.last_sequence() == 1


async def rebuild(path: Path) -> list[str]:
    ids, artifact = FixedIds(7), source()
    async with open_writer(path, clock=FixedClock()) as writer:
        for place in range(20):
            event = draft(event_id=ids.new_id(), payload={"place": place})
            await writer.append([event, draft(event_id=ids.new_id())], [artifact])
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


async def test_with_a_fixed_clock_and_ids_a_ledger_is_rebuilt_row_for_row(tmp_path: Path) -> None:
    first, second = await rebuild(tmp_path / "1.db"), await rebuild(tmp_path / "2.db")
    assert first == second
    assert sum('INSERT INTO "events"' in line for line in first) == 40


KINDS = ("attempt.started", "attempt.observed", "attempt.interpreted", "attempt.completed", "note")


@settings(max_examples=30, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(KINDS)), max_size=4), max_size=8
    )
)
async def test_derived_tables_say_what_the_events_say(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path_factory.mktemp("derived") / "ledger.db"
    async with open_writer(path, clock=FixedClock()) as writer, anyio.create_task_group() as tasks:
        for batch in batches:
            events = [draft(stream_id=stream, kind=kind) for stream, kind in batch]
            tasks.start_soon(writer.append, events)
    with open_ledger(path) as ledger, closing(sqlite3.connect(path)) as connection:
        counted = connection.execute("SELECT kind, count(*) FROM events GROUP BY kind ORDER BY 1")
        assert list(ledger.kind_counts()) == counted.fetchall()
        assert list(ledger.open_attempts()) == connection.execute(_OPEN_PEER).fetchall()


async def test_a_refused_batch_leaves_no_trace_in_the_derived_tables(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    started = draft(stream_id="a", kind="attempt.started")
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append([draft(stream_id="x", kind="done")])
        with pytest.raises(LedgerError):
            await writer.append([started], absent=[Absent("x", "done")])
        with pytest.raises(LedgerError):
            await writer.append([started, started])
    with open_ledger(path) as ledger:
        assert ledger.kind_counts() == (("done", 1),)
        assert ledger.open_attempts() == ()


def test_a_ledger_can_be_made_without_a_running_loop(tmp_path: Path) -> None:
    with open_ledger(make(tmp_path / "ledger.db", draft())) as ledger:
        assert ledger.last_sequence() == 1
