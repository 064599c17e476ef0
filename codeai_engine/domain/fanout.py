"""Fan-outs, tasks and sessions as a ledger holds them."""

from __future__ import annotations

from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

Json = dict[str, Any]
ADMIT_RECORDED = "admit_recorded"
RENDERED_BYTES = "rendered_bytes"
SELECTION_RECORD = "selection_record"


class SessionStarted(Payload):
    """`session.started` (ours): a process opens the ledger to write."""

    KIND: ClassVar[str] = "session.started"

    session_id: str
    machine_sha256: str | None = None
    boot_id: str | None = None
    pid: int | None = None
    process_started_at: str | None = None
    engine_version: str | None = None
    executor: str | None = None
    isolation: str | None = None


class SessionEnded(Payload):
    """`session.ended` (ours): it closes; `reason` is `done`, `interrupted` or `failed`."""

    KIND: ClassVar[str] = "session.ended"

    session_id: str
    reason: str | None = None


class TaskCreated(Payload):
    """`task.created`: ours on the task's own stream, the peer's on its directive's."""

    KIND: ClassVar[str] = "task.created"

    task_id: str
    directive_id: str | None = None
    objective: str | None = None
    success_criteria: list[str] | None = None
    budget: Json | None = None
    authority: Json | None = None
    parent_task_id: str | None = None


class FanoutRequested(Payload):
    """`fanout.requested`: one question put to several branches.

    `input_provenance` is the fan-out's default; each branch's manifest is the evidence.
    """

    KIND: ClassVar[str] = "fanout.requested"

    fanout_id: str
    task_id: str | None = None
    directive_id: str | None = None
    run_id: str | None = None
    call_ids: list[str] | None = None
    base_prompt: str | None = None
    experiment_id: str | None = None
    arm: str | None = None
    context_render: str | None = None
    input_provenance: str | None = None
    base_lineage_declared: Json | None = None
    base_offered: Json | None = None
    base_required_artifacts: list[str] | None = None
    # Ours.
    provenance_policy: str | None = None
    base_lineage: Json | None = None
    base_declared_none: list[Json] | None = None
    base_names: Json | None = None
    blind_until_collected: bool | None = None
    spec_sha256: str | None = None


class FanoutCompleted(Payload):
    """`fanout.completed`: one status per call id, by position."""

    KIND: ClassVar[str] = "fanout.completed"

    fanout_id: str
    task_id: str | None = None
    call_ids: list[str] | None = None
    statuses: list[str] | None = None


class BranchCancelled(Payload):
    """`branch.cancelled` (ours): a branch was stopped, on the call's stream."""

    KIND: ClassVar[str] = "branch.cancelled"

    call_id: str
    fanout_id: str | None = None
    cause: str | None = None
