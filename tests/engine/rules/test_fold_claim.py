"""Claims and checks, folded from their own events."""

from __future__ import annotations

from itertools import permutations

from codeai_engine.domain.view import EventRow
from codeai_engine.rules.fold_check import fold_checks
from codeai_engine.rules.fold_claim import fold_claims


def row(
    sequence: int, kind: str, text: str, *, cause: str | None = None, stream: str = "s"
) -> EventRow:
    return EventRow(sequence, f"e{sequence}", stream, kind, "x", text, "", cause, None)


RECORDED = '{"claim_id":"c","statement":"it holds","status":"asserted","evidence_class":"E0"}'
PASSED = '{"claim_id":"c","evidence_class":"E3","check_id":"k"}'
FAILED = '{"claim_id":"c","status":"refuted","check_id":"k"}'


def test_effects_move_a_recorded_claim_in_order_of_sequence_however_they_arrive() -> None:
    rows = [
        row(1, "claim.recorded", RECORDED),
        row(2, "claim.status", FAILED),
        row(3, "claim.evidence", PASSED),
    ]
    seen = {repr(fold_claims(order)) for order in permutations(rows)}
    claim = fold_claims(rows).items[0]
    assert len(seen) == 1
    # The peer's fold: status and class move apart (PEER_DEFECTS 8).
    assert (claim.status, claim.evidence_class, claim.recorded) == ("refuted", "E3", 1)


def test_an_effect_before_the_claim_moves_nothing_and_is_listed() -> None:
    claims = fold_claims([row(1, "claim.evidence", PASSED), row(2, "claim.recorded", RECORDED)])
    assert claims.items[0].evidence_class == "E0"
    assert [(d.sequence, d.claim_id, d.check_id) for d in claims.dangling] == [(1, "c", "k")]


def test_recording_a_claim_again_replaces_it_and_is_counted() -> None:
    again = RECORDED.replace("it holds", "it holds today")
    rows = [
        row(1, "claim.recorded", RECORDED),
        row(2, "claim.evidence", PASSED),
        row(3, "claim.verification_attempted", '{"claim_id":"c","check_id":"k"}'),
        row(4, "claim.recorded", again),
    ]
    claim = fold_claims(rows).items[0]
    assert (claim.recordings, claim.statement, claim.evidence_class) == (2, "it holds today", "E0")
    assert claim.attempted == ("k",)


def test_evidence_of_a_claim_that_nobody_extracted_is_listed_as_dangling() -> None:
    text = '{"claim_id":"c","evidence_id":"e","verdict":"supports"}'
    claims = fold_claims([row(1, "claim.evidence_recorded", text)])
    assert claims.standings == ()
    assert claims.dangling[0].kind == "claim.evidence_recorded"


def test_an_extracted_claim_without_evidence_is_unresolved() -> None:
    claims = fold_claims([row(1, "claim.extracted", '{"claim_id":"c","quote":"so it is"}')])
    standing = claims.standings[0]
    assert (standing.status, standing.evidence_class) == ("unresolved", "E1_ATTRIBUTED")


def test_a_claim_event_that_cannot_be_read_is_named_and_hides_no_other() -> None:
    claims = fold_claims([row(1, "claim.recorded", "{}"), row(2, "claim.recorded", RECORDED)])
    assert [claim.claim_id for claim in claims.items] == ["c"]
    assert claims.unread[0][0] == 1
    assert claims.counts == {"claim.recorded": 2}


def test_two_checks_of_one_id_are_told_apart_by_their_cause() -> None:
    rows = [
        row(1, "check.requested", '{"check_id":"k","command":["true"]}'),
        row(2, "check.requested", '{"check_id":"k","command":["false"]}'),
        row(3, "check.completed", '{"check_id":"k","verdict":"FAIL"}', cause="e2"),
        row(4, "check.completed", '{"check_id":"k","verdict":"PASS"}', cause="e1"),
    ]
    checks = fold_checks(rows)
    assert [(check.verdict, check.command) for check in checks.items] == [
        ("FAIL", ("false",)),
        ("PASS", ("true",)),
    ]
    assert (checks.requested, checks.unanswered) == (2, ())


def test_a_check_without_a_cause_answers_the_last_request_before_it() -> None:
    rows = [
        row(1, "check.requested", '{"check_id":"k","target":"old"}'),
        row(2, "check.completed", '{"check_id":"k","verdict":"PASS"}'),
        row(3, "check.requested", '{"check_id":"k","target":"new"}'),
    ]
    checks = fold_checks(rows)
    assert checks.items[0].target == "old"
    assert checks.unanswered == ("k",)


def test_a_completion_without_its_request_is_shown_all_the_same() -> None:
    checks = fold_checks([row(9, "check.completed", '{"check_id":"k"}', cause="nowhere")])
    assert (checks.items[0].requested, checks.items[0].binding_status) == (None, None)
