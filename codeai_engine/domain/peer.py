"""Kinds that only the peer writes; we read and show them (PEER_FORMAT section 4).

Its first writers left a set as text (`"frozenset({'read'})"`), so a list of capabilities may be
text too.
"""

from __future__ import annotations

from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

Json = dict[str, Any]
Capabilities = list[str] | str | None


class DirectiveRegistrationRequested(Payload):
    """`directive.registration_requested`: always before opened or refused."""

    KIND: ClassVar[str] = "directive.registration_requested"

    directive_id: str
    parent_directive_id: str | None = None
    capabilities: Capabilities = None
    budget: Json | None = None
    version: str | None = None


class DirectiveRegistrationRefused(Payload):
    """`directive.registration_refused`: more was asked for than the parent holds."""

    KIND: ClassVar[str] = "directive.registration_refused"

    directive_id: str
    parent_directive_id: str | None = None
    requested_capabilities: Capabilities = None
    parent_capabilities: Capabilities = None
    reason: str | None = None
    basis_event_ids: list[str] | None = None
    version: str | None = None


class DirectiveOpened(Payload):
    """`directive.opened`: a mandate under which tasks are created."""

    KIND: ClassVar[str] = "directive.opened"

    directive_id: str
    objective: str | None = None
    success_criteria: list[str] | None = None
    budget: Json | None = None
    authority: Json | None = None
    parent_directive_id: str | None = None


class AuthorityTransitioned(Payload):
    """`authority.transitioned`: one directive takes over from another."""

    KIND: ClassVar[str] = "authority.transitioned"

    previous_directive_id: str | None = None
    new_directive_id: str | None = None
    actor_id: str | None = None
    source: str | None = None
    reason: str | None = None
    previous_effective_capabilities: Capabilities = None
    new_effective_capabilities: Capabilities = None
    previous_basis_event_ids: list[str] | None = None
    new_directive_event_id: str | None = None
    version: str | None = None


class AuthorityTransitionRefused(Payload):
    """`authority.transition_refused`: the directive does not take over."""

    KIND: ClassVar[str] = "authority.transition_refused"

    previous_directive_id: str | None = None
    new_directive_id: str | None = None
    actor_id: str | None = None
    source: str | None = None
    reason: str | None = None
    refusal: str | None = None
    version: str | None = None


class TaskAcceptance(Payload):
    """What `task.accepted` and `task.acceptance_rejected` have in common: the request."""

    acceptance_id: str | None = None
    task_id: str | None = None
    actor_id: str | None = None
    criteria_sha256: str | None = None
    artifact_sha256: str | None = None
    source_call_id: str | None = None
    source_attempt_id: str | None = None
    source_interpretation_id: str | None = None
    check_ids: list[str] | None = None
    policy_version: str | None = None
    directive_id: str | None = None
    authority_basis: Json | None = None
    caller_claimed_capabilities: Capabilities = None


class TaskAccepted(TaskAcceptance):
    """`task.accepted`: an artifact meets the task's criteria."""

    KIND: ClassVar[str] = "task.accepted"

    check_completed_event_ids: list[str] | None = None


class TaskAcceptanceRejected(TaskAcceptance):
    """`task.acceptance_rejected`: it does not, or nobody may say so."""

    KIND: ClassVar[str] = "task.acceptance_rejected"

    reasons: list[str] | None = None


class TaskCompleted(Payload):
    """`task.completed`: counts only where its cause is a `task.accepted` of the same artifact."""

    KIND: ClassVar[str] = "task.completed"

    task_id: str | None = None
    acceptance_id: str | None = None
    acceptance_event_id: str | None = None
    artifact_sha256: str | None = None
    policy_version: str | None = None


class OperationGovernance(Payload):
    """What permitted a call, check or action, or refused it."""

    subject_kind: str | None = None
    subject_id: str | None = None
    call_id: str | None = None
    lineage_ids: list[str] | None = None
    status: str | None = None
    source: str | None = None
    requested_operation: str | None = None
    task_id: str | None = None
    decision_id: str | None = None
    decided_operation: str | None = None
    decision_event_id: str | None = None
    decision_basis_sha256: str | None = None
    current_basis_sha256: str | None = None
    reason: str | None = None
    version: str | None = None


class OperationGovernanceRecorded(OperationGovernance):
    """`operation.governance_recorded`: `governed` or `ungoverned`; before `call.requested`."""

    KIND: ClassVar[str] = "operation.governance_recorded"


class OperationGovernanceRefused(OperationGovernance):
    """`operation.governance_refused`: nothing follows for a call; a check still completes."""

    KIND: ClassVar[str] = "operation.governance_refused"


class SchedulerDecisionRecorded(Payload):
    """`scheduler.decision_recorded`: what to do next, and the state it was decided on."""

    KIND: ClassVar[str] = "scheduler.decision_recorded"

    decision_id: str
    task_id: str | None = None
    operation: str | None = None
    reason_code: str | None = None
    policy_version: str | None = None
    projection_version: str | None = None
    state: Json | None = None
    process_state_sha256: str | None = None
    basis_event_ids: list[str] | None = None


class ActionRequested(Payload):
    """`action.requested`; without `recovery_version` it is from an early writer."""

    KIND: ClassVar[str] = "action.requested"

    action_id: str
    actor_id: str | None = None
    task_id: str | None = None
    directive_id: str | None = None
    adapter: str | None = None
    adapter_id: str | None = None
    capability: str | None = None
    decision_id: str | None = None
    idempotency_key: str | None = None
    instruction: str | None = None
    payload: Json | None = None
    precondition_hash: str | None = None
    requested_by: str | None = None
    recovery_version: str | None = None


