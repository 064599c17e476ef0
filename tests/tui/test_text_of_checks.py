"""Checks and claims without a terminal: the same facts as text, and exit codes for what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_tui.cli import main
from codeai_tui.gateway import Gateway
from codeai_tui.places import Place

if TYPE_CHECKING:
    from pathlib import Path


def text_of(path: Path, capsys: pytest.CaptureFixture[str], place: str = "") -> str:
    arguments = ["open", str(path), *(["--at", place] if place else [])]
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_both_matrices_and_every_check_are_printed(
    checks_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of(checks_db, capsys, "checks")
    assert "verdict by state binding" in text
    assert "verdict by artifact binding" in text
    (row,) = [line for line in text.split("\n") if "k-blind" in line]
    for part in ("✓ PASS", "~ UNBOUND", "= BOUND", "supplied, not observed"):
        assert part in row
    assert "before k-todo FAIL" in text


def test_one_check_is_printed_whole(checks_db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(checks_db, capsys, "check/k-lost")
    assert "! ERROR" in text
    assert "0 MISSING" in text
    assert "invocations  0" in text


def test_claims_are_printed_with_their_histories(
    checks_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of(checks_db, capsys, "claims")
    assert "no attempt is discoverable" in text
    assert "attempts exist, no evidence" in text
    assert "inadmissible: target state mismatch" in text
    one = text_of(checks_db, capsys, "claim/linked")
    assert "Every link answers." in one
    assert "TODO" not in one


def test_a_ledger_printed_whole_has_its_claims_and_checks(
    checks_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of(checks_db, capsys)
    assert "7 claims" in text
    assert "11 checks" in text


@pytest.mark.parametrize("place", ["check/nowhere", "claim/nowhere"])
def test_what_is_not_there_is_refused_by_name(
    checks_db: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    assert main(["open", str(checks_db), "--at", place]) == 2
    assert "nowhere in this ledger" in capsys.readouterr().err


def test_a_place_from_outside_is_looked_for_before_the_screen_opens(checks_db: Path) -> None:
    gateway = Gateway(str(checks_db))
    try:
        for place in (Place("check", "k-lost"), Place("claim", "linked"), Place("claims")):
            gateway.refuse_unless_there(place)
        with pytest.raises(Exception, match="no claim nowhere"):
            gateway.refuse_unless_there(Place("claim", "nowhere"))
    finally:
        gateway.close()
