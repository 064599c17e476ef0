"""One attempt: started, sending, observed, interpreted. Its end is a record, however it comes.

An attempt that fails before a byte could leave ends in `attempt.completed`; one whose bytes may
have left and that got nothing back stays an orphan, explained by `attempt.abandoned` (DESIGN 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import anyio

from codeai_engine.adapters.base import Wire
from codeai_engine.domain import call as payloads
from codeai_engine.domain.events import ArtifactDraft
from codeai_engine.errors import AdapterError, CodeAIError
from codeai_engine.runtime.record import (
    CLASSIFIER_VERSION,
    INTERPRETER_VERSION,
    NORMALIZER_VERSION,
    POLICY_VERSION,
    Answer,
    answer_of,
)

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Interpretation, Observation, PreparedRequest
    from codeai_engine.domain.events import EventDraft
    from codeai_engine.domain.value import Payload
    from codeai_engine.runtime.record import CallRecord


class _AttemptNames(TypedDict):
    attempt_id: str
    call_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class AttemptEnding:
    """Events and artifacts that close an attempt which was not answered."""

    drafts: list[EventDraft]
    artifacts: list[ArtifactDraft]


class Attempt:
    """One try at a call.

    Args:
        call: Drafts the events of the call that this is a try at.
        request: The prepared body, already bound by the manifest.
        cause: `first`, or `retry:` and what the last one ended in.
        wait_s: How long was waited before this one, in seconds.
    """

    def __init__(
        self, call: CallRecord, request: PreparedRequest, *, cause: str, wait_s: float
    ) -> None:
        self.call = call
        self.request = request
        self.cause = cause
        self.wait_s = wait_s
        self.attempt_id = call.fanout.run.ids.new_id()
        self.index = len(call.attempt_ids) + 1
        self.started_at = ""
        self.is_open = False
        self.wire = Wire(self._record_sending)
        self._began = 0.0
        self._observed_event_id: str | None = None
        self._interpretation_id: str | None = None

    def opened(self) -> None:
        """Note that `attempt.started` is durable: from here on its end must be recorded."""
        self.is_open = True
        self.call.attempt_ids.append(self.attempt_id)

    def closed(self) -> None:
        """Note that its end is durable."""
        self.is_open = False

    def started(self) -> EventDraft:
        """Return `attempt.started`."""
        self.started_at = self.call.now()
        adapter = self.call.branch.adapter
        return self._draft(
            payloads.AttemptStarted(
                **self._names(),
                attempt_index=self.index,
                started_at=self.started_at,
                provider=adapter.provider,
                resolved_model_id=self.request.resolved_model_id,
                cause=self.cause,
                wait_s=self.wait_s,
                session_id=self.call.fanout.run.session_id,
            )
        )

    async def send(self, timeout_s: float | None) -> Answer:
        """Send, store what came back, and read it.

        Raises:
            AdapterError, OSError, TimeoutError: And whatever else an adapter raises; the caller
                records it with `failure`.
        """
        clock = self.call.fanout.run.clock
        self._began = clock.monotonic()
        with anyio.fail_after(timeout_s):
            observation = await self.call.branch.adapter.send(self.request, self.wire)
        latency_ms = self._latency_ms()
        await self._record_observation(observation)
        self._step("observed")
        return answer_of(observation, self.call.branch.adapter.interpret(observation), latency_ms)

    def interpreted(self, answer: Answer) -> list[EventDraft]:
        """Return the events that close an attempt which was answered."""
        read = answer.interpretation
        interpretation_id = self._interpretation_id = self.call.fanout.run.ids.new_id()
        self.call.interpretation_ids.append(interpretation_id)
        self.call.usage.append((read.input_tokens, read.output_tokens))
        interpreted = payloads.AttemptInterpreted(
            **self._names(),
            interpretation_id=interpretation_id,
            observation_event_id=self._observed_event_id,
            response_body_artifact=answer.body.reference(),
            interpreter_version=INTERPRETER_VERSION,
            classifier_version=CLASSIFIER_VERSION,
            created_at=self.call.now(),
            transport_state=answer.observation.transport_outcome,
            generation_state=read.generation_state,
            provider_reason=read.provider_reason,
            provider_reason_source=read.provider_reason_source,
            error_kind=read.error_kind,
            classification_basis=read.classification_basis,
            basis_detail={"note": read.note} if read.note else {},
        )
        completed = self._completed(
            read.status, read.error, read.error_kind, answer=answer, interpretation=read
        )
        return [self._draft(interpreted), self._draft(completed)]

    def failure(self, error: BaseException, *, stopped: str | None) -> AttemptEnding:
        """Return the events that close an attempt which was not answered.

        Args:
            error: What ended it.
            stopped: Why the branch is being stopped, None where it failed on its own.
        """
        self._forget_interpretation()
        wire = self.wire.account()
        status = "cancelled" if stopped else "failed"
        kind = stopped or error_kind(error)
        text = describe(error)
        if wire != "not_sent":
            self.call.usage.append((None, None))  # it may have been charged for; nobody knows
        drafts: list[EventDraft] = []
        artifacts: list[ArtifactDraft] = []
        if self._observed_event_id is None:
            drafts += self._wire_observed()
            if self.wire.received or self.wire.stderr:
                observed, partial = self._partial_observation(error)
                drafts.append(observed)
                artifacts += partial
        if wire == "not_sent" or self._observed_event_id is not None:
            drafts.append(self._draft(self._completed(status, text, kind)))
        else:
            drafts.append(
                self._draft(
                    payloads.AttemptAbandoned(
                        **self._names(),
                        cause=kind,
                        wire=wire,
                        by="guard",
                        session_id=self.call.fanout.run.session_id,
                        note=text,
                    )
                )
            )
        return AttemptEnding(drafts, artifacts)

    def retry_decided(self, decision: str, reason: str, wait_s: float | None) -> EventDraft:
        """Return `attempt.retry_decided`, which is written only after a failure."""
        ids = self.call.interpretation_ids
        return self._draft(
            payloads.AttemptRetryDecided(
                **self._names(),
                decision=decision,
                reason=reason,
                executed=decision == "retry",
                interpretation_id=ids[-1] if ids else None,
                policy_version=POLICY_VERSION,
                wait_s=wait_s,
            )
        )

    def _forget_interpretation(self) -> None:
        """Drop an interpretation that could not be recorded, so that nothing refers to it."""
        if self._interpretation_id in self.call.interpretation_ids:
            self.call.interpretation_ids.remove(self._interpretation_id)
            self.call.usage.pop()

    async def _record_sending(self) -> None:
        payload = payloads.AttemptSending(
            **self._names(), request_body_sha256=self.request.body_sha256()
        )
        await self.call.fanout.append([self._draft(payload)])
        self._step("sending")

    async def _record_observation(self, observation: Observation) -> None:
        body = ArtifactDraft(observation.body, observation.artifact_type, observation.media_type)
        stderr = _stderr_artifact(observation.stderr)
        artifacts = [body, *([stderr] if stderr else [])]
        observed = self._draft(
            payloads.AttemptObserved(
                **self._names(),
                attempt_index=self.index,
                provider=self.call.branch.adapter.provider,
                protocol=self.call.branch.adapter.protocol,
                endpoint=observation.endpoint,
                transport_outcome=observation.transport_outcome,
                http_status=observation.http_status,
                observed_at=self.call.now(),
                response_body_artifact=body.reference(),
                content_type=observation.media_type,
                headers=dict(observation.headers),
                exit_code=observation.exit_code,
                stderr_artifact=stderr.reference() if stderr else None,
                incomplete=False,
            )
        )
        await self.call.fanout.append([*self._wire_observed(), observed], artifacts)
        self._observed_event_id = observed.event_id

    def _partial_observation(self, error: BaseException) -> tuple[EventDraft, list[ArtifactDraft]]:
        """Return what had arrived when the attempt ended, as an incomplete observation."""
        protocol = self.call.branch.adapter.protocol
        kind = "command_stdout" if protocol == "command" else "provider_response_body"
        body = ArtifactDraft(bytes(self.wire.received), kind, "application/octet-stream")
        stderr = _stderr_artifact(bytes(self.wire.stderr) or None)
        observed = self._draft(
            payloads.AttemptObserved(
                **self._names(),
                attempt_index=self.index,
                provider=self.call.branch.adapter.provider,
                protocol=protocol,
                transport_outcome="no_response",
                observed_at=self.call.now(),
                response_body_artifact=body.reference(),
                headers={},
                exception_type=type(error).__name__,
                stderr_artifact=stderr.reference() if stderr else None,
                incomplete=True,
            )
        )
        self._observed_event_id = observed.event_id
        return observed, [body, *([stderr] if stderr else [])]

    def _wire_observed(self) -> list[EventDraft]:
        seen = self.wire.observation
        if seen is None:
            return []
        payload = payloads.AttemptWireObserved(
            **self._names(),
            method=seen.method,
            host=seen.host,
            path=seen.path,
            request_sha256=seen.request_sha256,
            request_bytes=seen.request_bytes,
            response_sha256=seen.response_sha256,
            response_bytes=seen.response_bytes,
            request_header_names=list(seen.request_header_names),
            response_header_names=list(seen.response_header_names),
        )
        return [self._draft(payload)]

    def _completed(
        self,
        status: str,
        error: str | None,
        kind: str | None,
        *,
        answer: Answer | None = None,
        interpretation: Interpretation | None = None,
    ) -> Payload:
        read = interpretation
        return payloads.AttemptCompleted(
            **self._names(),
            attempt_index=self.index,
            started_at=self.started_at,
            finished_at=self.call.now(),
            latency_ms=answer.latency_ms if answer else self._latency_ms(),
            provider=self.call.branch.adapter.provider,
            resolved_model_id=self.request.resolved_model_id,
            protocol=self.call.branch.adapter.protocol,
            provider_request_id=read.provider_request_id if read else None,
            status=status,
            error_kind=kind,
            error=error,
            usage={
                "input_tokens": read.input_tokens if read else None,
                "output_tokens": read.output_tokens if read else None,
                "source": "reported" if read and read.input_tokens is not None else "unknown",
            },
            cost_source="unknown",
            raw_artifact=answer.body.reference() if answer else None,
            raw_observation_kind=answer.observation.artifact_type if answer else None,
            normalizer_version=NORMALIZER_VERSION,
            effective_parameters=dict(self.request.effective_parameters),
            fingerprint=read.fingerprint if read else None,
            interpretation_id=self.call.interpretation_ids[-1] if read else None,
            policy_version=POLICY_VERSION,
            wire=self.wire.account(),
        )

    def _latency_ms(self) -> int:
        return round((self.call.fanout.run.clock.monotonic() - self._began) * 1000)

    def _names(self) -> _AttemptNames:
        return {
            "attempt_id": self.attempt_id,
            "call_id": self.call.branch.call_id,
            "task_id": self.call.task_id,
        }

    def _draft(self, payload: Payload) -> EventDraft:
        return self.call.draft(self.attempt_id, payload)

    def _step(self, step: str) -> None:
        self.call.fanout.run.on_step(self.call.branch.name, step)


def _stderr_artifact(content: bytes | None) -> ArtifactDraft | None:
    """Return what a command said beside its answer as an artifact; None where it has no such."""
    return None if content is None else ArtifactDraft(content, "command_stderr", "text/plain")


def error_kind(error: BaseException) -> str:
    """Return the stable word for what ended an attempt."""
    if isinstance(error, AdapterError) and error.error_kind:
        return error.error_kind
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, OSError):
        return "transport"
    return "adapter_exception"


def describe(error: BaseException) -> str:
    """Return one line for an error, I-JSON text; its type where it has no text of its own."""
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an error of whoever wrote the adapter, in saying what it is
        said = "it cannot say what it is"
    text = said.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(error, CodeAIError):
        return text
    return f"{name}: {text}" if text else name
