"""Valid values with one thing changed, so that a test says only what it is about."""

from __future__ import annotations

from typing import Any

from codeai_engine.digests import canonical_json, sha256_hex
from codeai_engine.domain.call import RenderedContext
from codeai_engine.domain.context import Actor, Candidate, Package, Seal, TraceEntry
from codeai_engine.domain.view import EventRow
from codeai_engine.rules.compile import CompileRequest

TASK_ID = "task-1"
ARTIFACT_ID = sha256_hex(b"The base text.")
SIBLING_CALL = "call-B"


def actor(actor_id: str = "reviewer-A", **changes: Any) -> Actor:
    fields: dict[str, Any] = {"provider": "local", "model": "small", "version": "1"}
    return Actor(actor_id=actor_id, **(fields | changes))


def seal(
    *,
    events: tuple[str, ...] = (),
    calls: tuple[str, ...] = (),
    artifacts: tuple[str, ...] = (),
    lineage: tuple[str, ...] = (),
) -> Seal:
    return Seal(frozenset(events), frozenset(calls), frozenset(artifacts), frozenset(lineage))


def candidate(candidate_id: str = ARTIFACT_ID, **changes: Any) -> Candidate:
    fields: dict[str, Any] = {"kind": "artifact", "size_tokens": 10}
    if "lineage" in changes:
        changes = changes | {"lineage": frozenset(changes["lineage"]), "provenance": "declared"}
    return Candidate(candidate_id=candidate_id, **(fields | changes))


def compile_request(*candidates: Candidate, **changes: Any) -> CompileRequest:
    fields: dict[str, Any] = {
        "task_id": TASK_ID,
        "actor": actor(),
        "prompt": "What is wrong?",
        "candidates": candidates,
        "seal": Seal(),
    }
    if "required" in changes:
        changes["required_ids"] = frozenset(changes.pop("required"))
    return CompileRequest(**(fields | changes))


def package(**changes: Any) -> Package:
    fields: dict[str, Any] = {
        "task_id": TASK_ID,
        "actor": actor(),
        "prompt": "What is wrong?",
        "prompt_version": None,
        "objective": None,
        "event_ids": (),
        "artifact_ids": (ARTIFACT_ID,),
        "claim_ids": (),
        "budget_tokens": None,
        "seal": Seal(),
    }
    return Package(**(fields | changes))


def entry(candidate_id: str, reason: str) -> TraceEntry:
    return TraceEntry(
        candidate_id, "included" if reason.startswith("included") else "excluded", reason
    )


def event_row(kind: str = "claim.recorded", payload: Any = None, **changes: Any) -> EventRow:
    """A stored event; `payload` is an object, or the stored text itself."""
    fields: dict[str, Any] = {
        "sequence": 1,
        "event_id": "event-1",
        "stream_id": "stream-1",
        "kind": kind,
        "actor_id": "reviewer-A",
        "payload_json": payload if isinstance(payload, str) else canonical_json(payload or {}),
        "created_at": "2026-01-01T00:00:00.000000+00:00",
        "causation_id": None,
        "correlation_id": TASK_ID,
    }
    return EventRow(**(fields | changes))


def rendered(content: bytes) -> RenderedContext:
    return RenderedContext(content=content, items=(), sha256=sha256_hex(content))
