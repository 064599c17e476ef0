"""The words, glyphs and number forms that every screen shares. Unknown is a word, never 0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codeai_tui.display import SafeText
from codeai_tui.present.line import Line, Span, Tone, line

if TYPE_CHECKING:
    from codeai_engine import EventSummary

_KIB = 1024
_EXACT_BYTES = 10_000
_LETTERS = 26
_ID_CELLS = 14
_HEX = re.compile("[0-9a-f]{16,}")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)(\.\d{3})?")
_SWATCH_BYTES = 4

NOT_RECORDED: Line = line(("- not recorded", "none"))
UNKNOWN: Line = line(("unknown", "open"))

_STATUS: dict[str, tuple[str, Tone]] = {
    "succeeded": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("-", "open"),
    "unresolved": ("?", "open"),
    "refused": ("✗", "bad"),
    "replayed": ("=", "note"),
}
_RECOMPUTED: dict[str, tuple[str, Tone]] = {
    "match": ("✓ recomputed", "good"),
    "mismatch": ("✗ does not match", "bad"),
    "absent": ("○ bytes absent", "open"),
    "not recorded": ("- not recorded", "none"),
}
LEVELS = ("selection blind", "final-input blind", "wire-observed")


def count(number: int | None) -> str:
    """Return a whole number with its thousands set apart."""
    return "unknown" if number is None else f"{number:,}"


def size(byte_count: int | None) -> str:
    """Return a size with its unit, exact while that is short."""
    if byte_count is None:
        return "size unknown"
    if byte_count < _EXACT_BYTES:
        return f"{byte_count:,} B"
    value = byte_count / _KIB
    for unit in ("KiB", "MiB"):
        if value < _KIB:
            return f"{value:.1f} {unit}"
        value /= _KIB
    return f"{value:.1f} GiB"


def plural(number: int, noun: str) -> str:
    """Return `number` and its noun: `1 item`, `2 items`, `2 branches`."""
    ending = "" if number == 1 else ("es" if noun.endswith(("ch", "s")) else "s")
    return f"{number:,} {noun}{ending}"


def short_digest(digest: str) -> str:
    """Return a digest short enough to compare by eye: `a41e0c9f…c0`."""
    return f"{digest[:8]}…{digest[-2:]}" if len(digest) > _ID_CELLS else digest


def short_id(identifier: str) -> str:
    """Return an id short: digests and UUIDs by head and tail, since UUIDv7 share their heads."""
    return f"{identifier[:8]}…{identifier[-4:]}" if len(identifier) > _ID_CELLS else identifier


def digest_line(digest: str | None) -> Line:
    """Return a digest as a swatch of four cells from its first bytes, then in short."""
    if digest is None:
        return NOT_RECORDED
    if not _HEX.fullmatch(digest):
        return line((digest, "open"))
    first = bytes.fromhex(digest[: 2 * _SWATCH_BYTES])
    cells = tuple(Span(SafeText("▄"), hue=byte) for byte in first)
    gap = Span(SafeText(" "), hue=0)  # goes where the swatch goes
    return line(*cells, gap, short_digest(digest))


def recomputed_line(word: str) -> Line:
    """Return what recomputing a digest gave."""
    text, tone = _RECOMPUTED.get(word, (word, "open"))
    return line((text, tone))


def status_line(status: str | None, *, running: bool = False) -> Line:
    """Return a status as glyph and word."""
    if status is None:
        return line(("… running", "open")) if running else line(("○ no completion", "open"))
    glyph, tone = _STATUS.get(status, ("?", "open"))
    return line((f"{glyph} {status}", tone))


def status_glyph(status: str | None) -> tuple[str, Tone]:
    """Return the glyph of a status alone, for the strip of many branches."""
    return ("○", "open") if status is None else _STATUS.get(status, ("?", "open"))


def branch_letter(position: int) -> str:
    """Return the letter of a branch by its position from 0: A to Z, then AA."""
    letters = ""
    number = position + 1
    while number:
        number, rest = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + rest) + letters
    return letters


def clock_time(created_at: str) -> str:
    """Return the time of day in a stored time; the text as it is when it has another form."""
    found = _STAMP.match(created_at)
    return f"{found[1]}{found[2] or ''}" if found else created_at


def event_copy_text(event: EventSummary) -> str:
    """Return the columns of an event as one tab separated row, for the clipboard."""
    return "\t".join(
        (
            str(event.sequence),
            event.created_at,
            event.kind,
            event.stream_id,
            event.actor_id,
            event.event_id,
        )
    )
