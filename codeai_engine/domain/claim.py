"""Claims and checks as a ledger holds them.

This release reads them from any ledger; running checks comes with its own module.
"""

from __future__ import annotations

from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

Json = dict[str, Any]


class ClaimRecorded(Payload):
    """`claim.recorded`: a sentence someone asserts."""

    KIND: ClassVar[str] = "claim.recorded"

    claim_id: str
    task_id: str | None = None
    statement: str | None = None
    source_call_id: str | None = None
    evidence_class: str | None = None
    status: str | None = None


class ClaimEvidence(Payload):
    """`claim.evidence`: the legacy promotion by a check that named the claim."""

    KIND: ClassVar[str] = "claim.evidence"

    claim_id: str
    evidence_class: str | None = None
    status: str | None = None
    check_id: str | None = None


class ClaimStatus(Payload):
    """`claim.status`: the legacy refutation by a check that named the claim."""

    KIND: ClassVar[str] = "claim.status"

    claim_id: str
    status: str | None = None
    check_id: str | None = None


class ClaimVerificationAttempted(Payload):
    """`claim.verification_attempted`: the link from a claim to a check."""

    KIND: ClassVar[str] = "claim.verification_attempted"

    claim_id: str
    check_id: str | None = None
    check_completed_event_id: str | None = None


class ClaimVerificationAttemptRefused(Payload):
    """`claim.verification_attempt_refused`: a check named a claim that nobody recorded."""

    KIND: ClassVar[str] = "claim.verification_attempt_refused"

    claim_id: str
    check_id: str | None = None
    reason: str | None = None


class CheckRequested(Payload):
    """`check.requested`: what a check was asked to examine, and how."""

    KIND: ClassVar[str] = "check.requested"

    check_id: str
    task_id: str | None = None
    claim_ids: list[str] | None = None
    command: list[str] | None = None
    target: str | None = None
    target_state_hash: str | None = None


class CheckCompleted(Payload):
    """`check.completed`: the verdict, beside what the runtime established about its subject."""

    KIND: ClassVar[str] = "check.completed"

    check_id: str
    verdict: str | None = None
    error: str | None = None
    exit_code: int | None = None
    binding_status: str | None = None
    artifact_binding_status: str | None = None


ClaimPayloads = (
    ClaimRecorded
    | ClaimEvidence
    | ClaimStatus
    | ClaimVerificationAttempted
    | ClaimVerificationAttemptRefused
    | CheckRequested
    | CheckCompleted
)
