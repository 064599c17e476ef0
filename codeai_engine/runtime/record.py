"""What one call writes: drafts of its events, with stream, cause and correlation in place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.ambient import timestamp
from codeai_engine.domain import call as payloads
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.domain.fanout import FanoutCompleted
from codeai_engine.errors import ArtifactTooLarge, LedgerError, PayloadRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from codeai_engine.adapters.base import Interpretation, Observation, PreparedRequest
    from codeai_engine.ambient import Clock, IdSource
    from codeai_engine.domain.call import ModelInput, RenderedContext
    from codeai_engine.domain.context import Compilation
    from codeai_engine.domain.value import Payload
    from codeai_engine.ledger.writer import Absent, Ledger
    from codeai_engine.runtime.request import BranchRequest, BranchStatus, FanoutRequest

INLINE_CHARACTERS = 65_536  # DESIGN 4: the whole stands in the artifact beside the inline text
INTERPRETER_VERSION = "codeai-tui-interpretation-v1"
CLASSIFIER_VERSION = "codeai-tui-error-classifier-v1"
NORMALIZER_VERSION = "codeai-tui-normalizer-v1"
POLICY_VERSION = "codeai-tui-attempt-policy-v1"
RUNTIME_ACTOR = "runtime"
# What the ledger says of one branch's own values; every other refusal is about the file.
_OF_ONE_VALUE = (PayloadRefused, ArtifactTooLarge)


def say_nothing(_branch: str, _step: str) -> None:
    """Take a step and tell nobody."""


def _caller() -> str:
    return "caller"


def _no_key() -> None:
    return None


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run is carried out with.

    Args:
        session_id: The session that the run's attempts belong to.
        on_step: Told the name of a branch and the step it reached; for progress only.
        stop_cause: Why a cancellation from outside happens: `signal` or `caller`.
        ledger_key: The ledger's secret key for digests of a check's environment, None without.
        taken_claim_ids: Ids given to claims that are not recorded yet; shared by a session's runs.
        taken_check_ids: Likewise of checks.
    """

    ledger: Ledger
    clock: Clock
    ids: IdSource
    session_id: str
    on_step: Callable[[str, str], None] = say_nothing
    stop_cause: Callable[[], str] = _caller
    ledger_key: Callable[[], bytes | None] = _no_key
    taken_claim_ids: set[str] = field(default_factory=set)
    taken_check_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        tell = self.on_step

        def told(branch: str, step: str) -> None:
            with suppress(Exception):  # progress is no part of the run: it may not fail one
                tell(branch, step)

        object.__setattr__(self, "on_step", told)


@dataclass(frozen=True, slots=True)
class FanoutContext:
    """What the branches of one fan-out have in common."""

    request: FanoutRequest
    fanout_id: str
    run: RunContext
    refusals: list[LedgerError] = field(default_factory=list)

    async def append(
        self,
        drafts: Sequence[EventDraft],
        artifacts: Sequence[ArtifactDraft] = (),
        *,
        absent: Sequence[Absent] = (),
    ) -> None:
        """Commit, and return only when the outcome is known: a cancellation waits for it.

        Raises:
            LedgerError: Also kept, where it is about the ledger: then the run cannot go on.
        """
        try:
            with anyio.CancelScope(shield=True):
                await self.run.ledger.append(drafts, artifacts, absent=absent)
        except LedgerError as error:
            if not isinstance(error, _OF_ONE_VALUE):
                self.refusals.append(error)
            raise

    def has_refused(self, error: BaseException) -> bool:
        """Return whether it was the ledger that said this, and not something that looks alike."""
        return any(refusal is error for refusal in self.refusals)

    def draft(self, stream_id: str, payload: Payload) -> EventDraft:
        """Return an event of the runtime's own, on the fan-out or the task."""
        return EventDraft(
            event_id=self.run.ids.new_id(),
            stream_id=stream_id,
            kind=payload.KIND,
            actor_id=RUNTIME_ACTOR,
            payload=payload,
            correlation_id=self.request.task_id,
        )

    def completed(self, statuses: list[BranchStatus]) -> EventDraft:
        """Return the fan-out's completion with one status per branch."""
        payload = FanoutCompleted(
            fanout_id=self.fanout_id,
            task_id=self.request.task_id,
            call_ids=[branch.call_id for branch in self.request.branches],
            statuses=[str(status) for status in statuses],
        )
        return self.draft(self.fanout_id, payload)


