"""The contracts of state resolvers and verifiers, as suites that need no test framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codeai_engine.domain.check import CheckResult
from codeai_engine.errors import VerifierError
from codeai_engine.plugins import ContractBroken, require
from codeai_engine.verifiers.base import StateResolver, Verifier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from codeai_engine.domain.check import CheckRequest

__all__ = ["ContractBroken", "check_resolver", "check_verifier"]

DIGEST = re.compile(r"[0-9a-f]{64}")


async def check_resolver(
    resolver: object,
    *,
    change: Callable[[], Awaitable[None]],
    remove: Callable[[], Awaitable[None]],
) -> None:
    """Check every rule of a resolver, on a subject that exists.

    Args:
        resolver: What to check.
        change: Changes the subject.
        remove: Takes the subject away.

    Raises:
        ContractBroken: A rule does not hold; the message is the rule.
    """
    if not isinstance(resolver, StateResolver):
        raise ContractBroken("a resolver has every member of verifiers.base.StateResolver")
    before = await resolver.read()
    require(
        DIGEST.fullmatch(str(before)),
        "a state is a digest: 64 lower-case hex digits",
    )
    require(await resolver.read() == before, "a subject that did not change reads the same")
    await change()
    require(await resolver.read() != before, "a subject that changed reads otherwise")
    await remove()
    try:
        await resolver.read()
    except VerifierError:
        return
    raise ContractBroken("a state that cannot be read raises VerifierError: no digest is made up")


async def check_verifier(
    verifier: object, *, passing: CheckRequest, failing: CheckRequest, impossible: CheckRequest
) -> None:
    """Check every rule of a verifier.

    Args:
        verifier: What to check.
        passing: A request whose verdict is PASS.
        failing: A request whose verdict is FAIL.
        impossible: A request that cannot be carried out, such as one without a command.

    Raises:
        ContractBroken: A rule does not hold; the message is the rule.
    """
    if not isinstance(verifier, Verifier):
        raise ContractBroken("a verifier has every member of verifiers.base.Verifier")
    for name in ("name", "version"):
        value = getattr(verifier, name)
        require(isinstance(value, str) and value, f"`{name}` is a name")
    for request, verdict in ((passing, "PASS"), (failing, "FAIL")):
        found = await verifier.verify(request)
        _check_result(request, found)
        require(found.verdict == verdict, f"this request's verdict is {verdict}")
    try:
        found = await verifier.verify(impossible)
    except VerifierError:
        return
    _check_result(impossible, found)
    require(found.verdict == "ERROR", "what cannot be carried out is ERROR, never a verdict")


def _check_result(request: CheckRequest, found: object) -> None:
    if not isinstance(found, CheckResult):
        raise ContractBroken("`verify` returns a CheckResult")
    require(found.check_id == request.check_id, "a result names the check it is of")
    require(
        found.verdict in ("PASS", "FAIL", "INCONCLUSIVE", "ERROR"),
        "a verdict is PASS, FAIL, INCONCLUSIVE or ERROR",
    )
    require(
        found.verdict != "INCONCLUSIVE" or found.inconclusive_reason,
        "INCONCLUSIVE carries a reason",
    )
    require(found.verdict != "ERROR" or found.error, "ERROR says why")
