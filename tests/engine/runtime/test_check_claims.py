"""What a check does to the claims that it names: attempts, refusals, effects, and their order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine import open_ledger
from codeai_engine.errors import AppendConflict
from codeai_engine.queries.claims import read_claims
from codeai_engine.runtime.check import run_check
from tests.engine.runtime.checks import (
    FakeVerifier,
    check,
    claim,
    completed,
    kinds,
    payloads,
    rows,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.writer import Ledger

PASSING = {"verdict": "PASS"}
UNSETTLED = {"verdict": "INCONCLUSIVE", "inconclusive_reason": "cannot tell"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


async def checked(path: Path, answer: Any, *claims: str, known: tuple[str, ...] = ()) -> None:
    async with run_on(path) as run:
        for claim_id in known:
            await claim(run, claim_id)
        await run_check(check(claim_ids=claims), run, verifier=FakeVerifier(answer))


async def test_a_claim_is_an_assertion_of_the_branch_that_made_it(path: Path) -> None:
    async with run_on(path) as run:
        row = await claim(run, source_artifact_id="a" * 64)
    assert (row.stream_id, row.actor_id, row.correlation_id) == ("claim-1", "actor-A", "task-1")
    (recorded,) = payloads(path, "claim.recorded")
    assert (recorded["status"], recorded["evidence_class"]) == ("asserted", "E0_ASSERTED")
    assert recorded["source_artifact_id"] == "a" * 64


async def test_a_claim_id_is_recorded_once(path: Path) -> None:
    async with run_on(path) as run:
        await claim(run)
        with pytest.raises(AppendConflict):
            await claim(run, statement="Another wording.")
    assert kinds(path) == ["claim.recorded"]


async def test_completion_attempts_and_effects_stand_in_this_order(path: Path) -> None:
    await checked(path, PASSING, "b", "nobody", "a", known=("a", "b"))
    done, *after = rows(path)[4:]
    assert [(row.kind, row.stream_id) for row in after] == [
        ("claim.verification_attempted", "b"),
        ("claim.verification_attempt_refused", "nobody"),
        ("claim.verification_attempted", "a"),
        ("claim.evidence", "b"),
        ("claim.evidence", "a"),
    ]
    assert [row.causation_id for row in after] == [done.event_id] * 3 + [None] * 2
    assert {row.created_at for row in after} == {done.created_at}  # one transaction


async def test_an_attempt_refers_to_its_check_and_carries_no_verdict(path: Path) -> None:
    await checked(path, PASSING, "a", known=("a",))
    (attempt,) = payloads(path, "claim.verification_attempted")
    done = next(row for row in rows(path) if row.kind == "check.completed")
    assert attempt == {
        "claim_id": "a",
        "check_id": "check-1",
        "check_completed_event_id": done.event_id,
        "version": "verification-v1",
    }


async def test_a_claim_that_is_named_twice_gets_one_attempt(path: Path) -> None:
    await checked(path, PASSING, "a", "a", known=("a",))
    assert kinds(path).count("claim.verification_attempted") == 1
    assert kinds(path).count("claim.evidence") == 1


@pytest.mark.parametrize("answer", [UNSETTLED, ValueError("broken")])
async def test_what_is_inadmissible_leaves_its_attempt_and_moves_nothing(
    path: Path, answer: object
) -> None:
    await checked(path, answer, "a", "nobody", known=("a",))
    assert kinds(path)[-2:] == [
        "claim.verification_attempted",
        "claim.verification_attempt_refused",
    ]
    with open_ledger(path) as ledger:
        found = {item.claim_id: item for item in read_claims(ledger).items}
    assert (found["a"].status, found["a"].evidence_class) == ("asserted", "E0_ASSERTED")
    assert found["a"].attempted == ("check-1",)


async def test_an_artifact_that_was_never_stored_is_an_attempt_and_no_evidence(path: Path) -> None:
    async with run_on(path) as run:
        await claim(run)
        asked = check(
            "check-1",
            "cat",
            "{artifact}",
            target=f"artifact:sha256:{'f' * 64}",
            claim_ids=("claim-1",),
        )
        await run_check(asked, run)
    assert completed(path)["artifact_binding_status"] == "missing"
    assert kinds(path) == [
        "claim.recorded",
        "check.requested",
        "check.completed",
        "claim.verification_attempted",
    ]


async def test_effects_say_that_naming_shows_no_adequacy(path: Path) -> None:
    await checked(path, PASSING, "a", known=("a",))
    assert payloads(path, "claim.evidence") == [
        {
            "claim_id": "a",
            "check_id": "check-1",
            "evidence_class": "E3_REPRODUCED",
            "details": "named, adequacy not shown",
        }
    ]
    other = path.with_name("other.db")
    await checked(other, {"verdict": "FAIL"}, "a", known=("a",))
    (refuting,) = payloads(other, "claim.status")
    assert (refuting["status"], refuting["details"]) == ("refuted", "named, adequacy not shown")


class ClaimsWhileReading:
    """A ledger in which someone records a claim just after it was found to be unknown.

    Args:
        inner: The ledger itself.
        late: Records the claim.
    """

    def __init__(self, inner: Ledger, late: Any) -> None:
        self._inner = inner
        self._late = [late]
        self.append = inner.append
        self.event = inner.event
        self.artifact_bytes = inner.artifact_bytes

    async def stream(self, stream_id: str) -> tuple[EventRow, ...]:
        found = await self._inner.stream(stream_id)
        if stream_id == "claim-1" and self._late:
            await self._late.pop()()
        return found


async def test_a_claim_that_is_recorded_meanwhile_is_known_when_the_check_completes(
    path: Path,
) -> None:
    async with run_on(path) as run:

        async def record() -> None:
            await claim(run)

        racing: Any = ClaimsWhileReading(run.ledger, record)
        await run_check(
            check(claim_ids=("claim-1",)),
            replace(run, ledger=racing),
            verifier=FakeVerifier(PASSING),
        )
    assert kinds(path)[2:] == [
        "claim.recorded",
        "check.completed",
        "claim.verification_attempted",
        "claim.evidence",
    ]
