"""What the reference peer gets wrong about checks and claims, and ours must not.

The numbers are those of the list of the peer's defects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_ledger
from codeai_engine.errors import AppendConflict
from codeai_engine.queries.claims import read_claims
from codeai_engine.rules.promotion import standing
from codeai_engine.runtime.check import run_check
from tests.engine.runtime.checks import KEY, check, claim, kinds, payloads, run_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


def verdicts_on(path: Path, claim_id: str) -> list[str]:
    """Return the verdicts of a claim's attempts, each read from the check it refers to."""
    verdicts = {done["check_id"]: done["verdict"] for done in payloads(path, "check.completed")}
    return [
        verdicts[attempt["check_id"]]
        for attempt in payloads(path, "claim.verification_attempted")
        if attempt["claim_id"] == claim_id
    ]


@pytest.mark.parametrize("program", ["true", "false"])
async def test_7_a_refused_claim_is_never_promoted_or_refuted(path: Path, program: str) -> None:
    async with run_on(path) as run:
        await run_check(check("check-1", program, claim_ids=("dangling",)), run)
        await claim(run, "dangling")
    assert kinds(path)[-2:] == ["claim.verification_attempt_refused", "claim.recorded"]
    with open_ledger(path) as ledger:
        view = read_claims(ledger)
    (found,) = view.items
    assert (found.status, found.evidence_class) == ("asserted", "E0_ASSERTED")
    assert (found.attempted, found.refused, view.dangling) == ((), ("check-1",), ())


async def test_8_a_standing_is_read_from_all_attempts_where_class_and_status_part(
    path: Path,
) -> None:
    async with run_on(path) as run:
        await claim(run, "both")
        await claim(run, "passed")
        await run_check(check("check-1", "false", claim_ids=("both",)), run)
        await run_check(check("check-2", "true", claim_ids=("both", "passed")), run)
    with open_ledger(path) as ledger:
        found = {item.claim_id: item for item in read_claims(ledger).items}
    # What is recorded folds as the peer folds it, for every ledger; our reading stands beside it.
    assert (found["both"].status, found["both"].evidence_class) == ("refuted", "E3_REPRODUCED")
    assert (found["passed"].status, found["passed"].evidence_class) == (
        "asserted",
        "E3_REPRODUCED",
    )
    assert standing(verdicts_on(path, "both")) == "contested"
    assert standing(verdicts_on(path, "passed")) == "supported"


async def test_12_a_secret_reaches_the_command_and_not_the_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "sk-very-secret")
    async with run_on(path, ledger_key=lambda: KEY) as run:
        asked = check(
            "check-1",
            "sh",
            "-c",
            'test -n "$API_TOKEN" && test "$MONKEY" = harmless',
            environment={"MONKEY": "harmless"},
            environment_from=("API_TOKEN",),
        )
        outcome = await run_check(asked, run)
    assert outcome.verdict == "PASS"
    (requested,) = payloads(path, "check.requested")
    assert requested["environment"] == {"MONKEY": "harmless"}  # not dropped for its name
    assert list(requested["environment_from"]) == ["API_TOKEN"]
    assert b"sk-very-secret" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


async def test_18_a_check_id_that_comes_again_writes_no_evidence(path: Path) -> None:
    async with run_on(path) as run:
        await claim(run)
        await run_check(check("check-1", "true", claim_ids=("claim-1",)), run)
        before = kinds(path)
        with pytest.raises(AppendConflict):
            await run_check(check("check-1", "true", claim_ids=("claim-1",)), run)
    assert kinds(path) == before
    assert before.count("claim.evidence") == before.count("claim.verification_attempted") == 1
