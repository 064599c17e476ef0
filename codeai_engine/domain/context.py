"""Seals, candidates, traces and packages: what compiling takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from codeai_engine.domain.value import Payload

CandidateKind = Literal["artifact", "claim", "event"]
Provenance = Literal["declared", "declared_none", "unknown"]
Decision = Literal["included", "excluded"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who an event is by: a reviewer, a model, a tool, the runtime, a person."""

    actor_id: str
    kind: str = "model"
    provider: str | None = None
    model: str | None = None
    version: str | None = None

    def to_payload(self) -> dict[str, str | None]:
        """Return the five fields as the peer writes them."""
        return {
            "actor_id": self.actor_id,
            "kind": self.kind,
            "provider": self.provider,
            "model": self.model,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class Seal:
    """What a branch's compiled input may not contain: four sets of ids."""

    forbidden_event_ids: frozenset[str] = frozenset()
    forbidden_call_ids: frozenset[str] = frozenset()
    forbidden_artifact_ids: frozenset[str] = frozenset()
    forbidden_lineage_ids: frozenset[str] = frozenset()

    def to_payload(self) -> dict[str, list[str]]:
        """Return the four sets as sorted lists, as the peer writes them."""
        return {
            "forbidden_event_ids": sorted(self.forbidden_event_ids),
            "forbidden_call_ids": sorted(self.forbidden_call_ids),
            "forbidden_artifact_ids": sorted(self.forbidden_artifact_ids),
            "forbidden_lineage_ids": sorted(self.forbidden_lineage_ids),
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something offered to the compiler.

    Args:
        kind: `artifact`, `claim` or `event`.
        candidate_id: Artifact id (64 hex), claim id or event id.
        lineage: Ids of where the content came from, without the candidate's own id.
        provenance: Whether that lineage was declared, declared to be none, or is unknown.
        required: Whether compiling must fail when it cannot be selected.
        size_tokens: UTF-8 bytes of the rendered item, divided by 4, rounded up.
    """

    kind: CandidateKind
    candidate_id: str
    lineage: frozenset[str] = frozenset()
    provenance: Provenance = "unknown"
    required: bool = False
    size_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """The compiler's decision on one candidate, with its named reason."""

    candidate_id: str
    decision: Decision
    reason: str

    def to_payload(self) -> dict[str, str]:
        """Return the entry as the peer writes it."""
        return {
            "candidate_id": self.candidate_id,
            "decision": self.decision,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Package:
    """What was selected for one branch. Its id is a digest of the ten fields (PEER_FORMAT 3)."""

    task_id: str
    actor: Actor
    prompt: str
    prompt_version: str | None
    objective: str | None
    event_ids: tuple[str, ...]
    artifact_ids: tuple[str, ...]
    claim_ids: tuple[str, ...]
    budget_tokens: int | None
    seal: Seal
    package_id: str = ""

    def identity(self) -> dict[str, Any]:
        """Return the ten fields whose canonical digest is the package id."""
        return {
            "task_id": self.task_id,
            "actor": self.actor.to_payload(),
            "prompt": self.prompt,
            "prompt_version": self.prompt_version,
            "objective": self.objective,
            "event_ids": sorted(self.event_ids),
            "artifact_ids": sorted(self.artifact_ids),
            "claim_ids": sorted(self.claim_ids),
            "budget_tokens": self.budget_tokens,
            "seal": self.seal.to_payload(),
        }

    def items(self) -> tuple[tuple[CandidateKind, str], ...]:
        """Return the selected ids as sorted `(kind, id)` pairs, the order of rendering."""
        pairs: list[tuple[CandidateKind, str]] = [("artifact", item) for item in self.artifact_ids]
        pairs += [("claim", item) for item in self.claim_ids]
        pairs += [("event", item) for item in self.event_ids]
        return tuple(sorted(pairs))


@dataclass(frozen=True, slots=True)
class Compilation:
    """A package with the trace that explains it."""

    package: Package
    trace: tuple[TraceEntry, ...]
    trace_id: str

    @property
    def included_ids(self) -> tuple[str, ...]:
        """The included candidates in trace order."""
        return tuple(entry.candidate_id for entry in self.trace if entry.decision == "included")

    @property
    def excluded_ids(self) -> tuple[str, ...]:
        """The excluded candidates in trace order."""
        return tuple(entry.candidate_id for entry in self.trace if entry.decision == "excluded")


# A seal as stored: four lists, or the text that the first writers left (PEER_FORMAT 2).
StoredSeal = dict[str, Any] | str | None


class ContextCompiled(Payload):
    """`context.compiled`, on the package's stream."""

    KIND: ClassVar[str] = "context.compiled"

    package_id: str
    task_id: str | None = None
    actor: dict[str, Any] | None = None
    prompt: str | None = None
    prompt_version: str | None = None
    objective: str | None = None
    event_ids: list[str] | str | None = None
    artifact_ids: list[str] | str | None = None
    claim_ids: list[str] | str | None = None
    budget_tokens: int | None = None
    seal: StoredSeal = None
    trace_id: str | None = None
    trace: list[dict[str, Any]] | None = None
    included_ids: list[str] | None = None
    excluded_ids: list[str] | None = None
    compilation_id: str | None = None
    # Ours. A branch may be compiled as if the lineage of some base items had not been declared.
    compiler_version: str | None = None
    call_id: str | None = None
    branch: str | None = None
    lineage_omitted: list[str] | None = None


class ContextCompilationFailed(Payload):
    """`context.compilation_failed`; in a fan-out (ours) with the call, its seal and its trace."""

    KIND: ClassVar[str] = "context.compilation_failed"

    compilation_id: str | None = None
    task_id: str | None = None
    exception: str | None = None
    message: str | None = None
    call_id: str | None = None
    branch: str | None = None
    actor: dict[str, Any] | None = None
    prompt: str | None = None
    fanout_id: str | None = None
    seal: StoredSeal = None
    trace: list[dict[str, Any]] | None = None


class ContextCompilationRequested(Payload):
    """`context.compilation_requested`: only from the peer's explicit compile-and-record call."""

    KIND: ClassVar[str] = "context.compilation_requested"

    compilation_id: str
    task_id: str | None = None
    actor: dict[str, Any] | None = None
    prompt: str | None = None
    prompt_version: str | None = None
    objective: str | None = None
    budget_tokens: int | None = None
    seal: StoredSeal = None
    candidates: list[dict[str, Any]] | None = None
    required_ids: list[str] | None = None
    size_basis: str | None = None
