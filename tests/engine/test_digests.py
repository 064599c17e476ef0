"""Canonical text and digests: the peer's form, and what is not I-JSON is refused by its path."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeai_engine.digests import (
    MAX_SAFE_INTEGER,
    canonical_digest,
    canonical_json,
    interoperable_json,
    refuse_unless_interoperable,
    sha256_hex,
    text_digest,
)
from codeai_engine.errors import PayloadRefused
from codeai_engine.ledger.reader import open_ledger
from tests.peers import PEER_NAMES, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Callable

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
INTEROPERABLE = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
WRONG = (
    st.sampled_from([math.nan, math.inf, -math.inf, b"bytes", object(), {1, 2}, 1j])
    | st.integers(2**53, 2**80)
    | st.integers(-(2**80), -(2**53))
    | st.sampled_from(["\ud800", "a\udfffb", "\ud83d\ude00"])
    | st.dictionaries(st.integers() | st.none() | st.booleans(), st.text(), min_size=1)
    | st.dictionaries(st.sampled_from(["\udc00", "x\ud9ff"]), st.none(), min_size=1)
)
ANYTHING = st.recursive(
    SCALARS | WRONG,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 0.1]}, '{"a":[true,null,0.1],"b":1}'),
        ({"é": "ü", "z": "😀"}, '{"z":"\\ud83d\\ude00","\\u00e9":"\\u00fc"}'),
        ({"n": 1e-05, "m": 0.0, "k": 1e300}, '{"k":1e+300,"m":0.0,"n":1e-05}'),
        ("\x7f\x00\u2028/", '"\\u007f\\u0000\\u2028/"'),
        ((1, (2,)), "[1,[2]]"),
        ({}, "{}"),
    ],
)
def test_canonical_text_is_the_form_of_the_peer(value: object, text: str) -> None:
    assert canonical_json(value) == text
    assert canonical_digest(value) == sha256(text.encode("ascii")).hexdigest()


@settings(deadline=None)
@given(INTEROPERABLE)
def test_canonical_text_is_ascii_and_reads_back_to_itself(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert canonical_json(json.loads(text)) == text


@needs_peer_ledgers
@pytest.mark.parametrize("name", PEER_NAMES)
def test_what_the_peer_stored_is_canonical_by_our_definition(name: str) -> None:
    with open_ledger(peer_ledger(name)) as ledger:
        texts = [row.payload_json for row in ledger.rows(limit=10_000)]
    # Its writer also stores the bare words NaN and Infinity, which ours refuses.
    strict = [text for text in texts if "NaN" not in text and "Infinity" not in text]
    assert strict
    assert [canonical_json(json.loads(text)) for text in strict] == strict


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_canonical_text_has_no_bare_words(value: object) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        canonical_json(value)


def test_digests_are_lower_case_hex_of_the_utf8_bytes() -> None:
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert text_digest("é") == sha256("é".encode()).hexdigest()
    with pytest.raises(UnicodeEncodeError):
        text_digest("\ud800")


REFUSED: list[tuple[object, str, str]] = [
    (math.nan, "$", "nan is not a JSON number"),
    ({"score": math.inf}, "$.score", "inf is not a JSON number"),
    ({"a": [{}, {"b": (1, 2**53)}]}, "$.a[1].b[1]", f"integer {2**53} is past 2^53 - 1"),
    ({"n": -(2**53)}, "$.n", "is past 2^53 - 1"),
    ({"t": "ok \udc00 end"}, "$.t", "lone surrogate in text"),
    ({"t": "\ud83d\ude00"}, "$.t", "lone surrogate in text"),
    ({"a": {"\ud800": 1}}, "$.a", "lone surrogate in key"),
    ({"a": {1: 2}}, "$.a", "key 1 is not text"),
    ({None: 2, "a": 1}, "$", "key None is not text"),
    ({"when": b"x"}, "$.when", "a bytes is not JSON"),
    ([{1}], "$[0]", "a set is not JSON"),
]


@pytest.mark.parametrize("check", [refuse_unless_interoperable, interoperable_json])
@pytest.mark.parametrize(("value", "path", "reason"), REFUSED)
def test_what_is_not_i_json_is_refused_with_path_and_reason(
    check: Callable[[Any], object], value: object, path: str, reason: str
) -> None:
    with pytest.raises(PayloadRefused) as refused:
        check(value)
    assert refused.value.json_path == path
    assert reason in refused.value.reason


@pytest.mark.parametrize(
    "value", [{"n": MAX_SAFE_INTEGER}, {"n": -MAX_SAFE_INTEGER}, "\\ud800", "😀", [], "\x00", 1e300]
)
def test_what_only_looks_wrong_is_taken(value: object) -> None:
    refuse_unless_interoperable(value)
    assert json.loads(interoperable_json(value)) == value


def test_what_is_nested_past_all_reading_is_refused_and_not_a_crash() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    circle: list[object] = []
    circle.append(circle)
    for value in (deep, circle):
        with pytest.raises(PayloadRefused, match="nested too deeply"):
            interoperable_json(value)


@settings(deadline=None)
@given(ANYTHING)
def test_the_quick_check_takes_and_refuses_what_the_plain_one_does(value: Any) -> None:
    assert refusal(interoperable_json, value) == refusal(refuse_unless_interoperable, value)
    if refusal(interoperable_json, value) is None:
        assert interoperable_json(value) == canonical_json(value)


def refusal(check: Callable[[Any], object], value: object) -> str | None:
    try:
        check(value)
    except PayloadRefused as refused:
        return refused.message
    return None
