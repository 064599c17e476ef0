"""The suites see where a resolver or a verifier breaks a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from codeai_engine.domain.check import CheckRequest, CheckResult
from codeai_engine.errors import VerifierError
from codeai_engine.verifiers.contract import ContractBroken, check_resolver, check_verifier

if TYPE_CHECKING:
    from codeai_engine.domain.check import Verdict

DIGESTS = ("0" * 64, "1" * 64, "2" * 64)


@dataclass
class Readings:
    """A resolver of a subject that is given: its state before, after, and when it is gone."""

    states: list[str | None]
    at: int = 0

    async def read(self) -> str:
        state = self.states[self.at]
        if state is None:
            raise VerifierError("gone")
        return state

    async def step(self) -> None:
        self.at += 1


class Restless(Readings):
    @override
    async def read(self) -> str:
        self.states.append(self.states.pop(0))
        return str(self.states[0])


async def check_readings(resolver: Readings) -> None:
    await check_resolver(resolver, change=resolver.step, remove=resolver.step)


async def test_a_resolver_that_keeps_the_rules_passes() -> None:
    await check_readings(Readings([DIGESTS[0], DIGESTS[1], None]))


@pytest.mark.parametrize(
    ("resolver", "rule"),
    [
        (Readings(["state-A", "state-B", None]), "64 lower-case hex digits"),
        (Readings([DIGESTS[0], DIGESTS[0], None]), "a subject that changed reads otherwise"),
        (Readings([DIGESTS[0], DIGESTS[1], DIGESTS[2]]), "no digest is made up"),
        (Restless([*DIGESTS]), "did not change reads the same"),
    ],
)
async def test_a_resolver_that_breaks_a_rule_is_told_which(resolver: Readings, rule: str) -> None:
    with pytest.raises(ContractBroken, match=rule):
        await check_readings(resolver)


@dataclass
class Judge:
    """A verifier that finds what the check's id says."""

    changes: dict[str, Any] = field(default_factory=dict)
    name: str = "judge"
    version: str = "1"

    async def verify(self, request: CheckRequest) -> CheckResult:
        if request.check_id in self.changes:
            found: CheckResult = self.changes[request.check_id]
            return found
        if not request.command:
            raise VerifierError("nothing to run")
        verdict: Verdict = "PASS" if request.command[0] == "true" else "FAIL"
        return CheckResult(request.check_id, verdict)


def request_for(check_id: str, *command: str) -> CheckRequest:
    return CheckRequest(check_id, "task-1", command=command)


async def check_judge(judge: object) -> None:
    await check_verifier(
        judge,
        passing=request_for("passing", "true"),
        failing=request_for("failing", "false"),
        impossible=request_for("impossible"),
    )


async def test_a_verifier_that_keeps_the_rules_passes() -> None:
    await check_judge(Judge())
    error = CheckResult("impossible", "ERROR", error="nothing to run")
    await check_judge(Judge({"impossible": error}))


@pytest.mark.parametrize(
    ("judge", "rule"),
    [
        (object(), "every member"),
        (Judge(name=""), "`name` is a name"),
        (Judge({"passing": "PASS"}), "returns a CheckResult"),
        (Judge({"passing": CheckResult("other", "PASS")}), "names the check it is of"),
        (Judge({"passing": CheckResult("passing", "MAYBE")}), "PASS, FAIL, INCONCLUSIVE or ERROR"),  # type: ignore[arg-type]  # what is no verdict
        (Judge({"passing": CheckResult("passing", "INCONCLUSIVE")}), "carries a reason"),
        (Judge({"passing": CheckResult("passing", "ERROR")}), "ERROR says why"),
        (Judge({"failing": CheckResult("failing", "PASS")}), "verdict is FAIL"),
        (Judge({"impossible": CheckResult("impossible", "PASS")}), "is ERROR, never a verdict"),
    ],
)
async def test_a_verifier_that_breaks_a_rule_is_told_which(judge: object, rule: str) -> None:
    with pytest.raises(ContractBroken, match=rule):
        await check_judge(judge)
