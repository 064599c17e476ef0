"""One fan-out, from its fixed base to its completion.

Every branch is compiled from the same base before the first is sent; then they run concurrently
under a bound, each inside its guard; the completion carries every status (DESIGN 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from codeai_engine.domain.call import CONTEXT_RENDER_V1
from codeai_engine.domain.fanout import (
    RENDERED_BYTES,
    SELECTION_RECORD,
    FanoutRequested,
    TaskCreated,
)
from codeai_engine.errors import AppendConflict, LedgerError, SpecError
from codeai_engine.ledger.writer import Absent
from codeai_engine.runtime.base import resolve_base
from codeai_engine.runtime.branch import Branch
from codeai_engine.runtime.branch_checks import BranchChecks, planned_of_branches
from codeai_engine.runtime.planned import pin_states
from codeai_engine.runtime.record import FanoutContext
from codeai_engine.runtime.request import (
    BranchOutcome,
    FanoutOutcome,
    FanoutRequest,
    refuse_malformed,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.events import ArtifactDraft, EventDraft
    from codeai_engine.runtime.record import RunContext

# The first events a call can have: a call id is new when none of them stands on its stream.
FIRST_CALL_KINDS = ("call.requested", "context.compilation_failed", "call.completed")


@dataclass(frozen=True, slots=True)
class BegunFanout:
    """A fan-out whose request and compilations are durable; nothing was sent yet."""

    context: FanoutContext
    branches: list[Branch]
    checks: BranchChecks


async def sealed_fanout(request: FanoutRequest, run: RunContext) -> FanoutOutcome:
    """Put one question to several sealed branches and record everything.

    Args:
        request: What to ask, of whom, over which base.
        run: The ledger, the clock, the ids and the session to run with.

    Returns:
        One outcome per branch and check, in the order of the request.

    Raises:
        SpecError: The request cannot be run; nothing was written.
        LedgerError: The ledger refuses; what was acknowledged stands.
    """
    request = replace(request, checks=await pin_states(request.checks, request.source))
    return await collect_fanout(await begin_fanout(request, run))


async def begin_fanout(
    request: FanoutRequest, run: RunContext, *, preamble: Sequence[EventDraft] = ()
) -> BegunFanout:
    """Resolve the base, compile every branch, and commit the request with all of it.

    Args:
        request: What to ask, of whom, over which base; the states of its checks are pinned.
        run: What to run with.
        preamble: Events that commit before the request, such as `session.started`.

    Raises:
        SpecError: The request cannot be run; nothing was written.
        LedgerError: The ledger refuses; nothing was written.
    """
    refuse_malformed(request)
    base = await resolve_base(request, run.ledger)
    context = FanoutContext(request=request, fanout_id=run.ids.new_id(), run=run)
    branches = [Branch(context, branch, base) for branch in request.branches]
    checks = BranchChecks(context, await planned_of_branches(context))
    await _record_request(context, branches, list(preamble))
    return BegunFanout(context, branches, checks)


async def collect_fanout(fanout: BegunFanout) -> FanoutOutcome:
    """Run the branches, check each as soon as it completes, and commit every status.

    Raises:
        LedgerError: The ledger refuses; what was acknowledged stands.
    """
    context, branches = fanout.context, fanout.branches
    try:
        await _run(branches, fanout.checks, context.request.concurrency)
    finally:
        if all(branch.outcome is not None for branch in branches):
            with anyio.CancelScope(shield=True):
                statuses = [outcome.status for outcome in _outcomes(branches)]
                await context.append([context.completed(statuses)])
    return FanoutOutcome(context.fanout_id, _outcomes(branches), fanout.checks.outcomes)


async def _run(branches: list[Branch], checks: BranchChecks, concurrency: int) -> None:
    limiter = anyio.CapacityLimiter(concurrency)
    try:
        async with anyio.create_task_group() as group:
            for branch in branches:
                group.start_soon(_run_one, branch, checks, limiter)
    except BaseExceptionGroup as failures:
        # Guards let nothing but the ledger's own refusal through: say it plainly.
        refusal = _first_refusal(failures)
        if refusal is None:
            raise
        raise refusal from failures


async def _run_one(branch: Branch, checks: BranchChecks, limiter: anyio.CapacityLimiter) -> None:
    try:
        await branch.run(limiter)
    finally:
        await checks.run(branch)  # also where it was cancelled: then each is recorded as that


def _first_refusal(failures: BaseExceptionGroup[BaseException]) -> LedgerError | None:
    for error in failures.exceptions:
        if isinstance(error, LedgerError):
            return error
        if isinstance(error, BaseExceptionGroup):
            return _first_refusal(error)
    return None


def _outcomes(branches: list[Branch]) -> tuple[BranchOutcome, ...]:
    return tuple(branch.outcome for branch in branches if branch.outcome is not None)


async def _record_request(
    fanout: FanoutContext, branches: list[Branch], preamble: list[EventDraft]
) -> None:
    """Commit the request together with every compilation, before anything is sent."""
    request = fanout.request
    drafts = [fanout.draft(fanout.fanout_id, _requested(fanout))]
    for branch in branches:
        drafts += branch.compile()
        fanout.run.on_step(branch.request.name, "refused" if branch.outcome else "compiled")
    artifacts = [item.draft for item in request.base if item.draft is not None]
    absent = [
        Absent(branch.call_id, kind) for branch in request.branches for kind in FIRST_CALL_KINDS
    ]
    try:
        await _append_once_per_task(fanout, preamble, drafts, artifacts, absent)
    except AppendConflict as conflict:
        for asked in request.branches:
            if await fanout.run.ledger.stream(asked.call_id):
                reason = f"call id '{asked.call_id}' is already in the ledger; use a new one"
                raise SpecError(request.source, f"branch '{asked.name}'", reason) from conflict
        raise


async def _append_once_per_task(
    fanout: FanoutContext,
    preamble: list[EventDraft],
    drafts: list[EventDraft],
    artifacts: list[ArtifactDraft],
    absent: list[Absent],
) -> None:
    """Append with `task.created` before it, unless the task's stream has one by then."""
    task_id = fanout.request.task_id
    task = await _task_created(fanout)
    if task:
        once = Absent(task_id, TaskCreated.KIND)
        try:
            await fanout.append([*preamble, *task, *drafts], artifacts, absent=[*absent, once])
        except AppendConflict:
            if not await fanout.run.ledger.stream(task_id):
                raise  # not the task: a call id was taken
        else:
            return
    await fanout.append([*preamble, *drafts], artifacts, absent=absent)


