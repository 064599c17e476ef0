"""Tables of branches and checks, read back from the ledger: what the record says, not we."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from codeai_engine.cli.exits import visible, write
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.queries.views import read_fanout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from codeai_engine.domain.check_view import CheckView
    from codeai_engine.domain.view import BranchView
    from codeai_engine.runtime.request import FanoutOutcome

COLUMNS = {"branch": 20, "status": 9, "attempts": 12, "input": 24, "established": 17, "answer": 44}
NAMED = 2  # of the branches with the same input: with hundreds a table would be all names
ANSWER_CHARACTERS = 80
CHECK_COLUMNS = {"check": 24, "verdict": 12, "state": 11, "artifact": 10, "claims": 24, "said": 44}
ADEQUACY = "A check that names a claim is not thereby a test of it: adequacy not probed."


def print_result(ledger: Path, outcome: FanoutOutcome) -> None:
    """Print what the ledger holds of a fan-out, a row per branch and per check, on stdout."""
    with open_ledger(ledger) as reader:
        fanout = read_fanout(reader, outcome.fanout_id)
    names = {branch.call_id: branch.name or branch.call_id for branch in fanout.branches}
    _print_table(COLUMNS, [_cells(branch, names) for branch in fanout.branches])
    if outcome.checks:
        print_checks(ledger, [check.check_id for check in outcome.checks])
    _print_line(f"fan-out {outcome.fanout_id} in {ledger}")


def print_checks(ledger: Path, check_ids: Sequence[str]) -> None:
    """Print what the ledger holds of checks, a row each, to standard output."""
    from codeai_engine.rules.fold_check import fold_checks

    with open_ledger(ledger) as reader:
        rows = [row for check_id in check_ids for row in reader.stream(check_id)]
    by_id = {check.check_id: check for check in fold_checks(rows).items}
    found = [by_id[check_id] for check_id in check_ids if check_id in by_id]
    _print_table(CHECK_COLUMNS, [_check_cells(check) for check in found])
    _print_line(ADEQUACY)


def _print_table(columns: dict[str, int], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    for column, width in columns.items():
        table.add_column(column, max_width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = sum(columns.values()) + len(columns)
    with console.capture() as captured:
        console.print(table)
    write(captured.get(), sys.stdout.write)


def _print_line(text: str) -> None:
    write(f"{visible(text)}\n", sys.stdout.write)


def _check_cells(check: CheckView) -> tuple[str, ...]:
    return (
        check.check_id,
        check.verdict or "open",
        (check.binding_status or "not read").upper(),
        (check.artifact_binding_status or "not read").upper(),
        ", ".join(check.claim_ids) or "-",
        _said(check),
    )


def _said(check: CheckView) -> str:
    """Return why there is no verdict, else the first line that the command wrote."""
    said = check.stdout.text if check.stdout else ""
    return _shortened(check.error or check.inconclusive_reason or said or check.details or "-")


def _cells(branch: BranchView, names: Mapping[str, str]) -> tuple[str, ...]:
    return (
        branch.name or branch.call_id,
        branch.status or "open",
        _attempts(branch),
        _input(branch, names),
        branch.level,
        _answer(branch),
    )


def _input(branch: BranchView, names: Mapping[str, str]) -> str:
    if branch.request_sha256 is None:
        return "nothing was sent"
    same = [names.get(call_id, call_id) for call_id in branch.same_request_as]
    if not same:
        return branch.request_sha256[:8]
    more = f" and {len(same) - NAMED} more" if len(same) > NAMED else ""
    return f"{branch.request_sha256[:8]} identical to {', '.join(same[:NAMED])}{more}"


def _attempts(branch: BranchView) -> str:
    orphans = sum(attempt.orphan for attempt in branch.attempts)
    count = str(len(branch.attempts))
    return f"{count} ({orphans} orphan)" if orphans else count


def _answer(branch: BranchView) -> str:
    if branch.error:
        return branch.error
    if branch.output is None:
        return "-"
    return _shortened(branch.output.text) or "empty answer"


def _shortened(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return f"{line[:ANSWER_CHARACTERS]}…" if len(line) > ANSWER_CHARACTERS else line
