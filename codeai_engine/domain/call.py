"""Model inputs, calls and attempts: what one branch was bound to, tried and got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

CONTEXT_RENDER_V1 = "context-render-v1"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RenderedItem:
    """Where one selected item lies in a rendered context; offsets in UTF-8 bytes, end exclusive."""

    kind: str
    item_id: str
    content_sha256: str
    start: int
    end: int

    def to_payload(self) -> dict[str, str | int]:
        """Return the item as a manifest binds it."""
        return {
            "kind": self.kind,
            "item_id": self.item_id,
            "content_sha256": self.content_sha256,
            "start": self.start,
            "end": self.end,
        }


@dataclass(frozen=True, slots=True)
class RenderedContext:
    """The exact bytes of the selected items, laid out canonically."""

    content: bytes
    items: tuple[RenderedItem, ...]
    sha256: str
    version: str = CONTEXT_RENDER_V1


@dataclass(frozen=True, slots=True)
class InputPart:
    """One part of a model input: `instruction`, `context` or `query`; offsets in UTF-8 bytes."""

    part: str
    sha256: str
    start: int
    end: int

    def to_payload(self) -> dict[str, str | int]:
        """Return the part as a manifest binds it."""
        return {"part": self.part, "sha256": self.sha256, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The composed text that a provider is to receive, whole.

    `layout` is empty for a selection record, whose input was composed without rendering.
    """

    text: str
    sha256: str
    layout: tuple[InputPart, ...]


class CallRequested(Payload):
    """`call.requested`: the whole specification of one call."""

    KIND: ClassVar[str] = "call.requested"

    call_id: str
    task_id: str | None = None
    actor: Json | None = None
    context: Json | None = None
    idempotency_key: str | None = None
    pattern: str | None = None
    parameters: Json | None = None
    directive_id: str | None = None
    run_id: str | None = None
    adapter_id: str | None = None
    instruction: str | None = None
    prompt_version: str | None = None
    budget: Json | None = None
    variant: Json | None = None
    metadata: Json | None = None
    experiment_id: str | None = None
    arm: str | None = None
    chamber: str | None = None
    logical_model: str | None = None
    context_render: str | None = None
    rendered_context: Any = None


class CallPreparationFailed(Payload):
    """`call.preparation_failed`: no manifest and no attempt follow."""

    KIND: ClassVar[str] = "call.preparation_failed"

    call_id: str
    task_id: str | None = None
    stage: str | None = None
    context_package_id: str | None = None
    context_render_version: str | None = None
    provider_effect: bool | None = None
    unresolved: list[Json] | None = None
    rendered_context_sha256: str | None = None
    error: str | None = None


class CallManifest(Payload):
    """`call.manifest`: what one call was bound to before any provider effect."""

    KIND: ClassVar[str] = "call.manifest"

    call_id: str
    task_id: str | None = None
    chamber: str | None = None
    requested_model: str | None = None
    provider: str | None = None
    resolved_model_id: str | None = None
    provider_revision: str | None = None
    revision_source: str | None = None
    pricing_version: str | None = None
    context_package_id: str | None = None
    prompt_hash: str | None = None
    requested_parameters: Json | None = None
    effective_parameters: Json | None = None
    requested_controls: Json | None = None
    omitted_unsupported: list[str] | None = None
    defaulted_parameters: Json | None = None
    request_plan_version: str | None = None
    request_body_sha256: str | None = None
    created_at: str | None = None
    context_render_version: str | None = None
    rendered_context_sha256: str | None = None
    rendered_items: list[Json] | None = None
    input_layout: list[Json] | None = None
    # Ours: references to the stored bytes, and where in the body the composed input stands.
    rendered_context_artifact: Json | None = None
    request_body_artifact: Json | None = None
    input_pointer: str | None = None
    model_input_sha256: str | None = None


class AttemptPayload(Payload):
    """What every event of an attempt names."""

    attempt_id: str
    call_id: str | None = None
    task_id: str | None = None


class AttemptStarted(AttemptPayload):
    """`attempt.started`: durable before the adapter's `send` is called."""

    KIND: ClassVar[str] = "attempt.started"

    attempt_index: int | None = None
    started_at: str | None = None
    provider: str | None = None
    resolved_model_id: str | None = None
    cause: str | None = None
    wait_s: float | int | None = None
    session_id: str | None = None


class AttemptSending(AttemptPayload):
    """`attempt.sending` (ours): durable before the first byte can leave."""

    KIND: ClassVar[str] = "attempt.sending"

    request_body_sha256: str | None = None


class AttemptWireObserved(AttemptPayload):
    """`attempt.wire_observed` (ours): digests of the bytes that a transport saw."""

    KIND: ClassVar[str] = "attempt.wire_observed"

    method: str | None = None
    host: str | None = None
    path: str | None = None
    request_sha256: str | None = None
    request_bytes: int | None = None
    response_sha256: str | None = None
    response_bytes: int | None = None
    request_header_names: list[str] | None = None
    response_header_names: list[str] | None = None


class AttemptObserved(AttemptPayload):
    """`attempt.observed`: the raw bytes that came back, stored before anyone reads them."""

    KIND: ClassVar[str] = "attempt.observed"

    attempt_index: int | None = None
    provider: str | None = None
    protocol: str | None = None
    endpoint: str | None = None
    transport_outcome: str | None = None
    http_status: int | None = None
    observed_at: str | None = None
    response_body_artifact: Json | None = None
    content_type: str | None = None
    headers: Json | None = None
    exception_type: str | None = None
    # Ours: a command's exit code and standard error, and whether the bytes ended early.
    exit_code: int | None = None
    stderr_artifact: Json | None = None
    incomplete: bool | None = None


