"""The claims and checks that a request asks for, before there is anything to check."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codeai_engine.domain.claim import CheckRequested, ClaimRecorded
from codeai_engine.errors import CodeAIError, SpecError
from codeai_engine.runtime.attempt import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.check import CheckRequest
    from codeai_engine.domain.events import ArtifactDraft
    from codeai_engine.ledger.writer import Ledger
    from codeai_engine.runtime.record import RunContext
    from codeai_engine.verifiers.base import StateResolver

EVERY_BRANCH = "*"


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim about a branch's work: what the branch says of it, or a sentence of the spec.

    Args:
        claim_id: Its id in the ledger; taken already, the next free of `ID~2`, `ID~3` and so on.
        branch: The branch that it is about; None for a claim of `codeai-engine check`.
        statement: The sentence, where the spec says it.
        pointer: JSON pointer to the sentence in the branch's output, where the branch says it.
    """

    claim_id: str
    branch: str | None = None
    statement: str | None = None
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """A check to run when its branch completes, or at once where it has none.

    Args:
        asked: The request; its id is taken like a claim's, and its target is filled in when the
            output is there.
        branch: A branch's name or `*`, each of them; None for `codeai-engine check`.
        of_output: The artifact is the branch's output.
        resolver: What reads the state it is bound to; None binds no state.
        at_start: The state must be what it was when the run started.
        subject: The bytes that the target names, where the ledger may not have them yet.
    """

    asked: CheckRequest
    branch: str | None = None
    of_output: bool = False
    resolver: StateResolver | None = None
    at_start: bool = False
    subject: ArtifactDraft | None = None

    def is_of(self, branch: str) -> bool:
        """Return whether it is a check of a branch's work."""
        return self.branch in (branch, EVERY_BRANCH)


@dataclass(frozen=True, slots=True)
class ChecksRequest:
    """Claims and checks without a fan-out: what `codeai-engine check` carries out.

    Args:
        source: What the request was read from, for error messages.
    """

    task_id: str
    checks: tuple[PlannedCheck, ...]
    claims: tuple[PlannedClaim, ...] = ()
    source: str = "request"


def refuse_unfit(
    source: str,
    claims: Iterable[PlannedClaim],
    checks: Iterable[PlannedCheck],
    branches: Sequence[str],
) -> None:
    """Check what can be known of claims and checks without a ledger.

    Raises:
        SpecError: An id is used twice, or a branch is named that is not there.
    """
    claims, checks = tuple(claims), tuple(checks)
    for what, ids in (
        ("claim id", [claim.claim_id for claim in claims]),
        ("check id", [check.asked.check_id for check in checks]),
    ):
        for value, count in Counter(ids).items():
            if count > 1:
                raise SpecError(source, what, f"'{value}' is used {count} times")
    allowed = ", ".join(branches) or "none"
    for place, branch in (
        *((f"claim '{claim.claim_id}'.branch", claim.branch) for claim in claims),
        *((f"check '{check.asked.check_id}'.branch", check.branch) for check in checks),
    ):
        is_each = branch == EVERY_BRANCH and place.startswith("check")
        if branch is not None and branch not in branches and not is_each:
            raise SpecError(source, place, f"there is no branch '{branch}'; allowed: {allowed}")
    _refuse_foreign_claims(source, claims, checks)


def _refuse_foreign_claims(
    source: str, claims: tuple[PlannedClaim, ...], checks: tuple[PlannedCheck, ...]
) -> None:
    """Check that no check of one branch moves what another branch says of itself."""
    about = {claim.claim_id: claim.branch for claim in claims}
    for check in checks:
        for claim_id in check.asked.claim_ids:
            other = about.get(claim_id, check.branch)
            if check.branch not in (EVERY_BRANCH, other):
                place = f"check '{check.asked.check_id}'.claims"
                reason = f"'{claim_id}' is about branch '{other}', and the check is of another"
                raise SpecError(source, place, reason)


async def pin_states(checks: tuple[PlannedCheck, ...], source: str) -> tuple[PlannedCheck, ...]:
    """Read once, at the start, every state that a check must still find when it runs.

    Raises:
        SpecError: A state cannot be read: no check could be bound to it.
    """
    return tuple([await _pinned(check, source) for check in checks])


async def _pinned(check: PlannedCheck, source: str) -> PlannedCheck:
    if not check.at_start or check.resolver is None:
        return check
    place = f"check '{check.asked.check_id}'.state"
    try:
        state: object = await check.resolver.read()
    except (CodeAIError, OSError, ValueError) as error:
        raise SpecError(source, place, f"cannot be read at the start: {describe(error)}") from error
    if not isinstance(state, str):
        raise SpecError(source, place, f"its resolver returned {type(state).__name__}, no digest")
    return replace(check, asked=replace(check.asked, target_state_hash=state), at_start=False)


async def free_claim_id(claim_id: str, run: RunContext) -> str:
    """Return `claim_id`, or the next of `ID~2`, `ID~3`, … where the ledger has a claim of it."""
    return await _free(claim_id, ClaimRecorded.KIND, run.ledger, run.taken_claim_ids)


async def free_check_id(check_id: str, run: RunContext) -> str:
    """Return `check_id`, or the next of `ID~2`, `ID~3`, … where the ledger has a check of it."""
    return await _free(check_id, CheckRequested.KIND, run.ledger, run.taken_check_ids)


async def _free(wanted: str, kind: str, ledger: Ledger, taken: set[str]) -> str:
    """Return the first id that is free, so that a spec can be run again on its ledger."""
    found, number = wanted, 1
    # `taken` last: nobody else of this process can take it between that and the next line.
    while any(row.kind == kind for row in await ledger.stream(found)) or found in taken:
        number += 1
        found = f"{wanted}~{number}"
    taken.add(found)
    return found