async def _task_created(fanout: FanoutContext) -> list[EventDraft]:
    """Return `task.created` where the task's own stream does not have it yet."""
    request = fanout.request
    rows = await fanout.run.ledger.stream(request.task_id)
    if any(row.kind == TaskCreated.KIND for row in rows):
        return []
    payload = TaskCreated(
        task_id=request.task_id,
        objective=request.objective,
        success_criteria=[],
        budget={},
        authority={},
    )
    return [fanout.draft(request.task_id, payload)]


def _requested(fanout: FanoutContext) -> FanoutRequested:
    request = fanout.request
    declared = [item for item in request.base if item.lineage]
    return FanoutRequested(
        fanout_id=fanout.fanout_id,
        task_id=request.task_id,
        call_ids=[branch.call_id for branch in request.branches],
        base_prompt=request.prompt,
        context_render=CONTEXT_RENDER_V1 if request.context_render else None,
        input_provenance=RENDERED_BYTES if request.context_render else SELECTION_RECORD,
        base_lineage_declared={
            "artifacts": sum(item.kind == "artifact" for item in declared),
            "claims": sum(item.kind == "claim" for item in declared),
        },
        base_offered={
            f"{kind}s": sum(item.kind == kind for item in request.base)
            for kind in ("artifact", "claim", "event")
        },
        base_required_artifacts=sorted(
            item.item_id
            for item in request.base
            if item.kind == "artifact" and request.is_required(item)
        ),
        provenance_policy=request.provenance_policy,
        base_lineage={
            f"{kind}s": {
                item.item_id: sorted(item.lineage or ()) for item in declared if item.kind == kind
            }
            for kind in ("artifact", "claim")
        },
        base_declared_none=[
            {"kind": item.kind, "id": item.item_id, "by": by, "why": why}
            for item in request.base
            if item.declared_none
            for by, why in [item.declared_none]
        ],
        base_names={f"{item.kind}:{item.item_id}": item.name for item in request.base if item.name},
        blind_until_collected=request.blind_until_collected,
        spec_sha256=request.spec_sha256,
    )
