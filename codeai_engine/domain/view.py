"""Views: what reading a ledger returns. Plain values, so that a list needs no pydantic.

Digests compare as one of the words of `Recomputed`; an unknown number is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Mode = Literal["RO", "LIVE", "SNAP"]
Origin = Literal["ours", "peer"]
Recomputed = Literal["match", "mismatch", "absent", "not recorded"]
Level = Literal["none", "selection blind", "final-input blind", "wire-observed"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EventRow:
    """One stored event, its nine columns as they are."""

    sequence: int
    event_id: str
    stream_id: str
    kind: str
    actor_id: str
    payload_json: str
    created_at: str
    causation_id: str | None
    correlation_id: str | None


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One event in a list: all but the payload, of which only the head is read.

    Args:
        payload_head: At most 256 characters of the stored text.
        payload_bytes: Length of the whole stored text.
    """

    sequence: int
    event_id: str
    stream_id: str
    kind: str
    actor_id: str
    created_at: str
    causation_id: str | None
    correlation_id: str | None
    payload_head: str
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """One row of the artifacts table. Its type is the first writer's; an event's counts."""

    artifact_id: str
    sha256: str
    media_type: str
    artifact_type: str
    byte_length: int
    created_at: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the cursors with which reading goes on in either direction.

    Args:
        next_cursor: Sequence after which the next page begins; None when this is the last.
        previous_cursor: Sequence before which the page before ends; None when this is the first.
    """

    items: tuple[T, ...]
    next_cursor: int | None = None
    previous_cursor: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerInfo:
    """A ledger as a whole; nothing here needs a scan of its events."""

    name: str
    path: str
    mode: Mode
    origin: Origin
    event_count: int
    first_sequence: int | None
    last_sequence: int | None
    artifacts: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SealView:
    """A recorded seal: four sorted sets, or why it cannot be read."""

    event_ids: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    artifact_ids: tuple[str, ...] = ()
    lineage_ids: tuple[str, ...] = ()
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class TraceView:
    """One decision of the compiler.

    Args:
        exclusion_class: `event`, `artifact`, `call`, `lineage`, `budget`, `provenance` or `other`
            for an excluded candidate, else None.
        blocking_ids: The ids that the reason names.
        provenance: `declared`, `declared_none`, `unknown`, or None where the record does not say.
        name: The candidate's name in the spec, where the record has it.
        lineage: Ids of where the content came from, as far as the record names them.
        vouched: Who declared that there is no lineage, and why.
    """

    candidate_id: str
    kind: str | None
    decision: str
    reason: str
    exclusion_class: str | None = None
    blocking_ids: tuple[str, ...] = ()
    provenance: str | None = None
    name: str | None = None
    lineage: tuple[str, ...] = ()
    vouched: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One try at a call; the numbers are sequences of its events.

    Args:
        orphan: It started and has neither an observation (nor interpretation) nor a completion.
        running: An orphan whose end may still come: nothing ended its call, fan-out or session.
        wire: `not_sent`, `sent`, `unknown`, or None where the record does not say.
        unfinished: It started and has no completion; every orphan is unfinished.
        call_has_completion: Its call ended all the same, which does not resolve the attempt.
    """

    attempt_id: str
    call_id: str | None
    index: int | None
    cause: str | None
    started: int | None = None
    sending: int | None = None
    wire_observed: int | None = None
    observed: int | None = None
    interpreted: int | None = None
    completed: int | None = None
    abandoned: int | None = None
    status: str | None = None
    error: str | None = None
    error_kind: str | None = None
    wire: str | None = None
    wire_matches: bool | None = None
    transport_outcome: str | None = None
    http_status: int | None = None
    exit_code: int | None = None
    incomplete: bool = False
    wait_s: float | None = None
    latency_ms: float | None = None
    provider: str | None = None
    orphan: bool = False
    running: bool = False
    session_id: str | None = None
    unfinished: bool = False
    call_has_completion: bool | None = None
    fanout_id: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class OutputView:
    """What a branch answered: text up to a stated limit, and the artifact with the whole.

    Args:
        escaped: The text holds escapes in place of bytes or characters that are not text.
        byte_length: Size of the whole in bytes, None where unknown.
    """

    text: str
    truncated: bool = False
    escaped: bool = False
    artifact_id: str | None = None
    byte_length: int | None = None


@dataclass(frozen=True, slots=True)
class BytesPart:
    """One part or item of a rendered input, with its digest recomputed."""

    label: str
    item_id: str | None
    start: int
    end: int
    recorded_sha256: str
    recomputed: Recomputed


