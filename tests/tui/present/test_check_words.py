"""Verdicts and bindings in words: a PASS is good only on a bound subject."""

from __future__ import annotations

import pytest

from codeai_engine import PolicyView
from codeai_tui.present.check_words import (
    NAMED,
    binding_line,
    compared_line,
    consumption_text,
    earlier_line,
    policy_text,
    probes_text,
    telling_binding,
    verdict_line,
)
from codeai_tui.present.line import plain
from tests.tui.check_views import a_check, an_earlier

STATUSES = (None, "bound", "unbound", "mismatch", "unavailable", "missing", "unconsumed", "odd")


@pytest.mark.parametrize("state", STATUSES)
@pytest.mark.parametrize("artifact", STATUSES)
def test_a_pass_has_the_good_tone_only_where_a_subject_was_bound(
    state: str | None, artifact: str | None
) -> None:
    check = a_check(binding_status=state, artifact_binding_status=artifact)
    (span,) = verdict_line(check)
    bound = "bound" in {state, artifact} and {state, artifact} <= {"bound", "unbound", None}
    assert span.tone == ("good" if bound else "open")
    assert span.text == "✓ PASS"


@pytest.mark.parametrize(
    ("verdict", "shown", "tone"),
    [
        ("FAIL", "✗ FAIL", "bad"),
        ("INCONCLUSIVE", "? INCONCLUSIVE", "open"),
        ("ERROR", "! ERROR", "open"),
        ("MAYBE", "? MAYBE", "open"),
        (None, "- no verdict", "none"),
    ],
)
def test_every_verdict_is_a_glyph_and_a_word(verdict: str | None, shown: str, tone: str) -> None:
    (span,) = verdict_line(a_check(verdict=verdict))
    assert (span.text, span.tone) == (shown, tone)


def test_a_check_without_a_completion_has_no_verdict() -> None:
    assert plain(verdict_line(a_check(event_id=None, verdict=None))) == "○ no completion"


def test_a_binding_that_is_not_recorded_is_not_called_unbound() -> None:
    assert plain(binding_line(None)) == "- not recorded"
    assert plain(binding_line("unbound")) == "~ UNBOUND"


@pytest.mark.parametrize(
    ("state", "artifact", "shown"),
    [
        ("bound", "unbound", "= BOUND"),
        ("unbound", "bound", "= BOUND"),
        ("unbound", "unconsumed", "_ UNCONSUMED"),
        ("mismatch", "bound", "# MISMATCH"),
        ("bound", "missing", "0 MISSING"),
        (None, None, "- not recorded"),
    ],
)
def test_of_two_bindings_the_failed_one_is_told_first(
    state: str | None, artifact: str | None, shown: str
) -> None:
    check = a_check(binding_status=state, artifact_binding_status=artifact)
    assert plain(telling_binding(check)) == shown


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (PolicyView("p", (0,)), "0 PASS, every other code FAIL (p)"),
        (
            PolicyView("p", (0, 3), (1,), (2,)),
            "0 3 PASS, 1 FAIL, 2 INCONCLUSIVE, every other code ERROR (p)",
        ),
        (None, "not recorded; by default 0 is PASS, every other code FAIL"),
    ],
)
def test_a_policy_says_what_every_exit_code_means(policy: PolicyView | None, said: str) -> None:
    assert policy_text(policy) == said


def test_bytes_that_were_supplied_are_not_called_read() -> None:
    bound = a_check(artifact_binding_status="bound")
    assert consumption_text(bound) == "supplied, not observed"
    assert consumption_text(a_check()) == "nothing was supplied"
    assert consumption_text(a_check(artifact_binding_status="bound", consumption="READ 8 bytes"))


def test_what_was_not_probed_is_not_adequate() -> None:
    assert probes_text(a_check()) == "not probed (0 seeded defects)"
    assert probes_text(a_check(probes=(4, 3))) == "sensitive to 3 of 4 seeded defects"
    assert "adequacy not shown" in NAMED


def test_before_is_said_only_of_what_compares() -> None:
    same, other = an_earlier(), an_earlier(differs=("command", "policy"))
    assert plain(earlier_line(same)) == "before: k-0 ✗ FAIL"
    assert plain(compared_line(same)) == "before k-0 FAIL"
    assert plain(earlier_line(other)) == (
        "no before/after with k-0 ✗ FAIL: differs in command, policy"
    )
    assert plain(compared_line(other)) == "differs in command, policy, from k-0"
