"""Themes: every tone can be read on every background, and tones differ."""

from __future__ import annotations

from itertools import combinations, product
from typing import get_args

import pytest

from codeai_tui.present.line import Tone
from codeai_tui.themes import PALETTES, contrast

TONES = [tone for tone in get_args(Tone) if tone != "rule"]
BACKGROUNDS = ("background", "surface", "bar", "cursor", "cursor_away")


@pytest.mark.parametrize(("name", "tone"), product(PALETTES, TONES))
def test_a_tone_can_be_read_on_every_background(name: str, tone: str) -> None:
    palette = PALETTES[name]
    for background in BACKGROUNDS:
        assert contrast(palette.tone(tone), getattr(palette, background)) >= 4.5, background


@pytest.mark.parametrize("name", PALETTES)
def test_no_two_meanings_look_alike(name: str) -> None:
    palette = PALETTES[name]
    for first, second in combinations(("good", "bad", "open", "note", "none", "accent"), 2):
        assert palette.tone(first) != palette.tone(second)


def test_there_are_four_themes_one_light_and_one_of_high_contrast() -> None:
    assert len(PALETTES) == 4
    assert [name for name, palette in PALETTES.items() if not palette.dark] == ["day"]
    high = PALETTES["contrast"]
    assert all(contrast(high.tone(tone), high.background) >= 7 for tone in TONES)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_each_byte_has_its_own_colour_in_a_swatch() -> None:
    for palette in PALETTES.values():
        assert len({palette.hue(byte) for byte in range(256)}) > 200
