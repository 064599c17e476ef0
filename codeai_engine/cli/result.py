"""The table of one fan-out, read back from the ledger: what the record says, not what we think."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from codeai_engine.cli.exits import visible, write
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.queries.views import read_fanout

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.view import BranchView

COLUMNS = {"branch": 20, "status": 9, "attempts": 12, "input": 24, "established": 17, "answer": 44}
ANSWER_CHARACTERS = 80
WIDEST = sum(COLUMNS.values()) + len(COLUMNS)


def print_result(ledger: Path, fanout_id: str) -> None:
    """Print what the ledger holds of a fan-out, a row per branch, to standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    with open_ledger(ledger) as reader:
        fanout = read_fanout(reader, fanout_id)
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column, width in COLUMNS.items():
        table.add_column(column, max_width=width, overflow="fold")
    for branch in fanout.branches:
        table.add_row(*(Text(visible(cell)) for cell in _cells(branch)))
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDEST
    with console.capture() as captured:
        console.print(table)
        console.print(f"fan-out {fanout_id} in {visible(str(ledger))}", soft_wrap=True)
    write(captured.get(), sys.stdout.write)


def _cells(branch: BranchView) -> tuple[str, ...]:
    return (
        branch.name or branch.call_id,
        branch.status or "open",
        _attempts(branch),
        _input(branch),
        branch.level,
        _answer(branch),
    )


def _input(branch: BranchView) -> str:
    if branch.request_sha256 is None:
        return "nothing was sent"
    same = ", ".join(branch.same_request_as)
    return f"{branch.request_sha256[:8]}" + (f" identical to {same}" if same else "")


def _attempts(branch: BranchView) -> str:
    orphans = sum(attempt.orphan for attempt in branch.attempts)
    count = str(len(branch.attempts))
    return f"{count} ({orphans} orphan)" if orphans else count


def _answer(branch: BranchView) -> str:
    if branch.error:
        return branch.error
    if branch.output is None:
        return "-"
    line = branch.output.text.strip().partition("\n")[0]
    return (
        f"{line[:ANSWER_CHARACTERS]}…" if len(line) > ANSWER_CHARACTERS else line or "empty answer"
    )
