"""What one check writes: its request, its start, its completion, and its mark on every claim."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import anyio

from codeai_engine.ambient import timestamp
from codeai_engine.digests import canonical_json
from codeai_engine.domain import claim as payloads
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.errors import AppendConflict
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES
from codeai_engine.ledger.writer import Absent
from codeai_engine.rules.promotion import (
    ASSERTED,
    E0_ASSERTED,
    E3_REPRODUCED,
    NAMED,
    REFUTED,
    attempt_effects,
)
from codeai_engine.rules.verdict import VERIFICATION_VERSION, named_artifact
from codeai_engine.runtime.environment import key_id, sealed_values
from codeai_engine.runtime.record import INLINE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.check import CapturedOutput, CheckRequest, CheckResult
    from codeai_engine.domain.value import Payload
    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.promotion import Effect
    from codeai_engine.rules.verdict import ArtifactBinding, StateBinding
    from codeai_engine.runtime.record import RunContext

VERIFIER_ACTOR = "verifier"
EXECUTOR, ISOLATION = "local", "none"


class ClaimDetails(TypedDict, total=False):
    """What a claim may say besides its statement."""

    scope: Any
    anchors: list[Any]
    depends_on: list[str]
    run_id: str | None
    source_artifact_id: str | None
    source_span: Any
    conditions: Any


async def record_claim(
    run: RunContext,
    *,
    claim_id: str,
    task_id: str,
    statement: str,
    source_call_id: str | None,
    actor_id: str,
    **details: Unpack[ClaimDetails],
) -> EventRow:
    """Record what someone asserts, as an assertion and no more.

    Returns:
        The stored `claim.recorded`.

    Raises:
        AppendConflict: The ledger has a claim of this id.
    """
    known = ClaimDetails(anchors=[], depends_on=[]) | details
    payload = payloads.ClaimRecorded(
        claim_id=claim_id,
        task_id=task_id,
        statement=statement,
        source_call_id=source_call_id,
        evidence_class=E0_ASSERTED,
        status=ASSERTED,
        **known,
    )
    draft = EventDraft(
        event_id=run.ids.new_id(),
        stream_id=claim_id,
        kind=payload.KIND,
        actor_id=actor_id,
        payload=payload,
        correlation_id=task_id,
    )
    with anyio.CancelScope(shield=True):
        (row,) = await run.ledger.append([draft], absent=[Absent(claim_id, payload.KIND)])
    return row


class CheckRecord:
    """Drafts and commits the events of one check.

    Attributes:
        invocations: How many `check.started` it has written.
    """

    def __init__(self, request: CheckRequest, run: RunContext, verifier: object) -> None:
        self.invocations = 0
        self._request = request
        self._run = run
        self._verifier_identity = _identity(verifier)
        self._requested_event_id: str | None = None
        self._started_at: str | None = None

    async def requested(self, subject: ArtifactDraft | None) -> None:
        """Record what was asked, before anything is read or run.

        Args:
            subject: The bytes that the target names, where they come with the request.

        Raises:
            AppendConflict: The ledger has a check of this id.
            PayloadRefused: The request holds what no payload can.
        """
        request, key = self._request, self._run.ledger_key()
        inherited = _inherited(key)
        payload = payloads.CheckRequested(
            check_id=request.check_id,
            task_id=request.task_id,
            claim_ids=list(request.claim_ids),
            directive_id=request.directive_id,
            command=list(request.command),
            cwd=request.cwd,
            timeout_seconds=request.timeout_s,
            environment=dict(request.environment),
            target=request.target,
            target_state_hash=request.target_state_hash,
            environment_hash=request.environment_hash,
            verdict_policy=request.policy().to_payload(),
            environment_from=sealed_values(request.environment_from, os.environ, key),
            environment_key_id=key_id(key) if key else None,
            inherited_environment_artifact=inherited.reference(),
            isolation=ISOLATION,
            state=dict(request.state) if request.state is not None else None,
            metadata=dict(request.metadata),
            **_lineage(request),
        )
        draft = self._draft(request.check_id, payload)
        absent = [Absent(request.check_id, payload.KIND)]
        await self._append([draft], [inherited, *([subject] if subject else [])], absent)
        self._requested_event_id = draft.event_id
        self._started_at = self._now()

    async def started(self, argv: Sequence[str]) -> None:
        """Make it durable that the verifier is about to be invoked."""
        payload = payloads.CheckStarted(
            check_id=self._request.check_id,
            attempt_id=self._run.ids.new_id(),
            session_id=self._run.session_id,
            executor=EXECUTOR,
            argv=list(argv),
        )
        await self._append([self._draft(self._request.check_id, payload)])
        self.invocations += 1

    async def completed(
        self,
        result: CheckResult,
        binding: StateBinding | None,
        artifact_binding: ArtifactBinding | None,
        state_after: dict[str, Any] | None,
    ) -> None:
        """Record the end with one attempt for each claim, all or nothing.

        Raises:
            AppendConflict: The check has a completion already.
        """
        bindings = {
            "binding": binding.to_payload() if binding else None,
            "binding_status": binding.status if binding else None,
            "artifact_binding": artifact_binding.to_payload() if artifact_binding else None,
            "artifact_binding_status": artifact_binding.status if artifact_binding else None,
            "state_after": state_after,
        }
        payload, artifacts = self._completion(result, bindings)
        claims = tuple(dict.fromkeys(self._request.claim_ids))
        for _ in range(len(claims) + 1):
            unknown = [claim_id for claim_id in claims if not await self._is_known(claim_id)]
            completed = self._draft(self._request.check_id, payload)
            drafts = [completed, *self._marks(claims, unknown, result.verdict, completed.event_id)]
            absent = [Absent(self._request.check_id, payload.KIND)]
            absent += [Absent(claim_id, payloads.ClaimRecorded.KIND) for claim_id in unknown]
            try:
                await self._append(drafts, artifacts, absent)
            except AppendConflict:
                # A claim that was unknown may have been recorded meanwhile: then look again.
                if not unknown or await self._is_completed():
                    raise
            else:
                return
        raise AppendConflict(f"claims of check {self._request.check_id} keep changing")

    def _completion(
        self, result: CheckResult, bindings: dict[str, Any]
    ) -> tuple[payloads.CheckCompleted, list[ArtifactDraft]]:
        stdout = _Stream("command_stdout", result.stdout, result.captured_stdout)
        stderr = _Stream("command_stderr", result.stderr, result.captured_stderr)
        artifacts = [stream.artifact for stream in (stdout, stderr) if stream.artifact]
        payload = payloads.CheckCompleted(
            check_id=result.check_id,
            verdict=str(result.verdict),
            started_at=self._started_at,
            completed_at=self._now(),
            exit_code=result.exit_code,
            artifacts=[artifact.reference() for artifact in artifacts],
            stdout=stdout.inline,
            stdout_truncated=stdout.is_truncated,
            stdout_bytes=stdout.written_bytes,
            stderr=stderr.inline,
            stderr_truncated=stderr.is_truncated,
            stderr_bytes=stderr.written_bytes,
            details=_storable(result.details),
            error=_storable(result.error),
            inconclusive_reason=_storable(result.inconclusive_reason),
            verdict_policy_id=_storable(result.verdict_policy_id),
            observed_target_state_hash=result.observed_target_state_hash,
            declared_verdict_policy=self._request.policy().to_payload(),
            verifier_identity=self._verifier_identity,
            verification_version=VERIFICATION_VERSION,
            **_lineage(self._request),
            **bindings,
        )
        return payload, artifacts

    def _marks(
        self, claims: Sequence[str], unknown: Sequence[str], verdict: str, completed_id: str
    ) -> list[EventDraft]:
        """Return the attempts on every claim, then what they do to those that are known."""
        check_id = self._request.check_id
        attempts: list[EventDraft] = []
        effects: list[EventDraft] = []
        for claim_id in claims:
            found = attempt_effects(verdict, claim_known=claim_id not in unknown)
            attempt: Payload
            if found.refusal is not None:
                attempt = payloads.ClaimVerificationAttemptRefused(
                    claim_id=claim_id,
                    check_id=check_id,
                    reason=found.refusal,
                    version=VERIFICATION_VERSION,
                )
            else:
                attempt = payloads.ClaimVerificationAttempted(
                    claim_id=claim_id,
                    check_id=check_id,
                    check_completed_event_id=completed_id,
                    version=VERIFICATION_VERSION,
                )
            attempts.append(self._draft(claim_id, attempt, completed_id))
            if found.effect is not None:
                effects.append(self._effect(claim_id, found.effect))
        return attempts + effects

    def _effect(self, claim_id: str, effect: Effect) -> EventDraft:
        """Return what moves a claim; like the peer's it names no cause but the check."""
        names = {"claim_id": claim_id, "check_id": self._request.check_id, "details": NAMED}
        kind, moved = payloads.ClaimStatus.KIND, {"status": REFUTED}
        if effect == "evidence":
            # A plain object: whoever folds `status` where it is present must not find a null.
            kind, moved = payloads.ClaimEvidence.KIND, {"evidence_class": E3_REPRODUCED}
        return EventDraft(
            event_id=self._run.ids.new_id(),
            stream_id=claim_id,
            kind=kind,
            actor_id=VERIFIER_ACTOR,
            payload=names | moved,
            correlation_id=self._request.task_id,
        )

    async def _is_known(self, claim_id: str) -> bool:
        rows = await self._run.ledger.stream(claim_id)
        return any(row.kind == payloads.ClaimRecorded.KIND for row in rows)

    async def _is_completed(self) -> bool:
        rows = await self._run.ledger.stream(self._request.check_id)
        return any(row.kind == payloads.CheckCompleted.KIND for row in rows)

    async def _append(
        self,
        drafts: Sequence[EventDraft],
        artifacts: Sequence[ArtifactDraft] = (),
        absent: Sequence[Absent] = (),
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._run.ledger.append(drafts, artifacts, absent=absent)

    def _draft(self, stream_id: str, payload: Payload, cause: str | None = None) -> EventDraft:
        """Return an event of the check; its cause is the request unless another is named."""
        return EventDraft(
            event_id=self._run.ids.new_id(),
            stream_id=stream_id,
            kind=payload.KIND,
            actor_id=VERIFIER_ACTOR,
            payload=payload,
            causation_id=cause or self._requested_event_id,
            correlation_id=self._request.task_id,
        )

    def _now(self) -> str:
        return timestamp(self._run.clock.now())


class _Stream:
    """One output of a check, as its completion holds it: a head inline, the bytes beside it."""

    def __init__(self, kind: str, text: str | None, captured: CapturedOutput | None) -> None:
        whole = _storable(text)
        kept = captured.content if captured else (whole or "").encode()
        self.inline = whole[:INLINE_CHARACTERS] if whole is not None else None
        self.written_bytes = captured.written_bytes if captured else None
        if captured is None and whole is not None:
            self.written_bytes = len(kept)
        self.artifact = (
            ArtifactDraft(kept[:ARTIFACT_LIMIT_BYTES], kind, "text/plain") if kept else None
        )
        is_cut = captured is not None and captured.written_bytes > len(captured.content)
        self.is_truncated = is_cut or (whole is not None and len(whole) > INLINE_CHARACTERS)


class _Lineage(TypedDict):
    source_call_id: str | None
    source_artifact_id: str | None


def _lineage(request: CheckRequest) -> _Lineage:
    """Return where the subject of a check came from, so that a seal can act on its events."""
    call_id = request.metadata.get("call_id")
    return {
        "source_call_id": call_id if isinstance(call_id, str) else None,
        "source_artifact_id": named_artifact(request.target),
    }


def _storable(text: str | None) -> str | None:
    """Return text that a payload can hold: a lone surrogate becomes a visible escape."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _identity(verifier: object) -> dict[str, Any]:
    """Return what a verifier calls itself, and where it comes from."""
    kind = type(verifier)
    name, version = getattr(verifier, "name", None), getattr(verifier, "version", None)
    return {
        "name": _storable(str(name)) if name is not None else kind.__name__,
        "module": kind.__module__,
        "version": _storable(str(version)) if version is not None else None,
    }


def _inherited(key: bytes | None) -> ArtifactDraft:
    """Return the names of all inherited variables with keyed digests of their values."""
    values = sealed_values(os.environ, os.environ, key)
    known = {_storable(name) or "": digest for name, digest in values.items()}
    return ArtifactDraft(
        canonical_json(known).encode("ascii"), "check_environment", "application/json"
    )
