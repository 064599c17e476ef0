"""Lists: pages in both directions, and a cost that does not grow with the ledger."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeai_engine.ledger.reader import open_ledger
from tests.engine.ledger.ledgers import draft, make, read_everything, tamper
from tests.peers import needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.reader import LedgerReader

KINDS = ("attempt.started", "attempt.sending", "attempt", "attempts.x", "call.requested", "fanout")
FILTERS = (None, "attempt.*", "call.requested", "attempt", "none.*", "none")


@pytest.fixture(scope="module", params=["ours", "without counts"])
def ledger(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LedgerReader]:
    path = tmp_path_factory.mktemp("pages") / "ledger.db"
    drafts = [
        draft(kind=KINDS[n * n % 11 % len(KINDS)], stream_id=f"s{n * 7 % 4}") for n in range(60)
    ]
    make(path, *drafts)
    if request.param != "ours":
        tamper(path, "DROP TABLE kind_counts")
    with open_ledger(path) as reader:
        yield reader


def shown(ledger: LedgerReader, kind: str | None, stream_id: str | None) -> list[int]:
    """Return the sequences that a filter lets through, the slow way."""

    def fits(row: EventRow) -> bool:
        if stream_id is not None and row.stream_id != stream_id:
            return False
        if kind is None:
            return True
        return row.kind.startswith(kind[:-1]) if kind.endswith(".*") else row.kind == kind

    return [row.sequence for row in ledger.rows() if fits(row)]


@settings(deadline=None)
@given(
    kind=st.sampled_from(FILTERS),
    stream_id=st.sampled_from((None, "s0", "s3", "none")),
    limit=st.integers(1, 70),
    at=st.integers(0, 62),
)
def test_a_page_is_the_part_of_the_list_that_was_asked_for(
    ledger: LedgerReader, kind: str | None, stream_id: str | None, limit: int, at: int
) -> None:
    every = shown(ledger, kind, stream_id)
    later = [sequence for sequence in every if sequence > at]
    earlier = [sequence for sequence in every if sequence < at]
    cases: tuple[tuple[dict[str, int], list[int]], ...] = (
        ({"after": at}, later[:limit]),
        ({"before": at}, earlier[-limit:]),
        ({}, every[-limit:]),
    )
    for place, expected in cases:
        page = ledger.summaries(kind=kind, stream_id=stream_id, limit=limit, **place)
        found = [item.sequence for item in page.items]
        assert found == expected
        if found:
            assert page.next_cursor == (found[-1] if found[-1] != every[-1] else None)
            assert page.previous_cursor == (found[0] if found[0] != every[0] else None)


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("stream_id", [None, "s1"])
def test_following_the_cursors_shows_every_event_once(
    ledger: LedgerReader, kind: str | None, stream_id: str | None
) -> None:
    every = shown(ledger, kind, stream_id)
    forward: list[int] = []
    after: int | None = 0
    while after is not None:
        page = ledger.summaries(after=after, limit=7, kind=kind, stream_id=stream_id)
        forward += [item.sequence for item in page.items]
        after = page.next_cursor
    assert forward == every
    page = ledger.summaries(limit=7, kind=kind, stream_id=stream_id)
    backward = [item.sequence for item in page.items]
    while page.previous_cursor is not None:
        page = ledger.summaries(
            before=page.previous_cursor, limit=7, kind=kind, stream_id=stream_id
        )
        backward = [*(item.sequence for item in page.items), *backward]
    assert backward == every


def test_past_either_end_the_cursor_leads_back(ledger: LedgerReader) -> None:
    beyond, ahead = ledger.summaries(after=60), ledger.summaries(before=1)
    assert (beyond.items, beyond.next_cursor, beyond.previous_cursor) == ((), None, 61)
    assert (ahead.items, ahead.next_cursor, ahead.previous_cursor) == ((), 0, None)


def test_a_page_has_one_beginning_and_a_sensible_size(ledger: LedgerReader) -> None:
    with pytest.raises(ValueError, match="not both"):
        ledger.summaries(after=1, before=9)
    for limit in (0, -1, 10_001):
        with pytest.raises(ValueError, match="is not within 1 and 10000"):
            ledger.summaries(limit=limit)


def test_the_head_of_a_payload_is_cut_by_characters_and_not_by_a_nul(tmp_path: Path) -> None:
    texts = ["x" * 5_000, "é" * 5_000, "a\x00b", "\x00" * 300]
    path = make(tmp_path / "ledger.db", *(draft() for _ in texts))
    raw = ["😀" * 300, "ab\x00" + "ü" * 400, "\x00" * 300, "short"]
    for sequence, text in enumerate(raw, start=1):
        content = text.encode().hex()
        tamper(
            path,
            f"UPDATE events SET payload_json = CAST(x'{content}' AS TEXT)"  # noqa: S608 - constants
            f" WHERE sequence = {sequence}",
        )
    with open_ledger(path) as ledger:
        items = ledger.summaries().items
        assert [row.payload_json for row in ledger.rows()] == raw
    assert [item.payload_head for item in items] == [text[:256] for text in raw]
    assert [item.payload_bytes for item in items] == [len(text.encode()) for text in raw]


LISTS: tuple[Callable[[LedgerReader], object], ...] = (
    lambda ledger: ledger.summaries(limit=50),
    lambda ledger: ledger.summaries(after=1_000, limit=50),
    lambda ledger: ledger.summaries(before=1_000, limit=50),
    lambda ledger: ledger.summaries(kind="attempt.started", limit=50),
    lambda ledger: ledger.summaries(stream_id="s1", limit=50),
    lambda ledger: ledger.rows(after=1_000, limit=50),
    lambda ledger: ledger.of_kind("fanout.requested", limit=50, newest_first=True),
    lambda ledger: ledger.of_kind("call.requested", after=1_000, limit=50),
    lambda ledger: ledger.event(1_000),
    lambda ledger: ledger.last_sequence(),
    lambda ledger: ledger.info(),
    lambda ledger: ledger.kind_counts(),
)


@pytest.fixture(scope="module")
def long_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "ledger.db"
    kinds = ("attempt.started", "attempt.completed", "call.requested", "fanout.requested")
    drafts = [draft(kind=kinds[n % 4], stream_id=f"s{n % 9}") for n in range(4_000)]
    return make(path, *drafts)


@pytest.mark.parametrize("place", range(len(LISTS)))
def test_a_list_fetches_its_page_and_no_more(long_ledger: Path, place: int) -> None:
    with open_ledger(long_ledger) as ledger:
        LISTS[place](ledger)
        assert ledger.rows_read <= 52


def test_a_list_of_a_family_of_kinds_fetches_a_page_of_each(long_ledger: Path) -> None:
    with open_ledger(long_ledger) as ledger:
        ledger.summaries(kind="attempt.*", limit=50)
        assert ledger.rows_read <= 2 + 2 * 51 + 51


def plans(ledger: LedgerReader, ask: Callable[[LedgerReader], object]) -> dict[str, list[str]]:
    """Return every query that a question puts, with its plan."""
    connection = ledger._source.connection
    queries: list[str] = []
    connection.set_trace_callback(queries.append)
    ask(ledger)
    connection.set_trace_callback(None)
    return {
        sql: [step[3] for step in connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()]
        for sql in queries
        if not sql.startswith("PRAGMA")
    }


def whole_reads(found: dict[str, list[str]]) -> dict[str, list[str]]:
    pattern = re.compile("SCAN (events|started|artifacts|artifact_bytes)")
    bad = {sql: [step for step in steps if pattern.search(step)] for sql, steps in found.items()}
    return {sql: steps for sql, steps in bad.items() if steps}


def ask_everything(ledger: LedgerReader) -> None:
    read_everything(ledger)
    for kind in (None, "attempt.started", "attempt.*"):
        for stream_id in (None, "s1"):
            ledger.summaries(kind=kind, stream_id=stream_id, after=10)
            ledger.summaries(kind=kind, stream_id=stream_id, before=10)
    ledger.of_kind("fanout.requested", limit=5, newest_first=True)
    ledger.artifact("f" * 64)
    ledger.artifact_bytes("f" * 64)
    ledger.event(1)


def test_no_question_reads_the_events_or_an_index_as_a_whole(long_ledger: Path) -> None:
    with open_ledger(long_ledger) as ledger:
        found = plans(ledger, ask_everything)
    assert len(found) > 20
    assert whole_reads(found) == {}


def test_no_list_sorts_what_it_reads(long_ledger: Path) -> None:
    with open_ledger(long_ledger) as ledger:
        for ask in LISTS:
            steps = [step for plan in plans(ledger, ask).values() for step in plan]
            assert not [step for step in steps if "TEMP B-TREE" in step]


@needs_peer_ledgers
@pytest.mark.parametrize("name", ["big_500", "v0_legacy", "wal_live"])
def test_of_a_ledger_of_the_peer_only_counting_reads_an_index_as_a_whole(name: str) -> None:
    # The peer keeps no counts. By kind they come from the index by kind; how many events there are
    # in all is counted up to a million, and taken from the sequences beyond that.
    with open_ledger(peer_ledger(name)) as ledger:
        whole = whole_reads(plans(ledger, ask_everything))
    assert {re.sub(r"\s+", " ", sql).strip() for sql in whole} == {
        "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind",
        "SELECT first, last, CASE WHEN last - first < 1000000 THEN (SELECT count(*) FROM events)"
        " END FROM (SELECT (SELECT min(sequence) FROM events) AS first,"
        " (SELECT max(sequence) FROM events) AS last)",
    }
    assert all("USING COVERING INDEX" in step for steps in whole.values() for step in steps)
