from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from codeai_engine.rules.lineage import event_lineage, peer_event_lineage
from tests.builders import event_row
from tests.strategies import json_values


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({}, set()),
        ({"call_id": "call-B"}, {"call-B"}),
        ({"source_call_id": "call-B"}, {"call-B"}),
        ({"claim_id": "cl"}, {"cl"}),
        ({"source_artifact_id": "art"}, {"art"}),
        ({"artifact_id": "art"}, {"art"}),
        ({"claim_ids": ["cl-1", "cl-2"]}, {"cl-1", "cl-2"}),
        ({"lineage_ids": ["call-B", "art"]}, {"call-B", "art"}),
        ({"call_id": "call-B", "claim_ids": ["cl"]}, {"call-B", "cl"}),
    ],
)
def test_an_event_comes_from_itself_and_what_its_payload_refers_to(
    payload: dict[str, Any], found: set[str]
) -> None:
    row = event_row(payload=payload)
    assert event_lineage(row) == {"event-1"} | found
    assert peer_event_lineage(row) == {"event-1"} | found


def test_a_completed_call_comes_from_its_stream_too() -> None:
    completed = event_row("call.completed", {}, stream_id="call-B")
    requested = event_row("call.requested", {}, stream_id="call-B")
    assert event_lineage(completed) == {"event-1", "call-B"}
    assert event_lineage(requested) == {"event-1"}


@pytest.mark.parametrize(
    "payload",
    [
        {"raw_artifact": {"artifact_id": "art", "byte_length": 3}},
        {"observations": [{"response_body_artifact": {"artifact_id": "art"}}]},
        {"context": {"artifact_ids": ["art"]}},
        {"basis": [{"base_artifact_ids": ["art"]}]},
        {"request": {"source_artifact_id": "art"}},
    ],
)
def test_an_artifact_reference_counts_at_any_depth(payload: dict[str, Any]) -> None:
    row = event_row(payload=payload)
    assert event_lineage(row) == {"event-1", "art"}
    assert peer_event_lineage(row) == {"event-1"}  # the peer looks at the top only


@pytest.mark.parametrize("payload", [{"call_id": 7}, {"claim_ids": "cl"}, {"lineage_ids": [None]}])
def test_a_reference_that_is_not_text_adds_nothing(payload: dict[str, Any]) -> None:
    assert event_lineage(event_row(payload=payload)) == {"event-1"}


def test_a_number_of_any_length_hides_no_reference() -> None:
    row = event_row(payload='{"call_id":"call-B","n":' + "9" * 5000 + "}")
    assert event_lineage(row) == {"event-1", "call-B"}


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"a":' * 9000, '{"a":"\\ud8'])
def test_an_event_that_cannot_be_read_came_at_least_from_its_stream(text: str) -> None:
    assert event_lineage(event_row(payload=text, stream_id="call-B")) == {"event-1", "call-B"}


def test_a_stored_lone_surrogate_and_nan_are_read() -> None:
    row = event_row(payload='{"call_id":"call-B","n":NaN,"t":"\\ud800"}')
    assert event_lineage(row) == {"event-1", "call-B"}


@given(json_values)
def test_ours_is_never_less_than_the_peers(value: object) -> None:
    row = event_row(payload={"call_id": "call-B", "detail": value})
    assert {"event-1", "call-B"} == peer_event_lineage(row) <= event_lineage(row)
