"""What a branch says of its work, and what checks find, as soon as the branch completes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from codeai_engine import open_engine, open_ledger
from codeai_engine.digests import sha256_hex
from codeai_engine.domain.check import CheckRequest, ExitCodePolicy
from codeai_engine.errors import SpecError
from codeai_engine.rules.lineage import event_lineage
from codeai_engine.runtime.planned import ChecksRequest, PlannedCheck, PlannedClaim
from codeai_engine.verifiers.state import FileDigest
from tests.engine.runtime.doubles import (
    FakeProvider,
    answering,
    branch,
    fanout,
    item,
    raising,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.adapters.base import PreparedRequest, Wire
    from codeai_engine.domain.view import EventRow

SUCCESS = b'{"status": "success", "note": "All tests pass."}'
SUCCEED = "import sys; print('looked at', len(open(sys.argv[1]).read())); sys.exit(0)"
FAIL = "import sys; print('real stdout'); sys.exit('success' in open(sys.argv[1]).read())"


def program(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


def check(check_id: str = "check-1", code: str = FAIL, **own: Any) -> PlannedCheck:
    asked = {key: own.pop(key) for key in list(own) if key in CheckRequest.__slots__}
    fields: dict[str, Any] = {"command": program(code, "{artifact}"), "timeout_s": 60.0}
    planned: dict[str, Any] = {"branch": "A", "of_output": True}
    return PlannedCheck(CheckRequest(check_id, "task-1", **(fields | asked)), **(planned | own))


def says(claim_id: str = "claim-1", name: str = "A", pointer: str = "/note") -> PlannedClaim:
    return PlannedClaim(claim_id, name, pointer=pointer)


def rows_of(path: Path) -> tuple[EventRow, ...]:
    with open_ledger(path) as ledger:
        return ledger.rows(limit=10_000)


def on_stream(path: Path, stream_id: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (row.kind, json.loads(row.payload_json))
        for row in rows_of(path)
        if row.stream_id == stream_id
    ]


def kinds(path: Path, stream_id: str) -> list[str]:
    return [kind for kind, _ in on_stream(path, stream_id)]


async def test_the_branch_says_success_and_the_check_that_looks_says_fail(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    request = fanout(
        branch("A", FakeProvider(answering(SUCCESS))),
        claims=(says(),),
        checks=(check(claim_ids=("claim-1",)),),
    )
    (outcome,) = await run_on(path, request)
    (found,) = outcome.checks
    assert (found.verdict, found.artifact_binding.status) == ("FAIL", "bound")
    assert "real stdout" in (found.result.stdout or "")
    (recorded, claim), (attempted, _), (moved, status) = on_stream(path, "claim-1")
    assert (recorded, attempted, moved) == (
        "claim.recorded",
        "claim.verification_attempted",
        "claim.status",
    )
    assert claim["statement"] == "All tests pass."
    assert claim["source_call_id"] == "call-A"
    assert claim["source_artifact_id"] == sha256_hex(SUCCESS)
    assert claim["anchors"] == [{"statement_pointer": "/note"}]
    assert status["status"] == "refuted"
    by = {row.kind: row.actor_id for row in rows_of(path)}
    assert (by["claim.recorded"], by["check.completed"]) == ("actor-A", "verifier")


async def test_a_check_of_a_branch_says_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    answer = FakeProvider(answering(b"fine"))
    (outcome,) = await run_on(path, fanout(branch("A", answer), checks=(check(code=SUCCEED),)))
    _, requested = on_stream(path, "check-1")[0]
    assert requested["target"] == f"artifact:sha256:{sha256_hex(b'fine')}"
    assert requested["metadata"] == {
        "spec_id": "check-1",
        "fanout_id": outcome.fanout_id,
        "branch": "A",
        "call_id": "call-A",
    }
    assert outcome.checks[0].verdict == "PASS"


async def test_what_a_check_wrote_carries_the_lineage_of_the_output_it_quotes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    request = fanout(
        branch("A", FakeProvider(answering(SUCCESS))), claims=(says(),), checks=(check(),)
    )
    await run_on(path, request)
    for row in rows_of(path):
        if row.kind in ("check.requested", "check.completed", "claim.recorded"):
            assert {"call-A", sha256_hex(SUCCESS)} <= event_lineage(row)


async def test_checks_run_as_soon_as_their_branch_completes(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    checked = anyio.Event()

    async def until_checked(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        with anyio.fail_after(60):
            await checked.wait()
        wire.sent()
        return b"late"

    def on_step(name: str, step: str) -> None:
        if (name, step) == ("A", "check check-1: PASS"):
            checked.set()

    request = fanout(
        branch("A", FakeProvider(answering(b"early"))),
        branch("B", FakeProvider(until_checked)),
        checks=(check(code=SUCCEED),),
    )
    async with open_engine(path) as engine:
        outcome = await engine.run_fanout(request, on_step=on_step)
    assert outcome.statuses == ["succeeded", "succeeded"]
    assert rows_of(path)[-2].kind == "fanout.completed"


async def test_a_check_of_each_branch_gets_the_output_of_that_branch(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    request = fanout(
        branch("A", FakeProvider(answering(b"success"))),
        branch("B", FakeProvider(answering(b"other"))),
        claims=(PlannedClaim("about-A", "A", statement="A is right."),),
        checks=(check("each", branch="*", claim_ids=("about-A", "older")),),
    )
    (outcome,) = await run_on(path, request)
    assert [(one.check_id, one.verdict) for one in outcome.checks] == [
        ("each:A", "FAIL"),
        ("each:B", "PASS"),
    ]
    # B's work neither supports nor refutes what is said of A.
    assert kinds(path, "about-A")[1:] == ["claim.verification_attempted", "claim.status"]
    assert kinds(path, "older") == ["claim.verification_attempt_refused"] * 2


@pytest.mark.parametrize(
    ("output", "reason"),
    [(b"All tests pass.", "output_not_json"), (b'{"ok": true}', "nothing_at_pointer")],
)
async def test_a_claim_that_the_branch_did_not_make_is_refused_on_the_record(
    tmp_path: Path, output: bytes, reason: str
) -> None:
    path = tmp_path / "l.db"
    request = fanout(
        branch("A", FakeProvider(answering(output))),
        claims=(says(),),
        checks=(check(code=SUCCEED, claim_ids=("claim-1",)),),
    )
    (outcome,) = await run_on(path, request)
    assert outcome.checks[0].verdict == "PASS"
    (kind, refused), (attempt, _) = on_stream(path, "claim-1")
    assert (kind, attempt) == ("claim.refused", "claim.verification_attempt_refused")
    assert refused["reasons"] == [reason]
    assert refused["request"]["statement_pointer"] == "/note"
    assert refused["detail"]["source_artifact_id"] == sha256_hex(output)


async def test_a_check_of_a_failed_branch_is_error_missing_and_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    ran = tmp_path / "ran"
    touch = f"open({str(ran)!r}, 'w')"
    request = fanout(
        branch("A", FakeProvider(raising(OSError("reset")))),
        claims=(says(), PlannedClaim("by-spec", "A", statement="It is right.")),
        checks=(
            check("of-output", touch, claim_ids=("by-spec", "claim-1")),
            check("unbound", touch, of_output=False, command=program(touch)),
        ),
    )
    (outcome,) = await run_on(path, request)
    for found in outcome.checks:
        assert (found.verdict, found.artifact_binding.status) == ("ERROR", "missing")
        assert found.error == "branch 'A' failed, so that it left nothing to check"
        assert found.invocations == 0
    assert not ran.exists()
    assert kinds(path, "of-output") == ["check.requested", "check.completed"]
    assert kinds(path, "by-spec") == ["claim.recorded", "claim.verification_attempted"]
    assert kinds(path, "claim-1") == ["claim.refused", "claim.verification_attempt_refused"]


async def test_a_refused_branch_is_checked_as_a_failed_one(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    base = item("Needed.")
    from codeai_engine.domain.context import Seal

    request = fanout(
        branch("A"),
        base=(base,),
        seal=Seal(forbidden_artifact_ids=frozenset({base.item_id})),
        checks=(check(),),
    )
    (outcome,) = await run_on(path, request)
    assert outcome.checks[0].artifact_binding.status == "missing"


async def test_the_state_at_the_start_is_what_a_check_must_find(tmp_path: Path) -> None:
    path, file = tmp_path / "l.db", tmp_path / "paragraph.md"
    file.write_text("before")

    async def rewrite(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        wire.sent()
        file.write_text("after")
        return b"done"

    still = check("still", SUCCEED, branch="A", resolver=FileDigest(file), at_start=True)
    stale = check("stale", SUCCEED, branch="B", resolver=FileDigest(file), at_start=True)
    request = fanout(branch("A"), checks=(still,))
    (first,) = await run_on(path, request)
    assert (first.checks[0].verdict, first.checks[0].binding.status) == ("PASS", "bound")
    request = fanout(branch("B", FakeProvider(rewrite)), checks=(stale,))
    (second,) = await run_on(path, request, series=1)
    found = second.checks[0]
    assert (found.verdict, found.binding.status, found.invocations) == ("ERROR", "mismatch", 0)
    assert found.binding.requested == sha256_hex(b"before")
    assert found.binding.observed == sha256_hex(b"after")


async def test_a_state_that_cannot_be_read_at_the_start_is_refused_before_a_file_is_made(
    tmp_path: Path,
) -> None:
    gone = check(resolver=FileDigest(tmp_path / "gone"), at_start=True)
    with pytest.raises(SpecError, match="cannot be read at the start"):
        await run_on(tmp_path / "l.db", fanout(branch("A"), checks=(gone,)))
    assert not (tmp_path / "l.db").exists()


async def test_a_spec_can_be_run_again_and_its_ids_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "l.db"

    def request(name: str) -> Any:
        return fanout(
            branch(name, FakeProvider(answering(SUCCESS))),
            claims=(says(name=name),),
            checks=(check(branch=name, claim_ids=("claim-1",)),),
        )

    first, second = await run_on(path, request("A"), request("B"))
    (third,) = await run_on(path, request("C"), series=1)
    ids = [outcome.checks[0].check_id for outcome in (first, second, third)]
    assert ids == ["check-1", "check-1~2", "check-1~3"]
    assert kinds(path, "claim-1~3") == kinds(path, "claim-1")


async def test_the_same_spec_twice_at_once_takes_two_ids(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    outcomes: list[Any] = []
    async with open_engine(path) as engine, anyio.create_task_group() as group:

        async def run(name: str) -> None:
            answer = FakeProvider(answering(b"fine"))
            request = fanout(branch(name, answer), checks=(check(code=SUCCEED, branch=name),))
            outcomes.append(await engine.run_fanout(request))

        for name in "ABC":
            group.start_soon(run, name)
    found = [outcome.checks[0] for outcome in outcomes]
    assert {one.check_id for one in found} == {"check-1", "check-1~2", "check-1~3"}
    assert {one.verdict for one in found} == {"PASS"}


async def test_a_run_that_is_stopped_records_every_check_that_waited(tmp_path: Path) -> None:
    path, ran = tmp_path / "l.db", tmp_path / "ran"
    touch = f"open({str(ran)!r}, 'w')"
    started = f"open({str(tmp_path / 'started')!r}, 'w'); import time; time.sleep(600)"
    request = fanout(
        branch("A", FakeProvider(answering(b"fine"))),
        checks=(
            check("running", started),
            check("waiting", touch),
            check("unbound", of_output=False, command=program(touch)),
        ),
    )

    async with open_engine(path) as engine, anyio.create_task_group() as group:
        group.start_soon(engine.run_fanout, request)
        with anyio.fail_after(60):
            while not (tmp_path / "started").exists():  # noqa: ASYNC110 - a program says so
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    for check_id in ("running", "waiting", "unbound"):
        _, completed = on_stream(path, check_id)[-1]
        assert completed["verdict"] == "ERROR"
        assert completed["error"] == "cancelled: caller"
    assert kinds(path, "waiting") == ["check.requested", "check.completed"]
    assert not ran.exists()
    assert rows_of(path)[-2].kind == "fanout.completed"


async def test_a_check_may_look_at_a_base_item_and_be_inconclusive(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    base = item("The base text.")
    asked = check(
        code="import sys; sys.exit(2 if 'base' in open(sys.argv[1]).read() else 9)",
        of_output=False,
        target=f"artifact:sha256:{base.item_id}",
        verdict_policy=ExitCodePolicy(fail_codes=(1,), inconclusive_codes=(2,)),
    )
    (outcome,) = await run_on(path, fanout(branch("A"), base=(base,), checks=(asked,)))
    (found,) = outcome.checks
    assert (found.verdict, found.artifact_binding.status) == ("INCONCLUSIVE", "bound")
    assert "exit code 2" in (found.result.inconclusive_reason or "")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"checks": (check(), check())}, "'check-1' is used 2 times"),
        ({"claims": (says(), says())}, "'claim-1' is used 2 times"),
        ({"checks": (check(branch="Z"),)}, "no branch 'Z'; allowed: A, B"),
        ({"claims": (says(name="*"),)}, "no branch '\\*'; allowed: A, B"),
        (
            {"claims": (says(),), "checks": (check(branch="B", claim_ids=("claim-1",)),)},
            "'claim-1' is about branch 'A'",
        ),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        await run_on(tmp_path / "l.db", fanout(branch("A"), branch("B"), **changed))
    assert not (tmp_path / "l.db").exists()


async def test_checks_without_a_fanout_store_what_they_look_at(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    subject = item("a patch").draft
    assert subject is not None
    target = f"artifact:sha256:{subject.artifact_id}"
    bound = check(
        code=SUCCEED,
        branch=None,
        of_output=False,
        target=target,
        subject=subject,
        claim_ids=("claim-1",),
    )
    again = replace(bound, asked=replace(bound.asked, check_id="later"), subject=None)
    request = ChecksRequest(
        "task-1", (bound, again), (PlannedClaim("claim-1", statement="It is good."),)
    )
    async with open_engine(path) as engine:
        outcomes = await engine.run_checks(request)
    assert [outcome.verdict for outcome in outcomes] == ["PASS", "PASS"]
    assert [row.kind for row in rows_of(path)][:3] == [
        "session.started",
        "claim.recorded",
        "check.requested",
    ]
    assert kinds(path, "claim-1").count("claim.evidence") == 2
