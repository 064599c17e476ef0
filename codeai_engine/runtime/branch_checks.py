"""The checks of a run: as soon as a branch completes, its claims are recorded and its checks run.

What a branch says of its own work becomes a claim by that branch, untouched, beside the checks that
may contradict it. Nothing is skipped in silence: a claim that the branch did not make is refused on
the record, and a check of a branch that has nothing to check is ERROR with its artifact MISSING.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import anyio

from codeai_engine.domain.check import ARTIFACT_TARGET
from codeai_engine.domain.claim import ClaimRefused
from codeai_engine.domain.events import EventDraft
from codeai_engine.rules.statement import NOTHING_THERE, NoStatement, read_statement
from codeai_engine.runtime.check import record_claim
from codeai_engine.runtime.check_list import (
    CONTAINED,
    SAID_BY_SPEC,
    claim_ids_of,
    contained_check,
    in_turn,
    under_free_ids,
)
from codeai_engine.runtime.record import RUNTIME_ACTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.domain.check import CheckRequest
    from codeai_engine.runtime.branch import Branch
    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.planned import PlannedCheck, PlannedClaim
    from codeai_engine.runtime.record import FanoutContext

NOT_RECORDED = "claim_not_recorded"


class _Asserted(TypedDict):
    claim_id: str
    task_id: str
    source_call_id: str
    actor_id: str
    source_artifact_id: str | None
    anchors: list[dict[str, str | None]]


@dataclass(frozen=True, slots=True)
class ChecksOfBranch:
    """What one branch's completion sets off, under the ids that the ledger has free."""

    claims: tuple[PlannedClaim, ...]
    checks: tuple[PlannedCheck, ...]


async def planned_of_branches(fanout: FanoutContext) -> dict[str, ChecksOfBranch]:
    """Return the claims and checks of every branch, in the order of the spec."""
    request, run = fanout.request, fanout.run
    claim_ids = await claim_ids_of(request.claims, run)
    found: dict[str, ChecksOfBranch] = {}
    for branch in request.branches:
        own = [claim for claim in request.claims if claim.branch == branch.name]
        others = {claim.claim_id for claim in request.claims if claim not in own}
        checks = [
            await under_free_ids(
                _without(others, check), _check_id(check, branch.name), run, claim_ids
            )
            for check in request.checks
            if check.is_of(branch.name)
        ]
        claims = [replace(claim, claim_id=claim_ids[claim.claim_id]) for claim in own]
        found[branch.name] = ChecksOfBranch(tuple(claims), tuple(checks))
    return found


def _without(others: set[str], check: PlannedCheck) -> PlannedCheck:
    """Return a check without the claims of other branches, which one of `*` may name."""
    own = tuple(one for one in check.asked.claim_ids if one not in others)
    return replace(check, asked=replace(check.asked, claim_ids=own))


def _check_id(check: PlannedCheck, branch: str) -> str:
    own = check.asked.check_id
    return own if check.branch == branch else f"{own}:{branch}"


