"""Claims joined with their checks: verdicts are read through the attempt, never copied."""

from __future__ import annotations

import pytest

from codeai_engine.digests import canonical_json
from codeai_engine.domain.check_view import CheckView
from codeai_engine.domain.claim_view import ClaimView
from codeai_engine.domain.view import EventRow
from codeai_engine.rules.claim_history import join_checks, recorded_reading
from codeai_engine.rules.fold_claim import fold_claims


def row(sequence: int, kind: str, **payload: str) -> EventRow:
    text = canonical_json({"claim_id": "c"} | payload)
    return EventRow(sequence, f"e{sequence}", "c", f"claim.{kind}", "x", text, "", None, None)


RECORDED = row(1, "recorded", statement="it holds", status="asserted", evidence_class="E0")


def joined(*rows: EventRow, checks: list[CheckView]) -> ClaimView:
    return join_checks(fold_claims([RECORDED, *rows]), checks).items[0]


def check(sequence: int, verdict: str, event_id: str = "") -> CheckView:
    return CheckView("k", sequence, verdict, event_id=event_id or f"e{sequence}")


def test_an_attempt_whose_check_has_no_completion_is_no_evidence() -> None:
    claim = joined(row(3, "verification_attempted", check_id="k"), checks=[])
    entry = claim.history[1]
    assert (entry.verdict, entry.admitted) == (None, False)
    assert entry.why == "its check has no completion in this ledger"
    assert claim.standing == "unresolved"


def test_an_attempt_refers_to_the_completion_that_it_names() -> None:
    attempt = row(9, "verification_attempted", check_id="k", check_completed_event_id="e2")
    claim = joined(attempt, checks=[check(2, "FAIL"), check(5, "PASS")])
    assert (claim.history[1].verdict, claim.standing) == ("FAIL", "refuted")


def test_an_effect_refers_to_the_last_completion_before_it() -> None:
    effect = row(7, "evidence", check_id="k", evidence_class="E3_REPRODUCED")
    claim = joined(effect, checks=[check(2, "FAIL"), check(5, "PASS"), check(8, "ERROR")])
    assert claim.history[1].verdict == "PASS"


def test_a_promotion_that_no_admissible_attempt_carries_is_a_disagreement() -> None:
    effect = row(7, "evidence", check_id="k", evidence_class="E3_REPRODUCED")
    claim = joined(effect, checks=[check(5, "PASS")])
    assert claim.disagreement == "recorded as supported, unresolved by its admissible attempts"


@pytest.mark.parametrize(
    ("evidence_class", "status", "reading"),
    [
        ("E0_ASSERTED", "asserted", "unresolved"),
        ("E3_REPRODUCED", "asserted", "supported"),
        ("E0_ASSERTED", "refuted", "refuted"),
        ("E3_REPRODUCED", "refuted", "contested"),
        (None, None, "unresolved"),
    ],
)
def test_recorded_class_and_status_together_read_as_a_standing(
    evidence_class: str | None, status: str | None, reading: str
) -> None:
    claim = ClaimView("c", 1, evidence_class=evidence_class, status=status)
    assert recorded_reading(claim) == reading
