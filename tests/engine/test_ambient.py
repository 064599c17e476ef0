"""The clock and the ids: what the ledger writes of them, and what fixed ones promise."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from threading import Thread
from uuid import RFC_4122, UUID

import pytest

from codeai_engine.ambient import (
    Clock,
    FixedClock,
    FixedIds,
    IdSource,
    SystemClock,
    TimeOrderedIds,
    timestamp,
)
from tests.engine.ledger.ledgers import run_child

WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000+00:00"),
        (datetime(2026, 1, 2, 3, 4, 5, 7, tzinfo=UTC), "2026-01-02T03:04:05.000007+00:00"),
        (
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            "2026-01-01T21:34:05.000000+00:00",
        ),
    ],
)
def test_a_time_is_written_in_utc_with_six_digits(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text
    assert datetime.fromisoformat(text) == moment


@pytest.mark.parametrize("clock", [SystemClock(), FixedClock()])
def test_a_clock_tells_utc_and_never_goes_back_in_its_monotonic_time(clock: Clock) -> None:
    first, second = clock.monotonic(), clock.monotonic()
    assert first <= second
    assert clock.now().utcoffset() == timedelta(0)
    assert WRITTEN.fullmatch(timestamp(clock.now()))


def test_a_fixed_clock_is_a_series_that_only_now_moves() -> None:
    clock = FixedClock(datetime(2030, 1, 1, tzinfo=UTC), timedelta(seconds=2))
    assert clock.monotonic() == clock.monotonic() == 0
    assert [timestamp(clock.now())[17:19] for _ in range(3)] == ["00", "02", "04"]
    assert clock.monotonic() == 6
    assert [FixedClock().now() for _ in range(2)] == [datetime(2026, 1, 1, tzinfo=UTC)] * 2


@pytest.mark.parametrize("ids", [TimeOrderedIds(), FixedIds(), FixedIds(2**62 - 1)])
def test_ids_are_uuids_of_version_seven_that_sort_as_they_were_made(ids: IdSource) -> None:
    made = [ids.new_id() for _ in range(5_000)]
    assert made == sorted(set(made))
    for text in (made[0], made[-1]):
        assert text == str(UUID(text))
        assert (UUID(text).version, UUID(text).variant) == (7, RFC_4122)


def test_an_id_begins_with_the_milliseconds_of_its_time() -> None:
    before = SystemClock().now() - timedelta(milliseconds=1)
    milliseconds = UUID(TimeOrderedIds().new_id()).int >> 80
    after = SystemClock().now() + timedelta(milliseconds=1)
    assert before <= datetime.fromtimestamp(milliseconds / 1000, UTC) <= after


def test_fixed_ids_repeat_and_two_series_share_none() -> None:
    first, again, other = FixedIds(1), FixedIds(1), FixedIds(2)
    made = [first.new_id() for _ in range(100)]
    assert made == [again.new_id() for _ in range(100)]
    assert set(made).isdisjoint(other.new_id() for _ in range(100))


def test_the_ids_of_several_processes_differ() -> None:
    script = (
        "import json\n"
        "from codeai_engine.ambient import TimeOrderedIds\n"
        "ids = TimeOrderedIds()\n"
        "print(json.dumps([ids.new_id() for _ in range(1000)]))"
    )
    outputs: list[list[str]] = []
    threads = [
        Thread(target=lambda: outputs.append(json.loads(run_child(script).stdout)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({made for output in outputs for made in output}) == 3_000
