"""What a check is asked and what it finds: values that verifiers take and give.

Field by field those of the seeds and of the peer's `check.requested` and `check.completed`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


class CheckVerdict(StrEnum):
    """What a check comes to; equal to its word, which is what a ledger holds."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    ERROR = "ERROR"


Verdict = CheckVerdict | Literal["PASS", "FAIL", "INCONCLUSIVE", "ERROR"]
VERDICTS = frozenset(verdict.value for verdict in CheckVerdict)
ARTIFACT_PLACE = "{artifact}"  # stands in a command for the path of the verified bytes
ARTIFACT_TARGET = "artifact:sha256:"  # starts a target that names an artifact


@dataclass(frozen=True, slots=True)
class ExitCodePolicy:
    """What each exit code means, declared before the check runs.

    Args:
        pass_codes: Codes that are PASS.
        fail_codes: Codes that are FAIL; None takes every code that no other list names.
        inconclusive_codes: Codes that are INCONCLUSIVE, which carries a reason.
        policy_id: The name of this reading of exit codes.
    """

    pass_codes: tuple[int, ...] = (0,)
    fail_codes: tuple[int, ...] | None = None
    inconclusive_codes: tuple[int, ...] = ()
    policy_id: str = "exit-code-v1"

    def to_payload(self) -> dict[str, Any]:
        """Return the policy as a request and a completion hold it."""
        return {
            "policy_id": self.policy_id,
            "pass_codes": list(self.pass_codes),
            "fail_codes": None if self.fail_codes is None else list(self.fail_codes),
            "inconclusive_codes": list(self.inconclusive_codes),
        }


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """What a program wrote on one stream, up to a limit.

    Args:
        content: The bytes that were kept, from the first on.
        written_bytes: How many it wrote in all; more than were kept where the limit cut it.
    """

    content: bytes
    written_bytes: int


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """One check: what to run, on which subject, for which claims.

    Args:
        claim_ids: The claims it is about.
        command: Program and arguments; `{artifact}` stands for the path of the verified bytes.
        cwd: Where it runs.
        timeout_s: Its deadline, in seconds.
        environment: Overrides of the inherited environment, recorded as they are.
        environment_from: Names of inherited variables that it needs; their values are never
            recorded.
        target: What it examines: `artifact:sha256:<64 hex>` binds an artifact, else a label.
        target_state_hash: The digest that the subject's state must have; None binds no state.
        missing: Why the artifact that it is about cannot be named by a digest, such as the output
            of a branch that failed; it binds MISSING.
        environment_hash: A digest of the environment, where the caller took one.
        verdict_policy: None reads 0 as PASS and every other code as FAIL.
        state: How the state is read, as the record holds it: `{"resolver": "file", "path": …}`.
        metadata: What else the record holds of where it comes from, such as
            `{"fanout_id": …, "branch": …, "call_id": …}`.
    """

    check_id: str
    task_id: str
    claim_ids: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cwd: str = "."
    timeout_s: float = 300.0
    environment: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    target_state_hash: str | None = None
    environment_hash: str | None = None
    verdict_policy: ExitCodePolicy | None = None
    directive_id: str | None = None
    environment_from: tuple[str, ...] = ()
    state: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    missing: str | None = None

    def policy(self) -> ExitCodePolicy:
        """Return the policy that holds: the declared one, or the default."""
        return self.verdict_policy or ExitCodePolicy()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a verifier found.

    Args:
        stdout: Standard output as text, at least as much of it as stands inline in a record; None
            where nothing was run.
        details: What the verifier says of how it came to the verdict.
        error: Why the verdict is ERROR.
        inconclusive_reason: Why it is INCONCLUSIVE; required then.
        observed_target_state_hash: The verifier's own account of the subject's state. The
            runtime's reading takes its place: what a verifier says of it binds nothing.
        verdict_policy_id: The policy by which the exit code was read, None where none was.
        captured_stdout: The bytes of standard output; None takes those of `stdout`.
        captured_stderr: Likewise.
    """

    check_id: str
    verdict: Verdict
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    details: str | None = None
    error: str | None = None
    inconclusive_reason: str | None = None
    observed_target_state_hash: str | None = None
    verdict_policy_id: str | None = None
    captured_stdout: CapturedOutput | None = None
    captured_stderr: CapturedOutput | None = None
