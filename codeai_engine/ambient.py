"""The clock and the source of ids: protocols, the real ones, and fixed ones.

Both are injected, so that a ledger can be rebuilt byte for byte (DESIGN 3).
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    """Tells the time twice: for people, and for durations."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back; only differences mean anything."""
        ...


class IdSource(Protocol):
    """Makes ids that no other call has made."""

    def new_id(self) -> str:
        """Return a fresh id as text."""
        ...


def timestamp(moment: datetime) -> str:
    """Return a UTC moment as the ledger writes it: six digits of microseconds and `+00:00`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic clock, in seconds."""
        return time.monotonic()


class TimeOrderedIds:
    """UUIDv7 (RFC 9562): ordered by time, and within a millisecond by a counter.

    Ordered ids keep the unique index of a ledger cheap (SPEED section 1).
    """

    def __init__(self) -> None:
        self._last = 0

    def new_id(self) -> str:
        """Return the next UUIDv7 as text; later calls sort after earlier ones."""
        # 48 bits of milliseconds, then 12 bits of sub-millisecond time (RFC 9562, method 3).
        nanoseconds = time.time_ns()
        milliseconds, rest = divmod(nanoseconds, 1_000_000)
        stamp = (milliseconds << 12) | (rest * 4096 // 1_000_000)
        self._last = max(stamp, self._last + 1)
        tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
        value = (
            (self._last >> 12) << 80 | 0x7 << 76 | (self._last & 0xFFF) << 64 | 0b10 << 62 | tail
        )
        return str(UUID(int=value))


class FixedClock:
    """A clock for reproducible ledgers: each reading is one step after the last.

    Args:
        start: The first reading.
        step: What every further reading adds.
    """

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
        step: timedelta = timedelta(milliseconds=1),
    ) -> None:
        self._next = start
        self._start = start
        self._step = step

    def now(self) -> datetime:
        """Return the next moment of the series."""
        moment = self._next
        self._next = moment + self._step
        return moment

    def monotonic(self) -> float:
        """Return the seconds that the series has covered so far, without moving it."""
        return (self._next - self._start).total_seconds()


class FixedIds:
    """Ids for reproducible ledgers: UUIDv7 with a counter for time and a fixed tail.

    Args:
        series: Tells two sources apart, 0 to 2^62 - 1.
    """

    def __init__(self, series: int = 0) -> None:
        self._series = series
        self._count = 0

    def new_id(self) -> str:
        """Return the next id of the series."""
        self._count += 1
        value = self._count << 80 | 0x7 << 76 | 0b10 << 62 | self._series
        return str(UUID(int=value))
