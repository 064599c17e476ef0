"""Claims as the peer folds them, for every ledger (PEER_FORMAT 4, DESIGN 9).

Two paths that do not see each other: recorded claims with their evidence and status events, and
extracted claims whose standing is read from recorded evidence alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codeai_engine.domain.claim import (
    ClaimCheckInconclusive,
    ClaimEvidence,
    ClaimEvidenceRecorded,
    ClaimExtracted,
    ClaimRecorded,
    ClaimStatus,
    ClaimVerificationAttempted,
    ClaimVerificationAttemptRefused,
    Refusal,
)
from codeai_engine.domain.claim_view import (
    ClaimEntry,
    ClaimsView,
    ClaimView,
    DanglingView,
    RefusalView,
    StandingView,
)
from codeai_engine.domain.peer import TaskAcceptanceRejected
from codeai_engine.rules.fold_event import open_event, problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.claim_view import Step
    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_event import OpenedEvent

CLAIM_KINDS = (
    "claim.recorded",
    "claim.linked",
    "claim.evidence",
    "claim.status",
    "claim.check_inconclusive",
    "claim.verification_attempted",
    "claim.verification_attempt_refused",
    "claim.extracted",
    "claim.evidence_recorded",
    "claim.refused",
    "claim.evidence_refused",
    "decision.recorded",
    "decision.refused",
    "task.acceptance_rejected",
)
_DANGLING = "moves nothing: nobody had recorded this claim"
_UNEXTRACTED = "moves nothing: nobody had extracted this claim"
_ATTRIBUTED = "E1_ATTRIBUTED"  # the class of an extracted claim that nothing supports


@dataclass(slots=True)
class _Claims:
    """The state of the fold: changed event by event, never seen outside."""

    items: dict[str, ClaimView] = field(default_factory=dict)
    dangling: list[DanglingView] = field(default_factory=list)
    extracted: dict[str, ClaimExtracted] = field(default_factory=dict)
    evidence: dict[str, list[ClaimEvidenceRecorded]] = field(default_factory=dict)
    histories: dict[str, list[ClaimEntry]] = field(default_factory=dict)
    sources: dict[str, list[ClaimEntry]] = field(default_factory=dict)

    def item(self, claim_id: str) -> ClaimView:
        """Return the claim, known or not."""
        return self.items.get(claim_id, ClaimView(claim_id=claim_id, recordings=0))

    def take(self, event: OpenedEvent) -> None:
        """Fold one event."""
        row, payload = event.row, event.payload
        match payload:
            case ClaimRecorded():
                self._recorded(row, payload)
            case ClaimEvidence() | ClaimStatus():
                self._effect(row, payload)
            case ClaimVerificationAttempted():
                entry = _entry(row, "attempt", payload.check_id)
                completed_id = payload.check_completed_event_id
                self._enter(payload.claim_id, replace(entry, completed_event_id=completed_id))
                known = self.item(payload.claim_id)
                attempted = (*known.attempted, payload.check_id or "")
                self.items[payload.claim_id] = replace(known, attempted=attempted)
            case ClaimVerificationAttemptRefused():
                entry = _entry(row, "refused attempt", payload.check_id)
                self._enter(payload.claim_id, replace(entry, why=payload.reason, admitted=False))
                known = self.item(payload.claim_id)
                refused = (*known.refused, payload.check_id or "")
                self.items[payload.claim_id] = replace(known, refused=refused)
            case ClaimExtracted():
                self.extracted.setdefault(payload.claim_id, payload)
                entry = replace(_entry(row, "recorded"), statement=payload.statement)
                self.sources.setdefault(payload.claim_id, []).append(entry)
            case ClaimCheckInconclusive() if payload.claim_id is not None:
                self._enter(payload.claim_id, _entry(row, "other", payload.check_id))
            case ClaimEvidenceRecorded():
                self._recorded_evidence(row, payload)
            case _:
                pass  # counted, and shown among the events

    def _enter(self, claim_id: str, entry: ClaimEntry) -> None:
        self.histories.setdefault(claim_id, []).append(entry)

    def _recorded(self, row: EventRow, payload: ClaimRecorded) -> None:
        sets = _sets(payload.evidence_class, payload.status)
        entry = replace(_entry(row, "recorded"), statement=payload.statement, effect=sets)
        self._enter(payload.claim_id, entry)
        known = self.item(payload.claim_id)
        self.items[payload.claim_id] = replace(
            known,
            recordings=known.recordings + 1,
            statement=payload.statement,
            status=payload.status,
            evidence_class=payload.evidence_class,
            source_call_id=payload.source_call_id,
            task_id=payload.task_id,
            recorded=row.sequence,
            actor_id=row.actor_id,
        )

    def _effect(self, row: EventRow, payload: ClaimEvidence | ClaimStatus) -> None:
        known = self.item(payload.claim_id)
        moves = bool(known.recordings)
        is_evidence = isinstance(payload, ClaimEvidence)
        evidence = payload.evidence_class if isinstance(payload, ClaimEvidence) else None
        entry = _entry(row, "evidence" if is_evidence else "status", payload.check_id)
        effect = _sets(evidence, payload.status) if moves else None
        why = None if moves else _DANGLING
        self._enter(payload.claim_id, replace(entry, effect=effect, why=why))
        if not moves:
            self._dangle(row, payload.claim_id, payload.check_id)
            return
        evidence_class = known.evidence_class
        if isinstance(payload, ClaimEvidence) and payload.evidence_class is not None:
            evidence_class = payload.evidence_class
        status = known.status if payload.status is None else payload.status
        self.items[payload.claim_id] = replace(known, status=status, evidence_class=evidence_class)

    def _recorded_evidence(self, row: EventRow, payload: ClaimEvidenceRecorded) -> None:
        is_known = payload.claim_id in self.extracted
        entry = replace(
            _entry(row, "passage", payload.check_id),
            completed_event_id=payload.check_completed_event_id,
            effect=f"{payload.verdict} by {payload.kind}" if is_known else None,
            why=None if is_known else _UNEXTRACTED,
            statement=payload.passage,
        )
        self.sources.setdefault(payload.claim_id, []).append(entry)
        if not is_known:
            self._dangle(row, payload.claim_id, payload.check_id)
            return
        self.evidence.setdefault(payload.claim_id, []).append(payload)

    def _dangle(self, row: EventRow, claim_id: str, check_id: str | None) -> None:
        self.dangling.append(DanglingView(row.sequence, row.kind, claim_id, check_id))


def fold_claims(rows: Iterable[EventRow]) -> ClaimsView:
    """Fold the events of `CLAIM_KINDS`; order of arrival does not matter, sequence does."""
    events = _in_order(rows)
    state = _Claims()
    for event in events:
        state.take(event)
    return ClaimsView(
        items=tuple(
            replace(item, history=tuple(state.histories.get(item.claim_id, ())))
            for item in state.items.values()
        ),
        dangling=tuple(state.dangling),
        standings=tuple(
            replace(
                _standing(claim, state.evidence.get(claim_id, ())),
                history=tuple(state.sources.get(claim_id, ())),
            )
            for claim_id, claim in state.extracted.items()
        ),
        refusals=tuple(_refusals(events)),
        counts=dict(Counter(event.row.kind for event in events)),
        unread=problems(events),
    )


def _entry(row: EventRow, step: Step, check_id: str | None = None) -> ClaimEntry:
    return ClaimEntry(row.sequence, step, row.kind, row.actor_id, check_id)


def _sets(evidence_class: str | None, status: str | None) -> str | None:
    """Return what an event sets, in one text; None where it sets nothing."""
    return ", ".join(word for word in (evidence_class, status) if word) or None


def _in_order(rows: Iterable[EventRow]) -> tuple[OpenedEvent, ...]:
    return tuple(open_event(row) for row in sorted(rows, key=lambda row: row.sequence))


def _standing(claim: ClaimExtracted, evidence: Sequence[ClaimEvidenceRecorded]) -> StandingView:
    supporting = [item for item in evidence if item.verdict == "supports"]
    refuting = [item for item in evidence if item.verdict == "refutes"]
    if supporting and refuting:
        status = "contested"
    elif supporting:
        status = "supported"
    else:
        status = "refuted" if refuting else "unresolved"
    # Classes are named so that their order is that of their names: E1 below E2 below E3.
    classes = [item.evidence_class for item in supporting if item.evidence_class]
    return StandingView(
        claim_id=claim.claim_id,
        status=status,
        evidence_class=max(classes, default=_ATTRIBUTED),
        supporting=tuple(item.evidence_id or "" for item in supporting),
        refuting=tuple(item.evidence_id or "" for item in refuting),
        statement=claim.statement,
        quote=claim.quote,
    )


def _refusals(events: Iterable[OpenedEvent]) -> Iterable[RefusalView]:
    for event in events:
        if isinstance(event.payload, Refusal | TaskAcceptanceRejected):
            yield RefusalView(
                sequence=event.row.sequence,
                kind=event.row.kind,
                subject_id=event.row.stream_id,
                reasons=tuple(event.payload.reasons or ()),
            )