class BranchChecks:
    """Records the claims and runs the checks of branches that have completed.

    Args:
        fanout: The fan-out that the branches belong to.
        planned: What `planned_of_branches` returned.
    """

    def __init__(self, fanout: FanoutContext, planned: Mapping[str, ChecksOfBranch]) -> None:
        self._fanout = fanout
        self._planned = planned
        # A bound of its own: checks do not wait behind branches that have not begun.
        self._limiter = anyio.CapacityLimiter(fanout.request.concurrency)
        self._outcomes: dict[str, list[CheckOutcome]] = {name: [] for name in planned}

    @property
    def outcomes(self) -> tuple[CheckOutcome, ...]:
        """How the checks ended, by branch and then by check in the order of the spec."""
        return tuple(one for of_branch in self._outcomes.values() for one in of_branch)

    async def run(self, branch: Branch) -> None:
        """Record what a completed branch says, and check it; one check after another.

        A cancellation ends the check that runs. Those that wait are not carried out, and each of
        them is recorded before the cancellation goes on.

        Raises:
            LedgerError: The ledger itself refuses; then the whole run must stop.
        """
        planned = self._planned[branch.request.name]
        if branch.outcome is None or not (planned.claims or planned.checks):
            return  # without an outcome the ledger has refused, and nothing can be recorded
        for claim in planned.claims:
            await self._record_claim(claim, branch)

        async def carry_out(check: PlannedCheck) -> None:
            await self._check(check, branch)

        await in_turn(planned.checks, carry_out, self._limiter)

    async def _record_claim(self, claim: PlannedClaim, branch: Branch) -> None:
        """Record a claim, or that it was not made: it is never made up."""
        said = _said(claim, branch)
        if isinstance(said, str):
            try:
                await record_claim(
                    self._fanout.run, statement=said, **self._asserted(claim, branch)
                )
            except CONTAINED as error:
                said = NoStatement(NOT_RECORDED, error.message)
        if isinstance(said, NoStatement):
            await self._refuse_claim(claim, branch, said)
        how = f"refused, {said.reason}" if isinstance(said, NoStatement) else "recorded"
        self._fanout.run.on_step(branch.request.name, f"claim {claim.claim_id}: {how}")

    def _asserted(self, claim: PlannedClaim, branch: Branch) -> _Asserted:
        """Return who asserts a claim, about which call: a branch, or the spec about a branch."""
        is_own = claim.pointer is not None
        return {
            "claim_id": claim.claim_id,
            "task_id": self._fanout.request.task_id,
            "source_call_id": branch.request.call_id,
            "actor_id": branch.actor_id if is_own else RUNTIME_ACTOR,
            "source_artifact_id": _output_id(branch) if is_own else None,
            "anchors": [{"statement_pointer": claim.pointer}] if is_own else [SAID_BY_SPEC],
        }

    async def _refuse_claim(
        self, claim: PlannedClaim, branch: Branch, refused: NoStatement
    ) -> None:
        """Record that a claim was not made, and why; it stays unknown to every check."""
        fanout = self._fanout
        payload = ClaimRefused(
            request={
                "claim_id": claim.claim_id,
                "task_id": fanout.request.task_id,
                "source_call_id": branch.request.call_id,
                "fanout_id": fanout.fanout_id,
                "branch": branch.request.name,
                "statement_pointer": claim.pointer,
            },
            reasons=[refused.reason],
            detail={"problem": refused.problem, "source_artifact_id": _output_id(branch)},
        )
        draft = EventDraft(
            event_id=fanout.run.ids.new_id(),
            stream_id=claim.claim_id,
            kind=payload.KIND,
            actor_id=RUNTIME_ACTOR,
            payload=payload,
            correlation_id=fanout.request.task_id,
        )
        await fanout.append([draft])

    async def _check(self, check: PlannedCheck, branch: Branch) -> None:
        request = self._request(check, branch)
        outcome = await contained_check(replace(check, asked=request), self._fanout.run)
        self._outcomes[branch.request.name].append(outcome)
        self._fanout.run.on_step(
            branch.request.name, f"check {outcome.check_id}: {outcome.verdict}"
        )

    def _request(self, check: PlannedCheck, branch: Branch) -> CheckRequest:
        """Return the request of a check, with the subject that the branch left."""
        metadata = {
            **check.asked.metadata,
            "fanout_id": self._fanout.fanout_id,
            "branch": branch.request.name,
            "call_id": branch.request.call_id,
        }
        asked = replace(check.asked, metadata=metadata)
        missing = _nothing_to_check(branch)
        if missing is not None:
            target = f"output of call {branch.request.call_id}" if check.of_output else asked.target
            return replace(asked, target=target, missing=missing)
        if check.of_output and branch.output is not None:
            return replace(asked, target=ARTIFACT_TARGET + branch.output.artifact_id)
        return asked


def _said(claim: PlannedClaim, branch: Branch) -> str | NoStatement:
    if claim.pointer is None:
        return claim.statement or NoStatement(NOTHING_THERE, "the spec says nothing")
    output = branch.output
    return read_statement(output.content.decode("utf-8") if output else None, claim.pointer)


def _output_id(branch: Branch) -> str | None:
    return branch.output.artifact_id if branch.output is not None else None


def _nothing_to_check(branch: Branch) -> str | None:
    """Return why a branch left nothing to check, None where it has an output."""
    outcome = branch.outcome
    status = outcome.status if outcome else "open"
    if status != "succeeded":
        return f"branch '{branch.request.name}' {status}, so that it left nothing to check"
    if branch.output is None:
        return f"branch '{branch.request.name}' succeeded without an output"
    return None
