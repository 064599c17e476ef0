"""One stored event with its payload read; folds work on these, in order of sequence."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from codeai_engine.domain.events import UnreadPayload, read_payload
from codeai_engine.domain.value import Payload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codeai_engine.domain.events import UnknownPayload
    from codeai_engine.domain.view import EventRow

P = TypeVar("P", bound=Payload)
# An escaped backslash, a surrogate pair, or (named) a surrogate that stands alone.
_ESCAPES = re.compile(
    r"\\\\|\\u[dD][89aAbB]..\\u[dD][c-fC-F]..|(?P<lone>\\u[dD][89a-fA-F]..)", re.DOTALL
)
_CONSTANTS = ("NaN", "Infinity")
SURROGATE_PROBLEM = "lone surrogate: not text in any encoding; shown as its escape"


@dataclass(frozen=True, slots=True)
class OpenedEvent:
    """An event and what its payload says.

    Args:
        problem: What is wrong with the stored text, or None; also set where it could be read.
    """

    row: EventRow
    payload: Payload | UnknownPayload | UnreadPayload
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Read(Generic[P]):
    """An event whose payload is known to be of one model."""

    row: EventRow
    payload: P


def open_event(row: EventRow) -> OpenedEvent:
    """Read the payload of an event; never fails for what a ledger can hold.

    A lone surrogate, which old ledgers may hold (PEER_FORMAT 2), becomes its visible escape, so
    that it hides neither the text around it nor the rest of the payload.
    """
    payload = read_payload(row.kind, row.payload_json)
    if not isinstance(payload, UnreadPayload):
        return OpenedEvent(row=row, payload=payload, problem=_constant_problem(row.payload_json))
    shown = _ESCAPES.sub(_show_lone_surrogate, row.payload_json)
    if shown != row.payload_json:
        again = read_payload(row.kind, shown)
        if not isinstance(again, UnreadPayload):
            return OpenedEvent(row=row, payload=again, problem=SURROGATE_PROBLEM)
    return OpenedEvent(row=row, payload=payload, problem=payload.problem)


def _constant_problem(text: str) -> str | None:
    """Return what is wrong with a text that holds a bare NaN or infinity, which no JSON has."""
    if not any(word in text for word in _CONSTANTS):
        return None
    found: list[str] = []
    try:
        json.loads(text, parse_constant=found.append)
    except (ValueError, RecursionError):
        return None  # another problem, which reading the payload names
    return f"{found[0]} is not a JSON number" if found else None


def _show_lone_surrogate(match: re.Match[str]) -> str:
    return "\\" + match[0] if match["lone"] else match[0]


def payload_field(event: OpenedEvent, name: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a field of a payload that was read, None where there is none of that name."""
    return getattr(event.payload, name, None) if isinstance(event.payload, Payload) else None


def reads(events: Iterable[OpenedEvent], model: type[P]) -> tuple[Read[P], ...]:
    """Return the events whose payload is of `model`, in the order given."""
    return tuple(
        Read(event.row, event.payload) for event in events if isinstance(event.payload, model)
    )


def last_read(events: Iterable[OpenedEvent], model: type[P]) -> Read[P] | None:
    """Return the last event whose payload is of `model`."""
    found = reads(events, model)
    return found[-1] if found else None


def first_read(events: Iterable[OpenedEvent], model: type[P]) -> Read[P] | None:
    """Return the first event whose payload is of `model`."""
    found = reads(events, model)
    return found[0] if found else None


def of_kind(events: Iterable[OpenedEvent], model: type[Payload]) -> tuple[EventRow, ...]:
    """Return the rows of a model's kind, also those whose payload cannot be read as it."""
    return tuple(event.row for event in events if event.row.kind == model.KIND)


def problems(events: Iterable[OpenedEvent]) -> tuple[tuple[int, str], ...]:
    """Return (sequence, problem) of each event with a payload that cannot be read as it stands."""
    return tuple((event.row.sequence, event.problem) for event in events if event.problem)
