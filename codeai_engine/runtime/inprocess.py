"""The in-process check: a function of ours as a verifier, recorded with the same discipline.

The runtime binds, counts and records it as it does a command (`runtime/check.py`). Its command is
the name of the function and `{artifact}`, so that the bytes it judges are those that were bound:
it reads them from the path that a command would get.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from codeai_engine.domain.check import ARTIFACT_PLACE, CheckResult
from codeai_engine.errors import VerifierError
from codeai_engine.runtime.check import run_check

if TYPE_CHECKING:
    from codeai_engine.domain.check import CheckRequest
    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.record import RunContext
    from codeai_engine.verifiers.base import StateResolver


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a function says of its subject.

    Args:
        passed: Whether the subject has the property that is checked.
        reason: The name of why not, or of how it was found; kept as the result's details.
    """

    passed: bool
    reason: str | None = None


Judge = Callable[[bytes], bool | Judgement]


class InProcessVerifier:
    """Judges the bound bytes with a function: true is PASS, false FAIL, and a crash ERROR.

    It runs on the event loop and cannot be stopped, so it must be quick and deterministic. What is
    neither a boolean nor a `Judgement` is no verdict: nothing is read as true that is not.

    Args:
        name: What the check is called in a record, such as `ttl-check-v1`.
        version: Changes whenever it may judge differently.
        judge: The function; it gets the bytes of the bound artifact.
    """

    def __init__(self, name: str, version: str, judge: Judge) -> None:
        self.name = name
        self.version = version
        self._judge = judge

    @property
    def command(self) -> tuple[str, str]:
        """What stands in the request: the function, and the place of the bytes it is given."""
        return (self.name, ARTIFACT_PLACE)

    async def verify(self, request: CheckRequest) -> CheckResult:
        """Judge the bytes that the runtime made available.

        Raises:
            VerifierError: The request names no artifact, or the function returned no judgement.
            Exception: Whatever the function raises; the runtime records it as ERROR.
        """
        path = request.command[-1] if request.command else ARTIFACT_PLACE
        if path == ARTIFACT_PLACE:
            raise VerifierError(f"{self.name} judges an artifact, and the check names none")
        answer: object = self._judge(await anyio.Path(path).read_bytes())
        judged = Judgement(answer) if isinstance(answer, bool) else answer
        if not isinstance(judged, Judgement) or not isinstance(judged.passed, bool):
            raise VerifierError(f"{self.name} returned {type(answer).__name__}, not a judgement")
        return CheckResult(
            request.check_id, "PASS" if judged.passed else "FAIL", details=judged.reason
        )


async def run_in_process(
    request: CheckRequest,
    run: RunContext,
    verifier: InProcessVerifier,
    *,
    resolver: StateResolver | None = None,
) -> CheckOutcome:
    """Carry out one in-process check and record it.

    Args:
        request: What to check; its command is replaced by the verifier's own.
        run: What it is carried out with.
        verifier: The function.
        resolver: What reads the state that the request is bound to.

    Raises:
        LedgerError: The ledger has this check already, or refuses.
    """
    asked = replace(request, command=verifier.command)
    return await run_check(asked, run, verifier=verifier, resolver=resolver)
