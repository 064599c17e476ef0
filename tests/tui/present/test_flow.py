"""The picture of a fan-out: each branch as far as it came."""

from __future__ import annotations

import pytest

from codeai_tui.present.branches import BranchBoard
from codeai_tui.present.flow import STAGES, FlowCursor, flow_height, flow_lines, stage_field
from codeai_tui.present.line import line_width, plain, without_hues
from tests.tui.views import a_branch, a_fanout, an_orphan

WIDTHS = (76, 156)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_branch_shows_every_stage_that_it_reached(width: int) -> None:
    lines = [plain(entry) for entry in flow_lines(a_fanout(), width, FlowCursor())]
    for stage in ("seal", "package", "bytes"):
        assert all(stage in entry for entry in lines)
    assert "45 B" in lines[0]
    assert "○ orphan" in lines[2]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_branch_that_stopped_is_shown_stopping_where_it_stopped(width: int) -> None:
    refused = a_branch("B", refused="REQUIRED_CONTEXT_MISSING", status="failed", package_id=None)
    unprepared = a_branch("C", preparation_failed_stage="render_binding", status="failed")
    lines = flow_lines(a_fanout(a_branch("A"), refused, unprepared), width, FlowCursor())
    second, third = plain(lines[1]), plain(lines[2])
    assert second.rstrip().endswith("✗ refused")
    assert "bytes" not in second
    assert third.rstrip().endswith("✗ not prepared")
    assert "45 B" not in third


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 6, 40])
def test_the_picture_fits_in_three_to_five_rows_whatever_the_number(
    number: int, width: int
) -> None:
    branches = tuple(a_branch("A", position=at, name=None) for at in range(number))
    view = a_fanout(branches=branches)
    lines = flow_lines(view, width, FlowCursor(branch=max(number - 1, 0)))
    assert len(lines) == flow_height(view) <= 5
    assert all(line_width(without_hues(entry)) <= width for entry in lines)


def test_of_many_branches_those_around_the_cursor_are_shown_and_said_to_be_some() -> None:
    branches = tuple(a_branch("A", position=at, name=f"n{at}") for at in range(40))
    lines = flow_lines(a_fanout(*branches), 156, FlowCursor(branch=20))
    said = "\n".join(plain(entry) for entry in lines)
    assert "n20" in said
    assert "5 of 40" in said
    assert "n30" not in said


def test_the_stage_that_the_reader_is_at_is_marked() -> None:
    marked = flow_lines(a_fanout(), 156, FlowCursor(1, "package"))
    tones = [{span.tone for span in entry} for entry in marked]
    assert "accent" in tones[1]
    assert "accent" not in tones[0]


def test_equal_renderings_are_marked_equal() -> None:
    other = a_branch("B", rendered_sha256="0" * 64)
    lines = flow_lines(a_fanout(a_branch("A"), other, a_branch("C")), 156, FlowCursor())
    assert ["==" in plain(entry) for entry in lines] == [True, False, True]


def test_every_stage_leads_to_a_row_of_the_columns() -> None:
    rows = dict(BranchBoard(a_fanout()).fields)
    assert all(stage_field(stage) in rows for stage in STAGES)


def test_an_orphan_is_shown_even_where_the_branch_has_no_status() -> None:
    view = a_fanout(a_branch("A", status=None, output=None, attempts=(an_orphan(),)))
    assert "○ orphan" in plain(flow_lines(view, 76, FlowCursor())[0])
