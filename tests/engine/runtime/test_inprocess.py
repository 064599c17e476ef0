"""A function as a check: bound, counted and recorded like a command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.ambient import FixedClock, FixedIds
from codeai_engine.domain.check import CheckRequest
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.ledger.memory import MemoryLedger
from codeai_engine.rules.ttl import TTL_CHECK, ttl_problem
from codeai_engine.runtime.check import record_claim
from codeai_engine.runtime.inprocess import InProcessVerifier, Judgement, run_in_process
from codeai_engine.runtime.record import RunContext
from codeai_engine.verifiers.contract import check_verifier

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.inprocess import Judge

SOURCE = "The TTL is 1 minute for staging and 10 minutes for production."
RIGHT = b'{"seconds": 600, "quote": "10 minutes"}'
WRONG = b'{"seconds": 45000, "quote": "10 minutes"}'


def ttl_judge(content: bytes) -> Judgement:
    problem = ttl_problem(content.decode(), SOURCE)
    return Judgement(problem is None, problem)


def context() -> RunContext:
    return RunContext(MemoryLedger(clock=FixedClock()), FixedClock(), FixedIds(), "session-1")


async def judged(
    run: RunContext, judge: Judge, content: bytes = RIGHT, *, is_stored: bool = True
) -> CheckOutcome:
    """Record a claim, store what is judged, and run the check on it."""
    artifact = ArtifactDraft(content, "raw_model_output", "text/plain")
    if is_stored:
        await run.ledger.append([EventDraft("e", "s", "test.stored", "test", {})], [artifact])
    await record_claim(
        run,
        claim_id="claim-1",
        task_id="task-1",
        statement="The TTL is 600.",
        source_call_id=None,
        actor_id="rung-free",
    )
    request = CheckRequest(
        "check-1", "task-1", ("claim-1",), target=f"artifact:sha256:{artifact.artifact_id}"
    )
    return await run_in_process(request, run, InProcessVerifier(TTL_CHECK, "1", judge))


async def kinds(run: RunContext, stream_id: str) -> list[str]:
    return [row.kind for row in await run.ledger.stream(stream_id)]


async def completion(run: RunContext) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await run.ledger.stream("check-1"))[-1].payload_json)
    return found


async def test_true_is_pass_and_promotes_what_it_names() -> None:
    run = context()
    outcome = await judged(run, ttl_judge)
    assert (outcome.verdict, outcome.artifact_binding.status) == ("PASS", "bound")
    assert await kinds(run, "check-1") == ["check.requested", "check.started", "check.completed"]
    assert await kinds(run, "claim-1") == [
        "claim.recorded",
        "claim.verification_attempted",
        "claim.evidence",
    ]


async def test_false_is_fail_and_its_reason_name_is_kept() -> None:
    run = context()
    outcome = await judged(run, ttl_judge, WRONG)
    assert outcome.verdict == "FAIL"
    assert (await completion(run))["details"] == "seconds_do_not_follow_from_quote"
    assert (await kinds(run, "claim-1"))[-1] == "claim.status"


async def test_a_bare_boolean_is_a_judgement_too() -> None:
    assert (await judged(context(), lambda content: content == RIGHT)).verdict == "PASS"
    assert (await judged(context(), lambda content: content != RIGHT)).verdict == "FAIL"


async def test_a_crash_is_error_and_moves_nothing() -> None:
    run = context()
    outcome = await judged(run, lambda content: bool(content[10_000]))
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 1)
    assert "IndexError" in (outcome.error or "")
    assert await kinds(run, "claim-1") == ["claim.recorded", "claim.verification_attempted"]


@pytest.mark.parametrize("answer", [1, "yes", None, Judgement("yes")])  # type: ignore[arg-type] # wrong on purpose
async def test_what_is_no_judgement_is_error_and_never_pass(answer: Any) -> None:
    outcome = await judged(context(), lambda _content: answer)
    assert outcome.verdict == "ERROR"
    assert "not a judgement" in (outcome.error or "")


async def test_bytes_that_were_never_stored_are_not_judged() -> None:
    calls: list[bytes] = []

    def judge(content: bytes) -> bool:
        calls.append(content)
        return True

    run = context()
    outcome = await judged(run, judge, is_stored=False)
    assert (outcome.verdict, outcome.artifact_binding.status) == ("ERROR", "missing")
    assert (outcome.invocations, calls) == (0, [])


async def test_a_check_that_names_no_artifact_is_error() -> None:
    run = context()
    verifier = InProcessVerifier(TTL_CHECK, "1", ttl_judge)
    outcome = await run_in_process(CheckRequest("check-1", "task-1"), run, verifier)
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 0)


async def test_it_keeps_the_contract_of_a_verifier(tmp_path: Path) -> None:
    (tmp_path / "right").write_bytes(RIGHT)
    (tmp_path / "wrong").write_bytes(WRONG)

    def request(name: str) -> CheckRequest:
        return CheckRequest(name, "task-1", command=(TTL_CHECK, str(tmp_path / name)))

    await check_verifier(
        InProcessVerifier(TTL_CHECK, "1", ttl_judge),
        passing=request("right"),
        failing=request("wrong"),
        impossible=CheckRequest("none", "task-1"),
    )