@dataclass(frozen=True, slots=True)
class BranchView:
    """One branch of a fan-out: everything the record says of it.

    Args:
        status: The branch's status in `fanout.completed`, by position.
        call_status: What its last `call.completed` says was decided; `decided_status` is the
            latest decision itself, which a killed writer may have left without a completion.
        refused: Why compiling was refused; then nothing was sent.
        nothing_sent: The record shows that no attempt was made, or that no byte of any left.
        missing: What the next level lacks, in plain words.
    """

    call_id: str
    position: int
    name: str | None = None
    actor_id: str | None = None
    actor_kind: str | None = None
    provider: str | None = None
    model: str | None = None
    adapter_id: str | None = None
    protocol: str | None = None
    task_id: str | None = None
    variant: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    instruction: str | None = None
    prompt: str | None = None
    status: str | None = None
    call_status: str | None = None
    error: str | None = None
    error_kind: str | None = None
    replayed_from: str | None = None
    synthesized_completion: bool = False
    completions: int = 0
    requested: int = 0
    manifests: int = 0
    attempts_started: int = 0
    attempts_completed: int = 0
    rendered: bool = False
    preparation_failed_stage: str | None = None
    refused: str | None = None
    cancelled_cause: str | None = None
    seal: SealView | None = None
    seal_names_every_sibling: bool | None = None
    package_id: str | None = None
    package_recomputed: Recomputed = "not recorded"
    trace: tuple[TraceView, ...] = ()
    trace_recomputed: Recomputed = "not recorded"
    prompt_sha256: str | None = None
    prompt_recomputed: Recomputed = "not recorded"
    rendered_sha256: str | None = None
    rendered_recomputed: Recomputed = "not recorded"
    request_sha256: str | None = None
    request_recomputed: Recomputed = "not recorded"
    model_input_sha256: str | None = None
    parts: tuple[BytesPart, ...] = ()
    items: tuple[BytesPart, ...] = ()
    same_rendered_as: tuple[str, ...] = ()
    same_request_as: tuple[str, ...] = ()
    attempts: tuple[AttemptView, ...] = ()
    output: OutputView | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    compiled_at: int | None = None
    requested_at: int | None = None
    manifest_at: int | None = None
    completed_at: int | None = None
    compiled_before_any_answer: bool | None = None
    level: Level = "none"
    missing: tuple[str, ...] = ()
    decided_status: str | None = None
    nothing_sent: bool = False


@dataclass(frozen=True, slots=True)
class FanoutSummary:
    """One fan-out in a list: from its two events and counts on indexed columns only.

    Args:
        orphans: Attempts whose end is unknown; those that may still end count as `running`.
    """

    fanout_id: str
    sequence: int
    task_id: str | None
    call_ids: tuple[str, ...]
    completed: bool
    statuses: tuple[str, ...] | None
    input_provenance: str | None
    context_render: str | None
    created_at: str
    base_offered: dict[str, int] | None
    base_lineage_declared: dict[str, int] | None
    orphans: int = 0
    unread: str | None = None
    running: int = 0


@dataclass(frozen=True, slots=True)
class FanoutView:
    """One fan-out with its branches.

    Args:
        unknown_provenance: Ids of offered items whose origin the record does not know.
        unknown_provenance_count: How many they are, also where the record does not name them;
            None where it does not even count them.
        shared: What branches still have in common, as (what, value).
        level: The lowest level of the branches that something was sent to.
        mixed: Those branches do not all have that level.
        notes: What the level means here and which branches it leaves out, in plain words.
        unread: (sequence, problem) of each event whose payload cannot be read as its kind.
        unattached: Sequences of events whose cause is not in the ledger.
    """

    summary: FanoutSummary
    base_prompt: str | None
    provenance_policy: str | None
    blind_until_collected: bool | None
    branches: tuple[BranchView, ...]
    unknown_provenance: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    level: Level = "none"
    mixed: bool = False
    unread: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()
    unknown_provenance_count: int | None = None
    unattached: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OverviewView:
    """What the record as a whole establishes, and what it does not.

    Args:
        fanouts: How many fan-outs the levels below were derived from.
        total_fanouts: How many the ledger holds.
        digests_matched: Digests of these fan-outs that recompute; mismatched and absent beside it.
        levels: Fan-outs at or above each level.
        orphans: Attempts that are orphans, whole ledger; those still `running` are not in it.
        unread_events: Events of these fan-outs whose payload cannot be read as its kind.
    """

    info: LedgerInfo
    kinds: tuple[tuple[str, int], ...]
    fanouts: int
    total_fanouts: int
    levels: dict[str, int]
    branches: int
    refused_branches: int
    failed_branches: int
    cancelled_branches: int
    orphans: int
    attempts: int
    digests_matched: int
    digests_mismatched: int
    digests_absent: int
    unknown_provenance: int
    unread_events: int
    running: int = 0


@dataclass(frozen=True, slots=True)
class PackageView:
    """One `context.compiled`: what was selected, what was kept out, and whether it recomputes."""

    sequence: int
    package_id: str
    task_id: str | None
    included: int
    excluded: tuple[TraceView, ...]
    package_recomputed: Recomputed
    trace_recomputed: Recomputed


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What reading a range of registered artifacts found; ids in order.

    Args:
        examined: How many were read; `next_cursor` is where the next range begins, None at the end.
        intact: How many have bytes that match their id.
        missing: Registered, but no bytes are there.
        corrupt: The bytes have another digest than the id.
    """

    examined: int
    intact: int
    missing: tuple[str, ...]
    corrupt: tuple[str, ...]
    by_type: tuple[tuple[str, int], ...]
    declared_bytes: int
    next_cursor: str | None = None
