from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.digests import canonical_digest
from codeai_engine.domain.context import Seal
from codeai_engine.errors import RequiredContextMissing
from codeai_engine.rules.compile import (
    compile_as_peer,
    compile_package,
    package_id,
    refuse_violation,
    sibling_seal,
    trace_candidates,
    trace_id,
)
from tests.strategies import compile_requests, ids, seals

if TYPE_CHECKING:
    import random

    from codeai_engine.domain.context import Candidate, Compilation
    from codeai_engine.rules.compile import CompileRequest

required = st.frozensets(ids, max_size=3)


def selected(request: CompileRequest, compilation: Compilation) -> list[Candidate]:
    items = set(compilation.package.items())
    return [one for one in request.candidates if (one.kind, one.candidate_id) in items]


@given(compile_requests())
def test_no_forbidden_id_is_ever_selected(request: CompileRequest) -> None:
    seal = request.seal
    by_id = seal.forbidden_event_ids | seal.forbidden_artifact_ids
    by_lineage = seal.forbidden_artifact_ids | seal.forbidden_call_ids | seal.forbidden_lineage_ids
    for one in selected(request, compile_package(request)):
        assert one.candidate_id not in by_id
        assert not (one.lineage | {one.candidate_id}) & by_lineage


@given(compile_requests(), st.frozensets(ids, min_size=1), st.data())
def test_nothing_of_a_sibling_is_ever_selected(
    request: CompileRequest, calls: frozenset[str], data: st.DataObject
) -> None:
    own = data.draw(st.sampled_from(sorted(calls)))
    request = replace(request, seal=sibling_seal(request.seal, calls, own))
    for one in selected(request, compile_package(request)):
        assert not (one.lineage | {one.candidate_id}) & (calls - {own})


@given(compile_requests(required_ids=required))
def test_what_was_compiled_is_never_a_violation(request: CompileRequest) -> None:
    try:
        compilation = compile_package(request)
    except RequiredContextMissing:
        return
    # Ids are drawn from few, so two kinds may share one: what is known of an id is known of both.
    lineage = {one.candidate_id: one.lineage for one in selected(request, compilation)}
    for one in selected(request, compilation):
        lineage[one.candidate_id] &= one.lineage
    refuse_violation(compilation.package, lineage)


@given(compile_requests(required_ids=required))
def test_compiling_again_gives_the_same_digests(request: CompileRequest) -> None:
    try:
        first, again = compile_package(request), compile_package(request)
    except RequiredContextMissing:
        return
    assert first == again
    assert package_id(first.package) == first.package.package_id
    assert trace_id(first.package.package_id, first.trace) == first.trace_id
    assert canonical_digest(first.package.identity()) == first.package.package_id


@given(compile_requests(required_ids=required), st.randoms(use_true_random=False))
def test_compiling_is_a_function_of_what_is_offered_not_of_its_order(
    request: CompileRequest, shuffle: random.Random
) -> None:
    shuffled = list(request.candidates)
    shuffle.shuffle(shuffled)
    other = replace(request, candidates=tuple(shuffled))
    assert trace_candidates(request) == trace_candidates(other)


@given(compile_requests(required_ids=required))
def test_every_candidate_has_one_decision_and_a_required_one_is_in_or_refused(
    request: CompileRequest,
) -> None:
    trace = trace_candidates(request)
    assert len(trace) == len(request.candidates)
    try:
        compilation = compile_package(request)
    except RequiredContextMissing:
        return
    assert compilation.trace == trace
    chosen = {item_id for _, item_id in compilation.package.items()}
    assert request.required_ids <= chosen
    assert len(compilation.included_ids) == len(compilation.package.items())
    assert len(compilation.included_ids) + len(compilation.excluded_ids) == len(trace)


@given(compile_requests(required_ids=required))
def test_a_budget_is_never_exceeded(request: CompileRequest) -> None:
    try:
        compilation = compile_package(request)
    except RequiredContextMissing:
        return
    total = sum(one.size_tokens for one in selected(request, compilation))
    assert request.budget_tokens is None or total <= request.budget_tokens


@given(compile_requests(), seals)
def test_a_wider_seal_never_lets_more_in(request: CompileRequest, wider: Seal) -> None:
    request = replace(request, budget_tokens=None)
    widened = Seal(
        request.seal.forbidden_event_ids | wider.forbidden_event_ids,
        request.seal.forbidden_call_ids | wider.forbidden_call_ids,
        request.seal.forbidden_artifact_ids | wider.forbidden_artifact_ids,
        request.seal.forbidden_lineage_ids | wider.forbidden_lineage_ids,
    )
    narrow = set(compile_package(request).package.items())
    assert set(compile_package(replace(request, seal=widened)).package.items()) <= narrow


@given(compile_requests())
def test_ours_selects_nothing_that_the_peer_would_keep_out(request: CompileRequest) -> None:
    request = replace(request, budget_tokens=None)
    ours = set(compile_package(request).package.items())
    assert ours <= set(compile_as_peer(request).package.items())
