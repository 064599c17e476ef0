"""Exit code, policy and bindings to a verdict (DESIGN 9); what did not happen gives none."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from codeai_engine.digests import MAX_SAFE_INTEGER, sha256_hex
from codeai_engine.domain.check import (
    ARTIFACT_PLACE,
    ARTIFACT_TARGET,
    VERDICTS,
    CapturedOutput,
    CheckResult,
    ExitCodePolicy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.check import Verdict

VERIFICATION_VERSION = "verification-v1"
UNAVAILABLE = "target state unavailable: requested binding cannot be checked"
NOT_REQUESTED = "no target state was requested, so the check is not pinned to one"
NO_ARTIFACT = "the check names no artifact"
UNCONSUMED = (
    f"the command never references {ARTIFACT_PLACE}, "
    "so the artifact it claims to check was never given to it"
)
LARGEST_EXIT_CODE = 255  # what a system keeps of a larger one is its last eight bits

StateStatus = Literal["bound", "unbound", "mismatch", "unavailable"]
ArtifactStatus = Literal["bound", "unbound", "missing", "mismatch", "unconsumed"]
_PERMITTING = frozenset({"bound", "unbound"})
_ARTIFACT_TARGET = re.compile(re.escape(ARTIFACT_TARGET) + "([0-9a-f]{64})")
_TEXTS = (
    "stdout",
    "stderr",
    "details",
    "error",
    "inconclusive_reason",
    "observed_target_state_hash",
    "verdict_policy_id",
)


@dataclass(frozen=True, slots=True)
class StateBinding:
    """Which state a check was bound to, by the runtime's one reading before it.

    Args:
        requested: The digest that the check asked for.
        observed: The digest that was read; None where no reading was taken, or it failed.
        reason: Why it is not `bound`.
    """

    status: StateStatus
    requested: str | None = None
    observed: str | None = None
    reason: str | None = None

    @property
    def permits(self) -> bool:
        """Whether the verifier may be invoked."""
        return self.status in _PERMITTING

    def to_payload(self) -> dict[str, Any]:
        """Return the binding as `check.completed` holds it."""
        return {
            "requested_state_hash": self.requested,
            "observed_state_hash": self.observed,
            "status": self.status,
            "reason": self.reason,
            "version": VERIFICATION_VERSION,
        }


@dataclass(frozen=True, slots=True)
class ArtifactBinding:
    """Which bytes a check was given; that it read them is not said.

    Args:
        requested: The digest that the target names.
        resolved: The digest of the bytes that were found.
        reason: Why it is not `bound`.
    """

    status: ArtifactStatus
    requested: str | None = None
    resolved: str | None = None
    reason: str | None = None

    @property
    def permits(self) -> bool:
        """Whether the verifier may be invoked."""
        return self.status in _PERMITTING

    def to_payload(self) -> dict[str, Any]:
        """Return the binding as `check.completed` holds it."""
        return {
            "requested_artifact_sha256": self.requested,
            "resolved_artifact_sha256": self.resolved,
            "materialized": self.status == "bound",
            "status": self.status,
            "reason": self.reason,
            "version": VERIFICATION_VERSION,
        }


def bind_state(
    requested: str | None, observed: str | None = None, error: str | None = None
) -> StateBinding:
    """Return what a requested state and the one reading of it give.

    Args:
        requested: The digest that the state must have; None binds no state.
        observed: What was read; None where there is no resolver, or it failed.
        error: Why it failed, such as `OSError: disk gone`.
    """
    if requested is None:
        return StateBinding("unbound", reason=NOT_REQUESTED)
    if error is not None:
        reason = f"target state observation failed: {error}"
        return StateBinding("unavailable", requested, reason=reason)
    if observed is None:
        return StateBinding("unavailable", requested, reason=UNAVAILABLE)
    if observed != requested:
        reason = f"target state mismatch: expected {requested}, observed {observed}"
        return StateBinding("mismatch", requested, observed, reason)
    return StateBinding("bound", requested, observed)


def named_artifact(target: str | None) -> str | None:
    """Return the digest of the artifact that a target names, None where it is a label."""
    found = _ARTIFACT_TARGET.fullmatch(target or "")
    return found[1] if found else None


def bind_artifact(
    target: str | None, command: Sequence[str], content: bytes | None, missing: str | None = None
) -> ArtifactBinding:
    """Return what a named artifact, its bytes and the command give.

    Args:
        target: What the check says it examines.
        command: As the check declares it, before anything is put in.
        content: The bytes that the ledger has under the digest, None where it has none.
        missing: Why there is no artifact whose digest could be named.
    """
    if missing is not None:
        return ArtifactBinding("missing", reason=missing)
    digest = named_artifact(target)
    if digest is None:
        reason = f"target {target!r} does not name an artifact" if target else NO_ARTIFACT
        return ArtifactBinding("unbound", reason=reason)
    if content is None:
        return ArtifactBinding("missing", digest, reason=f"artifact {digest} is not in the ledger")
    found = sha256_hex(content)
    if found != digest:
        reason = f"artifact corruption detected: expected {digest}, observed {found}"
        return ArtifactBinding("mismatch", digest, found, reason)
    if not any(ARTIFACT_PLACE in part for part in command):
        return ArtifactBinding("unconsumed", digest, found, UNCONSUMED)
    return ArtifactBinding("bound", digest, found)


def policy_problem(policy: ExitCodePolicy) -> str | None:
    """Return why exit codes cannot be read by a policy, None where they can."""
    named = [*policy.pass_codes, *(policy.fail_codes or ()), *policy.inconclusive_codes]
    twice = sorted({code for code in named if named.count(code) > 1})
    if twice:
        return f"{policy.policy_id} reads exit code {twice[0]} in two ways"
    beyond = [code for code in named if code > LARGEST_EXIT_CODE]
    if beyond:
        return (
            f"{policy.policy_id} names exit code {beyond[0]}, which no command can end with: "
            f"{LARGEST_EXIT_CODE} is the largest"
        )
    return None


def read_exit_code(policy: ExitCodePolicy, code: int) -> tuple[Verdict, str | None]:
    """Return the verdict of an exit code, and the reason where it is no PASS or FAIL.

    A negative code is a signal: the command did not end by itself, so that a policy without a list
    of FAIL codes does not take it as FAIL. Only a list that names it does.
    """
    if code in policy.pass_codes:
        return "PASS", None
    if code in policy.inconclusive_codes:
        return "INCONCLUSIVE", f"exit code {code} is declared inconclusive by {policy.policy_id}"
    if policy.fail_codes is None:
        if code < 0:
            return "ERROR", f"ended by signal {-code}, and {policy.policy_id} names no signal"
        return "FAIL", None
    if code in policy.fail_codes:
        return "FAIL", None
    declared = " ".join(
        f"{name}={list(codes)}"
        for name, codes in (
            ("pass", policy.pass_codes),
            ("fail", policy.fail_codes),
            ("inconclusive", policy.inconclusive_codes),
        )
    )
    return "ERROR", f"exit code {code} is not mapped by {policy.policy_id}: {declared}"


def timed_out(timeout_s: float) -> str:
    """Return the error of a check that did not end in time."""
    return f"verification timed out after {timeout_s:g} seconds"


def error_result(check_id: str, error: str) -> CheckResult:
    """Return the result of a check that was not carried out."""
    return CheckResult(check_id, "ERROR", error=error)


def normalise_result(result: object, policy: ExitCodePolicy, *, check_id: str) -> CheckResult:
    """Return a verifier's result where it is one, else the ERROR that says why it is none.

    Args:
        result: Whatever the verifier returned.
        policy: The declared policy; a verdict that claims to follow it must.
        check_id: The check that was asked for.
    """
    if not isinstance(result, CheckResult):
        return error_result(
            check_id, f"verifier returned {type(result).__name__}, not a CheckResult"
        )
    problem = _shape_problem(result, check_id) or _verdict_problem(result, policy)
    if problem is None:
        return result
    if _shape_problem(result, check_id):
        return error_result(check_id, problem)
    return replace(result, verdict="ERROR", error=problem)  # what it wrote is kept


def _shape_problem(result: CheckResult, check_id: str) -> str | None:
    if result.check_id != check_id:
        return f"verifier returned a result for check {result.check_id!r}"
    for name in _TEXTS:
        value: object = getattr(result, name)
        if not isinstance(value, str | None):
            return f"verifier returned a {name} that is no text"
    code: object = result.exit_code
    if code is not None and (type(code) is not int or abs(code) > MAX_SAFE_INTEGER):
        return "verifier returned an exit_code that is no exit code"
    for captured in (result.captured_stdout, result.captured_stderr):
        if captured is not None and not _is_captured(captured):
            return "verifier returned captured output that is none"
    return None


def _is_captured(value: object) -> bool:
    if not isinstance(value, CapturedOutput):
        return False
    content: object = value.content
    size: object = value.written_bytes
    return isinstance(content, bytes) and type(size) is int and size >= len(content)


def _verdict_problem(result: CheckResult, policy: ExitCodePolicy) -> str | None:
    verdict: object = result.verdict
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        return f"verifier returned an unknown verdict: {result.verdict!r}"
    if result.verdict == "INCONCLUSIVE" and not result.inconclusive_reason:
        return "inconclusive result carries no reason"
    if result.verdict == "ERROR":
        return None if result.error else "verifier returned ERROR without a reason"
    return _policy_mismatch(result, policy)


def _policy_mismatch(result: CheckResult, policy: ExitCodePolicy) -> str | None:
    """Return where a result that names a policy does not follow the declared one."""
    if result.verdict_policy_id is None:
        return None
    if result.verdict_policy_id != policy.policy_id:
        return f"verifier reports policy {result.verdict_policy_id!r}, not {policy.policy_id!r}"
    if result.exit_code is None:
        return None
    verdict, _ = read_exit_code(policy, result.exit_code)
    if verdict != result.verdict:
        return f"verifier reports {result.verdict}; {policy.policy_id} reads {verdict}"
    return None
