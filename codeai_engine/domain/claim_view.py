"""Views of claims and checks. Plain values, so that reading them needs no pydantic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from codeai_engine.domain.check_view import CheckView

Step = Literal["recorded", "attempt", "refused attempt", "evidence", "status", "passage", "other"]


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """One thing that happened to a claim, in the order of the ledger.

    Args:
        step: What it is; `other` is a kind that moves nothing, named by `kind`.
        check: The check that it refers to, from which every verdict here is read; None where the
            ledger has no completion of it.
        admitted: Whether an attempt is evidence; None for what is no attempt.
        why: Why it is not admitted, or moves nothing.
        effect: What it set: a class, a status, or what a passage says; None where it set nothing.
    """

    sequence: int
    step: Step
    kind: str
    actor_id: str
    check_id: str | None = None
    check: CheckView | None = None
    completed_event_id: str | None = None
    admitted: bool | None = None
    why: str | None = None
    effect: str | None = None
    statement: str | None = None

    @property
    def verdict(self) -> str | None:
        """The verdict, read from the check."""
        return self.check.verdict if self.check else None


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim as the peer's fold of recorded claims leaves it.

    Args:
        recordings: How often it was recorded; 0 where only checks name it.
        attempted: Checks with a verification attempt on it, in order.
        refused: Checks whose attempt on it was refused.
        actor_id: Who recorded it last.
        history: Everything that happened to it.
        standing: Where it stands by its admissible attempts: `unresolved`, `supported`, `refuted`
            or `contested`; None where the checks were not read.
        disagreement: Where the recorded class and status say something else than the standing.
    """

    claim_id: str
    recordings: int
    statement: str | None = None
    status: str | None = None
    evidence_class: str | None = None
    source_call_id: str | None = None
    task_id: str | None = None
    recorded: int | None = None
    attempted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    actor_id: str | None = None
    history: tuple[ClaimEntry, ...] = ()
    standing: str | None = None
    disagreement: str | None = None


@dataclass(frozen=True, slots=True)
class DanglingView:
    """An effect on a claim that nobody had recorded: it moves nothing, and is shown."""

    sequence: int
    kind: str
    claim_id: str
    check_id: str | None


@dataclass(frozen=True, slots=True)
class StandingView:
    """An extracted claim, whose standing is read from recorded evidence alone."""

    claim_id: str
    status: str
    evidence_class: str
    supporting: tuple[str, ...]
    refuting: tuple[str, ...]
    statement: str | None = None
    quote: str | None = None
    history: tuple[ClaimEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalView:
    """A refused claim, piece of evidence, decision or acceptance, with its reasons."""

    sequence: int
    kind: str
    subject_id: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimsView:
    """The claims of a ledger, by both paths, which do not see each other.

    Args:
        items: Recorded claims in order of first mention.
        standings: Extracted claims.
        counts: Events by kind, among those read.
        total: How many recordings the ledger holds, where only the newest were read.
    """

    items: tuple[ClaimView, ...]
    dangling: tuple[DanglingView, ...]
    standings: tuple[StandingView, ...]
    refusals: tuple[RefusalView, ...]
    counts: dict[str, int]
    unread: tuple[tuple[int, str], ...] = ()
    total: int | None = None
