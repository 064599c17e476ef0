"""Fan-outs: the list from their two events, and one of them whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codeai_engine.domain.view import Page
from codeai_engine.queries.liveness import Liveness
from codeai_engine.queries.sources import LedgerSources
from codeai_engine.queries.window import REQUESTED, find_window, load_fanout, resolve_fanout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.view import FanoutSummary, FanoutView
    from codeai_engine.ledger.reader import LedgerReader
    from codeai_engine.queries.window import Window
    from codeai_engine.rules.fold_package import Sources


def read_fanouts(
    ledger: LedgerReader, *, before: int | None = None, limit: int = 50
) -> Page[FanoutSummary]:
    """Read a page of fan-outs, newest first.

    Args:
        ledger: Open for reading.
        before: Only those whose request is before this sequence: the `next_cursor` of a page.
        limit: At most so many.
    """
    from codeai_engine.rules.fold import summarise_fanout

    until = None if before is None else before - 1
    rows = ledger.of_kind(REQUESTED, until=until, limit=limit + 1, newest_first=True)
    windows = [_window(ledger, row.stream_id) for row in rows[:limit]]
    found = [window for window in windows if window is not None]
    orphans, running = _count_open(ledger, found)
    return Page(
        items=tuple(
            summarise_fanout(
                window.requested,
                window.completed,
                orphans=orphans[window.requested.sequence],
                running=running[window.requested.sequence],
            )
            for window in found
        ),
        next_cursor=rows[limit - 1].sequence if len(rows) > limit else None,
    )


def read_fanout(ledger: LedgerReader, fanout_id: str) -> FanoutView:
    """Read one fan-out with its branches, every digest recomputed.

    Args:
        ledger: Open for reading.
        fanout_id: Its id, or a prefix that no other has.

    Raises:
        LedgerError: No fan-out is meant, or several are; it lists candidates.
    """
    return build_fanout(ledger, resolve_fanout(ledger, fanout_id), LedgerSources(ledger))


def build_fanout(ledger: LedgerReader, fanout_id: str, sources: Sources) -> FanoutView:
    """Read one fan-out by its whole id, with sources that several may share."""
    from codeai_engine.rules.fold import Circumstances, view_fanout

    state, window = load_fanout(ledger, fanout_id)
    circumstances = Circumstances(ledger=ledger.path.name, is_closed=window.is_closed)
    return view_fanout(state, sources, circumstances)


def _window(ledger: LedgerReader, fanout_id: str) -> Window | None:
    return find_window(ledger, ledger.stream(fanout_id))


def _count_open(
    ledger: LedgerReader, windows: Sequence[Window]
) -> tuple[Counter[int], Counter[int]]:
    """Count attempts without an end, by the sequence of the fan-out they belong to."""
    from codeai_engine.rules.fold_event import open_event, payload_field

    calls = {
        window.requested.sequence: payload_field(open_event(window.requested), "call_ids")
        for window in windows
    }
    orphans: Counter[int] = Counter()
    running: Counter[int] = Counter()
    if not windows:
        return orphans, running
    ends = [window.until for window in windows]
    attempts = Liveness(ledger).open_attempts(
        after=min(window.requested.sequence for window in windows),
        until=None if None in ends else max(end for end in ends if end is not None),
    )
    for started, is_running in attempts:
        call_id = payload_field(open_event(started), "call_id")
        for window in windows:
            sequence = window.requested.sequence
            if window.holds(started) and call_id in (calls[sequence] or ()):
                (running if is_running else orphans)[sequence] += 1
    return orphans, running
