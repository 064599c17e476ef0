"""What an append costs end to end, as a ratio to SQLite's own limit in the same run.

Run by hand: `python -m tests.benchmarks.bench_append [REPEATS]`. The limit is `executemany` of rows
that are ready, at the same batch size, schema, triggers and upkeep, all durable; ours starts from
values and ends when every producer knows its commit (SPEED 1).
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import time
from collections import defaultdict
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.ambient import FixedClock, SystemClock, TimeOrderedIds
from codeai_engine.domain.call import AttemptCompleted, AttemptSending, AttemptStarted
from codeai_engine.domain.events import EventDraft
from codeai_engine.ledger.batch import prepare_batch
from codeai_engine.ledger.schema import CREATE_LEDGER, INSERT_EVENT, WRITER_PRAGMAS
from codeai_engine.ledger.transaction import keep_derived
from codeai_engine.ledger.writer import open_writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codeai_engine.domain.value import Payload
    from codeai_engine.ledger.writer import LedgerWriter

EVENTS = {1: 1_500, 10: 6_000, 100: 24_000, 1_000: 24_000}
DIGEST = "ab" * 32
MOMENT = "2026-01-01T00:00:00.000000+00:00"


def payload(place: int) -> Payload:
    """Return one of the three commonest payloads of an attempt, made and checked anew."""
    attempt_id, call_id = f"00000000-0000-7000-8000-{place // 3:012x}", f"call-{place // 30}"
    match place % 3:
        case 0:
            return AttemptStarted(
                attempt_id=attempt_id,
                call_id=call_id,
                task_id="task-1",
                attempt_index=1,
                started_at=MOMENT,
                provider="command",
                resolved_model_id="model-1",
                cause="first",
                session_id=attempt_id,
            )
        case 1:
            return AttemptSending(
                attempt_id=attempt_id,
                call_id=call_id,
                task_id="task-1",
                request_body_sha256=DIGEST,
            )
        case _:
            return AttemptCompleted(
                attempt_id=attempt_id,
                call_id=call_id,
                task_id="task-1",
                attempt_index=1,
                started_at=MOMENT,
                finished_at=MOMENT,
                latency_ms=12,
                provider="command",
                status="succeeded",
                usage={"input_tokens": None, "output_tokens": None, "source": "unknown"},
            )


def drafts(count: int, ids: TimeOrderedIds) -> Iterator[EventDraft]:
    """Make drafts one by one, as producers ask for them."""
    for place in range(count):
        value = payload(place)
        stream_id = f"00000000-0000-7000-8000-{place // 3:012x}"
        yield EventDraft(ids.new_id(), stream_id, value.KIND, "actor-1", value, None, "task-1")


def raw_rate(path: Path, size: int) -> tuple[float, float]:
    """Return events a second and the median commit in seconds of ready rows, `size` a commit."""
    groups = ready_rows(size)
    waits = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(CREATE_LEDGER)
        connection.executescript(WRITER_PRAGMAS)
        start = time.perf_counter()
        for rows in groups:
            begun = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT_EVENT, rows)
            keep_derived(connection, [(row[0], row[2], row[3]) for row in rows])
            connection.execute("COMMIT")
            waits.append(time.perf_counter() - begun)
        elapsed = time.perf_counter() - start
    return EVENTS[size] / elapsed, statistics.median(waits)


def ready_rows(size: int) -> list[list[tuple[Any, ...]]]:
    """Return the events as rows that are ready to be inserted, `size` a group."""
    events = list(drafts(EVENTS[size], TimeOrderedIds()))
    columns = prepare_batch(events, (), (), FixedClock()).columns
    rows = [(sequence, *values) for sequence, values in enumerate(columns, start=1)]
    return [rows[place : place + size] for place in range(0, len(rows), size)]


async def our_rate(path: Path, producers: int) -> tuple[float, float]:
    """Return events a second and the median wait of a producer, each awaiting its own commit."""
    waits: list[float] = []
    source = drafts(EVENTS[producers], TimeOrderedIds())
    async with open_writer(path, clock=SystemClock()) as writer:
        start = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(producers):
                tasks.start_soon(produce, writer, source, waits)
        elapsed = time.perf_counter() - start
    return EVENTS[producers] / elapsed, statistics.median(waits)


async def produce(writer: LedgerWriter, source: Iterator[EventDraft], waits: list[float]) -> None:
    """Append one event after another until there are no more."""
    for draft in source:
        begun = time.perf_counter()
        await writer.append([draft])
        waits.append(time.perf_counter() - begun)


def main(repeats: int = 3) -> None:
    """Measure interleaved, and print medians and ratios."""
    raw, ours = defaultdict(list), defaultdict(list)
    for _ in range(repeats):
        for size in EVENTS:
            with TemporaryDirectory(prefix="bench-append-") as folder:
                raw[size].append(raw_rate(Path(folder) / "raw.db", size))
                ours[size].append(anyio.run(partial(our_rate, Path(folder) / "ours.db", size)))
    print("producers  raw/s    ours/s   ratio  p50 raw ms  p50 ours ms  ratio")
    for size in EVENTS:
        limit, commit = (statistics.median(column) for column in zip(*raw[size], strict=True))
        rate, wait = (statistics.median(column) for column in zip(*ours[size], strict=True))
        times = f"{commit * 1e3:10.2f}  {wait * 1e3:11.2f}  {wait / commit:5.2f}"
        print(f"{size:9d}  {limit:7.0f}  {rate:7.0f}  {rate / limit:5.2f}  {times}")
    one_by_one = statistics.median(rate for rate, _ in ours[1])
    together = statistics.median(rate for rate, _ in ours[100])
    print(f"100 producers against one: {together / one_by_one:.1f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
