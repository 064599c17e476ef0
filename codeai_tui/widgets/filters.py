"""The last stage before the terminal: what a terminal without colour or Unicode gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter
from typing_extensions import override

from codeai_tui.display import ascii_cells

if TYPE_CHECKING:
    from textual.color import Color


class NoColours(LineFilter):
    """Takes every colour away and keeps the weights: bold, dim, reverse."""

    @override
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colours."""
        return [
            Segment(text, style.without_color if style else None, control)
            for text, style, control in segments
        ]


class AsciiOnly(LineFilter):
    """Replaces every character past ASCII at the same width."""

    @override
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in ASCII."""
        return [
            Segment(text if control else ascii_cells(text), style, control)
            for text, style, control in segments
        ]
