from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.digests import sha256_hex, text_digest
from codeai_engine.errors import RenderBindingError
from codeai_engine.rules.bind import (
    carried_text,
    compose_model_input,
    compose_selection_input,
    prompt_hash,
    refuse_unless_carried,
)
from codeai_engine.rules.render import rendered_item_bytes
from tests.builders import rendered
from tests.strategies import contents, texts

ITEM = rendered_item_bytes("claim", "c", b"text")


def test_the_prompt_hash_is_over_instruction_nul_and_prompt() -> None:
    assert prompt_hash("Review.", "Whät?") == sha256_hex("Review.\0Whät?".encode())
    assert prompt_hash("a", "b") != prompt_hash("a\0", "b") == prompt_hash("a", "\0b")


def test_a_prompt_with_a_lone_surrogate_still_has_a_hash() -> None:
    assert prompt_hash("", "\ud800") != prompt_hash("", "\ud801")


def test_the_parts_are_joined_by_two_line_feeds() -> None:
    composed = compose_model_input("Review.", rendered(ITEM), "What?")
    # A rendering ends with a line feed, so three of them precede the question.
    assert composed.text == f"Review.\n\n{ITEM.decode()}\n\nWhat?"
    assert composed.sha256 == text_digest(composed.text)
    assert [(part.part, part.start, part.end) for part in composed.layout] == [
        ("instruction", 0, 7),
        ("context", 9, 9 + len(ITEM)),
        ("query", 11 + len(ITEM), 16 + len(ITEM)),
    ]


@pytest.mark.parametrize(
    ("instruction", "content", "prompt", "text", "names"),
    [
        ("", b"", "", "", []),
        ("I", b"", "", "I", ["instruction"]),
        ("", b"C\n", "", "C\n", ["context"]),
        ("", b"", "Q", "Q", ["query"]),
        ("I", b"", "Q", "I\n\nQ", ["instruction", "query"]),
        ("", b"C\n", "Q", "C\n\n\nQ", ["context", "query"]),
        (" ", b"", "\n", " \n\n\n", ["instruction", "query"]),
    ],
)
def test_an_empty_part_is_left_out(
    instruction: str, content: bytes, prompt: str, text: str, names: list[str]
) -> None:
    composed = compose_model_input(instruction, rendered(content), prompt)
    assert composed.text == text
    assert [part.part for part in composed.layout] == names


def test_a_ruler_of_dashes_stays_one_query() -> None:
    # USER_REPORTS U08: one prompt, one digest over all of it.
    composed = compose_model_input("I", rendered(b""), "A\n---\nB")
    (_, query) = composed.layout
    assert query.sha256 == text_digest("A\n---\nB")
    assert compose_selection_input("I", "A\n---\nB").text == "I\n\nA\n---\nB"


def test_rendered_bytes_that_are_no_text_cannot_be_composed() -> None:
    with pytest.raises(UnicodeDecodeError):
        compose_model_input("I", rendered(b"\xff"), "Q")


@given(texts, contents, texts)
def test_the_layout_cuts_out_exactly_each_part(
    instruction: str, content: bytes, prompt: str
) -> None:
    composed = compose_model_input(instruction, rendered(content), prompt)
    whole = composed.text.encode()
    given_parts = {
        "instruction": instruction.encode(),
        "context": content,
        "query": prompt.encode(),
    }
    cut = {part.part: whole[part.start : part.end] for part in composed.layout}
    assert cut == {name: part for name, part in given_parts.items() if part}
    assert [part.sha256 for part in composed.layout] == [sha256_hex(cut[name]) for name in cut]
    assert composed.sha256 == sha256_hex(whole)
    assert whole == b"\n\n".join(cut.values())


@pytest.mark.parametrize(
    ("instruction", "prompt", "text"),
    [
        ("I", "Q", "I\n\nQ"),
        ("", "Q", "Q"),
        ("I", "", "I"),
        ("\n I", "Q \n", "I\n\nQ"),
        ("", "", ""),
    ],
)
def test_a_selection_record_is_instruction_and_prompt_stripped(
    instruction: str, prompt: str, text: str
) -> None:
    composed = compose_selection_input(instruction, prompt)
    assert (composed.text, composed.sha256, composed.layout) == (text, text_digest(text), ())


