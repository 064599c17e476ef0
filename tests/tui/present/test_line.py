"""Lines keep their tones through cutting, padding and wrapping."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codeai_tui.display import SafeText
from codeai_tui.present.line import (
    Span,
    clip_line,
    fit_line,
    line,
    line_width,
    plain,
    without_hues,
    wrap_line,
)

PARTS = st.lists(
    st.tuples(st.text(max_size=12), st.sampled_from(["plain", "good", "bad"])), max_size=5
)


def test_whatever_is_text_passes_the_sanitiser() -> None:
    assert plain(line("a\x1b", ("b\u202e", "bad"))) == r"a\x1bb\u{202e}"


def test_parts_of_every_sort_are_taken() -> None:
    span = Span(SafeText("x"), "note")
    assert line("a", ("b", "good"), span, (span, span)) == (
        Span(SafeText("a")),
        Span(SafeText("b"), "good"),
        span,
        span,
        span,
    )


def test_a_swatch_is_left_out_of_text_and_where_there_is_no_colour() -> None:
    content = line(Span(SafeText("▄"), hue=3), "abc")
    assert plain(content) == "abc"
    assert without_hues(content) == line("abc")


@given(PARTS, st.integers(0, 30))
def test_a_cut_line_fits(parts: list[tuple[str, str]], width: int) -> None:
    assert line_width(clip_line(line(*parts), width)) <= width  # type: ignore[arg-type]  # tones


@given(PARTS, st.integers(0, 30), st.booleans())
def test_a_fitted_line_is_exactly_as_wide(
    parts: list[tuple[str, str]],
    width: int,
    right: bool,  # noqa: FBT001
) -> None:
    fitted = fit_line(line(*parts), width, right=right)  # type: ignore[arg-type]  # tones
    assert line_width(fitted) == width


@given(PARTS, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(
    parts: list[tuple[str, str]], width: int
) -> None:
    content = line(*parts)  # type: ignore[arg-type]  # tones
    wrapped = wrap_line(content, width)
    assert all(line_width(entry) <= width for entry in wrapped)
    joined = "".join(plain(entry) for entry in wrapped)
    assert joined.replace(" ", "") == plain(content).replace(" ", "")


def test_a_cut_says_that_it_cut_and_keeps_the_tones_before() -> None:
    cut = clip_line(line(("good ", "good"), ("a long rest", "bad")), 9)
    assert plain(cut) == "good a l…"
    assert [span.tone for span in cut] == ["good", "bad"]


def test_what_is_wrapped_stays_set_in() -> None:
    wrapped = wrap_line(line("  one two three"), 9)
    assert [plain(entry) for entry in wrapped] == ["  one two", "  three"]
