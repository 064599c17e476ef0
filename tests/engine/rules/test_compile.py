from __future__ import annotations

import pytest

from codeai_engine.digests import canonical_digest
from codeai_engine.domain.context import Candidate, Compilation, Seal
from codeai_engine.errors import ContextSealViolation, RequiredContextMissing
from codeai_engine.rules.compile import (
    compile_as_peer,
    compile_package,
    package_id,
    peer_size_tokens,
    refuse_violation,
    sibling_seal,
    trace_candidates,
    trace_id,
)
from codeai_engine.rules.lineage import event_lineage
from tests.builders import SIBLING_CALL, actor, candidate, compile_request, event_row, package, seal


def reasons(compilation: Compilation) -> dict[str, str]:
    return {entry.candidate_id: entry.reason for entry in compilation.trace}


# Each set of a seal.


EACH_SET = [
    (
        seal(events=("ev-1",)),
        candidate("ev-1", kind="event"),
        "excluded because seal forbids event ev-1",
        "event",
        "ev-1",
    ),
    (
        seal(artifacts=("art-1",)),
        candidate("art-1"),
        "excluded because seal forbids artifact art-1",
        "artifact",
        "art-1",
    ),
    (
        seal(artifacts=("art-1", "art-2")),
        candidate("ev-1", kind="event", lineage=("art-2", "art-1")),
        "excluded because seal forbids artifact art-1",
        "artifact",
        "art-1",
    ),
    (
        seal(calls=("call-C", "call-B", "call-D")),
        candidate(lineage=("call-C", "call-B")),
        "excluded because seal forbids call lineage ['call-B', 'call-C']",
        "call",
        "call-B",
    ),
    (
        seal(lineage=("lin-9",)),
        candidate("cl-1", kind="claim", lineage=("lin-9", "call-A")),
        "excluded because seal forbids lineage ['lin-9']",
        "lineage",
        "lin-9",
    ),
    (
        seal(lineage=("cl-1",)),
        candidate("cl-1", kind="claim"),
        "excluded because seal forbids lineage ['cl-1']",
        "lineage",
        "cl-1",
    ),
    (
        seal(calls=("call-B",)),
        candidate("call-B", kind="claim"),
        "excluded because seal forbids call lineage ['call-B']",
        "call",
        "call-B",
    ),
]


@pytest.mark.parametrize(
    ("forbidden", "offered", "reason", "word", "blocking_id"),
    EACH_SET,
    ids=["event", "artifact", "artifact by lineage", "call", "lineage", "own id", "own id as call"],
)
def test_each_set_excludes_by_name_with_its_reason(
    forbidden: Seal, offered: Candidate, reason: str, word: str, blocking_id: str
) -> None:
    compilation = compile_package(compile_request(offered, seal=forbidden))
    (entry,) = compilation.trace
    assert (entry.decision, entry.reason) == ("excluded", reason)
    assert compilation.package.items() == ()
    assert compilation.excluded_ids == (offered.candidate_id,)
    with pytest.raises(RequiredContextMissing) as refused:
        compile_package(compile_request(offered, seal=forbidden, required=(offered.candidate_id,)))
    assert refused.value.message == (
        f"REQUIRED_CONTEXT_MISSING: {offered.candidate_id} required but {reason}"
    )
    assert refused.value.candidate_id == offered.candidate_id
    assert refused.value.forbidden_set == word
    assert refused.value.blocking_id == blocking_id


def test_the_first_set_that_hits_gives_the_reason() -> None:
    offered = candidate("x", kind="claim", lineage=("x", "y"))
    every: dict[str, tuple[str, ...]] = {
        "events": ("x",),
        "artifacts": ("x",),
        "calls": ("y",),
        "lineage": ("y",),
    }
    expected = [
        "excluded because seal forbids event x",
        "excluded because seal forbids artifact x",
        "excluded because seal forbids call lineage ['y']",
        "excluded because seal forbids lineage ['y']",
        "included, no budget",
    ]
    for dropped, reason in zip(["nothing", *every], expected, strict=True):
        every = {name: ids for name, ids in every.items() if name != dropped}
        compilation = compile_package(compile_request(offered, seal=seal(**every)))
        assert reasons(compilation) == {"x": reason}


def test_the_candidates_own_id_is_named_before_an_artifact_of_its_lineage() -> None:
    offered = candidate("art-2", lineage=("art-1",))
    compilation = compile_package(compile_request(offered, seal=seal(artifacts=("art-1", "art-2"))))
    assert reasons(compilation) == {"art-2": "excluded because seal forbids artifact art-2"}


def test_forbidden_events_are_matched_against_ids_only_as_the_peer_does() -> None:
    offered = candidate("art-1", lineage=("ev-1",))
    compilation = compile_package(compile_request(offered, seal=seal(events=("ev-1",))))
    assert reasons(compilation) == {"art-1": "included, no budget"}


