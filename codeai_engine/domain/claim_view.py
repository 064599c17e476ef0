"""Views of claims and checks. Plain values, so that reading them needs no pydantic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim as the peer's fold of recorded claims leaves it.

    Args:
        recordings: How often it was recorded; 0 where only checks name it.
        attempted: Checks with a verification attempt on it, in order.
        refused: Checks whose attempt on it was refused.
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
        counts: Events by kind.
    """

    items: tuple[ClaimView, ...]
    dangling: tuple[DanglingView, ...]
    standings: tuple[StandingView, ...]
    refusals: tuple[RefusalView, ...]
    counts: dict[str, int]
    unread: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckView:
    """One completed check; `requested` is None where its request is not in the ledger."""

    check_id: str
    sequence: int
    verdict: str | None
    binding_status: str | None = None
    artifact_binding_status: str | None = None
    error: str | None = None
    inconclusive_reason: str | None = None
    exit_code: int | None = None
    requested: int | None = None
    claim_ids: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ChecksView:
    """The checks of a ledger.

    Args:
        items: Completed checks by sequence.
        requested: How many were requested.
        unanswered: Ids of requested checks without a completion, once for each request.
    """

    items: tuple[CheckView, ...]
    requested: int
    unanswered: tuple[str, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
