"""Compiling: candidates and a seal to a package and a trace with a named reason for each decision.

`compile-v2` is the peer's rules and reasons (PEER_FORMAT section 3) but for this (DESIGN 5):

* forbidden artifact ids are matched against lineage too;
* every kind has a size, and the caller says what is required, so nothing may be;
* without a budget the reason is `included, no budget`;
* a candidate that does not fit says what it needs, what was left, and what used that up.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from bisect import insort
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codeai_engine.digests import canonical_digest
from codeai_engine.domain.context import Candidate, Compilation, Package, Seal, TraceEntry
from codeai_engine.errors import ContextSealViolation, RequiredContextMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codeai_engine.domain.context import Actor, CandidateKind

COMPILER_VERSION = "compile-v2"
NAMED_SPENDERS = 8  # of what used a budget up; the whole would make a trace grow with its square
_EXCLUDED = "excluded because "


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What one branch is compiled from.

    Args:
        candidates: What is offered, in any order; each once.
        required_ids: Ids that must be selected, offered or not. A candidate that says `required`
            counts as named here.
        budget_tokens: The most that the selected candidates may take together; None: no limit.

    Raises:
        ValueError: A candidate is offered twice: with two lineages, the one that the seal allows
            would let in what the other keeps out.
    """

    task_id: str
    actor: Actor
    prompt: str
    candidates: tuple[Candidate, ...]
    seal: Seal
    prompt_version: str | None = None
    objective: str | None = None
    budget_tokens: int | None = None
    required_ids: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        seen: set[tuple[str, str]] = set()
        for candidate in self.candidates:
            key = (candidate.kind, candidate.candidate_id)
            if key in seen:
                msg = f"{candidate.kind} {candidate.candidate_id} is offered twice"
                raise ValueError(msg)
            seen.add(key)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Where our compiler and the peer's differ."""

    follows_artifacts: bool
    without_budget: str
    explains_budget: bool


_OURS = _Rules(True, "included, no budget", True)  # noqa: FBT003 - the three differences, in order
_PEERS = _Rules(False, "included within budget", False)  # noqa: FBT003


@dataclass(frozen=True, slots=True)
class _Block:
    """What a seal has against one candidate: which set, the ids it met, and the reason."""

    forbidden_set: str
    met: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class _Judged:
    """A candidate with what the request and its seal say of it."""

    candidate: Candidate
    is_required: bool
    block: _Block | None


def compile_package(request: CompileRequest) -> Compilation:
    """Select what a branch may carry.

    Raises:
        RequiredContextMissing: A required candidate was not offered or is blocked by the seal, or
            the required ones together exceed the budget.
    """
    return _compile(request, _OURS)


def compile_as_peer(request: CompileRequest) -> Compilation:
    """Select by the peer's own rules, to recompute a compilation without `compiler_version`.

    Args:
        request: Its candidates as the peer saw them: `peer_event_lineage`, `peer_size_tokens`,
            and `peer_required_ids`.

    Raises:
        RequiredContextMissing: As the peer refuses.
    """
    return _compile(request, _PEERS)


def trace_candidates(request: CompileRequest) -> tuple[TraceEntry, ...]:
    """Return the decision on every candidate, also where compiling is refused for one of them."""
    return _decide(_judge(request, _OURS), request.budget_tokens, _OURS)