class CallRecord:
    """Drafts the events of one branch's call; knows ids and names, does nothing itself."""

    def __init__(self, fanout: FanoutContext, branch: BranchRequest) -> None:
        self.fanout = fanout
        self.branch = branch
        self.requested_event_id: str | None = None
        self.package_id: str | None = None
        self.prepared: PreparedRequest | None = None
        self.attempt_ids: list[str] = []
        self.interpretation_ids: list[str] = []
        self.usage: list[tuple[int | None, int | None]] = []

    @property
    def actor_id(self) -> str:
        """Who the branch is by; a malformed actor is recorded by the runtime, not left out."""
        return _text_or_none(getattr(self.branch.actor, "actor_id", None)) or RUNTIME_ACTOR

    @property
    def task_id(self) -> str:
        """The task that the fan-out is about."""
        return self.fanout.request.task_id

    def now(self) -> str:
        """Return the wall time as the ledger writes it."""
        return timestamp(self.fanout.run.clock.now())

    def draft(self, stream_id: str, payload: Payload) -> EventDraft:
        """Return an event of this branch's actor, caused by the call's request."""
        return EventDraft(
            event_id=self.fanout.run.ids.new_id(),
            stream_id=stream_id,
            kind=payload.KIND,
            actor_id=self.actor_id,
            payload=payload,
            causation_id=self.requested_event_id,
            correlation_id=self.task_id,
        )

    def on_call(self, payload: Payload) -> EventDraft:
        """Return an event on the call's stream."""
        return self.draft(self.branch.call_id, payload)

    def requested(
        self, compilation: Compilation, instruction: str, context_render: str | None
    ) -> EventDraft:
        """Return `call.requested`; every later event of the call names it as its cause."""
        package = compilation.package
        self.package_id = package.package_id
        context = package.identity() | {
            "package_id": package.package_id,
            "metadata": {},
            "trace_hash": compilation.trace_id,
            "provenance": {"trace_id": compilation.trace_id},
        }
        draft = self.on_call(
            payloads.CallRequested(
                call_id=self.branch.call_id,
                task_id=self.task_id,
                actor=self.branch.actor.to_payload(),
                context=context,
                idempotency_key=self.branch.call_id,
                pattern="fanout",
                parameters=dict(self.branch.parameters),
                adapter_id=self.branch.adapter_id,
                instruction=instruction,
                variant=_variant(self.branch.variant),
                metadata={"fanout_id": self.fanout.fanout_id, "branch": self.branch.name},
                context_render=context_render,
            )
        )
        self.requested_event_id = draft.event_id
        return draft

    def manifest(
        self,
        prompt_hash: str,
        model_input: ModelInput,
        rendered: RenderedContext | None,
        prepared: PreparedRequest,
    ) -> tuple[EventDraft, list[ArtifactDraft]]:
        """Return `call.manifest` and the artifacts that commit with it."""
        self.prepared = prepared
        body = ArtifactDraft(
            prepared.body_text().encode("ascii"), "prepared_body", "application/json"
        )
        artifacts = [body]
        stored = None
        if rendered is not None:
            stored = ArtifactDraft(
                rendered.content, "rendered_context", "text/plain; charset=utf-8"
            )
            artifacts.append(stored)
        adapter = self.branch.adapter
        payload = payloads.CallManifest(
            call_id=self.branch.call_id,
            task_id=self.task_id,
            requested_model=adapter.requested_model,
            provider=adapter.provider,
            resolved_model_id=prepared.resolved_model_id,
            context_package_id=self.package_id,
            prompt_hash=prompt_hash,
            requested_parameters=dict(self.branch.parameters),
            effective_parameters=dict(prepared.effective_parameters),
            requested_controls=dict(prepared.requested_controls),
            omitted_unsupported=list(prepared.omitted_unsupported),
            defaulted_parameters=dict(prepared.defaulted_parameters),
            request_body_sha256=body.artifact_id,
            created_at=self.now(),
            context_render_version=rendered.version if rendered else None,
            rendered_context_sha256=rendered.sha256 if rendered else None,
            rendered_items=[item.to_payload() for item in rendered.items] if rendered else [],
            input_layout=[part.to_payload() for part in model_input.layout],
            rendered_context_artifact=stored.reference() if stored else None,
            request_body_artifact=body.reference(),
            input_pointer=prepared.input_pointer,
            model_input_sha256=model_input.sha256,
        )
        return self.on_call(payload), artifacts

    def status_decided(self, status: str, reason: str) -> EventDraft:
        """Return `call.status_decided`."""
        return self.on_call(
            payloads.CallStatusDecided(
                call_id=self.branch.call_id,
                task_id=self.task_id,
                status=status,
                reason=reason,
                interpretation_ids=list(self.interpretation_ids),
                policy_version=POLICY_VERSION,
            )
        )

    def completed(
        self,
        status: BranchStatus,
        *,
        error: str | None = None,
        error_kind: str | None = None,
        call_status: str | None = None,
        answer: Answer | None = None,
    ) -> EventDraft:
        """Return `call.completed`; what is unknown is null."""
        prepared = self.prepared
        found = answer.fields() if answer else {}
        payload = payloads.CallCompleted(
            call_id=self.branch.call_id,
            task_id=self.task_id,
            idempotency_key=self.branch.call_id,
            request_id=self.branch.call_id,
            status=status,
            error=error,
            error_kind=error_kind,
            call_status=call_status or status,
            completed_at=self.now(),
            provider=_text_or_none(getattr(self.branch.adapter, "provider", None)),
            adapter_id=self.branch.adapter_id,
            context_package_id=self.package_id,
            requested_model=prepared.resolved_model_id if prepared else None,
            effective_parameters=dict(prepared.effective_parameters) if prepared else None,
            attempt_ids=list(self.attempt_ids),
            attempt_count=len(self.attempt_ids),
            attempt_id=self.attempt_ids[-1] if self.attempt_ids else None,
            attempt_index=len(self.attempt_ids) or None,
            decision_policy_version=POLICY_VERSION,
            decision_basis_interpretation_id=self.interpretation_ids[-1]
            if self.interpretation_ids
            else None,
            cost_source="unknown",
            normalizer_version=NORMALIZER_VERSION,
            replayed=False,
            total_input_tokens=_total(usage[0] for usage in self.usage),
            total_output_tokens=_total(usage[1] for usage in self.usage),
            **found,
        )
        return self.on_call(payload)


