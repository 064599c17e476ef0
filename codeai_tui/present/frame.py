"""The frame around every place: breadcrumb, problems, the notice of a small terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.display import safe
from codeai_tui.present.line import BLANK, Line, Tone, clip_line, line, line_width
from codeai_tui.present.words import count, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codeai_engine import CodeAIError, LedgerInfo

LEAST_WIDTH = 60
LEAST_HEIGHT = 15
_MODES: dict[str, Tone] = {"RO": "plain", "LIVE": "note", "SNAP": "open"}


def title_line(info: LedgerInfo, crumbs: Sequence[str], width: int) -> Line:
    """Return the first row of the screen: ledger and place left, mode and counts right.

    What is on the right keeps its width; the breadcrumb gives way.
    """
    tail = line(
        (info.mode, _MODES.get(info.mode, "plain")), "  ", plural(info.event_count, "event"), " "
    )
    left_width = width - line_width(tail) - 1
    if left_width < len("CodeAI"):
        return clip_line(tail, width)
    parts: list[Line] = [line(" ", (info.name, "bright"))]
    for index, crumb in enumerate(crumbs):
        last = index == len(crumbs) - 1
        parts.append(line((" › ", "muted"), (crumb, "bright" if last else "plain")))  # noqa: RUF001
    left = clip_line(line(*parts), left_width)
    gap = " " * (width - line_width(left) - line_width(tail))
    return line(*left, gap, *tail)


def problem_line(error: CodeAIError) -> Line:
    """Return what happened, in one row: its stable code and its sentence."""
    return line((f" ! {error.code} ", "bad"), error.message, ("   ! more", "muted"))


def error_lines(errors: Sequence[CodeAIError]) -> tuple[Line, ...]:
    """Return every problem since the app was opened, newest first."""
    if not errors:
        return (line(("No problem since this ledger was opened.", "muted")),)
    lines: list[Line] = []
    for error in reversed(errors):
        lines += [line((error.code, "bad"), "  ", error.message)]
        if error.hint:
            lines.append(line(("  hint: ", "muted"), error.hint))
    return tuple(lines)


def too_small_lines(width: int, height: int) -> tuple[Line, ...]:
    """Return the notice of a terminal in which no screen can be read."""
    return (
        line(("too small", "open")),
        line(f"{width}x{height}"),
        line((f"needs {LEAST_WIDTH}x{LEAST_HEIGHT}", "muted")),
    )


def found_text(query: str, at: int | None, total: int, *, among: str) -> str:
    """Return how a search went: which hit this is, of how many, and what was searched."""
    shown = safe(query)
    if not total:
        return f"{shown!s}: not found in {among}"
    where = f"{count(at)} of " if at is not None else ""
    return f"{shown!s}: {where}{plural(total, 'hit')} in {among}"


def help_lines(sections: Mapping[str, Sequence[tuple[str, str]]]) -> tuple[Line, ...]:
    """Return keys and what they do, section by section."""
    lines: list[Line] = []
    for title, rows in sections.items():
        if lines:
            lines.append(BLANK)
        lines.append(line((title, "accent")))
        lines += [line((f"  {keys:<14}", "bright"), says) for keys, says in rows]
    return tuple(lines)
