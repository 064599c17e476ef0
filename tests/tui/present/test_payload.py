"""Payloads are shown as they are stored, to the digit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.digests import canonical_json
from codeai_tui.present.line import plain
from codeai_tui.present.payload import (
    closed_at_first,
    node_text,
    parse_path,
    parse_payload,
    path_key,
    payload_rows,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def shown(text: str) -> list[str]:
    payload = parse_payload(text)
    return [plain(row.cells[0]) for row in payload_rows(payload, closed_at_first(payload))]


def test_an_integer_past_the_floats_keeps_every_digit() -> None:
    assert "order: 900719925474099267" in shown('{"order":900719925474099267}')[0]


def test_a_float_keeps_the_form_it_is_stored_in() -> None:
    assert ["1e400" in entry or "0.10" in entry for entry in shown("[1e400, 0.10]")] == [True, True]


def test_a_number_of_ten_thousand_digits_is_shown() -> None:
    payload = parse_payload("[" + "7" * 10_000 + "]")
    assert payload.problem is None
    assert node_text(payload, (0,)) == "7" * 10_000


def test_text_and_number_are_told_apart() -> None:
    assert [entry.split(": ")[1] for entry in shown('{"a":"1","b":1,"c":null,"d":"null"}')] == [
        '"1"',
        "1",
        "null",
        '"null"',
    ]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_word_that_strict_json_lacks_is_shown_with_the_problem(word: str) -> None:
    payload = parse_payload(f'{{"score":{word}}}')
    assert payload.parses
    assert payload.problem == f"{word} is not JSON"
    assert shown(f'{{"score":{word}}}')[0].endswith(f"score: {word}")


def test_a_key_that_occurs_twice_is_shown_twice_with_the_problem() -> None:
    payload = parse_payload('{"a":1,"a":2}')
    assert payload.problem == "the key 'a' occurs twice"
    assert len(payload_rows(payload, frozenset())) == 2


@pytest.mark.parametrize("text", ["", "{", '{"a":}', "not json", "[1,]"])
def test_a_text_that_does_not_parse_is_shown_as_it_is_with_the_problem(text: str) -> None:
    payload = parse_payload(text)
    assert not payload.parses
    assert (payload.problem or "").startswith("not JSON: ")
    assert "\n".join(shown(text)) == text
    assert node_text(payload, (3, 1)) == text


def test_nesting_without_end_is_a_problem_and_no_crash() -> None:
    payload = parse_payload("[" * 100_000)
    assert payload.problem == "nested too deeply to be read as JSON"


def test_nesting_of_hundreds_of_levels_is_shown() -> None:
    payload = parse_payload("[" * 400 + "1" + "]" * 400)
    assert len(payload_rows(payload, frozenset())) == 400


@given(JSON)
def test_the_whole_payload_is_copied_as_it_is_stored(value: object) -> None:
    stored = canonical_json(value)
    payload = parse_payload(stored)
    expected = value if isinstance(value, str) else stored
    assert node_text(payload, ()) == expected


@given(JSON)
def test_every_node_has_a_row_and_every_row_a_value(value: object) -> None:
    payload = parse_payload(json.dumps(value))
    rows = payload_rows(payload, frozenset())
    assert len({row.key for row in rows}) == len(rows)
    for row in rows:
        node_text(payload, parse_path(row.key))


def test_a_node_is_closed_at_first_when_it_is_large_and_opens_in_place() -> None:
    payload = parse_payload(json.dumps({"few": [1], "many": list(range(500))}))
    closed = closed_at_first(payload)
    assert closed == {(1,)}
    rows = payload_rows(payload, closed)
    assert [row.key for row in rows] == [path_key((0,)), path_key((0, 0)), path_key((1,))]
    assert "[500]" in plain(rows[-1].cells[0])
    assert len(payload_rows(payload, frozenset())) == 503


def test_a_node_of_thousands_of_children_shows_two_thousand_and_says_how_many_more() -> None:
    rows = payload_rows(parse_payload(json.dumps({"many": [0] * 5000})), frozenset())
    assert len(rows) == 2002
    assert "3,000 more" in plain(rows[-1].cells[0])


def test_no_control_character_of_a_payload_is_left() -> None:
    for entry in shown(json.dumps({"a\x1b[2J": "b\x9b\u202e\n"})):
        assert entry.isprintable()
