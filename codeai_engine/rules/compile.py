"""Compiling: candidates and a seal to a package and a trace with a named reason for each decision.

`compile-v2` is the peer's rules and reasons (PEER_FORMAT section 3) but for four things (DESIGN 5):
forbidden artifact ids are matched against lineage too, every kind has a size, a trace without a
budget says so, and one with a budget says what used it up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from codeai_engine.digests import canonical_digest
from codeai_engine.domain.context import Compilation, Package, Seal, TraceEntry
from codeai_engine.errors import ContextSealViolation, RequiredContextMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codeai_engine.domain.context import Actor, Candidate

COMPILER_VERSION = "compile-v2"
NO_BUDGET = "included, no budget"
REQUIRED = "included because required"
WITHIN_BUDGET = "included within budget"
OVER_BUDGET = "excluded because budget"


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What one branch is compiled from.

    Args:
        candidates: What is offered, in any order.
        required_ids: Ids that must be selected, offered or not; a candidate that says
            `required` counts as named here.
        budget_tokens: The most that the selected candidates may take together; None is no budget.
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

    def is_required(self, candidate: Candidate) -> bool:
        """Return whether compiling must fail when `candidate` cannot be selected."""
        return candidate.required or candidate.candidate_id in self.required_ids


@dataclass(frozen=True, slots=True)
class Block:
    """What a seal says of one candidate: which set, the ids it met, and the recorded reason."""

    forbidden_set: str
    blocking_ids: tuple[str, ...]
    reason: str


class _Rules(Protocol):
    """What differs between our compiler and the peer's."""

    def block(self, candidate: Candidate, seal: Seal) -> Block | None: ...
    def included(self, *, required: bool, has_budget: bool) -> str: ...
    def over_budget(self, size: int, room: int, used_by: Sequence[str]) -> str: ...


class _OurRules:
    def block(self, candidate: Candidate, seal: Seal) -> Block | None:
        return seal_block(candidate, seal, artifact_lineage=True)

    def included(self, *, required: bool, has_budget: bool) -> str:
        if required:
            return REQUIRED
        return WITHIN_BUDGET if has_budget else NO_BUDGET

    def over_budget(self, size: int, room: int, used_by: Sequence[str]) -> str:
        taken = ", ".join(used_by) or "nothing"
        return f"{OVER_BUDGET}: needs {size} tokens, {room} left after {taken}"


class _PeerRules:
    def block(self, candidate: Candidate, seal: Seal) -> Block | None:
        return seal_block(candidate, seal, artifact_lineage=False)

    def included(self, *, required: bool, has_budget: bool) -> str:  # noqa: ARG002 - the peer's
        return REQUIRED if required else WITHIN_BUDGET

    def over_budget(self, size: int, room: int, used_by: Sequence[str]) -> str:  # noqa: ARG002
        return OVER_BUDGET


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


def seal_block(candidate: Candidate, seal: Seal, *, artifact_lineage: bool) -> Block | None:
    """Return why a seal blocks a candidate, None where it does not.

    The four sets are tried in the peer's order and the first hit gives the reason. The first two
    look at the id whatever the candidate's kind (PEER_FORMAT section 3).

    Args:
        candidate: What is offered.
        seal: What is forbidden.
        artifact_lineage: Whether forbidden artifacts are looked for in the lineage too: an event
            that names a forbidden artifact is that artifact's content by another way.
    """
    own = candidate.candidate_id
    carried = candidate.lineage | {own}
    if own in seal.forbidden_event_ids:
        return Block("event", (own,), f"excluded because seal forbids event {own}")
    artifacts = (carried if artifact_lineage else {own}) & seal.forbidden_artifact_ids
    if artifacts:
        met = own if own in artifacts else min(artifacts)
        return Block("artifact", (met,), f"excluded because seal forbids artifact {met}")
    for word, forbidden, label in (
        ("call", seal.forbidden_call_ids, "call lineage"),
        ("lineage", seal.forbidden_lineage_ids, "lineage"),
    ):
        hits = sorted(carried & forbidden)
        if hits:
            return Block(word, tuple(hits), f"excluded because seal forbids {label} {hits}")
    return None


def compile_package(request: CompileRequest) -> Compilation:
    """Select what a branch may carry.

    Raises:
        RequiredContextMissing: A required candidate is blocked by the seal, was not offered, or
            the required ones together exceed the budget.
    """
    return _compile(request, _OurRules())


def compile_as_peer(request: CompileRequest) -> Compilation:
    """Select by the peer's own rules, to recompute a package without `compiler_version`.

    Args:
        request: Its candidates carry the peer's sizes (`peer_size_tokens` for events, else 0).

    Raises:
        RequiredContextMissing: As the peer refuses.
    """
    return _compile(request, _PeerRules())


def trace_candidates(request: CompileRequest) -> tuple[TraceEntry, ...]:
    """Return the decision on every candidate, also where a required one is refused."""
    return tuple(entry for entry, _ in _decide(request, _OurRules()))


