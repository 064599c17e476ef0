"""Claims in words: nothing attempted and nothing shown are two different things."""

from __future__ import annotations

import pytest

from codeai_engine import ClaimView, RefusalView, StandingView
from codeai_tui.present import claims as present
from codeai_tui.present.claims import (
    CLAIM_COLUMNS,
    HISTORY_COLUMNS,
    Shown,
    attempts_text,
    claim_rows,
    history_rows,
    shown_claims,
)
from codeai_tui.present.line import plain
from codeai_tui.present.table import Column, lay_out, row_line, row_text
from tests.tui.check_views import a_check, a_claim, a_claims_view, an_earlier, an_entry

RECORDED = an_entry("recorded", sequence=2, check_id=None, effect="E0_ASSERTED, asserted")
NO_EVIDENCE = an_entry(
    check=a_check(verdict="ERROR", error="exit code 7 is not mapped"),
    admitted=False,
    why="ERROR: the check was not carried out",
)


def row_of(claim: ClaimView) -> str:
    return row_text(claim_rows(shown_claims(a_claims_view(claim)))[0])


def said(claim: ClaimView) -> str:
    (shown,) = shown_claims(a_claims_view(claim))
    lines = (*present.promotion_lines(shown), *present.entry_lines(claim.history[-1]))
    return "\n".join(plain(content) for content in lines)


def test_no_attempt_and_attempts_without_evidence_read_differently() -> None:
    untried, failed = a_claim(RECORDED), a_claim(RECORDED, NO_EVIDENCE)
    assert attempts_text(untried) == "no attempt is discoverable"
    assert attempts_text(failed) == "1 attempt: attempts exist, no evidence"
    assert "- no attempt" in row_of(untried)
    assert "1, no evidence" in row_of(failed)
    assert attempts_text(a_claim()) == "1 attempt, 1 admitted"


def test_an_inadmissible_attempt_is_a_row_with_its_reason() -> None:
    (row,) = history_rows([NO_EVIDENCE], "all")
    assert "inadmissible: exit code 7 is not mapped" in row_text(row)


def test_admitted_and_not_admitted_can_be_looked_at_alone() -> None:
    refused = an_entry("refused attempt", sequence=9, admitted=False, why="unknown_claim")
    history = [RECORDED, an_entry(admitted=True, check=a_check()), NO_EVIDENCE, refused]
    assert len(history_rows(history, "all")) == 4
    assert [row.cells[1][0].text for row in history_rows(history, "admitted")] == ["attempt"]
    others = history_rows(history, "not admitted")
    assert [row.cells[1][0].text for row in others] == ["attempt", "refused"]
    assert "refused: unknown_claim" in row_text(others[1])


def test_a_promotion_by_naming_is_labelled_and_never_in_the_good_tone() -> None:
    claim = a_claim()
    assert "named, adequacy not shown" in said(claim)
    rows = history_rows(claim.history, "all")
    tones = {span.tone for span in rows[-1].cells[-1]}
    assert tones == {"note"}


def test_record_and_attempts_stand_side_by_side_and_where_they_part_is_marked() -> None:
    parted = a_claim(
        status="refuted",
        standing="contested",
        disagreement="recorded at once as refuted and E3_REPRODUCED",
    )
    text = said(parted)
    assert text.index("by its record") < text.index("by its attempts")
    assert "! recorded at once as refuted and E3_REPRODUCED" in text
    assert "c-1  ! E3_REPRODUCED refuted" in row_of(parted)
    assert "both say the same" in said(a_claim())


def test_a_claim_that_nobody_recorded_is_shown_with_what_was_refused() -> None:
    dangling = an_entry("evidence", why="moves nothing: nobody had recorded this claim")
    ghost = a_claim(dangling, recordings=0, refused=("k-1",), statement=None)
    assert "- never recorded" in row_of(ghost)
    assert "1 refused" in row_of(ghost)
    assert "moves nothing" in row_text(history_rows(ghost.history, "all")[0])
    assert "Nobody recorded this claim" in said(ghost)


def test_a_row_says_what_keeps_two_attempts_from_being_before_and_after() -> None:
    other = a_check(earlier=an_earlier(differs=("command",)))
    apart = an_entry(check=other, admitted=True)
    same = an_entry(check=a_check(earlier=an_earlier()), admitted=True)
    assert "admitted; differs in command, from k-0" in row_text(history_rows([apart], "all")[0])
    assert "admitted; before k-0 FAIL" in row_text(history_rows([same], "all")[0])


def test_extracted_claims_and_refusals_have_rows_of_their_own() -> None:
    standing = StandingView("c-1", "contested", "E3_REPRODUCED", ("e1",), ("e2",), "It holds.")
    refusal = RefusalView(9, "claim.evidence_refused", "e9", ("no such passage",))
    view = a_claims_view(a_claim(), standings=(standing,), refusals=(refusal,))
    rows = [row_text(row) for row in claim_rows(shown_claims(view))]
    assert len({item.key for item in shown_claims(view)}) == 3
    assert "1 for, 1 against" in rows[1]
    assert "✗ claim.evidence_refused" in rows[2]
    lines = present.promotion_lines(Shown("r9", refusal=refusal))
    assert "no such passage" in "\n".join(plain(content) for content in lines)


@pytest.mark.parametrize("columns", [CLAIM_COLUMNS, HISTORY_COLUMNS])
def test_the_tables_fit_into_eighty_columns(columns: tuple[Column, ...]) -> None:
    rows = claim_rows(shown_claims(a_claims_view(a_claim())))
    if columns is HISTORY_COLUMNS:
        rows = history_rows(a_claim().history, "all")
    for row in rows:
        content = plain(row_line(columns, row, lay_out(columns, 75), colour=True))
        assert len(content) <= 75


def test_a_ledger_without_claims_prints_so() -> None:
    (only,) = present.claims_text(a_claims_view())
    assert plain(only) == "No claim in this ledger."
