"""Themes: four palettes. They change how a tone looks, never its glyph or its word."""

from __future__ import annotations

from colorsys import hls_to_rgb
from dataclasses import dataclass

from textual.theme import Theme

_HUES = 32
_LIGHTNESSES = 8


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme, as `#rrggbb`.

    Args:
        background: Behind panes and between them.
        surface: Within a pane.
        bar: First and last row.
        cursor: Behind the row under the cursor; `cursor_away` where its pane has no focus.
        hue_lightness: Between which lightnesses the cells of a swatch lie.
    """

    name: str
    dark: bool
    background: str
    surface: str
    bar: str
    border: str
    cursor: str
    cursor_away: str
    plain: str
    muted: str
    bright: str
    accent: str
    good: str
    bad: str
    open: str
    note: str
    none: str
    hue_lightness: tuple[float, float]

    def tone(self, name: str) -> str:
        """Return the colour of a tone."""
        colour: str = self.border if name == "rule" else getattr(self, name)
        return colour

    def hue(self, byte: int) -> str:
        """Return the colour of a swatch's cell: hue by the high bits, lightness by the low."""
        low, high = self.hue_lightness
        lightness = low + (high - low) * (byte % _LIGHTNESSES) / (_LIGHTNESSES - 1)
        red, green, blue = hls_to_rgb((byte // _LIGHTNESSES) / _HUES, lightness, 0.62)
        return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


NIGHT = Palette(
    name="night",
    dark=True,
    background="#0f1318",
    surface="#12171d",
    bar="#1a212a",
    border="#2b3540",
    cursor="#20303f",
    cursor_away="#1a222b",
    plain="#c3ccd6",
    muted="#8f9caa",
    bright="#f1f5f9",
    accent="#6cb8f6",
    good="#86cf9a",
    bad="#ff8b82",
    open="#e8b765",
    note="#c6a8f5",
    none="#8f9caa",
    hue_lightness=(0.42, 0.74),
)
DUSK = Palette(
    name="dusk",
    dark=True,
    background="#221f27",
    surface="#27232d",
    bar="#312c38",
    border="#453e4f",
    cursor="#43374a",
    cursor_away="#342e3c",
    plain="#d9d0d8",
    muted="#b0a6b3",
    bright="#fff8f2",
    accent="#f2a97e",
    good="#a9d18e",
    bad="#ff9c96",
    open="#eec476",
    note="#a9c5f7",
    none="#b0a6b3",
    hue_lightness=(0.46, 0.76),
)
DAY = Palette(
    name="day",
    dark=False,
    background="#f4f2ee",
    surface="#fbfaf7",
    bar="#e6e3dc",
    border="#cbc6bb",
    cursor="#dbe7f3",
    cursor_away="#eae7e0",
    plain="#33383e",
    muted="#5f656c",
    bright="#0b0e11",
    accent="#0a5ca8",
    good="#1c6b35",
    bad="#b3261e",
    open="#825300",
    note="#6a3bb0",
    none="#5f656c",
    hue_lightness=(0.30, 0.58),
)
CONTRAST = Palette(
    name="contrast",
    dark=True,
    background="#000000",
    surface="#000000",
    bar="#000000",
    border="#8a8a8a",
    cursor="#003a6b",
    cursor_away="#2a2a2a",
    plain="#f2f2f2",
    muted="#c8c8c8",
    bright="#ffffff",
    accent="#5ad1ff",
    good="#6dff8a",
    bad="#ff9d94",
    open="#ffd84d",
    note="#e0baff",
    none="#c8c8c8",
    hue_lightness=(0.5, 0.8),
)
PALETTES = {palette.name: palette for palette in (NIGHT, DUSK, DAY, CONTRAST)}
DEFAULT = NIGHT.name


def textual_theme(palette: Palette) -> Theme:
    """Return a palette as Textual's own widgets take it; ours read `$tone-…` and `$pane-…`."""
    return Theme(
        name=palette.name,
        dark=palette.dark,
        primary=palette.accent,
        secondary=palette.note,
        accent=palette.accent,
        warning=palette.open,
        error=palette.bad,
        success=palette.good,
        foreground=palette.plain,
        background=palette.background,
        surface=palette.surface,
        panel=palette.bar,
        variables={
            "pane-border": palette.border,
            "pane-bar": palette.bar,
            "tone-muted": palette.muted,
            "tone-bright": palette.bright,
            "border": palette.accent,
            "border-blurred": palette.border,
            "footer-background": palette.bar,
            "footer-foreground": palette.plain,
            "footer-key-foreground": palette.bright,
            "footer-key-background": palette.bar,
            "footer-description-foreground": palette.muted,
            "footer-description-background": palette.bar,
            "block-cursor-background": palette.cursor,
            "block-cursor-foreground": palette.bright,
            "block-cursor-text-style": "none",
            "block-cursor-blurred-background": palette.cursor_away,
            "block-cursor-blurred-foreground": palette.plain,
            "block-hover-background": palette.cursor_away,
            "input-cursor-background": palette.bright,
            "input-cursor-foreground": palette.background,
            "input-selection-background": palette.cursor,
            "scrollbar": palette.border,
            "scrollbar-hover": palette.muted,
            "scrollbar-active": palette.accent,
            "scrollbar-background": palette.surface,
            "scrollbar-background-hover": palette.surface,
            "scrollbar-background-active": palette.surface,
            "scrollbar-corner-color": palette.surface,
        },
    )


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1), from 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)


def _linear(channel: float) -> float:
    knee = 0.04045
    return channel / 12.92 if channel <= knee else ((channel + 0.055) / 1.055) ** 2.4