def peer_size_tokens(spaced_json: str) -> int:
    """Return the peer's size of an event: a quarter of its spaced JSON, at least 1."""
    return max(1, len(spaced_json) // 4)


def package_id(package: Package) -> str:
    """Return the digest of the ten fields of a package."""
    return canonical_digest(package.identity())


def trace_id(package: str, trace: Sequence[TraceEntry]) -> str:
    """Return the digest of a package id with its decisions, in trace order."""
    entries = [[entry.candidate_id, entry.decision, entry.reason] for entry in trace]
    return canonical_digest({"package_id": package, "entries": entries})


def refuse_violation(package: Package, lineage: Mapping[str, frozenset[str]]) -> None:
    """Check a package that is offered for use against its own seal.

    Args:
        package: The package, with its seal.
        lineage: What is known of each selected id's lineage.

    Raises:
        ContextSealViolation: It names an id that its seal forbids, itself or through lineage.
    """
    from codeai_engine.domain.context import Candidate

    for kind, item_id in package.items():
        candidate = Candidate(kind, item_id, lineage.get(item_id, frozenset()))
        block = seal_block(candidate, package.seal, artifact_lineage=True)
        if block is not None:
            reason = block.reason.removeprefix("excluded because ")
            raise ContextSealViolation(
                f"CONTEXT_SEAL_VIOLATION: {item_id} is selected although {reason}",
                candidate_id=item_id,
                forbidden_set=block.forbidden_set,
            )


_REASONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("event", re.compile(r"excluded because seal forbids event (?P<id>.+)", re.DOTALL)),
    ("artifact", re.compile(r"excluded because seal forbids artifact (?P<id>.+)", re.DOTALL)),
    ("call", re.compile(r"excluded because seal forbids call lineage \[(?P<ids>.*)\]", re.DOTALL)),
    ("lineage", re.compile(r"excluded because seal forbids lineage \[(?P<ids>.*)\]", re.DOTALL)),
    ("budget", re.compile(r"excluded because budget.*", re.DOTALL)),
    ("provenance", re.compile(r"excluded because provenance unknown under seal", re.DOTALL)),
)
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def exclusion_class(reason: str) -> tuple[str, tuple[str, ...]]:
    """Return which rule a recorded reason names, and the ids in it.

    Returns:
        `event`, `artifact`, `call`, `lineage`, `budget`, `provenance` or `other`; and the ids.
    """
    for word, pattern in _REASONS:
        match = pattern.fullmatch(reason)
        if match is None:
            continue
        groups = match.groupdict()
        if "ids" in groups:
            return word, tuple(one or two for one, two in _QUOTED.findall(groups["ids"]))
        return word, ((groups["id"],) if "id" in groups else ())
    return "other", ()


def _compile(request: CompileRequest, rules: _Rules) -> Compilation:
    decided = _decide(request, rules)
    _refuse_missing(request, decided)
    selected = [
        candidate
        for (entry, _), candidate in zip(decided, _ordered(request), strict=True)
        if entry.decision == "included"
    ]
    trace = tuple(entry for entry, _ in decided)
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


def _ids(selected: list[Candidate], kind: str) -> tuple[str, ...]:
    return tuple(sorted(one.candidate_id for one in selected if one.kind == kind))


def _ordered(request: CompileRequest) -> list[Candidate]:
    return sorted(request.candidates, key=lambda one: (one.kind, one.candidate_id))


def _decide(request: CompileRequest, rules: _Rules) -> list[tuple[TraceEntry, Block | None]]:
    """Return every decision in trace order, with what the seal said."""
    ordered = _ordered(request)
    blocks = [rules.block(candidate, request.seal) for candidate in ordered]
    required = [
        candidate
        for candidate, block in zip(ordered, blocks, strict=True)
        if block is None and request.is_required(candidate)
    ]
    spender = _Budget(request.budget_tokens, required, rules.over_budget)
    entries: list[tuple[TraceEntry, Block | None]] = []
    for candidate, block in zip(ordered, blocks, strict=True):
        is_required = request.is_required(candidate)
        refusal = block.reason if block else None if is_required else spender.refuse(candidate)
        has_budget = request.budget_tokens is not None
        reason = refusal or rules.included(required=is_required, has_budget=has_budget)
        decision = TraceEntry(candidate.candidate_id, "excluded" if refusal else "included", reason)
        entries.append((decision, block))
    return entries


class _Budget:
    """What is left of a budget once the required candidates have had their share."""

    def __init__(
        self,
        budget: int | None,
        required: Sequence[Candidate],
        explain: Callable[[int, int, Sequence[str]], str],
    ) -> None:
        self._budget = budget
        self._explain = explain
        self._used_by = [one.candidate_id for one in required]
        self._used = sum(one.size_tokens for one in required)

    def refuse(self, candidate: Candidate) -> str | None:
        """Return why an optional candidate does not fit; None where it does and takes its share."""
        if self._budget is None:
            return None
        room = max(0, self._budget - self._used)
        if candidate.size_tokens > room:
            return self._explain(candidate.size_tokens, room, self._used_by)
        self._used += candidate.size_tokens
        self._used_by.append(candidate.candidate_id)
        return None


def _refuse_missing(
    request: CompileRequest, decided: list[tuple[TraceEntry, Block | None]]
) -> None:
    offered = {candidate.candidate_id for candidate in request.candidates}
    for item_id in sorted(request.required_ids - offered):
        raise RequiredContextMissing(
            f"REQUIRED_CONTEXT_MISSING: {item_id} was required but not supplied",
            candidate_id=item_id,
        )
    required_tokens = 0
    for (entry, block), candidate in zip(decided, _ordered(request), strict=True):
        if not request.is_required(candidate):
            continue
        required_tokens += candidate.size_tokens
        if block is not None:
            raise RequiredContextMissing(
                f"REQUIRED_CONTEXT_MISSING: {entry.candidate_id} required but {block.reason}",
                candidate_id=entry.candidate_id,
                forbidden_set=block.forbidden_set,
                blocking_id=block.blocking_ids[0],
            )
    budget = request.budget_tokens
    if budget is not None and required_tokens > budget:
        raise RequiredContextMissing(
            f"CONTEXT_BUDGET_UNSATISFIABLE: required {required_tokens} tokens "
            f"exceed budget {budget}"
        )
