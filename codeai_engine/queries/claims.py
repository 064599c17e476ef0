"""Claims, checks and compilations, each folded from its own kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_engine.domain.view import Page

if TYPE_CHECKING:
    from codeai_engine.domain.claim_view import ChecksView, ClaimsView
    from codeai_engine.domain.view import PackageView
    from codeai_engine.ledger.reader import LedgerReader


def read_claims(ledger: LedgerReader) -> ClaimsView:
    """Read every claim, by the recorded and by the extracted path."""
    from codeai_engine.rules.fold_claim import CLAIM_KINDS, fold_claims

    return fold_claims(row for kind in CLAIM_KINDS for row in ledger.of_kind(kind))


def read_checks(ledger: LedgerReader) -> ChecksView:
    """Read every check with its verdict and both bindings."""
    from codeai_engine.rules.fold_claim import CHECK_KINDS, fold_checks

    return fold_checks(row for kind in CHECK_KINDS for row in ledger.of_kind(kind))


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
