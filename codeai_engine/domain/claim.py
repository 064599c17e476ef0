"""Claims, checks and decisions as a ledger holds them."""

from __future__ import annotations

from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

Json = dict[str, Any]


class ClaimRecorded(Payload):
    """`claim.recorded`: a sentence someone asserts; a later one of the same id replaces it."""

    KIND: ClassVar[str] = "claim.recorded"

    claim_id: str
    task_id: str | None = None
    statement: str | None = None
    source_call_id: str | None = None
    evidence_class: str | None = None
    status: str | None = None
    scope: Any = None
    anchors: list[Any] | None = None
    depends_on: list[str] | None = None
    run_id: str | None = None
    source_artifact_id: str | None = None
    source_span: Any = None
    conditions: Any = None


class ClaimLinked(Payload):
    """`claim.linked`: a relationship between two claims, on its own stream."""

    KIND: ClassVar[str] = "claim.linked"

    relationship_id: str | None = None
    from_claim_id: str | None = None
    to_claim_id: str | None = None
    relationship_type: str | None = None
    run_id: str | None = None
    created_by: str | None = None


class ClaimEvidence(Payload):
    """`claim.evidence`: the legacy promotion by a check that named the claim."""

    KIND: ClassVar[str] = "claim.evidence"

    claim_id: str
    evidence_class: str | None = None
    status: str | None = None
    check_id: str | None = None
    details: str | None = None


class ClaimStatus(Payload):
    """`claim.status`: the legacy refutation by a check that named the claim."""

    KIND: ClassVar[str] = "claim.status"

    claim_id: str
    status: str | None = None
    check_id: str | None = None
    details: str | None = None


class ClaimCheckInconclusive(Payload):
    """`claim.check_inconclusive`: of early writers; the attempt relation took its place."""

    KIND: ClassVar[str] = "claim.check_inconclusive"

    claim_id: str | None = None
    check_id: str | None = None
    details: str | None = None


class ClaimVerificationAttempted(Payload):
    """`claim.verification_attempted`: the link from a claim to a check; carries no verdict."""

    KIND: ClassVar[str] = "claim.verification_attempted"

    claim_id: str
    check_id: str | None = None
    check_completed_event_id: str | None = None
    version: str | None = None


class ClaimVerificationAttemptRefused(Payload):
    """`claim.verification_attempt_refused`: a check named a claim that nobody recorded."""

    KIND: ClassVar[str] = "claim.verification_attempt_refused"

    claim_id: str
    check_id: str | None = None
    reason: str | None = None
    version: str | None = None


class ClaimExtracted(Payload):
    """`claim.extracted`: a quote of a call's output; its span counts characters, not bytes."""

    KIND: ClassVar[str] = "claim.extracted"

    claim_id: str
    task_id: str | None = None
    call_id: str | None = None
    attempt_id: str | None = None
    span_start: int | None = None
    span_end: int | None = None
    quote: str | None = None
    statement: str | None = None
    extracted_by: str | None = None
    scope: Any = None
    conditions: Any = None
    policy_version: str | None = None
    quote_sha256: str | None = None
    observation_event_id: str | None = None
    observation_sha256: str | None = None
    protocol: str | None = None
    text_basis: str | None = None
    evidence_class: str | None = None


class ClaimEvidenceRecorded(Payload):
    """`claim.evidence_recorded`: a passage or a check that supports or refutes a claim.

    The stream is the evidence, not the claim.
    """

    KIND: ClassVar[str] = "claim.evidence_recorded"

    claim_id: str
    evidence_id: str | None = None
    kind: str | None = None
    verdict: str | None = None
    actor_id: str | None = None
    source_artifact_id: str | None = None
    passage_start: int | None = None
    passage_end: int | None = None
    passage: str | None = None
    check_id: str | None = None
    note: str | None = None
    policy_version: str | None = None
    source_sha256: str | None = None
    passage_sha256: str | None = None
    check_requested_event_id: str | None = None
    check_completed_event_id: str | None = None
    check_verdict: str | None = None
    task_id: str | None = None
    evidence_class: str | None = None


class Refusal(Payload):
    """What a refused claim, piece of evidence or decision holds: the request, and why not."""

    request: Json | None = None
    reasons: list[str] | None = None
    detail: Json | None = None