class AuthorityBasis(Payload):
    """Which grant an action rests on, or why there is none (`status`)."""

    action_id: str | None = None
    capability: str | None = None
    status: str | None = None
    reason: str | None = None
    directive_id: str | None = None
    grant_source: str | None = None
    effective_capabilities: Capabilities = None
    grant_chain: list[Any] | None = None
    basis_event_ids: list[str] | None = None
    effective_directive_id: str | None = None
    supersession_chain: list[str] | None = None
    version: str | None = None


class ActionAuthorized(AuthorityBasis):
    """`action.authorized`."""

    KIND: ClassVar[str] = "action.authorized"


class ActionAuthorizationRefused(AuthorityBasis):
    """`action.authorization_refused`."""

    KIND: ClassVar[str] = "action.authorization_refused"


class ActionDecisionBasisRefused(Payload):
    """`action.decision_basis_refused`: the decision does not carry the action."""

    KIND: ClassVar[str] = "action.decision_basis_refused"

    action_id: str | None = None
    reason: str | None = None


class ActionReplayRefused(Payload):
    """`action.replay_refused`: an idempotency key that stands for another request."""

    KIND: ClassVar[str] = "action.replay_refused"

    requested_action_id: str | None = None
    original_action_id: str | None = None
    idempotency_key: str | None = None
    fingerprint_version: str | None = None
    mismatched_dimensions: list[str] | None = None


class ActionExecutionStarted(Payload):
    """`action.execution_started`: from here its effect may have happened."""

    KIND: ClassVar[str] = "action.execution_started"

    action_id: str
    task_id: str | None = None
    adapter: str | None = None
    capability: str | None = None
    idempotency_key: str | None = None
    started_at: str | None = None
    state_hash_before: str | None = None
    version: str | None = None


class ActionCompleted(Payload):
    """`action.completed`: its cause is NULL; `reused_from_action_id` marks a replay."""

    KIND: ClassVar[str] = "action.completed"

    action_id: str
    status: str | None = None
    idempotency_key: str | None = None
    reused_from_action_id: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    transcript: str | None = None
    error: str | None = None
    artifacts: list[Json] | None = None
    observed_state_hash: str | None = None
    resulting_state_hash: str | None = None
    state_hash: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | int | None = None


class ActionReconciled(Payload):
    """`action.reconciled`: what someone found out about an unknown effect."""

    KIND: ClassVar[str] = "action.reconciled"

    action_id: str
    verdict: str | None = None
    basis: str | None = None
    evidence_refs: list[Any] | None = None
    version: str | None = None


class ActionReconcileRefused(Payload):
    """`action.reconcile_refused`."""

    KIND: ClassVar[str] = "action.reconcile_refused"

    action_id: str | None = None
    verdict: str | None = None
    reason: str | None = None
    version: str | None = None


class LadderStarted(Payload):
    """`ladder.started`: the rungs that will be tried, in order."""

    KIND: ClassVar[str] = "ladder.started"

    run_id: str
    ladder_id: str | None = None
    ladder_version: str | None = None
    router_version: str | None = None
    rungs: list[Json] | None = None
    input_sha256: str | None = None
    instruction_sha256: str | None = None
    effect_capability: str | None = None


class LadderRungEntered(Payload):
    """`ladder.rung_entered`: `kind` is `rule`, `model` or `human`."""

    KIND: ClassVar[str] = "ladder.rung_entered"

    run_id: str
    rung_id: str | None = None
    kind: str | None = None
    reason: str | None = None


class LadderRungDeclined(Payload):
    """`ladder.rung_declined`: why the next rung was needed."""

    KIND: ClassVar[str] = "ladder.rung_declined"

    run_id: str
    rung_id: str | None = None
    reason: str | None = None
    call_id: str | None = None
    check_id: str | None = None
    candidate_sha256: str | None = None


class LadderResolved(Payload):
    """`ladder.resolved`: a rung's candidate passed its check."""

    KIND: ClassVar[str] = "ladder.resolved"

    run_id: str
    rung_id: str | None = None
    call_id: str | None = None
    check_id: str | None = None
    candidate_sha256: str | None = None


class LadderAskedHuman(Payload):
    """`ladder.asked_human`: also after it resolved, where authority for the effect is missing."""

    KIND: ClassVar[str] = "ladder.asked_human"

    run_id: str
    rung_id: str | None = None
    reason: str | None = None
    input_needed: str | None = None
    declined: list[Json] | None = None
    action_id: str | None = None


class LadderExhausted(Payload):
    """`ladder.exhausted`: no rung is left."""

    KIND: ClassVar[str] = "ladder.exhausted"

    run_id: str
    declined: list[Json] | None = None


PeerPayloads = (
    DirectiveRegistrationRequested
    | DirectiveRegistrationRefused
    | DirectiveOpened
    | AuthorityTransitioned
    | AuthorityTransitionRefused
    | TaskAccepted
    | TaskAcceptanceRejected
    | TaskCompleted
    | OperationGovernanceRecorded
    | OperationGovernanceRefused
    | SchedulerDecisionRecorded
    | ActionRequested
    | ActionAuthorized
    | ActionAuthorizationRefused
    | ActionDecisionBasisRefused
    | ActionReplayRefused
    | ActionExecutionStarted
    | ActionCompleted
    | ActionReconciled
    | ActionReconcileRefused
    | LadderStarted
    | LadderRungEntered
    | LadderRungDeclined
    | LadderResolved
    | LadderAskedHuman
    | LadderExhausted
)
