"""Checks without a fan-out: claims are recorded first, then each check runs in turn."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from codeai_engine.errors import AppendConflict, ArtifactTooLarge, PayloadRefused
from codeai_engine.rules.verdict import bind_artifact, bind_state, error_result
from codeai_engine.runtime.check import CheckOutcome, record_claim, run_check
from codeai_engine.runtime.planned import free_check_id, free_claim_id
from codeai_engine.runtime.record import RUNTIME_ACTOR

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from codeai_engine.domain.check import CheckRequest
    from codeai_engine.errors import CodeAIError
    from codeai_engine.runtime.planned import ChecksRequest, PlannedCheck, PlannedClaim
    from codeai_engine.runtime.record import RunContext

# What the ledger says of one check's own values; every other refusal is about the file.
CONTAINED = (AppendConflict, PayloadRefused, ArtifactTooLarge)
SAID_BY_SPEC: dict[str, str | None] = {"said_by": "spec"}


async def run_checks(request: ChecksRequest, run: RunContext) -> tuple[CheckOutcome, ...]:
    """Record the claims of a request and carry out its checks, one after another.

    Args:
        request: What to check; the states of its checks are pinned.
        run: What they are carried out with.

    Returns:
        One outcome per check, in the order of the request.

    Raises:
        LedgerError: The ledger refuses; what was acknowledged stands.
    """
    claim_ids = await claim_ids_of(request.claims, run)
    for claim in request.claims:
        await record_claim(
            run,
            claim_id=claim_ids[claim.claim_id],
            task_id=request.task_id,
            statement=claim.statement or "",
            source_call_id=None,
            actor_id=RUNTIME_ACTOR,
            anchors=[SAID_BY_SPEC],
        )
    planned = [
        await under_free_ids(check, check.asked.check_id, run, claim_ids)
        for check in request.checks
    ]
    outcomes: list[CheckOutcome] = []

    async def carry_out(check: PlannedCheck) -> None:
        outcome = await contained_check(check, run)
        outcomes.append(outcome)
        run.on_step(outcome.check_id, outcome.verdict)

    await in_turn(planned, carry_out)
    return tuple(outcomes)


async def in_turn(
    checks: Iterable[PlannedCheck],
    carry_out: Callable[[PlannedCheck], Awaitable[None]],
    limiter: anyio.CapacityLimiter | None = None,
) -> None:
    """Carry out checks one after another, under a bound where there is one.

    A cancellation ends the check that runs. Those that wait are not carried out, and each of them
    is recorded as that before the cancellation goes on.
    """
    waiting = deque(checks)
    try:
        async with limiter or anyio.CapacityLimiter(1):
            while waiting:
                await carry_out(waiting.popleft())
    except anyio.get_cancelled_exc_class():
        while waiting:
            with suppress(anyio.get_cancelled_exc_class()):
                await carry_out(waiting.popleft())
        raise


async def claim_ids_of(claims: Iterable[PlannedClaim], run: RunContext) -> dict[str, str]:
    """Return the id in the ledger of every claim that a spec makes, by the spec's id."""
    return {claim.claim_id: await free_claim_id(claim.claim_id, run) for claim in claims}


async def under_free_ids(
    check: PlannedCheck, wanted: str, run: RunContext, claim_ids: Mapping[str, str]
) -> PlannedCheck:
    """Return a check under an id that the ledger has free, naming the claims by their ids there.

    Args:
        check: The check as the spec has it; its id there is kept in the record.
        wanted: The id that it should have.
        run: Where the id must be free.
        claim_ids: What `claim_ids_of` returned; other ids are those of the ledger already.
    """
    asked = check.asked
    asked = replace(
        asked,
        check_id=await free_check_id(wanted, run),
        claim_ids=tuple(claim_ids.get(one, one) for one in asked.claim_ids),
        metadata={**asked.metadata, "spec_id": asked.check_id},
    )
    return replace(check, asked=asked)


async def contained_check(check: PlannedCheck, run: RunContext) -> CheckOutcome:
    """Run one check; what the ledger says of the check itself is its ERROR and nobody else's.

    Raises:
        LedgerError: The ledger itself refuses.
    """
    try:
        return await run_check(check.asked, run, resolver=check.resolver, subject=check.subject)
    except CONTAINED as error:
        return _unrecorded(check.asked, error)


def _unrecorded(asked: CheckRequest, error: CodeAIError) -> CheckOutcome:
    """Return the outcome of a check that the ledger has from somebody else, or cannot hold."""
    return CheckOutcome(
        check_id=asked.check_id,
        verdict="ERROR",
        binding=bind_state(asked.target_state_hash),
        artifact_binding=bind_artifact(asked.target, asked.command, None, asked.missing),
        invocations=0,
        error=error.message,
        result=error_result(asked.check_id, error.message),
    )