def test_a_forbidden_artifact_does_not_enter_through_an_event_that_names_it() -> None:
    # PEER_DEFECTS 9, in the shape our own completions have.
    payload = {"call_id": "call-A", "output_artifact": {"artifact_id": "art-1"}}
    row = event_row("call.completed", payload, event_id="ev-1", stream_id="call-A")
    offered = candidate("ev-1", kind="event", lineage=event_lineage(row))
    compilation = compile_package(compile_request(offered, seal=seal(artifacts=("art-1",))))
    assert reasons(compilation) == {"ev-1": "excluded because seal forbids artifact art-1"}


def test_the_peers_own_rules_let_it_in_and_call_no_budget_a_budget() -> None:
    offered = candidate("ev-1", kind="event", lineage=("art-1",))
    compilation = compile_as_peer(compile_request(offered, seal=seal(artifacts=("art-1",))))
    assert reasons(compilation) == {"ev-1": "included within budget"}


def test_the_peers_sizes_are_at_least_one_for_events_and_none_for_all_else() -> None:
    assert peer_size_tokens("event", "{}") == 1
    assert (
        peer_size_tokens("event", '{"b":"é","a":[1,2]}')
        == len('{"a": [1, 2], "b": "\\u00e9"}') // 4
    )
    assert peer_size_tokens("artifact") == peer_size_tokens("claim") == 0


# What is required.


def test_an_empty_required_list_means_that_nothing_is_required() -> None:
    # PEER_DEFECTS 6: the peer takes it as not given, and refuses instead of filtering.
    blocked = candidate("art-1", lineage=(SIBLING_CALL,))
    request = compile_request(
        blocked, candidate("art-2"), seal=seal(calls=(SIBLING_CALL,)), required=()
    )
    assert compile_package(request).package.artifact_ids == ("art-2",)


def test_a_candidate_that_says_required_is_required_without_being_listed() -> None:
    offered = candidate("art-1", required=True)
    assert reasons(compile_package(compile_request(offered))) == {
        "art-1": "included because required"
    }
    with pytest.raises(RequiredContextMissing):
        compile_package(compile_request(offered, seal=seal(artifacts=("art-1",))))


def test_what_is_required_but_not_offered_is_refused_by_name() -> None:
    with pytest.raises(RequiredContextMissing) as refused:
        compile_package(compile_request(candidate("art-1"), required=("nope", "art-1", "zzz")))
    assert refused.value.message == "REQUIRED_CONTEXT_MISSING: nope was required but not supplied"
    assert refused.value.candidate_id == "nope"
    assert refused.value.forbidden_set is None
    assert refused.value.blocking_id is None


def test_a_refused_compilation_still_has_a_decision_on_every_candidate() -> None:
    # PEER_DEFECTS 11: the peer leaves no trace of a refused branch.
    request = compile_request(
        candidate("art-1", lineage=(SIBLING_CALL,)),
        candidate("art-2"),
        candidate("art-3"),
        seal=seal(calls=(SIBLING_CALL,)),
        required=("art-1", "art-2", "nope"),
    )
    with pytest.raises(RequiredContextMissing):
        compile_package(request)
    assert [(one.candidate_id, one.decision, one.reason) for one in trace_candidates(request)] == [
        ("art-1", "excluded", "excluded because seal forbids call lineage ['call-B']"),
        ("art-2", "included", "included because required"),
        ("art-3", "included", "included, no budget"),
    ]


# Packages and traces.


def test_candidates_are_decided_and_selected_in_the_order_of_kind_and_id() -> None:
    offered = (
        candidate("b", kind="event"),
        candidate("a", kind="event"),
        candidate("z", kind="claim"),
        candidate("d", kind="artifact"),
        candidate("c", kind="artifact"),
    )
    compilation = compile_package(compile_request(*offered))
    assert compilation.included_ids == ("c", "d", "z", "a", "b")
    assert compilation.package.artifact_ids == ("c", "d")
    assert compilation.package.claim_ids == ("z",)
    assert compilation.package.event_ids == ("a", "b")


def test_nothing_offered_compiles_to_an_empty_package() -> None:
    compilation = compile_package(compile_request())
    assert compilation.trace == ()
    assert compilation.package.items() == ()


def test_a_candidate_offered_twice_is_refused() -> None:
    # With two lineages, the one that a seal allows would let in what the other keeps out.
    known, stripped = candidate("art-1", lineage=(SIBLING_CALL,)), candidate("art-1")
    with pytest.raises(ValueError, match="artifact art-1 is offered twice"):
        compile_request(known, stripped, seal=seal(calls=(SIBLING_CALL,)))
    assert compile_request(candidate("x"), candidate("x", kind="event")).candidates


