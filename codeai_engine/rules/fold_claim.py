"""Claims and checks as the peer folds them, for every ledger (PEER_FORMAT 4, DESIGN 9).

Two paths that do not see each other: recorded claims with their evidence and status events, and
extracted claims whose standing is read from recorded evidence alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codeai_engine.domain.claim import (
    CheckCompleted,
    CheckRequested,
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
    ChecksView,
    CheckView,
    ClaimsView,
    ClaimView,
    DanglingView,
    RefusalView,
    StandingView,
)
from codeai_engine.domain.peer import TaskAcceptanceRejected
from codeai_engine.rules.fold_event import open_event, problems, reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_event import OpenedEvent, Read

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
CHECK_KINDS = ("check.requested", "check.completed")
_ATTRIBUTED = "E1_ATTRIBUTED"  # the class of an extracted claim that nothing supports


@dataclass(slots=True)
class _Claims:
    """The state of the fold: changed event by event, never seen outside."""

    items: dict[str, ClaimView] = field(default_factory=dict)
    dangling: list[DanglingView] = field(default_factory=list)
    extracted: dict[str, ClaimExtracted] = field(default_factory=dict)
    evidence: dict[str, list[ClaimEvidenceRecorded]] = field(default_factory=dict)

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
                known = self.item(payload.claim_id)
                attempted = (*known.attempted, payload.check_id or "")
                self.items[payload.claim_id] = replace(known, attempted=attempted)
            case ClaimVerificationAttemptRefused():
                known = self.item(payload.claim_id)
                refused = (*known.refused, payload.check_id or "")
                self.items[payload.claim_id] = replace(known, refused=refused)
            case ClaimExtracted():
                self.extracted.setdefault(payload.claim_id, payload)
            case ClaimEvidenceRecorded():
                self._recorded_evidence(row, payload)
            case _:
                pass  # counted, and shown among the events

    def _recorded(self, row: EventRow, payload: ClaimRecorded) -> None:
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
        )

    def _effect(self, row: EventRow, payload: ClaimEvidence | ClaimStatus) -> None:
        known = self.item(payload.claim_id)
        if not known.recordings:
            self._dangle(row, payload.claim_id, payload.check_id)
            return
        evidence_class = known.evidence_class
        if isinstance(payload, ClaimEvidence) and payload.evidence_class is not None:
            evidence_class = payload.evidence_class
        status = known.status if payload.status is None else payload.status
        self.items[payload.claim_id] = replace(known, status=status, evidence_class=evidence_class)

    def _recorded_evidence(self, row: EventRow, payload: ClaimEvidenceRecorded) -> None:
        if payload.claim_id not in self.extracted:
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
        items=tuple(state.items.values()),
        dangling=tuple(state.dangling),
        standings=tuple(
            _standing(claim, state.evidence.get(claim_id, ()))
            for claim_id, claim in state.extracted.items()
        ),
        refusals=tuple(_refusals(events)),
        counts=dict(Counter(event.row.kind for event in events)),
        unread=problems(events),
    )


def fold_checks(rows: Iterable[EventRow]) -> ChecksView:
    """Fold the events of `CHECK_KINDS`.

    A completion belongs to the request that it names as its cause, since check ids repeat; one
    without a cause belongs to the last request of its id before it.
    """
    events = _in_order(rows)
    requested = reads(events, CheckRequested)
    by_event_id = {request.row.event_id: request for request in requested}
    answered: set[int] = set()
    items: list[CheckView] = []
    for completed in reads(events, CheckCompleted):
        cause = completed.row.causation_id
        request = by_event_id.get(cause) if cause else _earlier_request(completed, requested)
        if request is not None:
            answered.add(request.row.sequence)
        items.append(_check_view(completed, request))
    return ChecksView(
        items=tuple(items),
        requested=sum(event.row.kind == CheckRequested.KIND for event in events),
        unanswered=tuple(
            request.payload.check_id
            for request in requested
            if request.row.sequence not in answered
        ),
        unread=problems(events),
    )


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


def _earlier_request(
    completed: Read[CheckCompleted], requested: Sequence[Read[CheckRequested]]
) -> Read[CheckRequested] | None:
    before = [
        request
        for request in requested
        if request.payload.check_id == completed.payload.check_id
        and request.row.sequence < completed.row.sequence
    ]
    return before[-1] if before else None


def _check_view(completed: Read[CheckCompleted], request: Read[CheckRequested] | None) -> CheckView:
    payload = completed.payload
    asked = request.payload if request else None
    return CheckView(
        check_id=payload.check_id,
        sequence=completed.row.sequence,
        verdict=payload.verdict,
        binding_status=payload.binding_status,
        artifact_binding_status=payload.artifact_binding_status,
        error=payload.error,
        inconclusive_reason=payload.inconclusive_reason,
        exit_code=payload.exit_code,
        requested=request.row.sequence if request else None,
        claim_ids=tuple((asked.claim_ids if asked else None) or ()),
        command=tuple((asked.command if asked else None) or ()),
        target=asked.target if asked else None,
    )
