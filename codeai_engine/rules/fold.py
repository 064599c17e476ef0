"""The events of one fan-out to one view: ours and the peer's through the same fold.

Folding some events and then others gives what folding all at once gives, in any order of arrival:
only the sequence counts. What cannot be read is kept beside what can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codeai_engine.domain.call import AttemptPayload, CallCompleted, CallRequested
from codeai_engine.domain.context import ContextCompiled
from codeai_engine.domain.fanout import FanoutCompleted, FanoutRequested, SessionEnded
from codeai_engine.domain.view import BranchView, FanoutSummary, FanoutView
from codeai_engine.rules.compare import joint_level, level_notes, mark_identical, shared_values
from codeai_engine.rules.fold_branch import gather_branch
from codeai_engine.rules.fold_event import (
    first_read,
    last_read,
    of_kind,
    open_event,
    payload_field,
    problems,
    reads,
)
from codeai_engine.rules.fold_package import BaseRecord, read_base
from codeai_engine.rules.fold_view import BranchContext, view_branch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_branch import BranchFacts
    from codeai_engine.rules.fold_event import OpenedEvent, Read
    from codeai_engine.rules.fold_package import Sources

# From the first attempt on an answer may exist: the peer does not say when bytes leave.
_ANSWER_KINDS = frozenset(
    {"attempt.started", "attempt.observed", "attempt.interpreted", "attempt.completed"}
)


@dataclass(frozen=True, slots=True)
class FanoutState:
    """The events of one fan-out so far, read, in order of sequence."""

    events: tuple[OpenedEvent, ...] = ()

    @property
    def requested_row(self) -> EventRow | None:
        """The event that asked for the fan-out, whether or not its payload can be read."""
        rows = of_kind(self.events, FanoutRequested)
        return rows[0] if rows else None

    @property
    def requested(self) -> Read[FanoutRequested] | None:
        """The same with its payload."""
        return first_read(self.events, FanoutRequested)

    @property
    def completed(self) -> Read[FanoutCompleted] | None:
        """The last completion: a later one counts."""
        return last_read(self.events, FanoutCompleted)

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The calls of the branches, by position; an id may occur twice."""
        return tuple((self.requested.payload.call_ids or ()) if self.requested else ())


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the events of a fan-out do not say.

    Args:
        ledger: Its name, which all branches share.
        is_closed: No event of this fan-out can follow any more.
    """

    ledger: str = ""
    is_closed: bool = False


def fold_events(rows: Iterable[EventRow], state: FanoutState | None = None) -> FanoutState:
    """Return `state` with more events folded in; one that is there already changes nothing."""
    known = {event.row.sequence: event for event in (state.events if state else ())}
    for row in rows:
        if row.sequence not in known:
            known[row.sequence] = open_event(row)
    return FanoutState(tuple(known[sequence] for sequence in sorted(known)))


def view_fanout(state: FanoutState, sources: Sources, circumstances: Circumstances) -> FanoutView:
    """Return the fan-out and its branches.

    Args:
        state: With the fan-out's request in it.
        sources: Where bytes, events and claims are looked up by key.
        circumstances: What the events themselves do not say.

    Raises:
        ValueError: The state has no `fanout.requested`.
    """
    row = state.requested_row
    if row is None:
        msg = "a fan-out is folded from its request"
        raise ValueError(msg)
    asked = state.requested.payload if state.requested else None
    base = read_base(asked) if asked else BaseRecord()
    branches = _view_branches(state, base, sources, circumstances)
    level, is_mixed = joint_level(branches)
    unknown = _unknown_provenance(branches)
    task_id = asked.task_id if asked else None
    return FanoutView(
        summary=_summary(state, row, branches),
        base_prompt=asked.base_prompt if asked else None,
        provenance_policy=asked.provenance_policy if asked else None,
        blind_until_collected=asked.blind_until_collected if asked else None,
        branches=branches,
        unknown_provenance=unknown,
        unknown_provenance_count=_unknown_count(base, unknown),
        shared=shared_values(branches, base, task_id=task_id, ledger=circumstances.ledger),
        level=level,
        mixed=is_mixed,
        notes=level_notes(branches),
        unread=problems(state.events),
        unattached=_unattached(state, sources),
    )


def summarise_fanout(
    requested: EventRow, completed: EventRow | None, *, orphans: int = 0, running: int = 0
) -> FanoutSummary:
    """Return a fan-out for a list, from its two events.

    Args:
        requested: Its `fanout.requested`.
        completed: The `fanout.completed` that counts, None where there is none.
        orphans: How many of its attempts are known to have no end.
        running: How many may still end.
    """
    opened = open_event(requested)
    asked = opened.payload if isinstance(opened.payload, FanoutRequested) else None
    end = open_event(completed).payload if completed else None
    statuses = end.statuses if isinstance(end, FanoutCompleted) else None
    return FanoutSummary(
        fanout_id=requested.stream_id,
        sequence=requested.sequence,
        task_id=asked.task_id if asked else None,
        call_ids=tuple((asked.call_ids if asked else None) or ()),
        completed=completed is not None,
        statuses=None if statuses is None else tuple(statuses),
        input_provenance=asked.input_provenance if asked else None,
        context_render=asked.context_render if asked else None,
        created_at=requested.created_at,
        base_offered=_stored_counts(asked.base_offered if asked else None),
        base_lineage_declared=_stored_counts(asked.base_lineage_declared if asked else None),
        orphans=orphans,
        running=running,
        unread=opened.problem,
    )


def gather_branches(state: FanoutState) -> tuple[BranchFacts, ...]:
    """Gather the events of each branch, by position."""
    call_ids = state.call_ids
    packages = reads(state.events, ContextCompiled)
    named: dict[str, list[OpenedEvent]] = {call_id: [] for call_id in call_ids}
    owners = _attempt_owners(state.events)
    for event in state.events:
        names = {
            event.row.stream_id,
            payload_field(event, "call_id"),
            payload_field(event, "requested_call_id"),
            owners.get(event.row.stream_id),
        }
        for call_id in names & named.keys():
            named[call_id].append(event)
    return tuple(
        gather_branch(call_ids, position, named[call_id], packages)
        for position, call_id in enumerate(call_ids)
    )


def _attempt_owners(events: Sequence[OpenedEvent]) -> dict[str, str]:
    """Map each attempt's stream to its call: as its events name it, else by their cause."""
    requests = {
        event.row.event_id: event.row.stream_id
        for event in events
        if event.row.kind == CallRequested.KIND
    }
    owners: dict[str, str] = {}
    for event in events:
        if not event.row.kind.startswith("attempt."):
            continue
        named = event.payload.call_id if isinstance(event.payload, AttemptPayload) else None
        owner = named or requests.get(event.row.causation_id or "")
        if owner is not None:
            owners.setdefault(event.row.stream_id, owner)
    return owners


