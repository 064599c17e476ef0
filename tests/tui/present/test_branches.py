"""Branches side by side: every row says what the record says, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from codeai_engine import OutputView, SealView, TraceView
from codeai_tui.present.branches import (
    BranchBoard,
    fanout_text,
    preview_lines,
    summary_line,
)
from codeai_tui.present.line import line_width, plain
from tests.tui.views import a_branch, a_fanout, an_attempt, an_orphan, digest


def cell(key: str, **changes: Any) -> list[str]:
    board = BranchBoard(a_fanout(a_branch("A", **changes), a_branch("B"), a_branch("C")))
    return [plain(entry) for entry in board.cells(0)[key].lines]


def test_equal_requests_are_marked_as_identical_input_and_others_as_unequal() -> None:
    board = BranchBoard(a_fanout())
    request = [plain(entry) for entry in board.cells(0)["request"].lines]
    assert "== B  != C" in request
    assert "identical input" in request
    fallen = [plain(entry) for entry in board.cells(2)["request"].lines]
    assert "!= A B" in fallen
    assert "identical input" not in fallen


def test_digests_that_only_look_alike_are_unequal() -> None:
    first = digest("x")
    second = first[:8] + "0" * 54 + first[-2:]
    board = BranchBoard(
        a_fanout(a_branch("A", request_sha256=first), a_branch("B", request_sha256=second))
    )
    lines = [plain(entry) for entry in board.cells(0)["request"].lines]
    other = [plain(entry) for entry in board.cells(1)["request"].lines]
    assert lines[0] == other[0]
    assert "!= B" in lines


def test_a_changed_question_leaves_the_rendering_equal_and_the_request_unequal() -> None:
    board = BranchBoard(
        a_fanout(
            a_branch("A"),
            a_branch(
                "B",
                prompt="Another?",
                model_input_sha256=digest("other"),
                request_sha256=digest("other"),
            ),
        )
    )
    assert "== A" in [plain(entry) for entry in board.cells(1)["rendered"].lines]
    assert "!= A" in [plain(entry) for entry in board.cells(1)["request"].lines]


def test_excluded_candidates_stand_with_their_reasons() -> None:
    lines = cell("excluded")
    assert "✗ sibling's draft artifact" in lines
    assert "  excluded because seal forbids lineage ['call-B']" in lines


def test_a_selected_candidate_of_unknown_provenance_is_marked() -> None:
    trace = (TraceView("note", "artifact", "included", "included", provenance="unknown"),)
    assert cell("included", trace=trace) == [
        "1 candidate",
        "· note artifact",
        "  ○ unknown provenance",
    ]


@pytest.mark.parametrize(
    ("seal", "said"),
    [
        (None, "- not recorded"),
        (SealView(), "- nothing"),
        (SealView(unreadable="frozenset({'call-B'})"), "! unreadable seal"),
        (SealView(call_ids=("b",), event_ids=("e", "f")), "calls 1  events 2"),
    ],
)
def test_a_seal_says_how_many_ids_of_each_set_it_forbids(seal: SealView | None, said: str) -> None:
    assert cell("seal", seal=seal)[0] == said


def test_a_seal_that_leaves_a_sibling_out_is_bad() -> None:
    assert cell("seal", seal_names_every_sibling=False)[1] == "✗ does not name every sibling"


def test_unknown_tokens_are_a_word_and_never_nought() -> None:
    assert cell("tokens", input_tokens=None, output_tokens=None) == ["in  unknown", "out unknown"]
    assert cell("tokens", input_tokens=0)[0] == "in  0"


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (an_attempt(), "1 ✓ succeeded 41 ms"),
        (an_orphan(), "1 ○ ORPHAN, bytes sent"),
        (an_orphan(running=True), "1 … running"),
        (
            an_attempt(index=2, cause="retry:timeout", wait_s=1.5, status="failed"),
            "2 ✗ failed 41 ms retry:timeout after 1.5 s",
        ),
    ],
)
def test_an_attempt_says_how_it_ended_and_why_it_was_made(attempt: object, said: str) -> None:
    assert cell("attempts", attempts=(attempt,)) == [said]


def test_attempts_have_the_sequence_of_each_stage() -> None:
    board = BranchBoard(a_fanout(a_branch("A", attempts=(an_orphan(),))))
    lines = [plain(entry) for entry in board.detail(0, "attempts")]
    assert "       10  attempt.started" in lines
    assert "        -  attempt.observed" in lines


def test_an_empty_answer_is_called_empty_and_no_answer_is_none() -> None:
    assert cell("output", output=OutputView("", byte_length=0)) == ["○ empty answer"]
    assert cell("output", output=None) == ["- no answer"]


def test_an_answer_that_is_cut_or_escaped_says_so() -> None:
    output = OutputView("a\nb", truncated=True, escaped=True, byte_length=200_000)
    assert cell("output", output=output) == [
        "195.3 KiB, shown in part",
        "what is not text is shown as escapes",
        "a",
        "b",
    ]


def test_a_long_answer_is_cut_in_its_column_and_whole_in_its_sheet() -> None:
    output = OutputView("\n".join(map(str, range(900))), byte_length=4000)
    board = BranchBoard(a_fanout(a_branch("A", output=output)))
    assert plain(board.cells(0)["output"].lines[-1]) == "… 700 more lines, Enter"
    assert plain(board.detail(0, "output")[-1]) == "899"


def test_a_refused_branch_says_why_and_that_nothing_was_sent() -> None:
    reason = "REQUIRED_CONTEXT_MISSING: x required but excluded"
    changes = {"refused": reason, "status": "failed", "package_id": None, "attempts": ()}
    assert cell("status", **changes)[0] == "✗ refused"
    assert cell("error", **changes) == [reason]
    assert cell("package", **changes) == ["- no package"]
    assert cell("attempts", **changes) == ["- none, nothing was sent"]


def test_a_branch_without_completion_is_no_failure() -> None:
    assert cell("status", status=None, completed_at=None) == ["○ no completion"]
    assert cell("status", status=None, attempts=(an_orphan(running=True),))[0] == "… running"


def test_the_level_stands_with_what_the_next_one_lacks() -> None:
    assert cell("level") == ["✓ final-input blind", "lacks the transport's digest of what left"]


@pytest.mark.parametrize(
    ("matches", "said"),
    [
        (True, "✓ equals the prepared body"),
        (False, "✗ differs from the prepared body"),
        (None, "? not comparable"),
    ],
)
def test_what_left_is_compared_with_the_prepared_body(matches: bool | None, said: str) -> None:  # noqa: FBT001
    attempt = an_attempt(wire_observed=12, wire_matches=matches)
    assert cell("wire", attempts=(attempt,)) == [said]


def test_every_field_of_every_branch_has_a_cell_and_a_whole() -> None:
    board = BranchBoard(a_fanout())
    for index in range(len(board)):
        for key, _ in board.fields:
            board.detail(index, key)
            assert isinstance(board.copy_text(index, key), str)


def test_the_error_row_is_there_only_where_there_is_an_error() -> None:
    assert "error" in dict(BranchBoard(a_fanout()).fields)
    assert "error" not in dict(BranchBoard(a_fanout(a_branch("A"))).fields)


def test_the_strip_of_many_branches_fits_and_holds_the_one_looked_at() -> None:
    branches = tuple(a_branch("A", position=number) for number in range(200))
    board = BranchBoard(a_fanout(*branches))
    for cursor in (0, 99, 199):
        strip = board.strip(cursor, 78)
        assert line_width(strip) <= 78
        assert "[" in plain(strip)


def test_a_fan_out_without_branches_says_so() -> None:
    view = a_fanout()
    empty = a_fanout(branches=(), summary=view.summary)
    assert "no branches" in "\n".join(plain(entry) for entry in fanout_text(empty))
    assert "no branches" in "\n".join(plain(entry) for entry in preview_lines(empty, 80))


def test_payloads_that_could_not_be_read_are_named_by_sequence() -> None:
    said = plain(summary_line(a_fanout(unread=((8, "bad"), (11, "bad")))))
    assert "2 payloads not read, at 8, 11" in said


def test_the_text_for_a_pipe_has_whole_digests_and_the_denial() -> None:
    view = a_fanout()
    said = "\n".join(plain(entry) for entry in fanout_text(view))
    assert str(view.branches[0].request_sha256) in said
    assert "nothing here says what the answers share" in said
