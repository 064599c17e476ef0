"""The events of one attempt to one view: started, sending, observed, interpreted, completed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from codeai_engine.domain.call import (
    AttemptAbandoned,
    AttemptCompleted,
    AttemptInterpreted,
    AttemptObserved,
    AttemptPayload,
    AttemptSending,
    AttemptStarted,
    AttemptWireObserved,
)
from codeai_engine.domain.view import AttemptView
from codeai_engine.rules.fold_event import first_read, last_read, of_kind, payload_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.value import Payload
    from codeai_engine.rules.fold_event import OpenedEvent


def fold_attempt(
    events: Sequence[OpenedEvent], *, has_ended: bool, sent_sha256: str | None = None
) -> AttemptView:
    """Fold the events of one attempt's stream, in order of sequence.

    Args:
        events: At least one event.
        has_ended: Its call, its fan-out or its writer's session ended after it started.
        sent_sha256: Digest of what a transport should have been given, None where unknown.
    """
    started = first_read(events, AttemptStarted)
    observed = first_read(events, AttemptObserved)
    completed = last_read(events, AttemptCompleted)
    abandoned = last_read(events, AttemptAbandoned)
    start = started.payload if started else None
    end = completed.payload if completed else None
    seen = observed.payload if observed else None
    at = {model: _first(events, model) for model in _STEPS}
    is_open = at[AttemptStarted] is not None and at[AttemptCompleted] is None
    is_orphan = is_open and at[AttemptObserved] is None and at[AttemptInterpreted] is None
    given_up = abandoned.payload if abandoned else None
    return AttemptView(
        attempt_id=events[0].row.stream_id,
        call_id=attempt_call(events),
        index=_index(start, seen, end),
        cause=start.cause if start else None,
        started=at[AttemptStarted],
        sending=at[AttemptSending],
        wire_observed=at[AttemptWireObserved],
        observed=at[AttemptObserved],
        interpreted=at[AttemptInterpreted],
        completed=at[AttemptCompleted],
        abandoned=at[AttemptAbandoned],
        status=end.status if end else None,
        error=end.error if end else (given_up.note if given_up else None),
        error_kind=end.error_kind if end else (given_up.cause if given_up else None),
        wire=(given_up.wire if given_up else None) or (end.wire if end else None),
        wire_matches=_wire_matches(events, sent_sha256),
        transport_outcome=seen.transport_outcome if seen else None,
        http_status=seen.http_status if seen else None,
        exit_code=seen.exit_code if seen else None,
        incomplete=bool(seen and seen.incomplete),
        wait_s=_finite(start.wait_s if start else None),
        latency_ms=_finite(end.latency_ms if end else None),
        provider=next((p.provider for p in (start, seen, end) if p and p.provider), None),
        orphan=is_orphan,
        running=is_orphan and not has_ended and at[AttemptAbandoned] is None,
        session_id=start.session_id if start else None,
        unfinished=is_open,
    )


_STEPS: tuple[type[Payload], ...] = (
    AttemptStarted,
    AttemptSending,
    AttemptWireObserved,
    AttemptObserved,
    AttemptInterpreted,
    AttemptCompleted,
    AttemptAbandoned,
)


def attempt_call(events: Sequence[OpenedEvent]) -> str | None:
    """Return the call that an attempt's events name."""
    return next(
        (event.payload.call_id for event in events if isinstance(event.payload, AttemptPayload)),
        None,
    )


def _finite(number: float | None) -> float | None:
    """Return a number, None for a stored NaN or infinity: neither is a measurement."""
    return number if number is not None and math.isfinite(number) else None


def _first(events: Sequence[OpenedEvent], model: type[Payload]) -> int | None:
    # By kind, not by model: a step whose payload cannot be read was taken all the same.
    rows = of_kind(events, model)
    return rows[0].sequence if rows else None


def _index(
    start: AttemptStarted | None, seen: AttemptObserved | None, end: AttemptCompleted | None
) -> int | None:
    for payload in (start, seen, end):
        if payload is not None and payload.attempt_index is not None:
            return payload.attempt_index
    return None


def _wire_matches(events: Sequence[OpenedEvent], sent_sha256: str | None) -> bool | None:
    """Compare every account of the transport: one that differs is enough to say no."""
    accounts = [
        payload_field(event, "request_sha256")
        for event in events
        if event.row.kind == AttemptWireObserved.KIND
    ]
    if not accounts or sent_sha256 is None:
        return None
    return all(account == sent_sha256 for account in accounts)
