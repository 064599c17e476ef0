"""One check and the list of them, in words."""

from __future__ import annotations

from codeai_engine import BindingView, ChecksView, CheckView, OutputHead
from codeai_tui.present.checks import (
    COLUMNS,
    check_rows,
    checks_text,
    command_text,
    detail_lines,
    policy_lines,
    scope_text,
)
from codeai_tui.present.line import plain
from codeai_tui.present.table import lay_out, row_line
from tests.tui.check_views import a_check, an_earlier
from tests.tui.views import digest


def said(check: CheckView) -> str:
    return "\n".join(plain(content) for content in detail_lines(check))


def test_a_check_says_what_it_ran_on_what_and_what_that_came_to() -> None:
    text = said(a_check())
    for part in (
        "✓ PASS",
        "state        = BOUND",
        "read from  file notes.md",
        "after it   = stable",
        "artifact     ~ UNBOUND",
        "nothing was supplied",
        '! grep TODO notes.md"',
        "0 PASS, every other code FAIL",
        "invocations  1",
        "named, adequacy not shown",
        "12 passed",
        "stderr  empty",
    ):
        assert part in text


def test_a_state_that_moved_during_the_check_says_so_with_what_it_is_now() -> None:
    text = said(a_check(state_after="moved", state_after_observed=digest("later")))
    assert f"# moved  {digest('later')[:8]}" in text


def test_a_pass_without_a_subject_says_that_it_is_against_none() -> None:
    text = said(a_check(binding_status="unbound"))
    assert "against no identified state and no bytes" in text


def test_the_reasons_of_what_is_no_verdict_are_there() -> None:
    assert "error exit code 7" in said(a_check(verdict="ERROR", error="exit code 7"))
    reason = "exit code 2 is declared inconclusive"
    assert f"reason {reason}" in said(a_check(verdict="INCONCLUSIVE", inconclusive_reason=reason))


def test_before_and_after_show_both_states() -> None:
    earlier = an_earlier(observed=(digest("then"), digest("now")))
    text = said(a_check(earlier=earlier))
    assert "before: k-0 ✗ FAIL" in text
    assert "the state has moved since" in text
    assert digest("then")[:8] in text
    apart = an_earlier(differs=("command",), observed=(digest("then"), digest("now")))
    assert digest("then")[:8] not in said(a_check(earlier=apart))


def test_a_contradiction_and_a_repeated_id_are_shown_and_not_resolved() -> None:
    text = said(a_check(contradictions=("PASS without an invocation",), completions=2))
    assert "! PASS without an invocation" in text
    assert "this check id has 2 completions" in text


def test_an_output_that_was_cut_says_where_the_rest_is() -> None:
    cut = OutputHead("a\nb", truncated=True, byte_length=1 << 30, artifact_id="abc")
    text = said(a_check(stdout=cut))
    assert "stdout  1.0 GiB  beginning" in text
    assert "cut here; more in artifact abc" in text


def test_values_of_the_environment_stand_only_where_the_request_wrote_them() -> None:
    text = said(a_check(environment=(("LANG", "C"),), environment_from=("TOKEN",)))
    assert "LANG=C" in text
    assert "TOKEN (values not recorded)" in text


def test_what_is_not_recorded_is_said_to_be_so() -> None:
    bare = CheckView("k", 3, "PASS", event_id="e")
    assert "invocations  - not recorded" in said(bare)
    assert "state        - not recorded" in said(bare)
    assert "✓ PASS" in said(bare)


def test_a_pending_check_says_nothing_of_bindings() -> None:
    text = said(CheckView("k", 3, None, state=BindingView(requested=digest("x"))))
    assert "○ no completion" in text
    assert "BOUND" not in text


def test_a_command_is_one_text_that_keeps_its_arguments_apart() -> None:
    assert command_text(("sh", "-c", "exit 0", "")) == 'sh -c "exit 0" ""'
    assert command_text(("a\x1b",)) == '"a\\u001b"'


def test_the_policy_sheet_says_that_it_was_declared_before() -> None:
    text = "\n".join(plain(content) for content in policy_lines(a_check()))
    assert "declared before the check ran" in text
    assert "exit code 0: ✓ PASS" in text


def test_verdict_and_binding_fit_into_eighty_columns() -> None:
    (row,) = check_rows([a_check(verdict="INCONCLUSIVE", earlier=an_earlier())])
    content = plain(row_line(COLUMNS, row, lay_out(COLUMNS, 75), colour=True))
    assert "? INCONCLUSIVE" in content
    assert "= BOUND" in content
    assert "before k-0 FAIL" in content
    assert len(content) == 75


def test_a_window_on_many_checks_says_how_many_there_are() -> None:
    assert scope_text(ChecksView((a_check(),), 1, total=9000)) == "newest 1 of 9,000 checks"
    assert scope_text(ChecksView((a_check(),), 1)) == "1 check"


def test_a_ledger_without_checks_prints_so() -> None:
    assert [plain(content) for content in checks_text(ChecksView((), 0))] == [
        "No check in this ledger."
    ]


def test_an_event_that_cannot_be_read_is_a_line() -> None:
    view = ChecksView((a_check(),), 1, unread=((9, "verdict: no text"),))
    assert plain(checks_text(view)[-1]) == "! event 9 not read: verdict: no text"
