"""Painting: a line of toned spans becomes a strip of styled cells."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from codeai_tui.present.line import Line, Tone, fit_line, without_hues
from codeai_tui.themes import DEFAULT, PALETTES, Palette

if TYPE_CHECKING:
    from textual.widget import Widget

# Without colour hierarchy is weight alone; meaning is in the glyph and the word.
_WEIGHTS: dict[Tone, Style] = {
    "bright": Style(bold=True),
    "accent": Style(reverse=True),
    "muted": Style(dim=True),
    "none": Style(dim=True),
    "rule": Style(dim=True),
    "bad": Style(bold=True),
}


class Painter:
    """Draws lines in one palette.

    Args:
        palette: The colours.
        base: What lies under every cell: the widget's own colours.
        colour: Whether there is colour at all; without, swatches are left out.
    """

    def __init__(self, palette: Palette, base: Style, *, colour: bool) -> None:
        self.palette = palette
        self.base = base
        self.colour = colour

    def strip(self, content: Line, width: int, *, background: str | None = None) -> Strip:
        """Return a line as exactly `width` cells on a background (None: the widget's own)."""
        content = fit_line(content if self.colour else without_hues(content), max(width, 0))
        return Strip(
            [Segment(span.text, self._style(span.tone, span.hue, background)) for span in content],
            max(width, 0),
        ).apply_style(self.base)

    def _style(self, tone: Tone, hue: int | None, background: str | None) -> Style:
        if not self.colour:
            weight = _WEIGHTS.get(tone, Style.null())
            return weight + Style(bold=True) if background else weight
        colour = self.palette.tone(tone) if hue is None else self.palette.hue(hue)
        return _coloured(colour, background, bold=tone == "accent")


def painter_for(widget: Widget) -> Painter:
    """Return the painter of the theme that is in force."""
    palette = PALETTES.get(widget.app.theme, PALETTES[DEFAULT])
    return Painter(palette, widget.rich_style, colour=not widget.app.no_color)


@lru_cache(maxsize=4096)
def _coloured(colour: str, background: str | None, *, bold: bool) -> Style:
    return Style(color=colour, bgcolor=background, bold=bold or None)
