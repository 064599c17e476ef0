"""Pages of event summaries by key: the SQL of a list, and which page lies where.

A list reads plain columns and the head of each payload, by index and never by counting rows; what
it costs depends on the page, not on the ledger (SPEED 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.domain.view import EventSummary, Page
from codeai_engine.ledger.schema import visible_or_none, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEAD_CHARACTERS = 256
# Cast first: text functions stop at a NUL. Four bytes are the longest character of UTF-8.
SELECT_SUMMARY = (
    "SELECT sequence, event_id, stream_id, kind, actor_id, created_at, causation_id,"  # noqa: S608 - constants
    f" correlation_id, substr(CAST(payload_json AS BLOB), 1, {4 * HEAD_CHARACTERS}),"
    " length(CAST(payload_json AS BLOB)) FROM events"
)
ANY_SUFFIX = ".*"
MAX_LIMIT = 10_000
_END = 2**63 - 1
# The kinds that begin with a prefix, each found by one step in the index by kind.
_KINDS_FROM_EVENTS = """
WITH RECURSIVE found (kind) AS (
    SELECT min(kind) FROM events WHERE kind >= ?1 AND kind < ?2
    UNION ALL
    SELECT (SELECT min(kind) FROM events WHERE kind > found.kind AND kind < ?2)
    FROM found WHERE found.kind IS NOT NULL
)
SELECT kind FROM found WHERE kind IS NOT NULL
"""
_KINDS_FROM_COUNTS = "SELECT kind FROM kind_counts WHERE kind >= ?1 AND kind < ?2"


class EventList:
    """The events of one filter, read from any place in either direction.

    Args:
        select: Runs a query and returns all its rows.
        kind: A kind, or a prefix that ends in `.*`; None for all.
        stream_id: One stream; None for all.
        has_counts: The ledger has `kind_counts`.
    """

    def __init__(
        self,
        select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]],
        *,
        kind: str | None,
        stream_id: str | None,
        has_counts: bool,
    ) -> None:
        self._select = select
        self._kinds: tuple[str, ...] | None = None
        conditions: list[str] = []
        values: list[str] = []
        if stream_id is not None:
            conditions.append("stream_id = ?")
            values.append(stream_id)
        if kind is not None and kind.endswith(ANY_SUFFIX):
            bounds = (kind[:-1], f"{kind[:-2]}/")  # in UTF-8 order, "/" comes next after "."
            if stream_id is None:
                query = _KINDS_FROM_COUNTS if has_counts else _KINDS_FROM_EVENTS
                self._kinds = tuple(row[0] for row in select(query, bounds))
            else:
                conditions.append("+kind >= ? AND +kind < ?")
                values += bounds
        elif kind is not None:
            # `+`: within a stream, the index by stream is the one to use.
            conditions.append("kind = ?" if stream_id is None else "+kind = ?")
            values.append(kind)
        self._where = "".join(f"{condition} AND " for condition in conditions)
        self._values = tuple(values)

    def page(self, *, after: int | None, before: int | None, limit: int) -> Page[EventSummary]:
        """See `LedgerReader.summaries`."""
        if after is None:
            return self._page_before(before, limit)
        return self._page_after(after, limit)

    def _page_after(self, after: int, limit: int) -> Page[EventSummary]:
        found = self._near(after, limit + 1, forward=True)
        rows = found[:limit]
        first = rows[0].sequence if rows else after + 1
        is_first = not self._near(first, 1, forward=False)
        return Page(
            tuple(rows),
            next_cursor=rows[-1].sequence if len(found) > limit else None,
            previous_cursor=None if is_first else first,
        )

    def _page_before(self, before: int | None, limit: int) -> Page[EventSummary]:
        found = self._near(_END if before is None else before, limit + 1, forward=False)
        rows = found[:limit][::-1]
        last = rows[-1].sequence if rows else (before or 0) - 1
        is_last = before is None or not self._near(last, 1, forward=True)
        return Page(
            tuple(rows),
            next_cursor=None if is_last else last,
            previous_cursor=rows[0].sequence if len(found) > limit else None,
        )

    def _near(self, bound: int, size: int, *, forward: bool) -> list[EventSummary]:
        """Return the `size` events next to `bound`, nearest first."""
        side, order = (">", "ASC") if forward else ("<", "DESC")
        tail = f"sequence {side} ? ORDER BY sequence {order} LIMIT ?"
        if self._kinds is None:
            sql = f"{SELECT_SUMMARY} WHERE {self._where}{tail}"
            return [_summary(row) for row in self._select(sql, (*self._values, bound, size))]
        # An index gives the order within one kind only: take the nearest of each, then of all.
        one = f"SELECT sequence FROM events WHERE kind = ? AND {tail}"  # noqa: S608 - constants
        near = [row[0] for kind in self._kinds for row in self._select(one, (kind, bound, size))]
        nearest = sorted(near, reverse=not forward)[:size]
        if not nearest:
            return []
        sql = f"{SELECT_SUMMARY} WHERE sequence IN ({', '.join('?' * len(nearest))})"
        rows = self._select(f"{sql} ORDER BY sequence {order}", nearest)
        return [_summary(row) for row in rows]


def _summary(row: tuple[Any, ...]) -> EventSummary:
    sequence, *names, causation_id, correlation_id, head, size = row
    event_id, stream_id, kind, actor_id, created_at = map(visible_text, names)
    return EventSummary(
        sequence=sequence,
        event_id=event_id,
        stream_id=stream_id,
        kind=kind,
        actor_id=actor_id,
        created_at=created_at,
        causation_id=visible_or_none(causation_id),
        correlation_id=visible_or_none(correlation_id),
        payload_head=visible_text(head)[:HEAD_CHARACTERS],
        payload_bytes=size or 0,
    )
