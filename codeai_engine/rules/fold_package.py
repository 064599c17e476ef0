"""A stored compilation to its package, seal and trace, with what the record knows of each item."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from codeai_engine.domain.context import Actor, Package, Seal, TraceEntry
from codeai_engine.domain.view import PackageView, Recomputed, SealView, TraceView
from codeai_engine.rules.compile import exclusion_class, package_id, trace_id
from codeai_engine.rules.lineage import event_lineage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codeai_engine.domain.context import CandidateKind, ContextCompiled, StoredSeal
    from codeai_engine.domain.fanout import FanoutRequested
    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_event import Read

Key = tuple[str, str]  # (kind, id)
KINDS: tuple[CandidateKind, ...] = ("artifact", "claim", "event")
_SEAL_FIELDS = (
    "forbidden_event_ids",
    "forbidden_call_ids",
    "forbidden_artifact_ids",
    "forbidden_lineage_ids",
)
_ARTIFACT_ID = re.compile("[0-9a-f]{64}")


class Sources(Protocol):
    """What a fold may ask a ledger for by key; a value in itself, never a scan."""

    def artifact_bytes(self, artifact_id: str) -> bytes | None:
        """Return the stored bytes, unchecked, or None where they are not there."""
        ...

    def event(self, event_id: str) -> EventRow | None:
        """Return an event by its id."""
        ...

    def claim_records(self, claim_id: str) -> tuple[EventRow, ...]:
        """Return every `claim.recorded` of a claim."""
        ...


@dataclass(frozen=True, slots=True)
class BaseRecord:
    """What a fan-out's request says of the base that its branches were compiled from.

    Args:
        offered: Offered items by kind; None where the record does not say.
        declared: Items with declared lineage by kind (artifacts and claims); None likewise.
        lineage: Declared lineage by item; None where only the counts are recorded.
        vouched: Items declared to have no lineage: by whom, and why.
        names: What the spec calls an item.
    """

    offered: Mapping[str, int] | None = None
    declared: Mapping[str, int] | None = None
    lineage: Mapping[Key, tuple[str, ...]] | None = None
    vouched: Mapping[Key, str] = field(default_factory=dict)
    names: Mapping[Key, str] = field(default_factory=dict)

    def unknown_count(self) -> int | None:
        """Return how many offered artifacts and claims have no declared origin.

        Events are never among them: their lineage is derived from the events themselves.
        """
        if self.offered is None or self.declared is None:
            return None
        counted = sum(self.offered[kind] - self.declared[kind] for kind in ("artifact", "claim"))
        return counted - sum(kind != "event" for kind, _ in self.vouched)


def read_base(requested: FanoutRequested) -> BaseRecord:
    """Read what a `fanout.requested` records of its base; of any writer's shape."""
    lineage: dict[Key, tuple[str, ...]] | None = None
    if requested.base_lineage is not None:
        lineage = {
            (kind, item_id): _texts(ids)
            for kind in KINDS
            for item_id, ids in _object(requested.base_lineage.get(f"{kind}s")).items()
        }
    return BaseRecord(
        offered=_counts(requested.base_offered),
        declared=_counts(requested.base_lineage_declared),
        lineage=lineage,
        vouched={
            (str(item.get("kind")), str(item.get("id"))): f"{item.get('by')}: {item.get('why')}"
            for item in requested.base_declared_none or ()
        },
        names={
            (kind, item_id): str(name)
            for key, name in _object(requested.base_names).items()
            for kind, _, item_id in [key.partition(":")]
        },
    )


def stored_seal(seal: StoredSeal) -> Seal | str:
    """Read a stored seal, or return its text where it is not four lists of ids.

    The first writers stored a set as the text of a set, in no stable order (PEER_FORMAT 2).
    """
    if not isinstance(seal, dict):
        return str(seal)
    sets: list[frozenset[str]] = []
    for name in _SEAL_FIELDS:
        ids = seal.get(name)
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            return f"{name} is {ids!r}"
        sets.append(frozenset(ids))
    return Seal(*sets)


def view_seal(seal: Seal | str) -> SealView:
    """Return a seal as a screen shows it."""
    if isinstance(seal, str):
        return SealView(unreadable=seal)
    return SealView(
        event_ids=tuple(sorted(seal.forbidden_event_ids)),
        call_ids=tuple(sorted(seal.forbidden_call_ids)),
        artifact_ids=tuple(sorted(seal.forbidden_artifact_ids)),
        lineage_ids=tuple(sorted(seal.forbidden_lineage_ids)),
    )


def stored_package(compiled: ContextCompiled, seal: Seal | str) -> Package | None:
    """Return the package of a compilation, None where a part of its identity cannot be read.

    Args:
        compiled: The stored compilation.
        seal: Its seal as `stored_seal` reads it.
    """
    actor = compiled.actor
    ids = (compiled.event_ids, compiled.artifact_ids, compiled.claim_ids)
    if isinstance(seal, str) or actor is None or not all(isinstance(part, list) for part in ids):
        return None
    event_ids, artifact_ids, claim_ids = (_texts(part) for part in ids)
    return Package(
        task_id=compiled.task_id or "",
        actor=Actor(
            actor_id=str(actor.get("actor_id")),
            kind=str(actor.get("kind")),
            provider=actor.get("provider"),
            model=actor.get("model"),
            version=actor.get("version"),
        ),
        prompt=compiled.prompt or "",
        prompt_version=compiled.prompt_version,
        objective=compiled.objective,
        event_ids=event_ids,
        artifact_ids=artifact_ids,
        claim_ids=claim_ids,
        budget_tokens=compiled.budget_tokens,
        seal=seal,
        package_id=compiled.package_id,
    )


