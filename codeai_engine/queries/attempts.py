"""Attempts across the ledger: a page at a time, with what became of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codeai_engine.domain.view import Page
from codeai_engine.queries.liveness import Liveness
from codeai_engine.queries.sources import LedgerSources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.call import AttemptStarted
    from codeai_engine.domain.view import AttemptView, EventRow
    from codeai_engine.ledger.reader import LedgerReader
    from codeai_engine.rules.fold_event import OpenedEvent, Read

STARTED = "attempt.started"


def read_attempts(
    ledger: LedgerReader,
    *,
    before: int | None = None,
    limit: int = 50,
    orphans_only: bool = False,
) -> Page[AttemptView]:
    """Read a page of attempts, newest first.

    Args:
        ledger: Open for reading.
        before: Only those that started before this sequence: the `next_cursor` of a page.
        limit: At most so many.
        orphans_only: Only those with neither an observation nor a completion, whether they may
            still run or not.
    """
    if orphans_only:
        rows = _orphans(ledger, before, limit + 1)
    else:
        until = None if before is None else before - 1
        rows = ledger.of_kind(STARTED, until=until, limit=limit + 1, newest_first=True)
    liveness, sources = Liveness(ledger), LedgerSources(ledger)
    return Page(
        items=tuple(_read_attempt(ledger, row, liveness, sources) for row in rows[:limit]),
        next_cursor=rows[limit - 1].sequence if len(rows) > limit else None,
    )


def read_unfinished_calls(
    ledger: LedgerReader, *, after: int = 0, limit: int = 500
) -> Page[EventRow]:
    """Look through a range of requested calls for those with neither completion nor replay.

    Args:
        ledger: Open for reading.
        after: The range begins after this sequence.
        limit: How many `call.requested` are looked at, found or not; `next_cursor` goes on.

    Returns:
        The `call.requested` of each.
    """
    rows = ledger.of_kind("call.requested", after=after, limit=limit)
    return Page(
        items=tuple(row for row in rows if not _has_end(ledger, row)),
        next_cursor=rows[-1].sequence if len(rows) == limit else None,
    )


def _has_end(ledger: LedgerReader, requested: EventRow) -> bool:
    ends = {"call.completed", "call.replayed"}
    return any(row.kind in ends for row in ledger.stream(requested.stream_id))


def _orphans(ledger: LedgerReader, before: int | None, limit: int) -> tuple[EventRow, ...]:
    sequences = sorted((sequence for _, sequence in ledger.open_attempts()), reverse=True)
    wanted = [sequence for sequence in sequences if before is None or sequence < before][:limit]
    rows = (ledger.event(sequence) for sequence in wanted)
    return tuple(row for row in rows if row is not None)


def _read_attempt(
    ledger: LedgerReader, started: EventRow, liveness: Liveness, sources: LedgerSources
) -> AttemptView:
    from codeai_engine.domain.call import AttemptStarted, CallCompleted, CallManifest, CallRequested
    from codeai_engine.rules.fold_attempt import attempt_call, fold_attempt
    from codeai_engine.rules.fold_event import first_read, last_read, of_kind, open_event
    from codeai_engine.rules.recompute import sent_digest

    events = [open_event(row) for row in ledger.stream(started.stream_id)]
    call_id = attempt_call(events)
    call = [open_event(row) for row in ledger.stream(call_id)] if call_id is not None else []
    before = [event for event in call if event.row.sequence < started.sequence]
    manifest = last_read(before, CallManifest)
    requested = last_read(before, CallRequested)
    metadata = (requested.payload.metadata if requested else None) or {}
    view = fold_attempt(
        events,
        has_ended=_has_ended(first_read(events, AttemptStarted), events, liveness),
        sent_sha256=sent_digest(manifest.payload, sources) if manifest else None,
    )
    return replace(
        view,
        call_has_completion=bool(of_kind(call, CallCompleted)),
        fanout_id=metadata.get("fanout_id"),
        branch=metadata.get("branch"),
    )


def _has_ended(
    started: Read[AttemptStarted] | None, events: Sequence[OpenedEvent], liveness: Liveness
) -> bool:
    """Return whether its end can no longer come; looked up only where that matters."""
    kinds = {event.row.kind for event in events}
    is_open = not kinds & {"attempt.observed", "attempt.interpreted", "attempt.completed"}
    return not is_open or started is None or liveness.has_ended(started)
