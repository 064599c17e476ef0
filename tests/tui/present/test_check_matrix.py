"""The matrix of checks: every completed check is in one cell of each axis."""

from __future__ import annotations

from itertools import product

import pytest

from codeai_tui.present.check_matrix import TOTAL, Axis, make_matrix, matrix_text
from codeai_tui.present.line import line_width, plain
from tests.tui.check_views import a_check

CHECKS = [
    a_check(),
    a_check(verdict="PASS", binding_status="unbound"),
    a_check(verdict="FAIL", binding_status="unbound", artifact_binding_status="bound"),
    a_check(verdict="ERROR", binding_status="mismatch"),
    a_check(verdict="ERROR", binding_status=None, artifact_binding_status="unconsumed"),
    a_check(verdict="MAYBE", binding_status="odd"),
]


@pytest.mark.parametrize("axis", ["state", "artifact"])
def test_cells_and_margins_add_up_to_every_check(axis: Axis) -> None:
    matrix = make_matrix(CHECKS, axis)
    rows = [row for row in matrix.rows if row != TOTAL]
    columns = [column for column in matrix.columns if column != TOTAL]
    assert sum(matrix.number(r, c) for r, c in product(rows, columns)) == len(CHECKS)
    assert matrix.number(TOTAL, TOTAL) == len(CHECKS)
    for row in rows:
        assert matrix.number(row, TOTAL) == sum(matrix.number(row, c) for c in columns)


def test_a_cell_holds_the_checks_that_it_counts() -> None:
    matrix = make_matrix(CHECKS, "state")
    for row, column in product(matrix.rows, matrix.columns):
        held = sum(matrix.holds(check, row, column) for check in CHECKS)
        assert held == matrix.number(row, column)


def test_a_pass_outside_bound_is_never_in_the_good_tone() -> None:
    every = ["bound", "unbound", "mismatch", "unavailable", "odd", None]
    matrix = make_matrix([a_check(binding_status=status) for status in every], "state")
    tones = {column: matrix.cell("PASS", column)[1] for column in matrix.columns}
    assert tones.pop("bound") == "good"
    assert "good" not in tones.values()


def test_a_verdict_on_a_subject_that_nothing_is_run_on_is_marked() -> None:
    matrix = make_matrix([a_check(binding_status="mismatch")], "state")
    assert matrix.cell("PASS", "mismatch") == ("! 1", "bad")
    assert "contradicts itself" in plain(matrix.says("PASS", "mismatch"))


def test_the_cell_is_explained_in_words() -> None:
    matrix = make_matrix(CHECKS, "state")
    assert "against no identified state" in plain(matrix.says("PASS", "unbound"))
    assert "nothing was run" in plain(matrix.says("ERROR", "mismatch"))
    assert plain(matrix.says("FAIL", "bound")) == "0 checks FAIL BOUND"
    assert "6 checks" in plain(matrix.says(TOTAL, TOTAL))


def test_a_binding_that_is_not_recorded_has_a_column_of_its_own_only_where_there_is_one() -> None:
    assert "not recorded" in make_matrix(CHECKS, "state").columns
    assert "not recorded" not in make_matrix(CHECKS[:1], "state").columns


@pytest.mark.parametrize("axis", ["state", "artifact"])
def test_it_fits_into_eighty_columns_whatever_its_columns(axis: Axis) -> None:
    checks = [check for check in CHECKS if check.binding_status != "odd"]
    for content in matrix_text(make_matrix(checks, axis), 75):
        assert line_width(content) <= 75
