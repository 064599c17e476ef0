"""Events as they are stored: pages, one of them, those without a cause, counts by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_engine.domain.view import Page
from codeai_engine.errors import LedgerError

if TYPE_CHECKING:
    from codeai_engine.domain.view import EventRow, EventSummary
    from codeai_engine.ledger.reader import LedgerReader


def read_events(
    ledger: LedgerReader,
    *,
    after: int | None = None,
    before: int | None = None,
    kind: str | None = None,
    stream_id: str | None = None,
    limit: int = 200,
) -> Page[EventSummary]:
    """Read a page of events in order of sequence.

    Args:
        ledger: Open for reading.
        after: The page that begins after this sequence.
        before: The page that ends before it. Neither gives the newest page.
        kind: One kind, or a prefix that ends in `.*`.
        stream_id: One stream.
        limit: At most so many.
    """
    return ledger.summaries(after=after, before=before, limit=limit, kind=kind, stream_id=stream_id)


def read_event(ledger: LedgerReader, sequence: int) -> EventRow:
    """Read one event with its whole payload as it is stored.

    Raises:
        LedgerError: No event has this sequence.
    """
    row = ledger.event(sequence)
    if row is None:
        last = ledger.last_sequence()
        raise LedgerError(
            f"no event {sequence} in this ledger",
            path=str(ledger.path),
            hint=f"sequences go up to {last}" if last else "this ledger has no events",
        )
    return row


def read_unattached(ledger: LedgerReader, *, after: int = 0, limit: int = 500) -> Page[EventRow]:
    """Look through a range of events for those whose cause is not in the ledger.

    Args:
        ledger: Open for reading.
        after: The range begins after this sequence.
        limit: How many events are looked at, found or not; `next_cursor` goes on.
    """
    rows = ledger.rows(after=after, limit=limit)
    own = {row.event_id for row in rows}
    causes = {row.causation_id for row in rows if row.causation_id is not None} - own
    missing = {cause for cause in causes if ledger.event_by_id(cause) is None}
    return Page(
        items=tuple(row for row in rows if row.causation_id in missing),
        next_cursor=rows[-1].sequence if len(rows) == limit else None,
    )


def read_kinds(ledger: LedgerReader) -> tuple[tuple[str, int], ...]:
    """Read how many events of each kind the ledger holds, by name of kind."""
    return tuple(sorted(ledger.kind_counts()))
