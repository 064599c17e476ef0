"""Claims, checks and compilations, each folded from its own kinds."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from codeai_engine.domain.view import Page
from codeai_engine.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codeai_engine.domain.check_view import ChecksView, CheckView
    from codeai_engine.domain.claim_view import ClaimsView, ClaimView, StandingView
    from codeai_engine.domain.view import EventRow, PackageView
    from codeai_engine.ledger.reader import LedgerReader

MOST_RELATED = 200  # checks of the same claims that one check is compared with
LISTED = 10  # ids that an error lists
_CLAIM_STREAMS = ("claim.recorded", "claim.extracted", "claim.verification_attempt_refused")
_APART = (  # about claims, on streams that are not the claim's
    "claim.evidence_recorded",
    "claim.refused",
    "claim.evidence_refused",
    "decision.refused",
    "task.acceptance_rejected",
)


def read_claims(ledger: LedgerReader, *, newest: int | None = None) -> ClaimsView:
    """Read claims with their histories, by the recorded and by the extracted path.

    Args:
        ledger: Open for reading.
        newest: Only the claims of so many newest recordings, extractions and refused attempts;
            None reads them all.
    """
    from codeai_engine.rules.claim_history import join_checks
    from codeai_engine.rules.fold_claim import CLAIM_KINDS, fold_claims

    last = ledger.last_sequence()
    if newest is None:
        rows = [row for kind in CLAIM_KINDS for row in ledger.of_kind(kind, until=last)]
        claims, checks = fold_claims(rows), _fold(ledger, _check_rows(ledger, last))
    else:
        ids = _newest_streams(ledger, _CLAIM_STREAMS, last, newest)
        rows = [row for row in _streams(ledger, ids, last) if row.kind in CLAIM_KINDS]
        rows += _newest_of(ledger, _APART, last, newest)
        claims = fold_claims(rows)
        checks = _fold(ledger, _streams(ledger, _named_checks(claims), last))
        total = dict(ledger.kind_counts()).get("claim.recorded", 0)
        claims = replace(claims, total=total)
    return join_checks(claims, checks.items)


def read_claim(ledger: LedgerReader, claim_id: str) -> tuple[ClaimView | None, StandingView | None]:
    """Read one claim: as it was recorded, and as it was extracted, which do not see each other.

    Raises:
        LedgerError: Nothing in the ledger is about a claim of this id.
    """
    from codeai_engine.rules.claim_history import join_checks
    from codeai_engine.rules.fold_claim import CLAIM_KINDS, fold_claims

    last = ledger.last_sequence()
    rows = [row for row in ledger.stream(claim_id, until=last) if row.kind in CLAIM_KINDS]
    if any(row.kind == "claim.extracted" for row in rows):
        rows += ledger.of_kind("claim.evidence_recorded", until=last)
    claims = fold_claims(rows)
    checks = _fold(ledger, _streams(ledger, _named_checks(claims), last))
    claims = join_checks(claims, checks.items)
    item = next((item for item in claims.items if item.claim_id == claim_id), None)
    standing = next((item for item in claims.standings if item.claim_id == claim_id), None)
    if item is None and standing is None:
        raise _missing(ledger, "claim", claim_id, "claim.recorded")
    return item, standing


def read_checks(ledger: LedgerReader, *, newest: int | None = None) -> ChecksView:
    """Read checks with their verdict, both bindings and what they may be compared with.

    Args:
        ledger: Open for reading.
        newest: Only the checks of so many newest requests and completions; None reads them all.
    """
    last = ledger.last_sequence()
    if newest is None:
        return _fold(ledger, _check_rows(ledger, last))
    ids = _newest_streams(ledger, ("check.requested", "check.completed"), last, newest)
    total = dict(ledger.kind_counts()).get("check.requested", 0)
    return replace(_fold(ledger, _streams(ledger, ids, last)), total=total)


def read_check(ledger: LedgerReader, check_id: str) -> tuple[CheckView, ...]:
    """Read one check: every completion of its id, and every request without one, by sequence.

    Raises:
        LedgerError: The ledger has no check of this id.
    """
    last = ledger.last_sequence()
    own = ledger.stream(check_id, until=last)
    first = _fold(ledger, own)
    claims = {claim for check in (*first.items, *first.pending) for claim in check.claim_ids}
    related = _attempting_checks(ledger, sorted(claims), last) - {check_id}
    view = _fold(ledger, chain(own, _streams(ledger, sorted(related), last)))
    found = [check for check in (*view.items, *view.pending) if check.check_id == check_id]
    if not found:
        raise _missing(ledger, "check", check_id, "check.requested")
    return tuple(sorted(found, key=lambda check: check.sequence))


def read_packages(ledger: LedgerReader, *, after: int = 0, limit: int = 100) -> Page[PackageView]:
    """Read a page of compilations in order of sequence, with what each of them excluded.

    Args:
        ledger: Open for reading.
        after: Only those after this sequence: the `next_cursor` of a page.
        limit: At most so many. One whose payload cannot be read is left to the events.
    """
    from codeai_engine.domain.context import ContextCompiled
    from codeai_engine.rules.fold_event import open_event, reads
    from codeai_engine.rules.fold_package import view_package

    rows = ledger.of_kind(ContextCompiled.KIND, after=after, limit=limit + 1)
    compiled = reads((open_event(row) for row in rows[:limit]), ContextCompiled)
    return Page(
        items=tuple(view_package(read) for read in compiled),
        next_cursor=rows[limit - 1].sequence if len(rows) > limit else None,
    )


def _fold(ledger: LedgerReader, rows: Iterable[EventRow]) -> ChecksView:
    from codeai_engine.rules.fold_check import CHECK_KINDS, fold_checks

    own = (row for row in rows if row.kind in CHECK_KINDS)
    return fold_checks(own, counts_starts=ledger.origin == "ours")


def _check_rows(ledger: LedgerReader, until: int) -> Iterator[EventRow]:
    from codeai_engine.rules.fold_check import CHECK_KINDS

    for kind in CHECK_KINDS:
        yield from ledger.of_kind(kind, until=until)


def _newest_of(
    ledger: LedgerReader, kinds: Iterable[str], until: int, newest: int
) -> Iterator[EventRow]:
    for kind in kinds:
        yield from ledger.of_kind(kind, until=until, limit=newest, newest_first=True)


def _newest_streams(
    ledger: LedgerReader, kinds: Iterable[str], until: int, newest: int
) -> list[str]:
    """Return the streams of the newest events of each kind, at most `newest` of them."""
    rows = sorted(_newest_of(ledger, kinds, until, newest), key=lambda row: -row.sequence)
    return list(dict.fromkeys(row.stream_id for row in rows))[:newest]


def _streams(ledger: LedgerReader, ids: Iterable[str], until: int) -> Iterator[EventRow]:
    for stream_id in ids:
        yield from ledger.stream(stream_id, until=until)


def _named_checks(claims: ClaimsView) -> list[str]:
    """Return the checks that the histories refer to."""
    histories = [item.history for item in claims.items]
    histories += [item.history for item in claims.standings]
    return sorted({entry.check_id for entry in chain.from_iterable(histories) if entry.check_id})


def _attempting_checks(ledger: LedgerReader, claims: Iterable[str], until: int) -> set[str]:
    """Return the newest checks with an attempt on one of the claims."""
    from codeai_engine.rules.fold_event import open_event, payload_field

    found: dict[str, None] = {}
    for claim_id in claims:
        for row in reversed(ledger.stream(claim_id, until=until)):
            check_id = payload_field(open_event(row), "check_id")
            if row.kind == "claim.verification_attempted" and isinstance(check_id, str):
                found[check_id] = None
            if len(found) >= MOST_RELATED:
                return set(found)
    return set(found)


def _missing(ledger: LedgerReader, what: str, wanted: str, kind: str) -> LedgerError:
    newest = ledger.of_kind(kind, limit=LISTED, newest_first=True)
    known = ", ".join(row.stream_id for row in newest)
    return LedgerError(
        f"no {what} {wanted} in this ledger",
        path=str(ledger.path),
        hint=f"the newest: {known}" if known else f"this ledger has no {what}s",
    )
