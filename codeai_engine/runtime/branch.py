"""The guard of a branch: compiled, rendered, sent and recorded, it always ends in a record.

Compilation is part of it: a branch that its own seal refuses is a failed branch, and its siblings
go on. The guard contains every exception and every cancellation; a real cancellation is delayed
until the branch's end is durable, never swallowed (DESIGN 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from codeai_engine.adapters.base import CallInput
from codeai_engine.digests import refuse_unless_interoperable
from codeai_engine.domain.call import CONTEXT_RENDER_V1, CallPreparationFailed
from codeai_engine.domain.context import Actor, ContextCompilationFailed, ContextCompiled
from codeai_engine.domain.fanout import BranchCancelled
from codeai_engine.errors import (
    AdapterError,
    ArtifactTooLarge,
    RenderError,
)
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES
from codeai_engine.rules.bind import (
    compose_model_input,
    compose_selection_input,
    prompt_hash,
    refuse_unless_carried,
)
from codeai_engine.rules.compile import (
    COMPILER_VERSION,
    CompileRequest,
    compile_package,
    sibling_seal,
    trace_candidates,
)
from codeai_engine.rules.render import render_context
from codeai_engine.runtime.attempt import Attempt, describe, error_kind
from codeai_engine.runtime.record import CallRecord
from codeai_engine.runtime.request import BranchOutcome
from codeai_engine.runtime.retry import next_wait

if TYPE_CHECKING:
    from codeai_engine.adapters.base import PreparedRequest
    from codeai_engine.domain.call import ModelInput, RenderedContext
    from codeai_engine.domain.context import Compilation
    from codeai_engine.domain.events import ArtifactDraft, EventDraft
    from codeai_engine.runtime.base import FixedBase
    from codeai_engine.runtime.record import Answer, FanoutContext
    from codeai_engine.runtime.request import BranchRequest, BranchStatus


class Branch:
    """One branch of a fan-out, from its compilation to its completion.

    Args:
        fanout: What it has in common with its siblings.
        request: The branch itself.
        base: The fixed base that every branch is compiled from.
    """

    def __init__(self, fanout: FanoutContext, request: BranchRequest, base: FixedBase) -> None:
        self.fanout = fanout
        self.request = request
        self.outcome: BranchOutcome | None = None
        self.output: ArtifactDraft | None = None  # what it answered, once that is durable
        self._base = base
        self._call = CallRecord(fanout, request)
        self._compilation: Compilation | None = None
        self._attempt: Attempt | None = None

    @property
    def actor_id(self) -> str:
        """Who its events are by."""
        return self._call.actor_id

    @property
    def prompt(self) -> str:
        """The question of this branch: its own, or the fan-out's."""
        own = self.request.prompt
        return self.fanout.request.prompt if own is None else own

    @property
    def instruction(self) -> str:
        """The instruction of this branch: its own, or the fan-out's."""
        own = self.request.instruction
        return self.fanout.request.instruction if own is None else own

    @property
    def context_render(self) -> str | None:
        """The renderer this branch is sent through, None for a selection record."""
        own = self.request.context_render
        rendered = self.fanout.request.context_render if own is None else own
        return CONTEXT_RENDER_V1 if rendered else None

    def compile(self) -> list[EventDraft]:
        """Compile inside the guard; return the events that record how it went.

        A refusal gives `context.compilation_failed` with the seal and every decision, and the
        failed completion: no package and no manifest are made up for it.
        """
        request: CompileRequest | None = None
        try:
            request = self._compile_request()
            compilation = compile_package(request)
            drafts = [
                self._compiled(compilation),
                # With the compilation, so that the call's id is taken from here on.
                self._call.requested(compilation, self.instruction, self.context_render),
            ]
            self._compilation = compilation
        except BaseException as error:
            drafts = self._refused(error, request)
        return drafts

    async def run(self, limiter: anyio.CapacityLimiter) -> None:
        """Render, prepare, send and record; never raises but for a cancellation from outside.

        Args:
            limiter: Bounds how many branches run at once; waiting for it is part of the guard.

        Raises:
            LedgerError: The ledger itself refuses; then the whole run must stop.
        """
        if self._has_ended():  # refused during compilation
            return
        try:
            async with limiter:
                await self._run()
        except BaseException as error:
            if self.fanout.has_refused(error):
                raise
            # A library may raise a cancellation of its own accord: the type alone does not say
            # that we were stopped. Asked before the shield below hides the answer.
            stopped = anyio.current_effective_deadline() == -math.inf
            if not self._has_ended():
                with anyio.CancelScope(shield=True):
                    await self._record_end(error, self._cause(error, is_stopped=stopped))
        await anyio.lowlevel.checkpoint_if_cancelled()

    def _has_ended(self) -> bool:
        return self.outcome is not None

    def _cause(self, error: BaseException, *, is_stopped: bool) -> str | None:
        """Return why a branch was cancelled, in the words of `branch.cancelled`, else None."""
        if is_stopped:
            return self.fanout.run.stop_cause()
        return "library" if isinstance(error, anyio.get_cancelled_exc_class()) else None

    def _compile_request(self) -> CompileRequest:
        request = self.fanout.request
        calls = frozenset(branch.call_id for branch in request.branches)
        return CompileRequest(
            task_id=request.task_id,
            actor=self.request.actor,
            prompt=self.prompt,
            candidates=self._base.candidates(request, self.request),
            seal=sibling_seal(request.seal, calls, self.request.call_id),
            objective=request.objective,
            budget_tokens=request.budget_tokens,
            required_ids=frozenset(
                item.item_id for item in request.base if request.is_required(item)
            ),
        )

    def _compiled(self, compilation: Compilation) -> EventDraft:
        package = compilation.package
        payload = ContextCompiled(
            **package.identity(),
            package_id=package.package_id,
            trace_id=compilation.trace_id,
            trace=[entry.to_payload() for entry in compilation.trace],
            included_ids=list(compilation.included_ids),
            excluded_ids=list(compilation.excluded_ids),
            compiler_version=COMPILER_VERSION,
            call_id=self.request.call_id,
            branch=self.request.name,
            lineage_omitted=sorted(item_id for _, item_id in self.request.omit_lineage),
        )
        return self._call.draft(package.package_id, payload)

    def _refused(self, error: BaseException, request: CompileRequest | None) -> list[EventDraft]:
        message = describe(error)
        actor: object = self.request.actor  # a malformed one may be why it was refused
        payload = ContextCompilationFailed(
            compilation_id=self.request.call_id,  # a fan-out's branch compiles once: for its call
            task_id=self.fanout.request.task_id,
            exception=type(error).__name__,
            message=message,
            call_id=self.request.call_id,
            branch=self.request.name,
            actor=actor.to_payload() if isinstance(actor, Actor) else None,
            prompt=self.prompt,
            fanout_id=self.fanout.fanout_id,
            seal=request.seal.to_payload() if request else None,
            trace=[entry.to_payload() for entry in trace_candidates(request)] if request else None,
        )
        text, kind = f"context compilation refused: {message}", "compilation_refused"
        self.outcome = BranchOutcome(
            self.request.name, self.request.call_id, "failed", error=text, error_kind=kind
        )
        completed = self._call.completed("failed", error=text, error_kind=kind)
        return [self._call.on_call(payload), completed]

    async def _run(self) -> None:
        compilation = self._compilation
        if compilation is None:
            msg = "a branch runs after it was compiled"
            raise RuntimeError(msg)
        stage, rendered = "context_render", None
        try:
            rendered, model_input = self._compose(compilation)
            stage = "prepare"
            prepared = self._prepare(model_input)
            stage = "render_binding"
            refuse_unless_carried(prepared.body, prepared.input_pointer, model_input)
            stage = "prepare"
            hashed = prompt_hash(self.instruction, self.prompt)
            manifest, artifacts = self._call.manifest(hashed, model_input, rendered, prepared)
            _refuse_unstorable(manifest, artifacts)
        except Exception as error:
            await self._preparation_failed(stage, error, rendered)
            return
        await self._attempts([manifest], artifacts, prepared)

    def _compose(self, compilation: Compilation) -> tuple[RenderedContext | None, ModelInput]:
        if self.context_render is None:
            return None, compose_selection_input(self.instruction, self.prompt)
        rendered = render_context(compilation.package.items(), self._base.contents)
        return rendered, compose_model_input(self.instruction, rendered, self.prompt)

    def _prepare(self, model_input: ModelInput) -> PreparedRequest:
        """Prepare the body; what a manifest binds of it must be I-JSON like every payload."""
        call = CallInput(model_input.text, self.request.parameters, self.request.variant)
        prepared = self.request.adapter.prepare(call)
        refuse_unless_interoperable(prepared.body, "$.body")
        refuse_unless_interoperable(prepared.effective_parameters, "$.effective_parameters")
        return prepared

    async def _preparation_failed(
        self, stage: str, error: Exception, rendered: RenderedContext | None
    ) -> None:
        """Record that no byte left, and end the branch."""
        self._call.prepared = None  # it binds nothing
        text = describe(error)
        kind = error_kind(error) if isinstance(error, AdapterError) else f"{stage}_failed"
        unresolved = None
        if isinstance(error, RenderError):
            unresolved = [
                {"kind": kind, "id": item_id, "reason": reason}
                for kind, item_id, reason in error.unresolved
            ]
        failed = self._call.on_call(
            CallPreparationFailed(
                call_id=self.request.call_id,
                task_id=self.fanout.request.task_id,
                stage=stage,
                context_package_id=self._call.package_id,
                context_render_version=self.context_render,
                provider_effect=False,
                unresolved=unresolved,
                rendered_context_sha256=rendered.sha256 if rendered else None,
                error=text,
            )
        )
        await self._finish([failed], [], "failed", error=text, kind=kind)

    async def _attempts(
        self,
        preamble: list[EventDraft],
        artifacts: list[ArtifactDraft],
        prepared: PreparedRequest,
    ) -> None:
        cause, wait_s = "first", 0.0
        timeout_s = self.request.timeout_s or self.fanout.request.timeout_s
        while True:
            attempt = Attempt(self._call, prepared, cause=cause, wait_s=wait_s)
            await self.fanout.append([*preamble, attempt.started()], artifacts)
            self._attempt = attempt
            attempt.opened()
            try:
                answer = await attempt.send(timeout_s)
            except (AdapterError, OSError) as error:  # TimeoutError is an OSError
                failed = _Failed.from_error(error, attempt)
            else:
                if answer.interpretation.status == "succeeded":
                    await self._succeeded(attempt, answer)
                    return
                failed = _Failed.from_answer(answer, attempt)
            waited = next_wait(failed.kind, attempt.index, self.request.attempts, failed.asked_s)
            decision = "terminal" if waited is None else "retry"
            failed.drafts.insert(
                -1, attempt.retry_decided(decision, f"{decision} after {failed.kind}", waited)
            )
            if waited is None:
                await self._finish(
                    failed.drafts,
                    failed.artifacts,
                    "failed",
                    error=failed.problem,
                    kind=failed.kind,
                    answer=failed.answer,
                )
                return
            await self.fanout.append(failed.drafts, failed.artifacts)
            attempt.closed()
            cause, wait_s, preamble, artifacts = f"retry:{failed.kind}", waited, [], []
            await anyio.sleep(waited)

    async def _succeeded(self, attempt: Attempt, answer: Answer) -> None:
        state = answer.interpretation.generation_state
        call_status = "unresolved" if state in ("truncated", "filtered") else "succeeded"
        reason = (
            "final attempt accepted" if call_status == "succeeded" else f"the answer is {state}"
        )
        await self._finish(
            attempt.interpreted(answer),
            answer.artifacts(),
            "succeeded",
            call_status=call_status,
            reason=reason,
            answer=answer,
        )
        self.output = answer.output

    async def _record_end(self, error: BaseException, cause: str | None) -> None:
        """Record how a branch ended that nothing else recorded."""
        drafts: list[EventDraft] = []
        artifacts: list[ArtifactDraft] = []
        if self._attempt is not None and self._attempt.is_open:
            ending = self._attempt.failure(error, stopped=cause)
            drafts, artifacts = ending.drafts, ending.artifacts
        if cause is None:
            text, kind = describe(error), error_kind(error)
            await self._finish(drafts, artifacts, "failed", error=text, kind=kind)
            return
        cancelled = BranchCancelled(
            call_id=self.request.call_id, fanout_id=self.fanout.fanout_id, cause=cause
        )
        drafts.append(self._call.on_call(cancelled))
        text = f"cancelled: {cause}"
        await self._finish(drafts, artifacts, "cancelled", error=text, kind="cancelled")

    async def _finish(  # noqa: PLR0913 - the end of a call has this many facts
        self,
        drafts: list[EventDraft],
        artifacts: list[ArtifactDraft],
        status: BranchStatus,
        *,
        error: str | None = None,
        kind: str | None = None,
        call_status: str | None = None,
        reason: str | None = None,
        answer: Answer | None = None,
    ) -> None:
        """Commit the last events of the call and set the outcome."""
        decided = self._call.status_decided(call_status or status, reason or error or status)
        completed = self._call.completed(
            status, error=error, error_kind=kind, call_status=call_status, answer=answer
        )
        await self.fanout.append([*drafts, decided, completed], artifacts)
        if self._attempt is not None:
            self._attempt.closed()
        self.outcome = BranchOutcome(
            self.request.name, self.request.call_id, status, error=error, error_kind=kind
        )
        self.fanout.run.on_step(self.request.name, status)


