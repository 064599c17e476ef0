"""What a fan-out costs over the bare work: ratios inside one run, since machines are noisy.

Run by hand: `python -m tests.benchmarks.bench_fanout`. Instant and waiting adapters, against a
plain `gather` of the same work.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from codeai_engine import open_engine
from tests.engine.runtime.doubles import FakeProvider, branch, fanout

if TYPE_CHECKING:
    from codeai_engine.adapters.base import PreparedRequest, Wire

ROUNDS = 5
CASES = ((3, 0.0), (30, 0.0), (300, 0.0), (300, 1.0))
ANSWER = b"x" * 2048


def provider(wait_s: float) -> FakeProvider:
    async def behave(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        await anyio.sleep(wait_s)
        wire.sent()
        return ANSWER

    return FakeProvider(behave)


async def bare(count: int, wait_s: float) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(asyncio.sleep(wait_s) for _ in range(count)))
    return time.perf_counter() - began


async def sealed(count: int, wait_s: float) -> float:
    """Return the seconds of one fan-out on a new ledger, opening and closing not counted."""
    one = provider(wait_s)
    branches = [branch(str(number), one) for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(Path(folder) / "l.db") as engine:
            await engine.run_fanout(fanout(branch("first")))  # opens the file
            began = time.perf_counter()
            await engine.run_fanout(fanout(*branches, concurrency=count))
            return time.perf_counter() - began


async def main() -> None:
    print(f"{'branches':>8} {'wait':>5} {'bare':>10} {'fan-out':>10} {'ratio':>7} {'a branch':>10}")
    for count, wait_s in CASES:
        pairs = [(await bare(count, wait_s), await sealed(count, wait_s)) for _ in range(ROUNDS)]
        one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"{count:>8} {wait_s:>4.1f}s {one * 1e3:>8.2f}ms {other * 1e3:>8.2f}ms"
            f" {other / one:>7.2f} {(other - one) / count * 1e6:>8.0f}us"
        )


if __name__ == "__main__":
    anyio.run(main)
