"""Opening one event: what cannot be read stays visible."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.domain.call import CallStatusDecided
from codeai_engine.domain.events import UnknownPayload, UnreadPayload
from codeai_engine.domain.view import EventRow
from codeai_engine.rules.fold_event import SURROGATE_PROBLEM, open_event


def row(kind: str, text: str) -> EventRow:
    return EventRow(1, "e", "s", kind, "x", text, "", None, None)


def decided(reason_json: str) -> EventRow:
    return row("call.status_decided", '{"call_id":"c","reason":' + reason_json + "}")


def test_a_kind_that_is_not_known_keeps_its_text() -> None:
    opened = open_event(row("future.kind", '{"a":[1]}'))
    assert isinstance(opened.payload, UnknownPayload)
    assert (opened.payload.text, opened.problem) == ('{"a":[1]}', None)


@pytest.mark.parametrize(
    ("kind", "text", "word"),
    [
        ("note", '{"nan":NaN}', "NaN"),
        ("note", '{"inf":-Infinity}', "-Infinity"),
        ("attempt.completed", '{"attempt_id":"a","latency_ms":NaN}', "NaN"),
        ("call.status_decided", '{"call_id":"c","extra":[Infinity]}', "Infinity"),
    ],
)
def test_a_number_that_is_no_json_is_marked_and_the_rest_is_read(
    kind: str, text: str, word: str
) -> None:
    opened = open_event(row(kind, text))
    assert not isinstance(opened.payload, UnreadPayload)
    assert opened.problem == f"{word} is not a JSON number"


def test_a_word_in_a_text_is_not_a_number() -> None:
    assert open_event(row("note", '{"said":"NaN, Infinity"}')).problem is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"call_id":7}', '{"reason":"no call"}', "NaN"])
def test_a_payload_that_does_not_fit_keeps_its_text_and_says_where(text: str) -> None:
    opened = open_event(row("call.status_decided", text))
    assert isinstance(opened.payload, UnreadPayload)
    assert opened.payload.text == text
    assert opened.problem


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('"\\ud800"', "\\ud800"),
        ('"a\\udc00b"', "a\\udc00b"),
        ('"\\ud83d\\ude00 \\ud83d"', "\U0001f600 \\ud83d"),
        ('"\\\\ud800 \\udfff"', "\\ud800 \\udfff"),
        ('"\\ud800\\ud800"', "\\ud800\\ud800"),
    ],
)
def test_a_lone_surrogate_becomes_its_visible_escape(stored: str, shown: str) -> None:
    opened = open_event(decided(stored))
    assert isinstance(opened.payload, CallStatusDecided)
    assert opened.payload.reason == shown
    assert opened.problem == SURROGATE_PROBLEM


@given(text=st.text())
def test_any_text_without_a_lone_surrogate_is_read_as_it_is(text: str) -> None:
    opened = open_event(decided(json.dumps(text)))
    assert isinstance(opened.payload, CallStatusDecided)
    assert (opened.payload.reason, opened.problem) == (text, None)


@given(text=st.text(st.characters(codec=None)))
def test_any_text_with_surrogates_is_read_and_can_be_encoded(text: str) -> None:
    opened = open_event(decided(json.dumps(text)))
    assert isinstance(opened.payload, CallStatusDecided)
    assert opened.payload.reason is not None
    opened.payload.reason.encode()