class AttemptInterpreted(AttemptPayload):
    """`attempt.interpreted`: what was read out of an observation."""

    KIND: ClassVar[str] = "attempt.interpreted"

    interpretation_id: str | None = None
    observation_event_id: str | None = None
    response_body_artifact: Json | None = None
    interpreter_version: str | None = None
    completion_map_version: str | None = None
    classifier_version: str | None = None
    created_at: str | None = None
    transport_state: str | None = None
    generation_state: str | None = None
    provider_reason: str | None = None
    provider_reason_source: str | None = None
    error_kind: str | None = None
    classification_basis: str | None = None
    basis_detail: Json | None = None


class AttemptRetryDecided(AttemptPayload):
    """`attempt.retry_decided`: ours only after a failure."""

    KIND: ClassVar[str] = "attempt.retry_decided"

    decision: str | None = None
    reason: str | None = None
    executed: bool | None = None
    interpretation_id: str | None = None
    policy_version: str | None = None
    wait_s: float | int | None = None


class AttemptCompleted(AttemptPayload):
    """`attempt.completed`: the normalised result of one attempt."""

    KIND: ClassVar[str] = "attempt.completed"

    attempt_index: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    latency_ms: float | int | None = None
    provider: str | None = None
    resolved_model_id: str | None = None
    provider_revision: str | None = None
    revision_source: str | None = None
    protocol: str | None = None
    provider_request_id: str | None = None
    status: str | None = None
    error_kind: str | None = None
    error: str | None = None
    usage: Json | None = None
    pricing_version: str | None = None
    cost_usd: float | int | None = None
    cost_source: str | None = None
    currency: str | None = None
    raw_artifact: Json | None = None
    raw_observation_kind: str | None = None
    normalizer_version: str | None = None
    effective_parameters: Json | None = None
    fingerprint: str | None = None
    interpretation_id: str | None = None
    policy_version: str | None = None
    wire: str | None = None


class AttemptAbandoned(AttemptPayload):
    """`attempt.abandoned` (ours): an end that is known without a complete observation."""

    KIND: ClassVar[str] = "attempt.abandoned"

    cause: str | None = None
    wire: str | None = None
    by: str | None = None
    session_id: str | None = None
    note: str | None = None


class CallStatusDecided(Payload):
    """`call.status_decided`: `succeeded`, `failed` or `unresolved`, and why."""

    KIND: ClassVar[str] = "call.status_decided"

    call_id: str
    task_id: str | None = None
    status: str | None = None
    reason: str | None = None
    interpretation_ids: list[str] | None = None
    policy_version: str | None = None


class CallCompleted(Payload):
    """`call.completed`: the last result of a call. Unknown numbers are null, never 0."""

    KIND: ClassVar[str] = "call.completed"

    call_id: str
    task_id: str | None = None
    idempotency_key: str | None = None
    request_id: str | None = None
    raw_output: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | int | None = None
    latency_ms: float | int | None = None
    provider: str | None = None
    model: str | None = None
    model_version: str | None = None
    fingerprint: str | None = None
    provider_call_id: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    status: str | None = None
    error: str | None = None
    error_kind: str | None = None
    raw_artifact: Json | None = None
    usage_source: str | None = None
    pricing_version: str | None = None
    cost_source: str | None = None
    normalizer_version: str | None = None
    attempt_id: str | None = None
    attempt_index: int | None = None
    effective_parameters: Json | None = None
    protocol: str | None = None
    raw_observation_kind: str | None = None
    raw_payload: Any = None
    replayed: bool | None = None
    directive_id: str | None = None
    run_id: str | None = None
    adapter_id: str | None = None
    experiment_id: str | None = None
    arm: str | None = None
    prompt_version: str | None = None
    context_package_id: str | None = None
    chamber: str | None = None
    requested_model: str | None = None
    resolved_model_id: str | None = None
    provider_revision: str | None = None
    revision_source: str | None = None
    attempt_ids: list[str] | None = None
    attempt_count: int | None = None
    call_status: str | None = None
    decision_basis_interpretation_id: str | None = None
    decision_policy_version: str | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_cost_usd: float | int | None = None
    # Ours: the output's text as an artifact, and what was done to the copy that stands inline.
    output_artifact: Json | None = None
    raw_output_truncated: bool | None = None
    raw_output_escaped: bool | None = None


class CallReplayed(Payload):
    """`call.replayed`: the peer answered a new call id from an earlier call."""

    KIND: ClassVar[str] = "call.replayed"

    requested_call_id: str | None = None
    task_id: str | None = None
    idempotency_key: str | None = None
    original_call_id: str | None = None
    original_attempt_ids: list[str] | None = None
    replayed_at: str | None = None
    replay_reason: str | None = None
    original_call_status: str | None = None


class CallReinterpreted(Payload):
    """`call.reinterpreted`: a later re-decision of the peer's, without provider effect."""

    KIND: ClassVar[str] = "call.reinterpreted"

    call_id: str | None = None
    status: str | None = None
    reason: str | None = None


class CallResumed(Payload):
    """`call.resumed`: the peer took a call up under another id."""

    KIND: ClassVar[str] = "call.resumed"

    to_call_id: str | None = None
