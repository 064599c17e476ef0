"""What a record as a whole establishes, derived from its newest fan-outs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codeai_engine.domain.view import OverviewView
from codeai_engine.queries.fanouts import build_fanout
from codeai_engine.queries.liveness import Liveness
from codeai_engine.queries.sources import LedgerSources
from codeai_engine.queries.window import REQUESTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codeai_engine.domain.view import BranchView, FanoutView, Recomputed
    from codeai_engine.ledger.reader import LedgerReader

DECIDED_ATTEMPTS = 1000  # without an end, counted from the newest; older ones count as orphans


def read_overview(ledger: LedgerReader, *, newest_fanouts: int = 50) -> OverviewView:
    """Read what the record establishes and what it does not.

    Args:
        ledger: Open for reading.
        newest_fanouts: From how many fan-outs levels and digests are derived; the view says of how
            many in all. Counts by kind, attempts and orphans are of the whole ledger.
    """
    from codeai_engine.rules.levels import LEVELS

    sources = LedgerSources(ledger)
    rows = ledger.of_kind(REQUESTED, limit=newest_fanouts, newest_first=True)
    fanouts = [build_fanout(ledger, row.stream_id, sources) for row in rows]
    branches = [branch for fanout in fanouts for branch in fanout.branches]
    kinds = tuple(sorted(ledger.kind_counts()))
    counts = dict(kinds)
    digests = Counter(word for branch in branches for word in branch_digests(branch))
    statuses = Counter(_ending(branch) for branch in branches)
    running = _count_running(ledger)
    return OverviewView(
        info=ledger.info(),
        kinds=kinds,
        fanouts=len(fanouts),
        total_fanouts=counts.get(REQUESTED, 0),
        levels={
            level: sum(LEVELS.index(fanout.level) >= at for fanout in fanouts)
            for at, level in enumerate(LEVELS)
            if level != "none"
        },
        branches=len(branches),
        refused_branches=statuses["refused"],
        failed_branches=statuses["failed"],
        cancelled_branches=statuses["cancelled"],
        orphans=len(ledger.open_attempts()) - running,
        running=running,
        attempts=counts.get("attempt.started", 0),
        digests_matched=digests["match"],
        digests_mismatched=digests["mismatch"],
        digests_absent=digests["absent"],
        unknown_provenance=_unknown(fanouts),
        unread_events=sum(len(fanout.unread) for fanout in fanouts),
    )


def branch_digests(branch: BranchView) -> Iterator[Recomputed]:
    """Yield how each digest of a branch compares: its own, its items' and its parts'."""
    yield branch.package_recomputed
    yield branch.trace_recomputed
    yield branch.prompt_recomputed
    yield branch.rendered_recomputed
    yield branch.request_recomputed
    for part in (*branch.items, *branch.parts):
        yield part.recomputed


def _ending(branch: BranchView) -> str | None:
    return "refused" if branch.refused is not None else branch.status


def _unknown(fanouts: Iterable[FanoutView]) -> int:
    counts: Sequence[int | None] = [fanout.unknown_provenance_count for fanout in fanouts]
    return sum(count for count in counts if count is not None)


def _count_running(ledger: LedgerReader) -> int:
    if ledger.mode == "RO":
        return 0  # nothing has the file open to write
    attempts = Liveness(ledger).open_attempts(newest=DECIDED_ATTEMPTS)
    return sum(is_running for _, is_running in attempts)
