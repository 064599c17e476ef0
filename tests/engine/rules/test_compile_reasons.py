from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.rules.compile import compile_as_peer, exclusion_class, trace_candidates
from tests.strategies import compile_requests, ids

if TYPE_CHECKING:
    from codeai_engine.rules.compile import CompileRequest


@pytest.mark.parametrize(
    ("reason", "word", "named"),
    [
        ("excluded because seal forbids event ev-1", "event", ("ev-1",)),
        ("excluded because seal forbids artifact a\nb", "artifact", ("a\nb",)),
        ("excluded because seal forbids call lineage ['B', \"it's\"]", "call", ("B", "it's")),
        ("excluded because seal forbids lineage ['a\\\\b', '\\x07']", "lineage", ("a\\b", "\x07")),
        ("excluded because seal forbids lineage []", "lineage", ()),
        ("excluded because budget", "budget", ()),
        (
            "excluded because budget: needs 9 tokens, 1 of 10 left, used by ['a', 'b'] and 3 more",
            "budget",
            ("a", "b"),
        ),
        ("excluded because provenance unknown under seal", "provenance", ()),
        ("excluded because Tuesday", "other", ()),
        ("included, no budget", "other", ()),
        ("", "other", ()),
    ],
)
def test_a_reason_names_its_class_and_its_ids(
    reason: str, word: str, named: tuple[str, ...]
) -> None:
    assert exclusion_class(reason) == (word, named)


@pytest.mark.parametrize(
    "listed", ["call-B", "[", "['a'", "['\\d']", "['a' 'b']", "[1, 2]", "['a'] + ['b']", "[" * 99]
)
def test_a_list_that_cannot_be_read_keeps_its_class(listed: str) -> None:
    assert exclusion_class(f"excluded because seal forbids call lineage {listed}") == ("call", ())
    assert exclusion_class(f"excluded because seal forbids lineage {listed}") == ("lineage", ())


@given(st.lists(st.text()))
def test_any_list_of_ids_that_was_written_is_read_back(written: list[str]) -> None:
    assert exclusion_class(f"excluded because seal forbids lineage {written}") == (
        "lineage",
        tuple(written),
    )


@given(st.text())
def test_any_text_has_a_class(text: str) -> None:
    assert exclusion_class(text) == ("other", ())
    assert exclusion_class(f"excluded because budget{text}")[0] == "budget"
    assert exclusion_class(f"excluded because seal forbids lineage ['{text}']")[0] == "lineage"


@pytest.mark.parametrize(
    "character", ["\0", "\r", "\x0c", "\u2028", "\ud800", "\x7f", "\\U00110000"]
)
def test_what_python_would_have_escaped_is_not_read_as_a_list(character: str) -> None:
    word, _ = exclusion_class(f"excluded because seal forbids lineage ['a{character}b']")
    assert word == "lineage"


@given(compile_requests(required_ids=st.frozensets(ids, max_size=3)))
def test_every_exclusion_of_ours_has_a_class_and_names_what_caused_it(
    request: CompileRequest,
) -> None:
    for entry in trace_candidates(request):
        if entry.decision == "excluded":
            word, named = exclusion_class(entry.reason)
            assert word in {"event", "artifact", "call", "lineage", "budget"}
            assert named or "used by []" in entry.reason


@given(compile_requests())
def test_every_exclusion_of_the_peers_has_a_class(request: CompileRequest) -> None:
    for entry in compile_as_peer(request).trace:
        if entry.decision == "excluded":
            assert exclusion_class(entry.reason)[0] in {
                "event",
                "artifact",
                "call",
                "lineage",
                "budget",
            }
