"""The frame: what is on the right keeps its width, errors are one line."""

from __future__ import annotations

import pytest

from codeai_engine import CodeAIError
from codeai_tui.present.frame import (
    error_lines,
    found_text,
    problem_line,
    title_line,
    too_small_lines,
)
from codeai_tui.present.line import line_width, plain
from tests.tui.views import an_info


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 160])
def test_the_title_fits_and_counts_are_never_cut_off(width: int) -> None:
    content = title_line(an_info(), ("Fan-outs", "fo-7", "Branches"), width)
    assert line_width(content) <= width
    if width >= 40:
        assert plain(content).endswith("RO  1,204,331 events ")


def test_the_title_names_ledger_and_place() -> None:
    said = plain(title_line(an_info(), ("Fan-outs", "fo-7"), 80))
    assert "pilot.db › Fan-outs › fo-7" in said  # noqa: RUF001 - the glyph of the breadcrumb


def test_a_hostile_name_is_escaped() -> None:
    assert "\x1b" not in plain(title_line(an_info(name="a\x1b[31m.db"), ("Overview",), 80))


def test_a_problem_is_its_code_and_its_sentence() -> None:
    assert "ERROR went\\nwrong" in plain(problem_line(CodeAIError("went\nwrong")))


def test_problems_are_listed_newest_first_with_their_hints() -> None:
    said = [
        plain(entry)
        for entry in error_lines([CodeAIError("first"), CodeAIError("second", hint="try again")])
    ]
    assert said == ["ERROR  second", "  hint: try again", "ERROR  first"]


def test_a_small_terminal_is_told_what_is_needed() -> None:
    assert plain(too_small_lines(20, 5)[2]) == "needs 60x15"


def test_a_search_says_which_hit_of_how_many_and_among_what() -> None:
    assert found_text("x", 2, 5, among="the list") == "x: 2 of 5 hits in the list"
    assert found_text("x\x1b", None, 0, among="the list") == r"x\x1b: not found in the list"
