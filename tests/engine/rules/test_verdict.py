"""Exit codes, policies, bindings and results of verifiers, as values."""

from __future__ import annotations

from typing import Any

import pytest

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.check import CapturedOutput, CheckResult, ExitCodePolicy
from codeai_engine.rules.verdict import (
    UNAVAILABLE,
    UNCONSUMED,
    bind_artifact,
    bind_state,
    named_artifact,
    normalise_result,
    policy_problem,
    read_exit_code,
)

CONTENT = b"The bytes that are named."
DIGEST = sha256_hex(CONTENT)
TARGET = f"artifact:sha256:{DIGEST}"
EXPLICIT = ExitCodePolicy((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("policy", "code", "verdict"),
    [
        (ExitCodePolicy(), 0, "PASS"),
        (ExitCodePolicy(), 1, "FAIL"),
        (ExitCodePolicy(), 255, "FAIL"),
        (ExitCodePolicy(inconclusive_codes=(2,)), 2, "INCONCLUSIVE"),
        (ExitCodePolicy(inconclusive_codes=(2,)), 3, "FAIL"),
        (ExitCodePolicy(pass_codes=(1,)), 0, "FAIL"),
        (EXPLICIT, 0, "PASS"),
        (EXPLICIT, 1, "FAIL"),
        (EXPLICIT, 2, "INCONCLUSIVE"),
        (EXPLICIT, 7, "ERROR"),
        (ExitCodePolicy(fail_codes=()), 1, "ERROR"),
    ],
)
def test_an_exit_code_means_what_was_declared(
    policy: ExitCodePolicy, code: int, verdict: str
) -> None:
    assert read_exit_code(policy, code)[0] == verdict


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (ExitCodePolicy(), "ERROR"),
        (EXPLICIT, "ERROR"),
        (ExitCodePolicy(fail_codes=(-9,)), "FAIL"),
        (ExitCodePolicy(inconclusive_codes=(-9,)), "INCONCLUSIVE"),
    ],
)
def test_a_signal_is_no_failure_unless_a_list_names_it(
    policy: ExitCodePolicy, verdict: str
) -> None:
    assert read_exit_code(policy, -9)[0] == verdict


def test_whatever_is_neither_pass_nor_fail_carries_a_reason_with_code_and_policy() -> None:
    assert read_exit_code(EXPLICIT, 2)[1] == "exit code 2 is declared inconclusive by exit-code-v1"
    assert read_exit_code(EXPLICIT, 7)[1] == (
        "exit code 7 is not mapped by exit-code-v1: pass=[0] fail=[1] inconclusive=[2]"
    )
    assert read_exit_code(EXPLICIT, 0)[1] is read_exit_code(EXPLICIT, 1)[1] is None


@pytest.mark.parametrize(
    ("policy", "part"),
    [
        (ExitCodePolicy((0,), (0,)), "in two ways"),
        (ExitCodePolicy((0,), None, (0,)), "in two ways"),
        (ExitCodePolicy((256,)), "255 is the largest"),
        (EXPLICIT, None),
        (ExitCodePolicy((0, 255), (-11,)), None),
    ],
)
def test_a_policy_that_cannot_be_read_is_found(policy: ExitCodePolicy, part: str | None) -> None:
    problem = policy_problem(policy)
    assert problem is None if part is None else part in (problem or "")


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        ((None,), "unbound", "no target state was requested"),
        (("a", "a"), "bound", None),
        (("a", "b"), "mismatch", "target state mismatch: expected a, observed b"),
        (("a",), "unavailable", UNAVAILABLE),
        (
            ("a", None, "OSError: disk gone"),
            "unavailable",
            "target state observation failed: OSError: disk gone",
        ),
    ],
)
def test_a_state_binding_says_what_was_asked_and_what_was_read(
    arguments: tuple[Any, ...], status: str, reason: str | None
) -> None:
    binding = bind_state(*arguments)
    assert binding.status == status
    assert binding.permits == (status in ("bound", "unbound"))
    assert binding.reason is None if reason is None else reason in (binding.reason or "")
    assert binding.to_payload() == {
        "requested_state_hash": arguments[0],
        "observed_state_hash": arguments[1] if status in ("bound", "mismatch") else None,
        "status": status,
        "reason": binding.reason,
        "version": "verification-v1",
    }


