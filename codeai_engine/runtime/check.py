"""One check: bind, execute, finalise, record, attempt on each claim (DESIGN 9).

The order is the seed's ("How CodeAI runs a check"). The state is read exactly once before; a
requested binding that fails ends in ERROR without an invocation; what a verifier says of the state
is overwritten by the runtime's own reading. The completion, the attempts and what they do to the
claims commit together, and only where the check has no completion yet.
"""

from __future__ import annotations

import math
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from codeai_engine.domain.check import ARTIFACT_PLACE
from codeai_engine.errors import ArtifactTooLarge, LedgerError, PayloadRefused
from codeai_engine.rules.verdict import (
    bind_artifact,
    bind_state,
    error_result,
    named_artifact,
    normalise_result,
    policy_problem,
    timed_out,
)
from codeai_engine.runtime.attempt import describe
from codeai_engine.runtime.check_record import CheckRecord, record_claim
from codeai_engine.verifiers.artifact import materialised
from codeai_engine.verifiers.base import Foresees
from codeai_engine.verifiers.process import LocalCommandVerifier

if TYPE_CHECKING:
    from codeai_engine.domain.check import CheckRequest, CheckResult, Verdict
    from codeai_engine.domain.events import ArtifactDraft
    from codeai_engine.rules.verdict import ArtifactBinding, StateBinding
    from codeai_engine.runtime.record import RunContext
    from codeai_engine.verifiers.base import StateResolver, Verifier

__all__ = ["CheckOutcome", "record_claim", "run_check"]

RECORD_SECONDS = 30.0
GRACE_S = 5.0  # what a verifier gets past the request's deadline to end by itself
STABLE, MOVED, UNREADABLE = "stable", "moved", "unavailable"
_CONTAINED = (PayloadRefused, ArtifactTooLarge)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """How one check ended, as it was recorded.

    Args:
        binding: Which state it was bound to.
        artifact_binding: Which bytes it was given.
        invocations: How often the verifier was invoked: 0 or 1.
        error: Why the verdict is ERROR.
        result: The whole result, with the runtime's observation in it.
        state_after: `stable`, `moved` or `unavailable`; None where no second reading was taken.
    """

    check_id: str
    verdict: Verdict
    binding: StateBinding
    artifact_binding: ArtifactBinding
    invocations: int
    error: str | None
    result: CheckResult
    state_after: str | None = None


async def run_check(
    request: CheckRequest,
    run: RunContext,
    *,
    verifier: Verifier | None = None,
    resolver: StateResolver | None = None,
    subject: ArtifactDraft | None = None,
) -> CheckOutcome:
    """Carry out one check and record it; whatever happens, it ends in a record.

    Args:
        request: What to check.
        run: What it is carried out with.
        verifier: What examines the subject; the request's command when absent.
        resolver: What reads the state that the request is bound to.
        subject: The bytes that the target names, to be stored with the request; None where the
            ledger has them, or should.

    Raises:
        AppendConflict: The ledger has this check already, or another process completed it first;
            nothing of this one's end was written.
        PayloadRefused: The request holds what no payload can; nothing was written.
        LedgerError: The ledger itself refuses.
    """
    check = _Check(request, run, verifier or LocalCommandVerifier(), resolver)
    return await check.run(subject)