class ClaimRefused(Refusal):
    """`claim.refused`: an extraction that was not admitted."""

    KIND: ClassVar[str] = "claim.refused"


class ClaimEvidenceRefused(Refusal):
    """`claim.evidence_refused`: evidence that was not admitted."""

    KIND: ClassVar[str] = "claim.evidence_refused"


class DecisionRefused(Refusal):
    """`decision.refused`: a decision that its claims do not carry."""

    KIND: ClassVar[str] = "decision.refused"


class DecisionRecorded(Payload):
    """`decision.recorded`: what someone decided, and the claims it relies on."""

    KIND: ClassVar[str] = "decision.recorded"

    decision_id: str
    task_id: str | None = None
    actor_id: str | None = None
    statement: str | None = None
    relied_on_claim_ids: list[str] | None = None
    acknowledged_unresolved_claim_ids: list[str] | None = None
    policy_version: str | None = None
    basis: list[Json] | None = None
    acknowledged_unresolved: list[Json] | None = None
    minimum_evidence_class: str | None = None


class CheckRequested(Payload):
    """`check.requested`: what a check was asked to examine, and how."""

    KIND: ClassVar[str] = "check.requested"

    check_id: str
    task_id: str | None = None
    claim_ids: list[str] | None = None
    directive_id: str | None = None
    command: list[str] | None = None
    cwd: str | None = None
    timeout_seconds: float | int | None = None
    environment: Json | None = None
    target: str | None = None
    target_state_hash: str | None = None
    environment_hash: str | None = None
    verdict_policy: Json | None = None
    materialized_artifact_path: str | None = None
    # Ours: names of inherited variables with keyed digests of their values, never the values;
    # how the state is read; where the check comes from, and the lineage that follows from it.
    environment_from: Json | None = None
    environment_key_id: str | None = None
    inherited_environment_artifact: Json | None = None
    isolation: str | None = None
    state: Json | None = None
    metadata: Json | None = None
    source_call_id: str | None = None
    source_artifact_id: str | None = None


class CheckStarted(Payload):
    """`check.started` (ours): durable before the verifier is invoked; one for each invocation."""

    KIND: ClassVar[str] = "check.started"

    check_id: str
    attempt_id: str | None = None
    session_id: str | None = None
    executor: str | None = None
    argv: list[str] | None = None


class CheckCompleted(Payload):
    """`check.completed`: the verdict, beside what the runtime established about its subject.

    `binding` is missing where the check is older than binding; that is not `unbound`.
    """

    KIND: ClassVar[str] = "check.completed"

    check_id: str
    verdict: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    exit_code: int | None = None
    artifacts: list[Json] | None = None
    stdout: str | None = None
    stderr: str | None = None
    details: str | None = None
    error: str | None = None
    inconclusive_reason: str | None = None
    verdict_policy_id: str | None = None
    observed_target_state_hash: str | None = None
    binding_status: str | None = None
    artifact_binding_status: str | None = None
    binding: Json | None = None
    artifact_binding: Json | None = None
    declared_verdict_policy: Json | None = None
    verifier_identity: Json | None = None
    verification_version: str | None = None
    # Ours: a second reading of the state, what was seen of consumption and probes, and how much of
    # the output stands inline and in the artifacts.
    state_after: Json | None = None
    consumption: Json | None = None
    probes: Json | None = None
    stdout_truncated: bool | None = None
    stdout_bytes: int | None = None
    stderr_truncated: bool | None = None
    stderr_bytes: int | None = None
    # Its lineage: what a command wrote may quote the output that it was given.
    source_call_id: str | None = None
    source_artifact_id: str | None = None


ClaimPayloads = (
    ClaimRecorded
    | ClaimLinked
    | ClaimEvidence
    | ClaimStatus
    | ClaimCheckInconclusive
    | ClaimVerificationAttempted
    | ClaimVerificationAttemptRefused
    | ClaimExtracted
    | ClaimEvidenceRecorded
    | ClaimRefused
    | ClaimEvidenceRefused
    | DecisionRecorded
    | DecisionRefused
    | CheckRequested
    | CheckStarted
    | CheckCompleted
)
