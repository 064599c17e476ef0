"""The one sanitiser: what any text from a ledger passes before a terminal may see it.

Nothing here knows a terminal. `safe` gives `SafeText`; only that reaches a widget or a pipe.
Widths are in terminal cells.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import NewType
from unicodedata import category, east_asian_width

SafeText = NewType("SafeText", str)
"""Text of printable characters only, each of a known width, on one line."""

LINE_LIMIT_BYTES = 4096
TAB_CELLS = 4
_MOST_MARKS = 4
_ELLIPSIS = "…"

# Printable to Python, yet blank, invisible, or of a width that terminals do not agree on: fillers,
# variation selectors, the empty braille cell and the skin tone modifiers.
_UNSEEN = frozenset(
    chr(point)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0x1F3FB, 0x1F3FF),
        (0xE0100, 0xE01EF),
    )
    for point in range(first, last + 1)
)
# Narrow in the Unicode data of Python 3.11, wide in what terminals and Textual measure.
_WIDE_SINCE = (
    (0x2630, 0x2637),
    (0x268A, 0x268F),
    (0x4DC0, 0x4DFF),
    (0x1D300, 0x1D356),
    (0x1D360, 0x1D376),
)
_JOINING_JAMO = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))
# One ASCII character for each glyph of our own, so that `--ascii` moves no column.
_GLYPHS = "✓✗○●…·–—›▸▾→▶─│┌┐└┘├┤┬┴┼╭╮╰╯╌━┊▌▄█×≥↑↓┏┓┗┛┃▔▁▊▎▐▏▕▍▋"  # noqa: RUF001 - glyphs, not letters
_STAND_INS = "+xo*.--->>v>>-|+++++++++++++-=:|##x>^v++++|-_|||||||"
_ASCII = str.maketrans(_GLYPHS, _STAND_INS)


def safe(text: str, *, limit: int = LINE_LIMIT_BYTES) -> SafeText:
    r"""Return `text` with every character that is not plainly visible written as an escape.

    A control byte reads `\x1b`, anything else that has no visible form `\u{202e}`; so does what
    is printable but blank. A text past `limit` bytes of UTF-8 ends in `…+n bytes`.
    """
    if text.isascii() and len(text) <= limit and text.isprintable():
        return SafeText(text)
    text, left_bytes = _clip_bytes(text, limit)
    if not (text.isprintable() and text.isascii()):
        text = _escape(text)
    return SafeText(f"{text}{_ELLIPSIS}+{left_bytes:,} bytes" if left_bytes else text)


def safe_lines(text: str) -> list[SafeText]:
    r"""Return the lines of `text`, split at LF only, tabs expanded.

    U+0085 and U+2028 do not end a line: they are escaped where they stand, like CR.
    """
    return [safe(part.expandtabs(TAB_CELLS)) for part in text.split("\n")]


def cell_width(text: SafeText) -> int:
    """Return how many terminal cells `text` takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def clip_cells(text: SafeText, width: int) -> SafeText:
    """Return `text` cut to at most `width` cells, an ellipsis in place of what was cut."""
    if cell_width(text) <= width:
        return text
    if width <= 0:
        return SafeText("")
    return SafeText(_head(text, width - 1) + _ELLIPSIS)


def wrap_cells(text: SafeText, width: int) -> list[SafeText]:
    """Return `text` as lines of at most `width` cells, broken at a space where there is one."""
    width = max(width, 2)
    lines: list[SafeText] = []
    rest: str = text
    while len(head := _head(rest, width)) < len(rest):
        cut = head.rfind(" ") if rest[len(head)] != " " else len(head)
        # A break far to the left wastes more than it gains, and indentation is not a place for one.
        if cut < len(head) // 3 or not head[:cut].strip():
            cut = len(head)
        lines.append(SafeText(rest[:cut].rstrip(" ")))
        rest = rest[cut:].removeprefix(" ")
    lines.append(SafeText(rest))
    return lines


def ascii_cells(text: str) -> str:
    """Return `text` in ASCII at the same width: our glyphs by their stand-ins, the rest as `?`."""
    if text.isascii():
        return text
    text = text.translate(_ASCII)
    return "".join(char if char.isascii() else "?" * _width(char) for char in text)


def ascii_glyphs(text: str) -> str:
    """Return `text` with our own glyphs as ASCII and every other character as it is."""
    return text.translate(_ASCII)


def _clip_bytes(text: str, limit: int) -> tuple[str, int]:
    """Return the head of `text` within `limit` bytes of UTF-8, and how many bytes are left out."""
    if len(text) * 4 <= limit:
        return text, 0
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    if size_bytes <= limit:
        return text, 0
    head = text[: limit + 1]
    ends = list(
        accumulate(1 + (c > "\x7f") + (c > "\u07ff") + (c > "\uffff") for c in head)  # UTF-8
    )
    kept = bisect_right(ends, limit)
    return text[:kept], size_bytes - (ends[kept - 1] if kept else 0)


def _escape(text: str) -> str:
    pieces: list[str] = []
    marks = _MOST_MARKS  # a mark that leads would sit on whatever stands to the left
    for char in text:
        if _is_mark(char):
            marks += 1
            shown = char.isprintable() and char not in _UNSEEN and marks <= _MOST_MARKS
        else:
            shown = char.isprintable() and char not in _UNSEEN
            marks = 0
        pieces.append(char if shown else _escaped(char))
    return "".join(pieces)


def _escaped(char: str) -> str:
    if char in "\t\n\r":
        return {"\t": r"\t", "\n": r"\n", "\r": r"\r"}[char]
    point = ord(char)
    return f"\\x{point:02x}" if point <= 0xFF else f"\\u{{{point:04x}}}"  # noqa: PLR2004


def _head(text: str, width: int) -> str:
    """Return the longest head of `text` that fits in `width` cells, marks kept with their base."""
    used = 0
    for index, char in enumerate(text):
        used += _width(char)
        if used > width:
            return text[:index]
    return text


@lru_cache(maxsize=8192)
def _width(char: str) -> int:
    if char.isascii():
        return 1
    if _is_mark(char):
        return 0
    if east_asian_width(char) in "WF":
        return 2
    point = ord(char)
    return 2 if any(first <= point <= last for first, last in _WIDE_SINCE) else 1


@lru_cache(maxsize=8192)
def _is_mark(char: str) -> bool:
    if char.isascii():
        return False
    point = ord(char)
    return category(char)[0] == "M" or any(a <= point <= b for a, b in _JOINING_JAMO)