@pytest.mark.parametrize(
    ("target", "command", "content", "status", "reason"),
    [
        (None, ("true",), None, "unbound", "the check names no artifact"),
        ("patch.txt", ("true",), None, "unbound", "'patch.txt' does not name an artifact"),
        (TARGET, ("cat", "{artifact}"), CONTENT, "bound", None),
        (TARGET, ("cat", "--in={artifact}"), CONTENT, "bound", None),
        (TARGET, ("cat", "{artifact}"), None, "missing", "is not in the ledger"),
        (TARGET, ("cat", "{artifact}"), b"other", "mismatch", "artifact corruption detected"),
        (TARGET, ("true",), CONTENT, "unconsumed", UNCONSUMED),
        (TARGET, (), CONTENT, "unconsumed", UNCONSUMED),
    ],
)
def test_an_artifact_binding_says_which_bytes_were_given(
    target: str | None,
    command: tuple[str, ...],
    content: bytes | None,
    status: str,
    reason: str | None,
) -> None:
    binding = bind_artifact(target, command, content)
    assert binding.status == status
    assert binding.permits == (status in ("bound", "unbound"))
    assert binding.reason is None if reason is None else reason in (binding.reason or "")
    payload = binding.to_payload()
    assert payload["materialized"] == (status == "bound")
    assert payload["requested_artifact_sha256"] == (None if status == "unbound" else DIGEST)


@pytest.mark.parametrize(
    "target", [f"artifact:sha256:{DIGEST.upper()}", f"{TARGET}0", f" {TARGET}", DIGEST, TARGET[:-1]]
)
def test_only_the_exact_form_of_a_target_names_an_artifact(target: str) -> None:
    assert named_artifact(target) is None
    assert named_artifact(TARGET) == DIGEST


def normalised(result: object, policy: ExitCodePolicy = EXPLICIT) -> CheckResult:
    return normalise_result(result, policy, check_id="check-1")


@pytest.mark.parametrize(
    "result",
    [
        CheckResult("check-1", "PASS"),
        CheckResult("check-1", "FAIL", exit_code=1, verdict_policy_id="exit-code-v1"),
        CheckResult("check-1", "INCONCLUSIVE", inconclusive_reason="cannot tell"),
        CheckResult("check-1", "ERROR", error="broken"),
    ],
)
def test_a_result_that_is_one_stands_as_it_is(result: CheckResult) -> None:
    assert normalised(result) is result


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"verdict": "PASS"}, "verifier returned dict, not a CheckResult"),
        (None, "verifier returned NoneType, not a CheckResult"),
        (CheckResult("other", "PASS"), "verifier returned a result for check 'other'"),
        (CheckResult("check-1", "MAYBE"), "unknown verdict: 'MAYBE'"),  # type: ignore[arg-type]
        (CheckResult("check-1", ["PASS"]), "unknown verdict"),  # type: ignore[arg-type]
        (CheckResult("check-1", "INCONCLUSIVE"), "inconclusive result carries no reason"),
        (CheckResult("check-1", "ERROR"), "without a reason"),
        (CheckResult("check-1", "PASS", stdout=b"x"), "stdout"),  # type: ignore[arg-type]
        (CheckResult("check-1", "PASS", exit_code=True), "exit_code"),
        (CheckResult("check-1", "PASS", exit_code=2**53), "exit_code"),
        (CheckResult("check-1", "PASS", captured_stdout="x"), "captured"),  # type: ignore[arg-type]
        (CheckResult("check-1", "PASS", captured_stderr=CapturedOutput("x", 1)), "captured"),  # type: ignore[arg-type]
        (CheckResult("check-1", "PASS", captured_stderr=CapturedOutput(b"xy", 1)), "captured"),
        (CheckResult("check-1", "PASS", verdict_policy_id="mine"), "reports policy 'mine'"),
        (
            CheckResult("check-1", "PASS", exit_code=1, verdict_policy_id="exit-code-v1"),
            "verifier reports PASS; exit-code-v1 reads FAIL",
        ),
    ],
)
def test_a_malformed_result_is_an_error_and_never_a_verdict(result: object, error: str) -> None:
    found = normalised(result)
    assert (found.check_id, found.verdict) == ("check-1", "ERROR")
    assert error in (found.error or "")


def test_what_a_check_wrote_is_kept_where_only_its_verdict_is_malformed() -> None:
    wrote = CapturedOutput(b"said", 4)
    found = normalised(CheckResult("check-1", "INCONCLUSIVE", 2, "said", captured_stdout=wrote))
    assert (found.verdict, found.stdout, found.captured_stdout) == ("ERROR", "said", wrote)
