"""Lines: what `present` returns. Spans of safe text, each with the tone that it is said in.

A tone says what a text means, not how it looks; a glyph and a word say the same beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from codeai_tui.display import SafeText, cell_width, clip_cells, safe, wrap_cells

Tone = Literal["plain", "muted", "bright", "accent", "rule", "good", "bad", "open", "note", "none"]
"""Hierarchy (plain, muted, bright, accent), the rules between columns, and meaning: good
(recomputed, matches), bad (does not match, failed), open (inconclusive, unknown, orphan), note
(identical input), none (not recorded).
"""


@dataclass(frozen=True, slots=True)
class Span:
    """Some text in one tone.

    Args:
        hue: For a cell of a digest's swatch the byte that it stands for; left out without colour.
    """

    text: SafeText
    tone: Tone = "plain"
    hue: int | None = None


Line = tuple[Span, ...]
Part = str | tuple[str, Tone] | Span | Line
BLANK: Line = ()
_WORDS = re.compile("[^ ]+ *| +")


def line(*parts: Part) -> Line:
    """Return a line of `parts`; whatever is text passes the sanitiser here."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans.append(Span(safe(part)))
        elif isinstance(part, Span):
            spans.append(part)
        elif len(part) == 2 and isinstance(part[0], str):  # noqa: PLR2004 - a text and its tone
            text, tone = part
            spans.append(Span(safe(text), tone))
        else:
            spans.extend(part)
    return tuple(span for span in spans if span.text)


def plain(content: Line) -> SafeText:
    """Return a line as text without colour; the swatch is left out."""
    return SafeText("".join(span.text for span in content if span.hue is None))


def without_hues(content: Line) -> Line:
    """Return a line without its swatches, as it is drawn where there is no colour."""
    return tuple(span for span in content if span.hue is None)


def line_width(content: Line) -> int:
    """Return how many cells a line takes."""
    return sum(cell_width(span.text) for span in content)


def clip_line(content: Line, width: int) -> Line:
    """Return a line cut to at most `width` cells, with an ellipsis where it was cut."""
    if line_width(content) <= width:
        return content
    kept: list[Span] = []
    left = width
    for span in content:
        cells = cell_width(span.text)
        if cells < left:
            kept.append(span)
            left -= cells
            continue
        # What follows is cut too, so this span ends in the ellipsis even where it just fits.
        text = clip_cells(SafeText(span.text + " "), left) if left > 0 else SafeText("")
        kept.append(Span(text, span.tone, span.hue))
        break
    return tuple(span for span in kept if span.text)


def fit_line(content: Line, width: int, *, right: bool = False) -> Line:
    """Return a line of exactly `width` cells: cut, or padded at the side it is not set to."""
    content = clip_line(content, width)
    missing = width - line_width(content)
    if missing <= 0:
        return content
    padding = Span(SafeText(" " * missing))
    return (padding, *content) if right else (*content, padding)


def wrap_line(content: Line, width: int) -> list[Line]:
    """Return a line as lines of at most `width` cells, broken at spaces, its tones kept.

    What is wrapped is set in as far as the line itself is.
    """
    if line_width(content) <= width:
        return [content]
    indent = len(plain(content)) - len(plain(content).lstrip(" "))
    if not 0 < indent < width // 2:
        return _wrapped(content, max(width, 2))
    first, *rest = content
    body = (Span(SafeText(first.text[indent:]), first.tone, first.hue), *rest)
    margin = Span(SafeText(" " * indent))
    return [(margin, *piece) for piece in _wrapped(body, max(width - indent, 2))]


def _wrapped(content: Line, width: int) -> list[Line]:
    if len(content) == 1:
        only = content[0]
        return [(Span(piece, only.tone, only.hue),) for piece in wrap_cells(only.text, width)]
    lines: list[list[Span]] = [[]]
    used = 0
    for span in content:
        for word in _WORDS.findall(span.text):
            bare = cell_width(SafeText(word.rstrip(" ")))
            if used and used + bare > width:
                lines.append([])
                used = 0
            if not used and len(lines) > 1:
                word = word.lstrip(" ")  # noqa: PLW2901 - a break takes the place of the spaces
            pieces = [SafeText(word)] if bare <= width else wrap_cells(SafeText(word), width)
            for piece in pieces[:-1]:
                lines[-1].append(Span(piece, span.tone, span.hue))
                lines.append([])
            lines[-1].append(Span(_clip_trailing(pieces[-1], width - used), span.tone, span.hue))
            used = line_width(tuple(lines[-1]))
    return [tuple(spans) for spans in lines]


def _clip_trailing(text: SafeText, width: int) -> SafeText:
    """Return `text` without those trailing spaces that reach past `width` cells."""
    surplus = cell_width(text) - width
    return SafeText(text[:-surplus]) if surplus > 0 and text.endswith(" " * surplus) else text