class _Check:
    """One check while it runs."""

    def __init__(
        self,
        request: CheckRequest,
        run: RunContext,
        verifier: Verifier,
        resolver: StateResolver | None,
    ) -> None:
        self._request = request
        self._verifier = verifier
        self._resolver = resolver
        self._record = CheckRecord(request, run, verifier)
        self._run = run
        self._binding: StateBinding | None = None
        self._artifact_binding: ArtifactBinding | None = None
        self._result: CheckResult | None = None
        self._state_after: dict[str, Any] | None = None

    async def run(self, subject: ArtifactDraft | None) -> CheckOutcome:
        await self._record.requested(subject)
        try:
            result = await self._examine()
        except BaseException as error:
            if isinstance(error, LedgerError) and not isinstance(error, _CONTAINED):
                raise
            # Asked before the shield below hides the answer.
            stopped = anyio.current_effective_deadline() == -math.inf
            cause = f"cancelled: {self._run.stop_cause()}" if stopped else describe(error)
            result = self._ended(cause)
        with anyio.CancelScope(shield=True), anyio.fail_after(RECORD_SECONDS):
            result = await self._complete(result)
        await anyio.lowlevel.checkpoint_if_cancelled()
        return self._outcome(result)

    def _ended(self, cause: str) -> CheckResult:
        """Return what stands when the check was ended from outside: a verdict that was reached."""
        if self._result is None:
            return error_result(self._request.check_id, cause)
        self._state_after = _after(UNREADABLE, reason=cause)
        return self._result

    async def _examine(self) -> CheckResult:
        request = self._request
        await anyio.lowlevel.checkpoint_if_cancelled()  # nothing is started when all is stopping
        self._binding = await self._bind_state()
        digest = named_artifact(request.target)
        content = await self._run.ledger.artifact_bytes(digest) if digest else None
        self._artifact_binding = bind_artifact(
            request.target, request.command, content, request.missing
        )
        for binding in (self._binding, self._artifact_binding):
            if not binding.permits:
                return error_result(request.check_id, binding.reason or binding.status)
        async with AsyncExitStack() as stack:
            prepared = request
            if self._artifact_binding.status == "bound" and content is not None:
                path = await stack.enter_async_context(materialised(content))
                command = tuple(part.replace(ARTIFACT_PLACE, path) for part in request.command)
                prepared = replace(request, command=command)
            problem = self._problem(prepared)
            if problem is not None:
                return error_result(request.check_id, problem)
            self._result = await self._execute(prepared)
            self._state_after = await self._read_after()
        return self._result

    async def _bind_state(self) -> StateBinding:
        requested = self._request.target_state_hash
        if requested is None or self._resolver is None:
            return bind_state(requested)
        observed, error = await self._read_state(self._resolver)
        return bind_state(requested, observed, error)

    async def _read_state(self, resolver: StateResolver) -> tuple[str | None, str | None]:
        """Return the digest, or why there is none; one call of the resolver."""
        observed: object = None
        try:
            with anyio.move_on_after(self._request.timeout_s) as scope:
                observed = await resolver.read()
        except BaseException as error:
            if anyio.current_effective_deadline() == -math.inf:
                raise  # we are being stopped: nothing is known of the state
            return None, describe(error)
        if scope.cancelled_caught:
            return None, f"it was not read within {self._request.timeout_s:g} seconds"
        if not isinstance(observed, str) or not observed.isascii():
            return None, f"resolver returned {type(observed).__name__}, no digest"
        return observed, None

    async def _read_after(self) -> dict[str, Any] | None:
        """Read the state a second time, where the first bound the check."""
        if self._binding is None or self._binding.status != "bound" or self._resolver is None:
            return None
        observed, error = await self._read_state(self._resolver)
        if error is not None:
            return _after(UNREADABLE, reason=error)
        status = STABLE if observed == self._binding.observed else MOVED
        return _after(status, observed)

    def _problem(self, prepared: CheckRequest) -> str | None:
        """Return why the verifier is not invoked although the bindings permit it."""
        request = self._request
        missing = set(request.environment_from) - os.environ.keys() - request.environment.keys()
        if missing:
            return f"the environment has no {', '.join(sorted(missing))}"
        if any(ARTIFACT_PLACE in part for part in request.command) and not named_artifact(
            request.target
        ):
            return f"the command asks for {ARTIFACT_PLACE}, and the check names no artifact"
        problem = policy_problem(request.policy())
        if problem is None and isinstance(self._verifier, Foresees):
            problem = self._verifier.problem(prepared)
        return problem

    async def _execute(self, prepared: CheckRequest) -> CheckResult:
        """Invoke the verifier once; a raising or malformed one gives ERROR."""
        check_id = self._request.check_id
        await self._record.started(prepared.command)
        result: object = None
        try:
            with anyio.move_on_after(prepared.timeout_s + GRACE_S) as scope:
                result = await self._verifier.verify(prepared)
        except BaseException as error:
            if anyio.current_effective_deadline() == -math.inf:
                raise
            return error_result(check_id, f"verifier raised {type(error).__name__}: {error}")
        if scope.cancelled_caught:
            return error_result(check_id, timed_out(prepared.timeout_s))
        return normalise_result(result, self._request.policy(), check_id=check_id)

    async def _complete(self, result: CheckResult) -> CheckResult:
        """Overwrite what the verifier says of the state, and record the end."""
        observed = self._binding.observed if self._binding else None
        final = replace(result, observed_target_state_hash=observed)
        await self._record.completed(
            final, self._binding, self._artifact_binding, self._state_after
        )
        return final

    def _outcome(self, result: CheckResult) -> CheckOutcome:
        request = self._request
        after = self._state_after
        return CheckOutcome(
            check_id=request.check_id,
            verdict=result.verdict,
            binding=self._binding or bind_state(request.target_state_hash),
            artifact_binding=self._artifact_binding
            or bind_artifact(request.target, request.command, None, request.missing),
            invocations=self._record.invocations,
            error=result.error,
            result=result,
            state_after=after["status"] if after else None,
        )


def _after(status: str, observed: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """Return a second reading as `check.completed` holds it."""
    return {"status": status, "observed_state_hash": observed, "reason": reason}
