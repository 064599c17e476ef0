"""The event browser: list, filter, and one event with its payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_engine import CodeAIError
from codeai_tui.display import safe_lines
from codeai_tui.present.line import BLANK, Line, Span, line
from codeai_tui.present.payload import parse_payload, payload_rows
from codeai_tui.present.table import Column, Row
from codeai_tui.present.words import clock_time, count, event_copy_text, short_id, size

if TYPE_CHECKING:
    from codeai_engine import EventRow, EventSummary

COLUMNS = (
    Column("seq", 9, right=True),
    Column("time", 12),
    Column("kind", 24),
    Column("stream", 13),
    Column("actor", 12, from_width=78),
    Column("payload", 10, flexible=True, from_width=100),
)
EMPTY = (line(("No event in this ledger.", "bright")),)
_HEAD_CHARACTERS = 160
FILTER_HINT = "kind:NAME or kind:PREFIX.*, and stream:ID"


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are listed: of one kind (exact, or a prefix ending in `.*`), of one stream."""

    kind: str | None = None
    stream: str | None = None

    def text(self) -> str:
        """Return the filter as it is typed."""
        parts = (("kind", self.kind), ("stream", self.stream))
        return " ".join(f"{key}:{value}" for key, value in parts if value)


class FilterError(CodeAIError):
    """A filter that cannot be read; the message says what is allowed."""

    code = "FILTER"
    exit_code = 2


def parse_filter(text: str) -> EventFilter:
    """Return the filter that `text` names.

    Raises:
        FilterError: It has an unknown key, no key, or an empty value.
    """
    found: dict[str, str] = {}
    for word in text.split():
        key, colon, value = word.partition(":")
        if not colon or key not in {"kind", "stream"} or not value:
            msg = f"{word!r} is no filter; allowed are {FILTER_HINT}"
            raise FilterError(msg)
        found[key] = value
    return EventFilter(found.get("kind"), found.get("stream"))


def filter_problem(text: str) -> str:
    """Return what is wrong with a filter, or an empty text."""
    try:
        parse_filter(text)
    except FilterError as error:
        return error.message
    return ""


def value_lines(text: str) -> tuple[Line, ...]:
    """Return a value whole, line by line, for a sheet of its own."""
    return tuple((Span(piece),) if piece else BLANK for piece in safe_lines(text))


def event_rows(events: tuple[EventSummary, ...]) -> tuple[Row, ...]:
    """Return one row for each event."""
    return tuple(_row(event) for event in events)


def filter_line(chosen: EventFilter, shown: int) -> Line:
    """Return the filter as chips, and how many events that match are loaded."""
    chips = [
        line((f"[{key}:{value}]", "accent"), " ")
        for key, value in (("kind", chosen.kind), ("stream", chosen.stream))
        if value
    ]
    return line(*chips, (f"{count(shown)} loaded that match", "muted"))


def nothing_matches(chosen: EventFilter) -> tuple[Line, ...]:
    """Return what an empty list says."""
    if not chosen.text():
        return EMPTY
    return (
        line(("No event matches ", "bright"), (chosen.text(), "accent")),
        line(("f changes the filter; an empty one shows every event.", "muted")),
    )


def head_lines(event: EventRow) -> tuple[Line, ...]:
    """Return the columns of one event but its payload."""
    return (
        line((count(event.sequence), "bright"), "  ", (event.kind, "bright")),
        _labelled("event id", event.event_id),
        _labelled("stream", event.stream_id),
        _labelled("actor", event.actor_id),
        _labelled("created", event.created_at),
        _labelled("cause", event.causation_id),
        _labelled("correlation", event.correlation_id),
        _labelled("payload", size(len(event.payload_json.encode("utf-8", "surrogatepass")))),
    )


def event_lines(event: EventRow) -> list[Line]:
    """Return one event whole for a pipe."""
    payload = parse_payload(event.payload_json)
    problem = [line((f"! {payload.problem}", "bad"))] if payload.problem else []
    rows = payload_rows(payload, frozenset())
    return [*head_lines(event), *problem, BLANK, *(row.cells[0] for row in rows)]


def _labelled(label: str, value: str | None) -> Line:
    shown = line(value) if value is not None else line(("-", "none"))
    return line((f"{label:<12}", "muted"), *shown)


def _row(event: EventSummary) -> Row:
    head = event.payload_head[:_HEAD_CHARACTERS]
    return Row(
        str(event.sequence),
        (
            line((count(event.sequence), "muted")),
            line((clock_time(event.created_at), "muted")),
            _kind_line(event.kind),
            line(short_id(event.stream_id)),
            line((event.actor_id, "muted")),
            line((head, "muted")),
        ),
        copy=event_copy_text(event),
    )


def _kind_line(kind: str) -> Line:
    family, dot, name = kind.partition(".")
    return line((f"{family}{dot}", "plain"), (name, "bright"))