def _view_branches(
    state: FanoutState, base: BaseRecord, sources: Sources, circumstances: Circumstances
) -> tuple[BranchView, ...]:
    row, completed = state.requested_row, state.completed
    context = BranchContext(
        fanout_id=row.stream_id if row else "",
        base=base,
        sources=sources,
        statuses=tuple(completed.payload.statuses or ()) if completed else None,
        completed_at=_completed_at(state),
        ended_sessions=frozenset(
            ended.payload.session_id for ended in reads(state.events, SessionEnded)
        ),
        is_closed=circumstances.is_closed,
    )
    branches = mark_identical([view_branch(facts, context) for facts in gather_branches(state)])
    answered = _first_answer(state)
    return tuple(
        replace(branch, compiled_before_any_answer=branch.compiled_at < answered)
        if branch.compiled_at is not None
        else branch
        for branch in branches
    )


def _first_answer(state: FanoutState) -> float:
    """Return the sequence from which on an answer may have existed; infinite where never."""
    for event in state.events:
        if event.row.kind in _ANSWER_KINDS:
            return event.row.sequence
        if event.row.kind == CallCompleted.KIND and payload_field(event, "raw_output"):
            return event.row.sequence
    return float("inf")


def _completed_at(state: FanoutState) -> int | None:
    rows = of_kind(state.events, FanoutCompleted)
    return rows[-1].sequence if rows else None


def _summary(
    state: FanoutState, requested: EventRow, branches: Sequence[BranchView]
) -> FanoutSummary:
    rows = of_kind(state.events, FanoutCompleted)
    # Two branches of one call id share their attempts: each counts once.
    attempts = {attempt.attempt_id: attempt for b in branches for attempt in b.attempts}
    return summarise_fanout(
        requested,
        rows[-1] if rows else None,
        orphans=sum(a.orphan and not a.running for a in attempts.values()),
        running=sum(a.running for a in attempts.values()),
    )


def _unknown_provenance(branches: Sequence[BranchView]) -> tuple[str, ...]:
    return tuple(
        sorted(
            {
                entry.candidate_id
                for branch in branches
                for entry in branch.trace
                if entry.provenance == "unknown"
            }
        )
    )


def _unknown_count(base: BaseRecord, named: Sequence[str]) -> int | None:
    counted = base.unknown_count()
    if counted is None:
        return len(named) or None
    return max(counted, len(named))


def _unattached(state: FanoutState, sources: Sources) -> tuple[int, ...]:
    """Return the events whose cause is not in the ledger (USER_REPORTS U39)."""
    known = {event.row.event_id for event in state.events}
    causes = {event.row.causation_id for event in state.events} - known - {None}
    missing = {cause for cause in causes if cause and sources.event(cause) is None}
    return tuple(e.row.sequence for e in state.events if e.row.causation_id in missing)


def _stored_counts(counts: dict[str, object] | None) -> dict[str, int] | None:
    if counts is None:
        return None
    return {kind: number for kind, number in counts.items() if isinstance(number, int)}