RFC_6901 = {
    "foo": ["bar", "baz"],
    "": "empty key",
    "a/b": "slash",
    "c%d": "percent",
    "e^f": "caret",
    'k"l': "quote",
    " ": "space",
    "m~n": "tilde",
    "~1": "escaped",
    "nested": {"": {"x": "deep"}},
    "number": 7,
}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/foo/0", "bar"),
        ("/foo/1", "baz"),
        ("/", "empty key"),
        ("/a~1b", "slash"),
        ("/c%d", "percent"),
        ("/e^f", "caret"),
        ('/k"l', "quote"),
        ("/ ", "space"),
        ("/m~0n", "tilde"),
        ("/~01", "escaped"),
        ("/nested//x", "deep"),
        ("", None),
        ("foo/0", None),
        ("/foo", None),
        ("/foo/2", None),
        ("/foo/-", None),
        ("/foo/-1", None),
        ("/foo/01", None),
        ("/foo/\u0661", None),
        ("/foo/" + "9" * 5000, None),
        ("/foo/0/x", None),
        ("/number", None),
        ("/absent", None),
        ("/m~n", None),
        ("/m~2n", None),
    ],
)
def test_a_pointer_is_read_as_rfc_6901_says(pointer: str, found: str | None) -> None:
    assert carried_text(RFC_6901, pointer) == found


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "messages": [{"role": "user", "content": "T"}]},
        {"model": "m", "input": "T"},
        {"argv": ["x"], "stdin": "T"},
    ],
)
def test_without_a_pointer_the_dialects_are_tried(body: dict[str, Any]) -> None:
    assert carried_text(body, None) == "T"


@pytest.mark.parametrize(
    "body", [{}, {"messages": []}, {"messages": [{"content": [1]}]}, {"x": "T"}]
)
def test_a_body_of_no_dialect_carries_no_text(body: dict[str, Any]) -> None:
    assert carried_text(body, None) is None


def test_a_body_that_carries_exactly_the_input_is_taken() -> None:
    composed = compose_model_input("I", rendered(ITEM), "Q")
    refuse_unless_carried({"stdin": composed.text}, "/stdin", composed)


@pytest.mark.parametrize(
    ("expected", "carried", "offset"),
    [
        ("abc", "ab", 2),
        ("abc", "abcd", 3),
        ("abc", "aXc", 1),
        ("abc", "", 0),
        ("é€x", "é€y", 5),
        ("é", "è", 1),  # their first bytes are equal
        ("abc", "abc ", 3),
        ("a\r\nb", "a\nb", 1),
        ("a\ud83d"[:1], "a\ud83d", 1),
    ],
)
def test_a_body_that_differs_is_refused_with_the_first_differing_byte(
    expected: str, carried: str, offset: int
) -> None:
    composed = compose_model_input("", rendered(b""), expected)
    with pytest.raises(RenderBindingError) as refused:
        refuse_unless_carried({"input": carried}, "/input", composed)
    assert refused.value.first_difference == offset
    assert refused.value.expected_sha256 == text_digest(expected)
    assert refused.value.found_sha256 == sha256_hex(carried.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("pointer", ["/prompt", "/messages/1/content", "", "input"])
def test_a_body_without_text_at_the_place_is_refused(pointer: str) -> None:
    composed = compose_model_input("", rendered(b""), "abc")
    body = {"input": "abc", "messages": [{"content": "abc"}]}
    with pytest.raises(RenderBindingError) as refused:
        refuse_unless_carried(body, pointer, composed)
    assert refused.value.found_sha256 is None
    assert refused.value.first_difference == 0


@given(texts, texts)
def test_only_the_exact_text_is_carried(expected: str, carried: str) -> None:
    composed = compose_model_input("", rendered(b""), expected)
    body = json.loads(json.dumps({"input": carried}))
    if expected == carried:
        refuse_unless_carried(body, "/input", composed)
        return
    with pytest.raises(RenderBindingError) as refused:
        refuse_unless_carried(body, "/input", composed)
    at = refused.value.first_difference
    one, other = expected.encode(), carried.encode()
    assert one[:at] == other[:at]
    assert one[at : at + 1] != other[at : at + 1]


@given(st.text(), st.text())
def test_any_stored_prompt_has_a_hash_and_a_selection_input(instruction: str, prompt: str) -> None:
    assert len(prompt_hash(instruction, prompt)) == 64
    assert len(compose_selection_input(instruction, prompt).sha256) == 64
