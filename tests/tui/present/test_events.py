"""Events: list, filter, one of them whole."""

from __future__ import annotations

import pytest

from codeai_engine import EventRow, EventSummary
from codeai_tui.present.events import (
    EventFilter,
    FilterError,
    event_lines,
    event_rows,
    filter_line,
    filter_problem,
    nothing_matches,
    parse_filter,
)
from codeai_tui.present.line import plain
from codeai_tui.present.table import row_text

EVENT = EventRow(
    8301,
    "event-1",
    "call-C7",
    "attempt.started",
    "reviewer_C",
    '{"attempt_index":1}',
    "2026-01-02T10:02:11.123456+00:00",
    None,
    "task-1",
)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", EventFilter()),
        ("kind:attempt.*", EventFilter("attempt.*")),
        ("stream:call-C7 kind:call.completed", EventFilter("call.completed", "call-C7")),
        ("stream:a:b", EventFilter(None, "a:b")),
    ],
)
def test_a_filter_is_read(text: str, chosen: EventFilter) -> None:
    assert parse_filter(text) == chosen
    assert parse_filter(chosen.text()) == chosen
    assert filter_problem(text) == ""


@pytest.mark.parametrize("text", ["attempt", "kind:", "verdict:PASS", "kind=x"])
def test_a_filter_that_cannot_be_read_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(text)
    assert repr(text) in filter_problem(text)
    assert "kind:NAME" in filter_problem(text)


def test_a_row_has_sequence_time_kind_stream_and_actor() -> None:
    summary = EventSummary(
        8301, "e", "call-C7", "attempt.started", "reviewer_C", EVENT.created_at, None, None, "{}", 2
    )
    said = row_text(event_rows((summary,))[0])
    for part in ("8,301", "10:02:11.123", "attempt.started", "call-C7", "reviewer_C"):
        assert part in said


def test_chips_say_what_is_filtered_and_how_many_match() -> None:
    said = plain(filter_line(EventFilter("attempt.*", "call-C7"), 812))
    assert said == "[kind:attempt.*] [stream:call-C7] 812 loaded that match"


def test_an_empty_list_says_what_was_looked_for_and_what_to_do() -> None:
    assert "kind:x" in plain(nothing_matches(EventFilter("x"))[0])
    assert plain(nothing_matches(EventFilter())[0]) == "No event in this ledger."


def test_one_event_has_all_its_columns_and_its_payload() -> None:
    said = "\n".join(plain(entry) for entry in event_lines(EVENT))
    for part in ("8,301", "event-1", "task-1", "cause       -", "attempt_index: 1"):
        assert part in said
