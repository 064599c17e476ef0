"""One check: what binds it, when the verifier is invoked, and what stands in the record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from codeai_engine import open_ledger
from codeai_engine.domain.check import (
    CapturedOutput,
    CheckRequest,
    CheckResult,
    CheckVerdict,
    ExitCodePolicy,
)
from codeai_engine.errors import AppendConflict, PayloadRefused, VerifierError
from codeai_engine.runtime import check as runtime_check
from codeai_engine.runtime.check import run_check
from codeai_engine.verifiers.state import FileDigest
from tests.engine.runtime.checks import (
    FakeResolver,
    FakeVerifier,
    check,
    claim,
    completed,
    kinds,
    payloads,
    rows,
    run_on,
    store,
)

ALONE = ["check.requested", "check.started", "check.completed"]
NOT_INVOKED = ["check.requested", "check.completed"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


async def test_a_check_contradicts_the_claim_and_leaves_it_as_it_was_said(path: Path) -> None:
    statement = '{"status": "success", "tests_passed": true}'
    async with run_on(path) as run:
        said = await claim(run, statement=statement)
        outcome = await run_check(
            check("check-1", "sh", "-c", "echo real stdout; exit 1", claim_ids=("claim-1",)), run
        )
    assert outcome.verdict == CheckVerdict.FAIL
    assert "real stdout" in (outcome.result.stdout or "")
    assert rows(path)[0] == said
    assert completed(path)["stdout"] == "real stdout\n"
    assert kinds(path) == [
        "claim.recorded",
        *ALONE,
        "claim.verification_attempted",
        "claim.status",
    ]


async def test_a_stale_state_is_refused_without_an_invocation(path: Path) -> None:
    verifier = FakeVerifier()
    async with run_on(path) as run:
        outcome = await run_check(
            check("check-2", target_state_hash="state-B"),
            run,
            verifier=verifier,
            resolver=FakeResolver("state-A"),
        )
    assert (outcome.verdict, outcome.binding.status) == ("ERROR", "mismatch")
    assert verifier.calls == outcome.invocations == 0
    assert kinds(path) == NOT_INVOKED
    assert completed(path)["binding"]["observed_state_hash"] == "state-A"


async def test_a_requested_state_without_a_resolver_is_unavailable(path: Path) -> None:
    verifier = FakeVerifier()
    async with run_on(path) as run:
        outcome = await run_check(
            check("check-3", target_state_hash="state-A"), run, verifier=verifier
        )
    assert outcome.verdict == "ERROR"
    assert outcome.error == "target state unavailable: requested binding cannot be checked"
    assert verifier.calls == 0
    assert completed(path)["observed_target_state_hash"] is None
    assert completed(path)["binding_status"] == "unavailable"


async def test_the_reading_that_permitted_a_check_stays_on_its_result(path: Path) -> None:
    async with run_on(path) as run:
        outcome = await run_check(
            check("check-4", target_state_hash="state-A"),
            run,
            verifier=FakeVerifier(),
            resolver=FakeResolver("state-A"),
        )
    assert outcome.result.observed_target_state_hash == "state-A"
    assert (outcome.verdict, outcome.binding.status) == ("PASS", "bound")
    assert completed(path)["state_after"]["status"] == outcome.state_after == "stable"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (OSError("disk gone"), "target state observation failed: OSError: disk gone"),
        (VerifierError("no such file"), "target state observation failed: no such file"),
        (7, "target state observation failed: resolver returned int, no digest"),
        ("\udc00", "target state observation failed: resolver returned str, no digest"),
    ],
)
async def test_a_state_that_cannot_be_read_is_an_error_without_an_invocation(
    path: Path, state: object, reason: str
) -> None:
    verifier = FakeVerifier()
    async with run_on(path) as run:
        outcome = await run_check(
            check(target_state_hash="state-A"),
            run,
            verifier=verifier,
            resolver=FakeResolver(state),
        )
    assert (outcome.verdict, outcome.error, verifier.calls) == ("ERROR", reason, 0)
    assert kinds(path) == NOT_INVOKED


async def test_the_state_is_read_once_before_and_a_move_shows_after(path: Path) -> None:
    resolver = FakeResolver("state-A", "state-B", "state-C")
    reads: list[int] = []
    verifier = FakeVerifier(look=lambda _request: reads.append(resolver.reads))
    async with run_on(path) as run:
        outcome = await run_check(
            check(target_state_hash="state-A"), run, verifier=verifier, resolver=resolver
        )
    assert (reads, resolver.reads) == ([1], 2)
    assert (outcome.verdict, outcome.state_after) == ("PASS", "moved")
    assert completed(path)["observed_target_state_hash"] == "state-A"
    assert completed(path)["state_after"]["observed_state_hash"] == "state-B"


async def test_a_state_that_is_gone_after_the_command_is_said_so(
    path: Path, tmp_path: Path
) -> None:
    subject = tmp_path / "subject"
    subject.write_text("one")
    resolver = FileDigest(subject)
    async with run_on(path) as run:
        asked = check("check-1", "rm", str(subject), target_state_hash=await resolver.read())
        outcome = await run_check(asked, run, resolver=resolver)
    assert (outcome.verdict, outcome.state_after) == ("PASS", "unavailable")


async def test_an_unbound_check_takes_no_reading(path: Path) -> None:
    resolver = FakeResolver("state-A")
    async with run_on(path) as run:
        outcome = await run_check(check(), run, verifier=FakeVerifier(), resolver=resolver)
    assert (outcome.binding.status, resolver.reads, outcome.state_after) == ("unbound", 0, None)
    assert completed(path)["state_after"] is None


@pytest.mark.parametrize("requested", ["state-A", None])
async def test_what_a_verifier_says_of_the_state_is_overwritten(
    path: Path, requested: str | None
) -> None:
    lying = FakeVerifier({"verdict": "PASS", "observed_target_state_hash": "state-LIE"})
    async with run_on(path) as run:
        outcome = await run_check(
            check(target_state_hash=requested),
            run,
            verifier=lying,
            resolver=FakeResolver("state-A"),
        )
    assert outcome.result.observed_target_state_hash == requested
    assert completed(path)["observed_target_state_hash"] == requested


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ValueError("broken checker"), "verifier raised ValueError: broken checker"),
        (SystemExit(3), "verifier raised SystemExit: 3"),
        (KeyboardInterrupt(), "verifier raised KeyboardInterrupt: "),
        ([], "verifier returned list, not a CheckResult"),
        (CheckResult("someone-else", "PASS"), "a result for check 'someone-else'"),
        ({"verdict": "INCONCLUSIVE"}, "inconclusive result carries no reason"),
        ({"verdict": "MAYBE"}, "verifier returned an unknown verdict: 'MAYBE'"),
    ],
)
async def test_a_broken_verifier_is_invoked_once_and_survives_reopening_as_an_error(
    path: Path, answer: object, error: str
) -> None:
    verifier = FakeVerifier(answer)
    async with run_on(path) as run:
        await claim(run)
        outcome = await run_check(check(claim_ids=("claim-1",)), run, verifier=verifier)
    assert (outcome.verdict, outcome.invocations, verifier.calls) == ("ERROR", 1, 1)
    assert error in completed(path)["error"]
    assert kinds(path) == ["claim.recorded", *ALONE, "claim.verification_attempted"]


async def test_a_cancellation_of_a_verifiers_own_is_an_error_and_stops_nobody(path: Path) -> None:
    verifier = FakeVerifier(anyio.get_cancelled_exc_class()())
    async with run_on(path) as run:
        outcome = await run_check(check(), run, verifier=verifier)
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 1)


class Unanswering:
    """Never answers; `invoked` is set when it is asked."""

    name, version = "unanswering", "1"

    def __init__(self) -> None:
        self.invoked = anyio.Event()

    async def verify(self, _request: CheckRequest) -> CheckResult:
        self.invoked.set()
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_stopped_check_is_recorded_and_the_cancellation_goes_on(path: Path) -> None:
    verifier = Unanswering()
    went_on = False

    async def carry_out() -> None:
        nonlocal went_on
        await run_check(check(claim_ids=("claim-1",)), run, verifier=verifier)
        went_on = True

    async with run_on(path, stop_cause=lambda: "signal") as run:
        await claim(run)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(carry_out)
            await verifier.invoked.wait()
            tasks.cancel_scope.cancel()
    assert not went_on
    assert completed(path)["error"] == "cancelled: signal"
    assert kinds(path) == ["claim.recorded", *ALONE, "claim.verification_attempted"]


class Lingering:
    """Reads a state once; the second reading never ends."""

    def __init__(self) -> None:
        self.second = anyio.Event()
        self._reads = 0

    async def read(self) -> str:
        self._reads += 1
        if self._reads > 1:
            self.second.set()
            await anyio.sleep_forever()
        return "state-A"


async def test_a_verdict_that_was_reached_stands_when_the_second_reading_is_stopped(
    path: Path,
) -> None:
    resolver = Lingering()

    async def carry_out() -> None:
        asked = check(target_state_hash="state-A", claim_ids=("claim-1",))
        await run_check(asked, run, verifier=FakeVerifier({"verdict": "FAIL"}), resolver=resolver)

    async with run_on(path) as run:
        await claim(run)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(carry_out)
            await resolver.second.wait()
            tasks.cancel_scope.cancel()
    assert (completed(path)["verdict"], kinds(path)[-1]) == ("FAIL", "claim.status")
    assert completed(path)["state_after"] == {
        "status": "unavailable",
        "observed_state_hash": None,
        "reason": "cancelled: caller",
    }


async def test_a_verifier_that_never_answers_ends_past_the_deadline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_check, "GRACE_S", 0.0)
    verifier = Unanswering()
    async with run_on(path) as run:
        outcome = await run_check(check(timeout_s=0.01), run, verifier=verifier)
    assert (outcome.verdict, outcome.error) == (
        "ERROR",
        "verification timed out after 0.01 seconds",
    )


async def test_a_named_artifact_that_the_command_never_gets_is_unconsumed(path: Path) -> None:
    async with run_on(path) as run:
        target = await store(run, b"subject")
        outcome = await run_check(
            check("check-1", "python", "-c", "import sys; sys.exit(0)", target=target), run
        )
    assert (outcome.verdict, outcome.artifact_binding.status) == ("ERROR", "unconsumed")
    assert kinds(path) == NOT_INVOKED


async def test_a_command_that_takes_the_path_and_ignores_it_is_bound_and_passes(
    path: Path,
) -> None:
    async with run_on(path) as run:
        target = await store(run, b"subject")
        asked = check(
            "check-1", "python", "-c", "import sys; sys.exit(0)", "{artifact}", target=target
        )
        outcome = await run_check(asked, run)
    assert (outcome.verdict, outcome.artifact_binding.status) == ("PASS", "bound")
    assert payloads(path, "check.requested")[0]["command"][-1] == "{artifact}"
    assert completed(path)["consumption"] is None  # supplied, not observed


async def test_the_bytes_a_command_gets_are_the_verified_ones_in_a_fresh_folder(
    path: Path,
) -> None:
    script = 'cat "$0"; ls -A "$(dirname "$0")"; echo more > "$(dirname "$0")/mine"; chmod 0 "$0"'
    async with run_on(path) as run:
        target = await store(run, b"subject\xff\n")
        asked = check("check-1", "sh", "-c", script, "{artifact}", target=target)
        outcome = await run_check(asked, run)
        again = await run_check(check("check-2", *asked.command, target=target), run)
    for found in (outcome, again):
        assert found.result.captured_stdout is not None
        assert found.result.captured_stdout.content == b"subject\xff\nartifact\n"
    places = {started["argv"][-1] for started in payloads(path, "check.started")}
    assert len(places) == 2
    assert not any(Path(place).parent.exists() for place in places)


@pytest.mark.parametrize("stored", [None, b"changed"])
async def test_bytes_that_are_gone_or_altered_are_no_subject(
    path: Path, stored: bytes | None
) -> None:
    async with run_on(path) as run:
        target = await store(run, b"subject")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER artifact_bytes_update")
        connection.execute("DROP TRIGGER artifact_bytes_delete")
        if stored is None:
            connection.execute("DELETE FROM artifact_bytes")
        else:
            connection.execute("UPDATE artifact_bytes SET bytes = ?", (stored,))
    async with run_on(path) as run:
        outcome = await run_check(check("check-1", "cat", "{artifact}", target=target), run)
    assert outcome.artifact_binding.status == ("missing" if stored is None else "mismatch")
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 0)
    assert kinds(path) == NOT_INVOKED


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ({"command": ()}, "verification command is required"),
        ({"command": ("no-such-program-of-ours",)}, "there is no program"),
        ({"command": ("cat", "{artifact}")}, "the check names no artifact"),
        ({"environment_from": ("NOT_SET_ANYWHERE",)}, "has no NOT_SET_ANYWHERE"),
        ({"verdict_policy": ExitCodePolicy((0,), (0,))}, "in two ways"),
    ],
)
async def test_what_cannot_be_carried_out_as_asked_is_an_error_without_an_invocation(
    path: Path, own: dict[str, Any], error: str
) -> None:
    command = own.pop("command", ("true",))
    async with run_on(path) as run:
        outcome = await run_check(check("check-1", *command, **own), run)
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 0)
    assert error in (outcome.error or "")
    assert kinds(path) == NOT_INVOKED


async def test_a_failed_launch_is_an_error_that_was_tried_once(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o700)
    async with run_on(path) as run:
        outcome = await run_check(check("check-1", str(broken)), run)
    assert (outcome.verdict, outcome.invocations) == ("ERROR", 1)
    assert "cannot be started" in completed(path)["error"]


async def test_a_request_that_no_payload_can_hold_writes_nothing(path: Path) -> None:
    async with run_on(path) as run:
        with pytest.raises(PayloadRefused):
            await run_check(check(metadata={"ratio": float("nan")}), run, verifier=FakeVerifier())
    assert rows(path) == ()


async def test_request_and_result_name_the_policy_that_was_declared(path: Path) -> None:
    policy = ExitCodePolicy((0,), (1,), (2,), "mine-v1")
    async with run_on(path) as run:
        await run_check(check("check-1", "sh", "-c", "exit 2", verdict_policy=policy), run)
    (requested,) = payloads(path, "check.requested")
    assert requested["verdict_policy"] == policy.to_payload()
    assert completed(path)["declared_verdict_policy"] == policy.to_payload()
    assert completed(path)["verdict_policy_id"] == "mine-v1"
    assert "mine-v1" in completed(path)["inconclusive_reason"]


async def test_the_record_names_the_verifier_the_request_and_their_order(path: Path) -> None:
    async with run_on(path) as run:
        await run_check(check("check-1", "true", target="a label", environment_hash="e"), run)
    requested, started, done = rows(path)
    assert {row.stream_id for row in rows(path)} == {"check-1"}
    assert started.causation_id == done.causation_id == requested.event_id
    assert {row.correlation_id for row in rows(path)} == {"task-1"}
    payload = payloads(path, "check.requested")[0]
    assert (payload["target"], payload["environment_hash"]) == ("a label", "e")
    assert payloads(path, "check.started")[0]["argv"] == ["true"]
    assert completed(path)["verifier_identity"] == {
        "name": "LocalCommandVerifier",
        "module": "codeai_engine.verifiers.process",
        "version": "codeai-tui-local-command-v1",
    }


async def test_inline_output_is_a_head_and_the_artifact_is_the_whole(path: Path) -> None:
    code = "import sys; sys.stdout.write('\u00e9' * 70_000); sys.stderr.write('e' * 65_536)"
    async with run_on(path) as run:
        outcome = await run_check(check("check-1", "python", "-X", "utf8", "-c", code), run)
    found = completed(path)
    assert (len(found["stdout"]), found["stdout_truncated"]) == (65_536, True)
    assert (len(found["stderr"]), found["stderr_truncated"]) == (65_536, False)
    stdout, stderr = found["artifacts"]
    assert (stdout["artifact_type"], stderr["artifact_type"]) == (
        "command_stdout",
        "command_stderr",
    )
    assert stdout["byte_length"] == found["stdout_bytes"] == 140_000
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(stdout["artifact_id"]) == "\u00e9".encode() * 70_000
    assert outcome.verdict == "PASS"


async def test_text_that_is_no_text_is_stored_as_visible_escapes(path: Path) -> None:
    odd = "a\udc00b"
    answer = {"verdict": "INCONCLUSIVE", "inconclusive_reason": odd, "stdout": odd, "details": odd}
    async with run_on(path) as run:
        await run_check(check(), run, verifier=FakeVerifier(answer))
    found = completed(path)
    assert {found["inconclusive_reason"], found["stdout"], found["details"]} == {"a\\udc00b"}


async def test_output_that_a_verifier_cut_is_marked(path: Path) -> None:
    cut = CapturedOutput(b"head", 9)
    answer = {"verdict": "PASS", "stdout": "head", "captured_stdout": cut}
    async with run_on(path) as run:
        await run_check(check(), run, verifier=FakeVerifier(answer))
    found = completed(path)
    assert (found["stdout_truncated"], found["stdout_bytes"]) == (True, 9)
    assert found["artifacts"][0]["byte_length"] == 4


async def test_a_verdict_may_be_the_word_or_the_member(path: Path) -> None:
    async with run_on(path) as run:
        await run_check(check(), run, verifier=FakeVerifier({"verdict": CheckVerdict.PASS}))
    assert completed(path)["verdict"] == "PASS"


async def test_a_check_id_is_carried_out_once(path: Path) -> None:
    verifier = FakeVerifier()
    async with run_on(path) as run:
        await run_check(check(), run, verifier=verifier)
        with pytest.raises(AppendConflict, match=r"check\.requested"):
            await run_check(check(), run, verifier=verifier)
    assert verifier.calls == 1
    assert kinds(path) == ALONE
