"""Places: where in a ledger a reader is, as text that a command line or another person can take.

Grammar (DESIGN 12): `PATH[?key=value[&…]]`, percent-encoded; PATH is one of `PATHS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode

from codeai_engine import CodeAIError

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal[
    "overview", "fanouts", "fanout", "events", "event", "checks", "check", "claims", "claim"
]
PATHS = (
    "overview, fanouts, fanout/ID[/branches], events, event/SEQUENCE, checks, check/ID, claims, "
    "claim/ID"
)
_LISTS: dict[str, Kind] = {
    "fanouts": "fanouts",
    "events": "events",
    "checks": "checks",
    "claims": "claims",
}
_SUBJECTS: dict[str, Kind] = {"check": "check", "claim": "claim"}
_KEYS = frozenset({"branch", "item", "off", "filter"})
_HISTORY_LIMIT = 200


class PlaceError(CodeAIError):
    """A text that names no place."""

    code = "PLACE"
    exit_code = 2


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a ledger.

    Args:
        id: The fan-out (or a unique prefix of it), the sequence, the check or the claim, for the
            kinds that have one.
        keys: What of it is looked at: `branch`, `item`, `off`, `filter`.
    """

    kind: Kind
    id: str = ""
    keys: tuple[tuple[str, str], ...] = ()

    def key(self, name: str) -> str:
        """Return the value of one key, or an empty text."""
        return dict(self.keys).get(name, "")

    def text(self) -> str:
        """Return the place as `parse_place` reads it."""
        path = self.kind if not self.id else f"{self.kind}/{quote(self.id, safe='')}"
        return f"{path}?{urlencode(self.keys)}" if self.keys else path


OVERVIEW = Place("overview")


def parse_place(text: str) -> Place:
    """Return the place that `text` names.

    Raises:
        PlaceError: It names none, or has a key that no place has.
    """
    path, _, query = text.partition("?")
    keys = tuple(sorted(parse_qsl(query, keep_blank_values=True)))
    unknown = [key for key, _ in keys if key not in _KEYS]
    if unknown:
        msg = f"{text!r} has the key {unknown[0]!r}; keys are {', '.join(sorted(_KEYS))}"
        raise PlaceError(msg)
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["" | "overview"]:
            return Place("overview", keys=keys)
        case ["fanout", fanout_id] | ["fanout", fanout_id, "branches"] if fanout_id:
            return Place("fanout", fanout_id, keys)
        case ["event", sequence] if sequence.isascii() and sequence.isdigit():
            return Place("event", sequence, keys)
        case [name] if name in _LISTS:
            return Place(_LISTS[name], keys=keys)
        case [name, subject_id] if name in _SUBJECTS and subject_id:
            return Place(_SUBJECTS[name], subject_id, keys)
        case _:
            msg = f"{text!r} names no place"
            raise PlaceError(msg, hint=f"places are {PATHS}")


@dataclass(slots=True)
class Visit:
    """A place that was looked at, and how the screen stood when it was left."""

    place: Place
    state: Mapping[str, object] = field(default_factory=dict)


class History:
    """The places a reader went through, back and forward, at most 200.

    Args:
        first: Where reading began.
    """

    def __init__(self, first: Place) -> None:
        self._visits = [Visit(first)]
        self._index = 0

    @property
    def current(self) -> Visit:
        """Where the reader is."""
        return self._visits[self._index]

    def visit(self, place: Place) -> Visit:
        """Go on to a new place; what was forward of here is forgotten."""
        del self._visits[self._index + 1 :]
        self._visits.append(Visit(place))
        del self._visits[:-_HISTORY_LIMIT]
        self._index = len(self._visits) - 1
        return self.current

    def step(self, by: int) -> Visit | None:
        """Go back (-1) or forward (+1); None where there is nothing in that direction."""
        if not 0 <= self._index + by < len(self._visits):
            return None
        self._index += by
        return self.current