def peer_size_tokens(kind: CandidateKind, payload_json: str = "") -> int:
    """Return the peer's size of a candidate: its own estimate for events, 0 for all else.

    Source: PEER_FORMAT section 3: characters of the JSON with spaced separators, divided by 4.

    Args:
        kind: The candidate's kind.
        payload_json: An event's payload, as stored.
    """
    if kind != "event":
        return 0
    return max(1, len(json.dumps(json.loads(payload_json), sort_keys=True)) // 4)


def peer_required_ids(
    candidates: Iterable[Candidate],
    *,
    events: frozenset[str] = frozenset(),
    artifacts: frozenset[str] = frozenset(),
    claims: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Return what the peer takes as required; an empty list counts as not named.

    Source: PEER_FORMAT section 3. Nothing named: every event and artifact. Anything named:
    artifacts and claims only where listed, events unless an event list is given.
    """
    is_named = bool(events or artifacts or claims)
    by_default = {"event": not events, "artifact": not is_named, "claim": False}
    defaults = {one.candidate_id for one in candidates if by_default[one.kind]}
    return events | artifacts | claims | defaults


def sibling_seal(base: Seal, calls: frozenset[str], own: str) -> Seal:
    """Return `base` widened by every sibling of `own`, as call and as lineage.

    Source: DESIGN section 5, sibling rule.

    Raises:
        ValueError: `own` is not one of `calls`.
    """
    if own not in calls:
        msg = f"call {own!r} is not one of the fan-out's calls"
        raise ValueError(msg)
    siblings = calls - {own}
    return replace(
        base,
        forbidden_call_ids=base.forbidden_call_ids | siblings,
        forbidden_lineage_ids=base.forbidden_lineage_ids | siblings,
    )


def package_id(package: Package) -> str:
    """Return the digest of the ten fields of a package (PEER_FORMAT section 3)."""
    return canonical_digest(package.identity())


def trace_id(package_id: str, trace: Sequence[TraceEntry]) -> str:
    """Return the digest of a package id with its decisions, in trace order."""
    entries = [[entry.candidate_id, entry.decision, entry.reason] for entry in trace]
    return canonical_digest({"package_id": package_id, "entries": entries})


def refuse_violation(package: Package, lineage: Mapping[str, frozenset[str]]) -> None:
    """Check a package that is offered for use against its own seal.

    Args:
        package: The package, with its seal.
        lineage: What is known of each selected id's lineage.

    Raises:
        ContextSealViolation: It names an id that its seal forbids, itself or through lineage.
    """
    for kind, item_id in package.items():
        selected = Candidate(kind, item_id, lineage.get(item_id, frozenset()))
        block = _seal_block(selected, package.seal, _OURS)
        if block is not None:
            raise ContextSealViolation(
                f"CONTEXT_SEAL_VIOLATION: {item_id} is selected although "
                f"{block.reason.removeprefix(_EXCLUDED)}",
                candidate_id=item_id,
                forbidden_set=block.forbidden_set,
            )


_ONE_ID = r"(?P<id>.+)"
# A list of texts as Python writes it, and nothing else, so that any match can be read back.
_ESCAPE = r"\\(?:['\"\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})"
_ESCAPED = r"\\\x00-\x1f\x7f\ud800-\udfff"
_TEXT = rf"(?:'(?:[^'{_ESCAPED}]|{_ESCAPE})*'|\"(?:[^\"{_ESCAPED}]|{_ESCAPE})*\")"
_ID_LIST = rf"(?P<ids>\[(?:{_TEXT}(?:, {_TEXT})*)?\])"
_REASONS = tuple(
    (word, re.compile(_EXCLUDED + pattern, re.DOTALL))
    for word, pattern in (
        ("event", f"seal forbids event {_ONE_ID}"),
        ("artifact", f"seal forbids artifact {_ONE_ID}"),
        ("call", f"seal forbids call lineage (?:{_ID_LIST}|.*)"),
        ("lineage", f"seal forbids lineage (?:{_ID_LIST}|.*)"),
        ("budget", rf"budget(?:: needs \d+ tokens, \d+ of \d+ left, used by {_ID_LIST}.*|.*)"),
        ("provenance", "provenance unknown.*"),
    )
)


def exclusion_class(reason: str) -> tuple[str, tuple[str, ...]]:
    """Return which rule the reason of an excluded candidate names, and the ids in it.

    Returns:
        `event`, `artifact`, `call`, `lineage`, `budget`, `provenance` or `other`; and the ids that
        blocked the candidate, for a budget those that used it up.
    """
    for word, pattern in _REASONS:
        match = pattern.fullmatch(reason)
        if match is not None:
            found = match.groupdict()
            if found.get("id") is not None:
                return word, (found["id"],)
            listed: list[str] = literal_eval(found.get("ids") or "[]")
            return word, tuple(listed)
    return "other", ()


def _compile(request: CompileRequest, rules: _Rules) -> Compilation:
    judged = _judge(request, rules)
    _refuse_missing(request, judged)
    trace = _decide(judged, request.budget_tokens, rules)
    selected = [
        one.candidate
        for one, entry in zip(judged, trace, strict=True)
        if entry.decision == "included"
    ]
    package = Package(
        task_id=request.task_id,
        actor=request.actor,
        prompt=request.prompt,
        prompt_version=request.prompt_version,
        objective=request.objective,
        event_ids=_ids(selected, "event"),
        artifact_ids=_ids(selected, "artifact"),
        claim_ids=_ids(selected, "claim"),
        budget_tokens=request.budget_tokens,
        seal=request.seal,
    )
    package = replace(package, package_id=package_id(package))
    return Compilation(package, trace, trace_id(package.package_id, trace))


def _ids(selected: Iterable[Candidate], kind: CandidateKind) -> tuple[str, ...]:
    return tuple(sorted(one.candidate_id for one in selected if one.kind == kind))


def _judge(request: CompileRequest, rules: _Rules) -> list[_Judged]:
    """Return every candidate with its judgement, in trace order."""
    return [
        _Judged(
            candidate=one,
            is_required=one.required or one.candidate_id in request.required_ids,
            block=_seal_block(one, request.seal, rules),
        )
        for one in sorted(request.candidates, key=lambda one: (one.kind, one.candidate_id))
    ]


def _seal_block(candidate: Candidate, seal: Seal, rules: _Rules) -> _Block | None:
    """Return what a seal has against a candidate: the first hit, in the peer's order.

    Event and artifact ids are compared whatever the candidate's kind (PEER_FORMAT section 3).
    """
    own = candidate.candidate_id
    carried = candidate.lineage | {own}
    if own in seal.forbidden_event_ids:
        return _Block("event", (own,), f"{_EXCLUDED}seal forbids event {own}")
    artifacts = (carried if rules.follows_artifacts else {own}) & seal.forbidden_artifact_ids
    if artifacts:
        met = own if own in artifacts else min(artifacts)
        return _Block("artifact", (met,), f"{_EXCLUDED}seal forbids artifact {met}")
    calls = sorted(carried & seal.forbidden_call_ids)
    if calls:
        return _Block("call", tuple(calls), f"{_EXCLUDED}seal forbids call lineage {calls}")
    lineage = sorted(carried & seal.forbidden_lineage_ids)
    if lineage:
        return _Block("lineage", tuple(lineage), f"{_EXCLUDED}seal forbids lineage {lineage}")
    return None


def _refuse_missing(request: CompileRequest, judged: Sequence[_Judged]) -> None:
    offered = {one.candidate.candidate_id for one in judged}
    for item_id in sorted(request.required_ids - offered):
        raise RequiredContextMissing(
            f"REQUIRED_CONTEXT_MISSING: {item_id} was required but not supplied",
            candidate_id=item_id,
        )
    required = [one for one in judged if one.is_required]
    for one in required:
        if one.block is not None:
            item_id = one.candidate.candidate_id
            raise RequiredContextMissing(
                f"REQUIRED_CONTEXT_MISSING: {item_id} required but {one.block.reason}",
                candidate_id=item_id,
                forbidden_set=one.block.forbidden_set,
                blocking_id=one.block.met[0],
            )
    needed = sum(one.candidate.size_tokens for one in required)
    if request.budget_tokens is not None and needed > request.budget_tokens:
        raise RequiredContextMissing(
            f"CONTEXT_BUDGET_UNSATISFIABLE: required {needed} tokens "
            f"exceed budget {request.budget_tokens}"
        )


def _decide(
    judged: Sequence[_Judged], budget_tokens: int | None, rules: _Rules
) -> tuple[TraceEntry, ...]:
    """Return a decision on every candidate: what is required has the first call on a budget."""
    budget = _Budget(budget_tokens)
    for one in judged:
        if one.is_required and one.block is None:
            budget.take(one.candidate)
    return tuple(_decide_one(one, budget, rules) for one in judged)


def _decide_one(one: _Judged, budget: _Budget, rules: _Rules) -> TraceEntry:
    item_id = one.candidate.candidate_id
    if one.block is not None:
        return TraceEntry(item_id, "excluded", one.block.reason)
    if one.is_required:
        return TraceEntry(item_id, "included", "included because required")
    if budget.has_room(one.candidate):
        budget.take(one.candidate)
        reason = rules.without_budget if budget.limit is None else "included within budget"
        return TraceEntry(item_id, "included", reason)
    because = f": {budget.explain(one.candidate)}" if rules.explains_budget else ""
    return TraceEntry(item_id, "excluded", f"{_EXCLUDED}budget{because}")


class _Budget:
    """What is left of a budget, and what used it up."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._used = 0
        self._spenders = 0
        self._largest: list[tuple[int, str]] = []  # (minus tokens, id), at most NAMED_SPENDERS

    def has_room(self, candidate: Candidate) -> bool:
        return self.limit is None or candidate.size_tokens <= self._left(self.limit)

    def take(self, candidate: Candidate) -> None:
        if candidate.size_tokens == 0:
            return
        self._used += candidate.size_tokens
        self._spenders += 1
        insort(self._largest, (-candidate.size_tokens, candidate.candidate_id))
        del self._largest[NAMED_SPENDERS:]

    def explain(self, candidate: Candidate) -> str:
        named = [item_id for _, item_id in self._largest]
        more = self._spenders - len(named)
        left = self._left(self.limit or 0)
        return (
            f"needs {candidate.size_tokens} tokens, {left} of {self.limit} left, "
            f"used by {named}" + (f" and {more} more" if more else "")
        )

    def _left(self, limit: int) -> int:
        return max(0, limit - self._used)  # below 0 only where compiling is refused