def recompute_package(package: Package | None) -> Recomputed:
    """Recompute the id of a stored package from its ten fields."""
    if package is None:
        return "absent"
    try:
        return "match" if package_id(package) == package.package_id else "mismatch"
    except ValueError:  # a number that is not JSON
        return "mismatch"


def recompute_trace(compiled: ContextCompiled) -> Recomputed:
    """Recompute a trace id from the package id and every decision."""
    if compiled.trace_id is None:
        return "not recorded"
    if compiled.trace is None:
        return "absent"
    found = trace_id(compiled.package_id, stored_trace(compiled.trace))
    return "match" if found == compiled.trace_id else "mismatch"


def stored_trace(trace: Iterable[Mapping[str, Any]] | None) -> tuple[TraceEntry, ...]:
    """Read the entries of a stored trace; a decision of another word is kept as it is."""
    return tuple(
        TraceEntry(
            candidate_id=str(entry.get("candidate_id")),
            decision=entry.get("decision", ""),
            reason=str(entry.get("reason")),
        )
        for entry in trace or ()
    )


def view_package(compiled: Read[ContextCompiled]) -> PackageView:
    """Return one compilation for a list, its exclusions with their classes."""
    payload = compiled.payload
    entries = stored_trace(payload.trace)
    package = stored_package(payload, stored_seal(payload.seal))
    return PackageView(
        sequence=compiled.row.sequence,
        package_id=payload.package_id,
        task_id=payload.task_id,
        included=sum(entry.decision == "included" for entry in entries),
        excluded=tuple(_view_entry(entry) for entry in entries if entry.decision == "excluded"),
        package_recomputed=recompute_package(package),
        trace_recomputed=recompute_trace(payload),
    )


@dataclass(frozen=True, slots=True)
class TraceReader:
    """Explains the decisions of one branch with what the record knows of each candidate.

    Args:
        base: What the fan-out's request says of the base.
        selected: Kinds of the selected ids.
        omitted: Items compiled as if their lineage had not been declared.
        sources: Where events and claims are looked up by key.
    """

    base: BaseRecord
    selected: Mapping[str, str]
    omitted: frozenset[str]
    sources: Sources

    def view(self, entry: TraceEntry) -> TraceView:
        """Return one decision with kind, provenance, lineage and name."""
        kind = self._kind(entry.candidate_id)
        shown = _view_entry(entry)
        if kind is None:
            return shown
        key = (kind, entry.candidate_id)
        is_omitted = entry.candidate_id in self.omitted and kind != "event"
        return TraceView(
            candidate_id=entry.candidate_id,
            kind=kind,
            decision=entry.decision,
            reason=entry.reason,
            exclusion_class=shown.exclusion_class,
            blocking_ids=shown.blocking_ids,
            provenance="unknown" if is_omitted else self._provenance(key, shown),
            name=self.base.names.get(key),
            lineage=() if is_omitted else self.lineage(key),
            vouched=self.base.vouched.get(key),
        )

    def lineage(self, key: Key) -> tuple[str, ...]:
        """Return the ids that an item comes from, as far as the record names them."""
        kind, item_id = key
        if kind == "event":
            row = self.sources.event(item_id)
            return tuple(sorted(event_lineage(row) - {item_id})) if row else ()
        return (self.base.lineage or {}).get(key, ())

    def _kind(self, candidate_id: str) -> str | None:
        if candidate_id in self.selected:
            return self.selected[candidate_id]
        keys = {*(self.base.lineage or ()), *self.base.vouched, *self.base.names}
        known = next((kind for kind in KINDS if (kind, candidate_id) in keys), None)
        if known is not None:
            return known
        if _ARTIFACT_ID.fullmatch(candidate_id):
            return "artifact"
        if self.sources.event(candidate_id) is not None:
            return "event"
        return "claim" if self.sources.claim_records(candidate_id) else None

    def _provenance(self, key: Key, shown: TraceView) -> str | None:
        kind, item_id = key
        if kind == "event":
            return "declared"
        if key in self.base.vouched:
            return "declared_none"
        if self.base.lineage is not None:
            return "declared" if self.base.lineage.get(key) else "unknown"
        return self._peer_provenance(kind, item_id, shown)

    def _peer_provenance(self, kind: str, item_id: str, shown: TraceView) -> str | None:
        """Read the peer's counts: all or none is an answer, and so is what lineage excluded."""
        if shown.exclusion_class in {"call", "lineage"} and item_id not in shown.blocking_ids:
            return "declared"
        if self.base.offered is None or self.base.declared is None:
            return None
        declared = self.base.declared[kind]
        if declared == 0:
            return "unknown"
        return "declared" if declared == self.base.offered[kind] else None


def selected_kinds(compiled: ContextCompiled) -> dict[str, str]:
    """Return the kind of every selected id."""
    return {
        item_id: kind
        for kind, ids in (
            ("event", compiled.event_ids),
            ("claim", compiled.claim_ids),
            ("artifact", compiled.artifact_ids),
        )
        for item_id in _texts(ids)
    }


def _view_entry(entry: TraceEntry) -> TraceView:
    if entry.decision != "excluded":
        return TraceView(entry.candidate_id, None, entry.decision, entry.reason)
    word, ids = exclusion_class(entry.reason)
    return TraceView(
        entry.candidate_id,
        None,
        entry.decision,
        entry.reason,
        exclusion_class=word,
        blocking_ids=ids,
    )


def _counts(counts: Any) -> dict[str, int] | None:  # noqa: ANN401 - JSON
    if not isinstance(counts, dict):
        return None
    found: dict[str, Any] = {kind: counts.get(f"{kind}s", 0) for kind in KINDS}
    return found if all(isinstance(number, int) for number in found.values()) else None


def _object(value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
