"""What a check is asked and what it finds: values that verifiers take and give.

Field by field those of the seeds and of the peer's `check.requested` and `check.completed`, where a
digest is called hash. Running checks, binding their subject and recording them come with the
runtime of checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "ERROR"]


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


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """One check: what to run, on which subject, for which claims.

    Args:
        claim_ids: The claims it is about.
        command: Program and arguments; `{artifact}` stands for the path of the verified bytes.
        cwd: Where it runs.
        timeout_s: Its deadline, in seconds.
        environment: Overrides of the inherited environment, recorded as they are.
        target: What it examines: `artifact:sha256:<64 hex>` binds an artifact, else a label.
        target_state_digest: The digest that the subject's state must have; None binds no state.
        environment_digest: A digest of the environment, where the caller took one.
        verdict_policy: None reads 0 as PASS and every other code as FAIL.
    """

    check_id: str
    task_id: str
    claim_ids: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cwd: str = "."
    timeout_s: float = 300.0
    environment: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    target_state_digest: str | None = None
    environment_digest: str | None = None
    verdict_policy: ExitCodePolicy | None = None
    directive_id: str | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a verifier found.

    Args:
        stdout: Standard output as text, whole; None where nothing was run.
        details: What the verifier says of how it came to the verdict.
        error: Why the verdict is ERROR.
        inconclusive_reason: Why it is INCONCLUSIVE; required then.
        observed_target_state_digest: The verifier's own account of the subject's state. The
            runtime's reading takes its place: what a verifier says of it binds nothing.
    """

    check_id: str
    verdict: Verdict
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    details: str | None = None
    error: str | None = None
    inconclusive_reason: str | None = None
    observed_target_state_digest: str | None = None
