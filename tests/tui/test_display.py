"""The sanitiser: nothing that drives a terminal passes, and every width is what is drawn."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from codeai_tui.display import (
    LINE_LIMIT_BYTES,
    ascii_cells,
    ascii_glyphs,
    cell_width,
    clip_cells,
    safe,
    safe_lines,
    wrap_cells,
)
from tests.tui.ledgers import HOSTILE

ANY_TEXT = st.text(st.characters(), max_size=80)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_printable_afterwards(name: str) -> None:
    assert safe(HOSTILE[name]).isprintable()


def test_every_single_character_is_printable_afterwards_and_as_wide_as_the_terminal_draws_it() -> (
    None
):
    for point in range(sys.maxunicode + 1):
        shown = safe("a" + chr(point))
        assert shown.isprintable()
        assert cell_width(shown) == cell_len(shown)


@given(ANY_TEXT)
def test_any_text_is_printable_afterwards_and_measured_right(text: str) -> None:
    shown = safe(text)
    assert shown.isprintable()
    assert cell_width(shown) == cell_len(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b1m", r"\x9b1m"),
        ("a\x00b", r"a\x00b"),
        ("\u202e", r"\u{202e}"),
        ("a\u2028b", r"a\u{2028}b"),
        ("\ud800", r"\u{d800}"),
        ("\u3164", r"\u{3164}"),
        ("\u115f", r"\u{115f}"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("[/bad] [red]", "[/bad] [red]"),
        ("日本", "日本"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", r"\u{0301}e"),
        ("", ""),
    ],
)
def test_what_has_no_visible_form_is_written_as_an_escape(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_marks_without_end_do_not_pile_up() -> None:
    assert safe("a" + "\u0300" * 30).count("\u0300") == 4


def test_a_long_text_is_cut_and_says_how_many_bytes_are_left_out() -> None:
    shown = safe("é" * 10_000)
    assert shown.endswith(f"…+{20_000 - LINE_LIMIT_BYTES:,} bytes")
    assert shown.count("é") == LINE_LIMIT_BYTES // 2


def test_a_text_of_exactly_the_limit_is_whole() -> None:
    assert safe("x" * LINE_LIMIT_BYTES) == "x" * LINE_LIMIT_BYTES
    assert safe("x" * (LINE_LIMIT_BYTES + 1)).endswith("…+1 bytes")


def test_lines_end_at_line_feeds_only_and_tabs_are_expanded() -> None:
    assert safe_lines("a\u2028b\u0085c\n\td\r\n") == [r"a\u{2028}b\x85c", r"    d\r", ""]


@given(ANY_TEXT, st.integers(0, 40))
def test_a_clipped_text_fits(text: str, width: int) -> None:
    assert cell_width(clip_cells(safe(text), width)) <= width


@given(ANY_TEXT, st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    shown = safe(text)
    lines = wrap_cells(shown, width)
    assert all(cell_width(entry) <= width for entry in lines)
    assert "".join(lines).replace(" ", "") == shown.replace(" ", "")


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert clip_cells(safe("日本語"), 4) == "日…"
    assert wrap_cells(safe("日本語"), 5) == ["日本", "語"]


@given(ANY_TEXT)
def test_ascii_is_ascii_at_the_same_width(text: str) -> None:
    shown = safe(text)
    assert ascii_cells(shown).isascii()
    assert len(ascii_cells(shown)) == cell_width(shown)


def test_only_our_own_glyphs_change_where_the_console_takes_more() -> None:
    assert ascii_glyphs("✓ é") == "+ é"