@dataclass(frozen=True, slots=True)
class Answer:
    """One observation with what was read out of it, as the completions carry it.

    Args:
        text: The output, I-JSON text; None where there was none.
        escaped: Something in it stands for bytes or characters that are not text.
    """

    observation: Observation
    interpretation: Interpretation
    body: ArtifactDraft
    text: str | None
    escaped: bool
    output: ArtifactDraft | None
    latency_ms: int

    def artifacts(self) -> list[ArtifactDraft]:
        """Return what commits with the interpretation: the output's text."""
        return [self.output] if self.output else []

    def fields(self) -> dict[str, Any]:
        """Return the fields of `call.completed` that come from the answer."""
        read = self.interpretation
        text = self.text
        return {
            "raw_output": text[:INLINE_CHARACTERS] if text is not None else None,
            "raw_output_truncated": text is not None and len(text) > INLINE_CHARACTERS,
            "raw_output_escaped": self.escaped,
            "output_artifact": self.output.reference() if self.output else None,
            "raw_artifact": self.body.reference(),
            "raw_observation_kind": self.observation.artifact_type,
            "input_tokens": read.input_tokens,
            "output_tokens": read.output_tokens,
            "usage_source": "unknown" if read.input_tokens is None else "reported",
            "latency_ms": self.latency_ms,
            "model": read.provider_model,
            "resolved_model_id": read.provider_model,
            "fingerprint": read.fingerprint,
            "provider_call_id": read.provider_request_id,
        }


def answer_of(observation: Observation, read: Interpretation, latency_ms: int) -> Answer:
    """Join an observation and its interpretation; the text becomes I-JSON, visibly."""
    body = ArtifactDraft(observation.body, observation.artifact_type, observation.media_type)
    if read.output is None:
        return Answer(observation, read, body, None, False, None, latency_ms)  # noqa: FBT003
    # Lone surrogates cannot be stored as text: each becomes a visible escape (USER_REPORTS U01).
    content = read.output.encode("utf-8", "backslashreplace")
    text = content.decode("utf-8")
    return Answer(
        observation=observation,
        interpretation=read,
        body=body,
        text=text,
        escaped=read.note is not None or text != read.output,
        output=ArtifactDraft(content, "raw_model_output", "text/plain; charset=utf-8"),
        latency_ms=latency_ms,
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _total(numbers: Iterable[int | None]) -> int | None:
    """Return the sum, or None as soon as one part is unknown."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return sum(known) if known and len(known) == len(found) else None


def _variant(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ten fields of a variant as the peer writes them, what else there is in `tags`."""
    known = (
        "model",
        "provider",
        "prompt_variant",
        "temperature",
        "seed",
        "context_variant",
        "tool_variant",
        "evidence_partition",
        "experiment",
    )
    tags = {key: value for key, value in variant.items() if key not in (*known, "tags")}
    return {key: variant.get(key) for key in known} | {"tags": dict(variant.get("tags", {})) | tags}
