from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.errors import RequiredContextMissing
from codeai_engine.rules.compile import NAMED_SPENDERS, compile_package, trace_candidates
from codeai_engine.rules.render import rendered_item_bytes, size_tokens
from tests.builders import candidate, compile_request, seal

if TYPE_CHECKING:
    from codeai_engine.domain.context import Candidate


def decisions(*offered: Candidate, **changes: Any) -> dict[str, str]:
    request = compile_request(*offered, **changes)
    return {entry.candidate_id: entry.reason for entry in compile_package(request).trace}


def test_without_a_budget_the_trace_says_so() -> None:
    # PEER_DEFECTS 20: the peer says "within budget" although there is none.
    assert decisions(candidate("a", size_tokens=10**9)) == {"a": "included, no budget"}


def test_within_a_budget_the_trace_says_so() -> None:
    assert decisions(candidate("a", size_tokens=5), budget_tokens=5) == {
        "a": "included within budget"
    }


def test_what_does_not_fit_says_what_it_needs_what_was_left_and_what_used_it() -> None:
    found = decisions(
        candidate("a", size_tokens=60),
        candidate("b", size_tokens=36),
        candidate("c", size_tokens=30),
        budget_tokens=100,
    )
    assert found["c"] == (
        "excluded because budget: needs 30 tokens, 4 of 100 left, used by ['a', 'b']"
    )


def test_one_that_does_not_fit_at_all_was_displaced_by_nothing() -> None:
    assert decisions(candidate("a", size_tokens=30), budget_tokens=10) == {
        "a": "excluded because budget: needs 30 tokens, 10 of 10 left, used by []"
    }


def test_what_is_required_is_counted_before_what_stands_earlier_in_the_order() -> None:
    found = decisions(
        candidate("a", size_tokens=8),
        candidate("z", size_tokens=9),
        budget_tokens=10,
        required=("z",),
    )
    assert found == {
        "a": "excluded because budget: needs 8 tokens, 1 of 10 left, used by ['z']",
        "z": "included because required",
    }


def test_a_later_smaller_one_may_still_enter() -> None:
    found = decisions(
        candidate("a", size_tokens=6),
        candidate("b", size_tokens=7),
        candidate("c", size_tokens=4),
        candidate("d", size_tokens=1),
        budget_tokens=10,
    )
    assert [reason.split(":")[0] for reason in found.values()] == [
        "included within budget",
        "excluded because budget",
        "included within budget",
        "excluded because budget",
    ]


def test_what_the_seal_keeps_out_takes_no_share() -> None:
    found = decisions(
        candidate("a", size_tokens=10, lineage=("call-B",)),
        candidate("b", size_tokens=10),
        budget_tokens=10,
        seal=seal(calls=("call-B",)),
    )
    assert found["b"] == "included within budget"


def test_a_required_one_that_the_seal_blocks_takes_no_share_either() -> None:
    request = compile_request(
        candidate("a", size_tokens=10, lineage=("call-B",)),
        candidate("b", size_tokens=10),
        budget_tokens=10,
        seal=seal(calls=("call-B",)),
        required=("a",),
    )
    assert trace_candidates(request)[1].reason == "included within budget"


def test_what_takes_nothing_is_not_among_what_used_the_budget_up() -> None:
    found = decisions(
        candidate("a", size_tokens=0),
        candidate("b", size_tokens=10),
        candidate("c", size_tokens=0),
        candidate("d", size_tokens=1),
        budget_tokens=10,
    )
    assert found["c"] == "included within budget"
    assert found["d"] == "excluded because budget: needs 1 tokens, 0 of 10 left, used by ['b']"


def test_only_the_largest_spenders_are_named_and_the_rest_counted() -> None:
    spenders = [candidate(f"s{index:02}", size_tokens=10 + index) for index in range(11)]
    found = decisions(*spenders, candidate("z", size_tokens=90), budget_tokens=170)
    largest = [f"s{index:02}" for index in range(10, 10 - NAMED_SPENDERS, -1)]
    assert found["z"] == (
        f"excluded because budget: needs 90 tokens, 5 of 170 left, used by {largest} and 3 more"
    )


def test_required_ones_that_exceed_the_budget_together_are_refused() -> None:
    request = compile_request(
        candidate("a", size_tokens=6),
        candidate("b", size_tokens=5),
        candidate("c", size_tokens=1),
        budget_tokens=10,
        required=("a", "b"),
    )
    with pytest.raises(RequiredContextMissing) as refused:
        compile_package(request)
    assert refused.value.message == (
        "CONTEXT_BUDGET_UNSATISFIABLE: required 11 tokens exceed budget 10"
    )
    assert refused.value.candidate_id is None
    assert [entry.reason for entry in trace_candidates(request)] == [
        "included because required",
        "included because required",
        "excluded because budget: needs 1 tokens, 0 of 10 left, used by ['a', 'b']",
    ]


def test_a_seal_is_named_before_a_budget() -> None:
    request = compile_request(
        candidate("a", size_tokens=99),
        seal=seal(artifacts=("a",)),
        budget_tokens=1,
        required=("a",),
    )
    with pytest.raises(RequiredContextMissing, match="seal forbids artifact a"):
        compile_package(request)


@pytest.mark.parametrize("kind", ["artifact", "claim", "event"])
@pytest.mark.parametrize("content", [b"", b"abc", b"abcd", "ünï".encode(), b"x" * 1000])
def test_every_kind_has_the_size_of_what_is_rendered(kind: str, content: bytes) -> None:
    # PEER_DEFECTS 21: the peer counts artifacts and claims as nothing, and events as other JSON.
    rendered = rendered_item_bytes(kind, "id-é", content)
    size = size_tokens(kind, "id-é", len(content))
    assert 4 * (size - 1) < len(rendered) <= 4 * size


def test_a_budget_bounds_what_is_rendered() -> None:
    sizes = {name: size_tokens("artifact", name, 1000) for name in "abc"}
    offered = [candidate(name, size_tokens=size) for name, size in sizes.items()]
    compilation = compile_package(compile_request(*offered, budget_tokens=700))
    selected = compilation.package.artifact_ids
    total = sum(len(rendered_item_bytes("artifact", name, b"x" * 1000)) for name in selected)
    assert selected == ("a", "b")
    assert total <= 4 * 700
