"""Which events are a fan-out's: found by stream and by key, never by reading the ledger.

The peer's call ids repeat, so its fan-out ends at its completion, else where the next one begins
(PEER_FORMAT 7). Ours are new to the ledger, and a later completion counts, so ours ends at its last
completion and stays open without one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from codeai_engine.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.reader import LedgerReader
    from codeai_engine.rules.fold import FanoutState

REQUESTED = "fanout.requested"
COMPLETED = "fanout.completed"
LISTED_CANDIDATES = 10
SCAN_PAGE = 500


@dataclass(frozen=True, slots=True)
class Window:
    """The sequences between which a fan-out's events lie.

    Args:
        until: The last of them; None where it is still open.
        is_closed: No event of the fan-out can follow.
    """

    requested: EventRow
    completed: EventRow | None
    until: int | None
    is_closed: bool

    def holds(self, row: EventRow) -> bool:
        """Return whether a row is inside."""
        after = row.sequence >= self.requested.sequence
        return after and (self.until is None or row.sequence <= self.until)


def find_window(ledger: LedgerReader, rows: Sequence[EventRow]) -> Window | None:
    """Return the window of the fan-out on whose stream `rows` are, None without a request."""
    requested = next((row for row in rows if row.kind == REQUESTED), None)
    if requested is None:
        return None
    ends = [row for row in rows if row.kind == COMPLETED and row.sequence > requested.sequence]
    # Without a -wal nothing has the file open to write, so nothing can follow.
    is_resting = ledger.mode == "RO"
    if ledger.origin == "ours":
        last = ends[-1] if ends else None
        return Window(requested, last, last.sequence if last else None, is_resting)
    if ends:
        return Window(requested, ends[0], ends[0].sequence, is_closed=True)
    following = ledger.of_kind(REQUESTED, after=requested.sequence, limit=1)
    until = following[0].sequence - 1 if following else None
    return Window(requested, None, until, is_resting or bool(following))


def load_fanout(ledger: LedgerReader, fanout_id: str) -> tuple[FanoutState, Window]:
    """Read every event of one fan-out.

    Raises:
        LedgerError: The ledger has no such fan-out.
    """
    from codeai_engine.rules.fold import fold_events

    # All reads end where the ledger ended at the first, so that one answer is of one moment.
    last = ledger.last_sequence()
    own = ledger.stream(fanout_id, until=last)
    window = find_window(ledger, own)
    if window is None:
        raise LedgerError(f"no fan-out {fanout_id} in this ledger", path=str(ledger.path))
    if window.until is None:
        window = replace(window, until=last)
    state = fold_events(row for row in own if window.holds(row))
    after = window.requested.sequence
    calls = dict.fromkeys(state.call_ids)
    streams = (ledger.stream(call_id, after=after, until=window.until) for call_id in calls)
    state = fold_events(chain.from_iterable(streams), state)
    state = fold_events(_package_rows(ledger, window, state), state)
    state = fold_events(_attempt_rows(ledger, window, state), state)
    return fold_events(_session_rows(ledger, state, last), state), window


def _package_rows(ledger: LedgerReader, window: Window, state: FanoutState) -> Iterator[EventRow]:
    """Yield compilations: by the package a request names, else those in the window."""
    from codeai_engine.domain.call import CallRequested
    from codeai_engine.rules.fold_event import reads

    after, until = window.requested.sequence, window.until
    requested = reads(state.events, CallRequested)
    for read in requested:
        package_id = (read.payload.context or {}).get("package_id")
        if isinstance(package_id, str):
            yield from ledger.stream(package_id, after=after, until=until)
    calls = set(state.call_ids)
    if calls - {read.payload.call_id for read in requested}:
        # Ours stand together, right after the request: one for each branch at the most.
        limit = len(calls) if ledger.origin == "ours" else None
        yield from ledger.of_kind("context.compiled", after=after, until=until, limit=limit)


def _attempt_rows(ledger: LedgerReader, window: Window, state: FanoutState) -> Iterator[EventRow]:
    """Yield the streams of the attempts that are caused by, or name, one of the calls."""
    from codeai_engine.rules.fold_event import open_event, payload_field

    calls = set(state.call_ids)
    causes = {e.row.event_id for e in state.events if e.row.kind == "call.requested"}
    after, until = window.requested.sequence, window.until
    for started in _pages_of(ledger, "attempt.started", after, until):
        if started.causation_id in causes or payload_field(open_event(started), "call_id") in calls:
            yield from ledger.stream(started.stream_id, after=after, until=until)


def _session_rows(ledger: LedgerReader, state: FanoutState, until: int) -> Iterator[EventRow]:
    """Yield the streams of the sessions whose attempts have no end, to see whether they ended."""
    from codeai_engine.rules.fold_event import payload_field

    ended = {
        event.row.stream_id
        for event in state.events
        if event.row.kind in {"attempt.completed", "attempt.abandoned"}
    }
    sessions = {
        payload_field(event, "session_id")
        for event in state.events
        if event.row.kind == "attempt.started" and event.row.stream_id not in ended
    }
    for session_id in sorted(filter(None, sessions)):
        yield from ledger.stream(session_id, until=until)


def _pages_of(ledger: LedgerReader, kind: str, after: int, until: int | None) -> Iterator[EventRow]:
    """Yield the events of one kind, a page in memory at a time."""
    while True:
        page = ledger.of_kind(kind, after=after, until=until, limit=SCAN_PAGE)
        yield from page
        if len(page) < SCAN_PAGE:
            return
        after = page[-1].sequence


def resolve_fanout(ledger: LedgerReader, text: str) -> str:
    """Return the id of the fan-out that `text` is, or is a unique prefix of.

    Raises:
        LedgerError: None begins so, or several do; it lists them.
    """
    if any(row.kind == REQUESTED for row in ledger.stream(text)):
        return text
    found: list[str] = []
    before: int | None = None
    while True:
        page = ledger.of_kind(REQUESTED, until=before, limit=SCAN_PAGE, newest_first=True)
        found += [row.stream_id for row in page if row.stream_id.startswith(text)]
        if len(page) < SCAN_PAGE:
            break
        before = page[-1].sequence - 1
    if len(found) == 1:
        return found[0]
    path = str(ledger.path)
    if not found:
        raise LedgerError(f"no fan-out {text} in this ledger", path=path, hint=_newest(ledger))
    listed = ", ".join(found[:LISTED_CANDIDATES])
    more = f" and {len(found) - LISTED_CANDIDATES} more" if len(found) > LISTED_CANDIDATES else ""
    raise LedgerError(f"{text} begins the ids of {len(found)} fan-outs: {listed}{more}", path=path)


def _newest(ledger: LedgerReader) -> str:
    rows = ledger.of_kind(REQUESTED, limit=LISTED_CANDIDATES, newest_first=True)
    if not rows:
        return "this ledger has no fan-outs"
    return f"the newest fan-outs: {', '.join(row.stream_id for row in rows)}"
