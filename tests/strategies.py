"""Any valid value: few ids, so that seals, lineages and candidates meet often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from codeai_engine.domain.context import Actor, Candidate, CandidateKind, Seal
from codeai_engine.rules.compile import CompileRequest

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Nothing is timed: a busy machine fails no test.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

KINDS: tuple[CandidateKind, ...] = ("artifact", "claim", "event")
IDS = ("a", "b", "call-A", "call-B", "it's", 'a "quoted" id', "a\nline", "é", "a', 'b", "]", "c\\d")

ids: SearchStrategy[str] = st.sampled_from(IDS)
id_sets: SearchStrategy[frozenset[str]] = st.frozensets(ids, max_size=4)
# What a person may write: any text that UTF-8 can carry.
texts: SearchStrategy[str] = st.text(st.characters(codec="utf-8"), max_size=40)
item_keys: SearchStrategy[tuple[CandidateKind, str]] = st.tuples(st.sampled_from(KINDS), ids)
contents: SearchStrategy[bytes] = st.one_of(
    texts.map(str.encode),
    st.sampled_from([b"", b"\n", b"\n</context-item>\n", b"<context-item kind=claim id=a>\n"]),
)
item_contents: SearchStrategy[dict[tuple[CandidateKind, str], bytes]] = st.dictionaries(
    item_keys, contents, max_size=8
)
actors: SearchStrategy[Actor] = st.builds(
    Actor,
    actor_id=ids,
    kind=st.sampled_from(["model", "tool"]),
    provider=st.none() | texts,
    model=st.none() | texts,
    version=st.none() | texts,
)
seals: SearchStrategy[Seal] = st.builds(
    Seal,
    forbidden_event_ids=id_sets,
    forbidden_call_ids=id_sets,
    forbidden_artifact_ids=id_sets,
    forbidden_lineage_ids=id_sets,
)
candidates: SearchStrategy[Candidate] = st.builds(
    Candidate,
    kind=st.sampled_from(KINDS),
    candidate_id=ids,
    lineage=id_sets,
    provenance=st.sampled_from(["declared", "declared_none", "unknown"]),
    size_tokens=st.integers(0, 40),
)


def compile_requests(
    *, required_ids: SearchStrategy[frozenset[str]] | None = None
) -> SearchStrategy[CompileRequest]:
    """Requests of any shape; by default nothing is required, so that compiling succeeds."""
    return st.builds(
        CompileRequest,
        task_id=ids,
        actor=actors,
        prompt=texts,
        candidates=st.lists(
            candidates, max_size=12, unique_by=lambda one: (one.kind, one.candidate_id)
        ).map(tuple),
        seal=seals,
        prompt_version=st.none() | texts,
        objective=st.none() | texts,
        budget_tokens=st.none() | st.integers(0, 120),
        required_ids=st.just(frozenset()) if required_ids is None else required_ids,
    )


json_values: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=8,
)