def _refuse_unstorable(manifest: EventDraft, artifacts: list[ArtifactDraft]) -> None:
    """Check what a manifest binds before anything depends on it.

    Raises:
        PayloadRefused, ArtifactTooLarge: The ledger would refuse it.
    """
    manifest.payload_json()
    for artifact in artifacts:
        if len(artifact.content) > ARTIFACT_LIMIT_BYTES:
            raise ArtifactTooLarge(len(artifact.content), ARTIFACT_LIMIT_BYTES)


@dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt that failed: what it writes, and what a retry depends on."""

    drafts: list[EventDraft]
    artifacts: list[ArtifactDraft]
    problem: str
    kind: str
    asked_s: float | None
    answer: Answer | None = None

    @staticmethod
    def from_error(error: Exception, attempt: Attempt) -> _Failed:
        ending = attempt.failure(error, stopped=None)
        asked_s = error.retry_after_s if isinstance(error, AdapterError) else None
        return _Failed(ending.drafts, ending.artifacts, describe(error), error_kind(error), asked_s)

    @staticmethod
    def from_answer(answer: Answer, attempt: Attempt) -> _Failed:
        read = answer.interpretation
        return _Failed(
            attempt.interpreted(answer),
            answer.artifacts(),
            read.error or "the provider's answer is a failure",
            read.error_kind or "provider_error",
            read.retry_after_s,
            answer,
        )
