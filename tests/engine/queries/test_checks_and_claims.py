"""Checks and claims of real ledgers: what was bound, admitted, promoted, and what compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine import read_check, read_checks, read_claim, read_claims
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.reader import open_ledger
from tests.peers import expected_facts, needs_peer_ledgers, peer_ledger
from tests.tui.check_ledgers import checks_ledger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from codeai_engine import CheckView, ClaimView, LedgerReader

NAMED_CLAIMS = ("checks_all", "claims_promotion", "evidence_path")


@pytest.fixture(scope="module")
def checks_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checks_ledger(tmp_path_factory.mktemp("checks") / "checks.db")


def by_id(ledger: LedgerReader) -> Mapping[str, CheckView]:
    return {check.check_id: check for check in read_checks(ledger).items}


def claims_of(ledger: LedgerReader) -> Mapping[str, ClaimView]:
    return {claim.claim_id: claim for claim in read_claims(ledger).items}


def steps_of(claim: ClaimView) -> list[tuple[str, str | None, bool | None]]:
    return [(entry.step, entry.verdict, entry.admitted) for entry in claim.history]


@needs_peer_ledgers
@pytest.mark.parametrize("name", NAMED_CLAIMS)
@pytest.mark.parametrize("newest", [None, 1000])
def test_verdicts_bindings_and_claims_are_those_of_the_peer(name: str, newest: int | None) -> None:
    facts = expected_facts(name)
    with open_ledger(peer_ledger(name)) as ledger:
        checks = read_checks(ledger, newest=newest)
        claims = read_claims(ledger, newest=newest)
    found: list[dict[str, Any]] = [
        {field: getattr(check, field) for field in fact}
        for check, fact in zip(checks.items, facts["checks"]["items"], strict=True)
    ]
    assert found == facts["checks"]["items"]
    expected = facts["claims"]["items"]
    assert {claim.claim_id for claim in claims.items} == set(expected)
    for claim in claims.items:
        fact = expected[claim.claim_id]
        attempts = [entry for entry in claim.history if entry.step == "attempt"]
        assert [entry.check_id for entry in attempts] == fact["attempted"]
        refused = [entry for entry in claim.history if entry.step == "refused attempt"]
        assert [entry.check_id for entry in refused] == fact["refused"]
        if fact["recordings"]:
            recorded = (claim.evidence_class, claim.status)
            assert recorded == (fact["evidence_class"], fact["status"])
    standings = {standing.claim_id: standing.status for standing in claims.standings}
    assert standings == {key: fact["status"] for key, fact in facts["strict_claims"].items()}


@needs_peer_ledgers
def test_a_repeated_check_id_keeps_both_completions_and_one_attempt() -> None:
    with open_ledger(peer_ledger("checks_all")) as ledger:
        first, second = read_check(ledger, "c-pass-unbound")
        claim = claims_of(ledger)["claim-1"]
    assert (first.sequence, second.sequence) == (9, 92)
    assert (first.completions, second.completions) == (2, 2)
    assert first.requested != second.requested
    named = [entry for entry in claim.history if entry.check_id == "c-pass-unbound"]
    assert [(entry.step, entry.check and entry.check.sequence) for entry in named] == [
        ("attempt", 9),
        ("evidence", 9),
        ("evidence", 92),
    ]


@needs_peer_ledgers
def test_a_ledger_that_counts_no_starts_does_not_say_that_nothing_ran() -> None:
    with open_ledger(peer_ledger("checks_all")) as ledger:
        checks = read_checks(ledger).items
    assert {check.invocations for check in checks} == {None}
    assert not any(check.contradictions for check in checks)


@needs_peer_ledgers
def test_effects_of_a_check_on_an_unknown_claim_move_nothing() -> None:
    with open_ledger(peer_ledger("claims_promotion")) as ledger:
        nobody = claims_of(ledger)["nobody"]
    assert [(entry.step, entry.effect) for entry in nobody.history] == [
        ("refused attempt", None),
        ("evidence", None),
        ("refused attempt", None),
        ("status", None),
    ]
    assert (nobody.standing, nobody.disagreement) == ("unresolved", None)


@needs_peer_ledgers
def test_status_and_class_that_move_apart_are_said_beside_the_standing() -> None:
    with open_ledger(peer_ledger("claims_promotion")) as ledger:
        claim = claims_of(ledger)["cl-2"]
    assert (claim.status, claim.evidence_class) == ("refuted", "E3_REPRODUCED")
    assert claim.standing == "contested"
    assert claim.disagreement == "recorded at once as refuted and E3_REPRODUCED"


def test_checks_of_ours_have_their_bindings_invocations_and_output(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        checks = by_id(ledger)
    facts = {
        name: (check.verdict, check.binding_status, check.artifact_binding_status)
        for name, check in checks.items()
    }
    assert facts == {
        "k-dated": ("PASS", "unbound", "bound"),
        "k-todo": ("FAIL", "bound", "unbound"),
        "k-other": ("PASS", "bound", "unbound"),
        "k-repaired": ("PASS", "bound", "unbound"),
        "k-stale": ("ERROR", "mismatch", "unbound"),
        "k-unsure": ("INCONCLUSIVE", "unbound", "unbound"),
        "k-lost": ("ERROR", "unbound", "missing"),
        "k-blind": ("PASS", "unbound", "bound"),
        "k-label": ("ERROR", "unbound", "unconsumed"),
        "k-loose": ("PASS", "unbound", "unbound"),
    }
    not_run = {name for name, check in checks.items() if check.invocations == 0}
    assert not_run == {"k-stale", "k-lost", "k-label"}
    assert all(check.invocations == 1 for name, check in checks.items() if name not in not_run)
    stdout, stderr = checks["k-dated"].stdout, checks["k-unsure"].stderr
    assert stdout is not None
    assert stderr is not None
    assert (stdout.text, stdout.byte_length) == ("1:The bridge opened in 1932.\n", 29)
    assert stdout.artifact_id is not None
    assert stderr.text == "the speller is not here\n"
    assert checks["k-todo"].state_after == "stable"
    assert checks["k-todo"].subject == "file notes.md"
    assert checks["k-blind"].consumption is None


def test_only_the_same_check_of_the_same_subject_is_before_and_after(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        checks = by_id(ledger)
    other, repaired = checks["k-other"].earlier, checks["k-repaired"].earlier
    assert other is not None
    assert (other.check_id, other.differs) == ("k-todo", ("command",))
    assert repaired is not None
    assert (repaired.check_id, repaired.differs) == ("k-todo", ())
    assert repaired.observed is not None
    assert repaired.observed[0] != repaired.observed[1]
    assert checks["k-stale"].earlier is None  # nothing was run, so nothing is after


def test_attempts_carry_the_verdict_of_their_check_and_why_they_are_no_evidence(
    checks_db: Path,
) -> None:
    with open_ledger(checks_db) as ledger:
        claims = claims_of(ledger)
    assert steps_of(claims["clean"]) == [
        ("recorded", None, None),
        ("attempt", "FAIL", True),
        ("status", "FAIL", None),
        ("attempt", "PASS", True),
        ("evidence", "PASS", None),
        ("attempt", "PASS", True),
        ("evidence", "PASS", None),
        ("attempt", "ERROR", False),
    ]
    assert claims["clean"].history[-1].why == "ERROR: the check was not carried out"
    assert steps_of(claims["linked"])[1:] == [("attempt", "ERROR", False)]
    assert steps_of(claims["untested"])[1:] == []
    standings = {name: claim.standing for name, claim in claims.items()}
    assert standings == {
        "dated": "supported",
        "clean": "contested",
        "spelled": "unresolved",
        "linked": "unresolved",
        "looked-at": "supported",
        "untested": "unresolved",
        "nobody": "unresolved",
    }


def test_one_check_and_one_claim_read_alone_are_those_of_the_whole(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        checks, claims = by_id(ledger), claims_of(ledger)
        for name, check in checks.items():
            assert read_check(ledger, name) == (check,)
        for name, claim in claims.items():
            assert read_claim(ledger, name) == (claim, None)


def test_a_check_without_a_completion_is_pending(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        view = read_checks(ledger)
        (pending,) = read_check(ledger, "k-open")
    assert view.unanswered == ("k-open",)
    assert view.pending == (pending,)
    assert (pending.verdict, pending.event_id, pending.invocations) == (None, None, 0)


def test_what_is_not_there_is_refused_with_what_is(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        with pytest.raises(LedgerError, match="no check nowhere") as caught:
            read_check(ledger, "nowhere")
        assert "k-open" in caught.value.hint
        with pytest.raises(LedgerError, match="no claim nowhere") as caught:
            read_claim(ledger, "nowhere")
        assert "untested" in caught.value.hint


def test_the_newest_are_read_without_reading_the_rest(checks_db: Path) -> None:
    with open_ledger(checks_db) as ledger:
        before = ledger.rows_read
        view = read_checks(ledger, newest=2)
        read = ledger.rows_read - before
        claims = read_claims(ledger, newest=1)
    assert [check.check_id for check in (*view.items, *view.pending)] == ["k-loose", "k-open"]
    assert view.total == 11
    assert read < 20  # of 49 events; counts by kind are rows too
    assert len(claims.items) == 1
    assert claims.total == 6
