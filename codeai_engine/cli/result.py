"""The table of one fan-out, read back from the ledger: what the record says, not what we think."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from codeai_engine.cli.exits import visible
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.queries.views import read_fanout

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.view import BranchView

COLUMNS = ("branch", "actor", "status", "rendered", "input", "attempts", "established", "answer")
NARROWEST = 100


def print_result(ledger: Path, fanout_id: str) -> None:
    """Print what the ledger holds of a fan-out, a row per branch, to standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    with open_ledger(ledger) as reader:
        fanout = read_fanout(reader, fanout_id)
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in COLUMNS:
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    for branch in fanout.branches:
        table.add_row(*(Text(visible(cell)) for cell in _cells(branch)))
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, NARROWEST)
    console.print(table)
    console.print(f"fan-out {fanout_id} in {visible(str(ledger))}", soft_wrap=True)


def _cells(branch: BranchView) -> tuple[str, ...]:
    same = ", ".join(branch.same_request_as)
    return (
        branch.name or branch.call_id,
        branch.actor_id or "-",
        branch.status or "open",
        (branch.rendered_sha256 or "-")[:8],
        f"identical to {same}" if same else "its own" if branch.request_sha256 else "-",
        _attempts(branch),
        branch.level,
        _answer(branch),
    )


def _attempts(branch: BranchView) -> str:
    orphans = sum(attempt.orphan for attempt in branch.attempts)
    count = str(len(branch.attempts))
    return f"{count} ({orphans} orphan)" if orphans else count


def _answer(branch: BranchView) -> str:
    if branch.error:
        return branch.error
    if branch.output is None:
        return "-"
    return branch.output.text.strip().partition("\n")[0] or "empty answer"