def test_the_package_id_covers_exactly_the_peers_ten_fields() -> None:
    built = package(budget_tokens=9, seal=seal(calls=("b", "a")), claim_ids=("z", "y"))
    by_hand = {
        "task_id": "task-1",
        "actor": {
            "actor_id": "reviewer-A",
            "kind": "model",
            "provider": "local",
            "model": "small",
            "version": "1",
        },
        "prompt": "What is wrong?",
        "prompt_version": None,
        "objective": None,
        "event_ids": [],
        "artifact_ids": list(built.artifact_ids),
        "claim_ids": ["y", "z"],
        "budget_tokens": 9,
        "seal": {
            "forbidden_event_ids": [],
            "forbidden_call_ids": ["a", "b"],
            "forbidden_artifact_ids": [],
            "forbidden_lineage_ids": [],
        },
    }
    assert package_id(built) == canonical_digest(by_hand)


def test_the_trace_id_covers_the_package_and_every_decision() -> None:
    compilation = compile_package(compile_request(candidate("art-1")))
    own_id = compilation.package.package_id
    entries = [["art-1", "included", "included, no budget"]]
    by_hand = canonical_digest({"package_id": own_id, "entries": entries})
    assert trace_id(own_id, compilation.trace) == compilation.trace_id == by_hand


def test_two_actors_over_identical_inputs_have_different_packages() -> None:
    offered = candidate("art-1")
    one = compile_package(compile_request(offered, actor=actor("reviewer-A")))
    other = compile_package(compile_request(offered, actor=actor("reviewer-B")))
    assert one.package.items() == other.package.items()
    assert one.trace == other.trace
    assert one.package.package_id != other.package.package_id
    assert one.trace_id != other.trace_id


def test_provenance_and_size_are_not_part_of_a_package_id() -> None:
    ids = {
        compile_package(compile_request(offered)).package.package_id
        for offered in (
            candidate("art-1"),
            candidate("art-1", provenance="declared_none"),
            candidate("art-1", size_tokens=99),
        )
    }
    assert len(ids) == 1


@pytest.mark.parametrize("prompt", ["A\n---\nB", "---", "\n---\n---\n", "A\n\n--- \nB\n"])
def test_a_ruler_of_dashes_in_a_prompt_is_text_like_any_other(prompt: str) -> None:
    # USER_REPORTS U08: elsewhere it makes several prompts of one.
    compilation = compile_package(compile_request(prompt=prompt))
    assert compilation.package.prompt == prompt
    assert compilation.package.identity()["prompt"] == prompt


# Sibling rule.


def test_each_sibling_is_forbidden_as_call_and_as_lineage_on_top_of_the_base() -> None:
    base = seal(calls=("old",), artifacts=("art",), events=("ev",), lineage=("lin",))
    widened = sibling_seal(base, frozenset({"A", "B", "C"}), "A")
    assert widened == seal(
        calls=("old", "B", "C"), artifacts=("art",), events=("ev",), lineage=("lin", "B", "C")
    )


def test_a_branch_of_its_own_has_no_siblings() -> None:
    assert sibling_seal(Seal(), frozenset({"A"}), "A") == Seal()


def test_a_call_that_is_not_in_the_fanout_has_no_sibling_seal() -> None:
    # PEER_DEFECTS 5: siblings are the fan-out's calls less the own one, so the own must be there.
    with pytest.raises(ValueError, match="'X' is not one of the fan-out's calls"):
        sibling_seal(Seal(), frozenset({"A", "B"}), "X")


# A package that is offered for use.


@pytest.mark.parametrize(
    ("forbidden", "lineage", "word"),
    [
        (seal(events=("x",)), {}, "event"),
        (seal(artifacts=("x",)), {}, "artifact"),
        (seal(artifacts=("y",)), {"x": frozenset({"y"})}, "artifact"),
        (seal(calls=("y",)), {"x": frozenset({"y"})}, "call"),
        (seal(lineage=("y",)), {"x": frozenset({"y"})}, "lineage"),
    ],
)
def test_a_package_that_names_a_forbidden_id_is_refused(
    forbidden: Seal, lineage: dict[str, frozenset[str]], word: str
) -> None:
    offered = package(artifact_ids=("w", "x"), seal=forbidden)
    with pytest.raises(ContextSealViolation) as refused:
        refuse_violation(offered, lineage)
    assert refused.value.candidate_id == "x"
    assert refused.value.forbidden_set == word
    assert refused.value.message.startswith(
        f"CONTEXT_SEAL_VIOLATION: x is selected although seal forbids {word}"
    )


def test_a_package_that_keeps_to_its_seal_is_not_refused() -> None:
    request = compile_request(
        candidate("art-1", lineage=("call-C",)),
        candidate("art-2", lineage=(SIBLING_CALL,)),
        seal=seal(calls=(SIBLING_CALL,)),
    )
    lineage = {one.candidate_id: one.lineage for one in request.candidates}
    refuse_violation(compile_package(request).package, lineage)
