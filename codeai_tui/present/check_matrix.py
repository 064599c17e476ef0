"""The matrix of checks: verdict by binding, on the axis of the state or of the artifact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from codeai_tui.present.check_words import BINDINGS, VERDICTS
from codeai_tui.present.line import Line, Tone, fit_line, line
from codeai_tui.present.words import count, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine import CheckView

Axis = Literal["state", "artifact"]
TOTAL = "total"
_UNSAID = "not recorded"
_COLUMNS: dict[Axis, tuple[str, ...]] = {
    "state": ("bound", "unbound", "mismatch", "unavailable"),
    "artifact": ("bound", "unbound", "missing", "mismatch", "unconsumed"),
}
_SHORT = {
    "unavailable": "UNAVAIL",
    "mismatch": "MISM",
    "unconsumed": "UNCONS",
    "missing": "MISS",
    "unbound": "UNBND",
    _UNSAID: "none",
}
_LABEL = 16
_LABEL_SHORT = 14
_FAILED = frozenset({"mismatch", "unavailable", "missing", "unconsumed"})
_MEANS = {
    ("PASS", "bound"): "passed on a subject that the runtime bound; that it suffices is not shown",
    ("PASS", "unbound"): "passed, but against no identified {axis}",
    ("FAIL", "bound"): "failed on a subject that the runtime bound",
    ("FAIL", "unbound"): "failed, but against no identified {axis}",
    ("INCONCLUSIVE", "bound"): "ran on a bound subject and could not settle it",
    ("INCONCLUSIVE", "unbound"): "could not settle it, against no identified {axis}",
    ("ERROR", "bound"): "the {axis} was bound and the check was not carried out",
    ("ERROR", "unbound"): "nothing was bound and the check was not carried out",
}


@dataclass(frozen=True, slots=True)
class CheckMatrix:
    """Counts of completed checks in cells, with totals on the margins.

    Args:
        axis: Which binding the columns are.
        columns: Statuses in order, the last the total.
        rows: Verdicts in order, the last the total.
    """

    axis: Axis
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    counts: Counter[tuple[str, str]]

    def number(self, row: str, column: str) -> int:
        """Return how many checks a cell holds."""
        return sum(
            number
            for (verdict, status), number in self.counts.items()
            if row in {TOTAL, verdict} and column in {TOTAL, status}
        )

    def holds(self, check: CheckView, row: str, column: str) -> bool:
        """Return whether a check is in a cell."""
        return row in {TOTAL, _verdict(check)} and column in {TOTAL, _status(check, self.axis)}

    def cell(self, row: str, column: str) -> tuple[str, Tone]:
        """Return a cell's figure and the tone it is said in."""
        number = self.number(row, column)
        if not number:
            return ("-", "none")
        if TOTAL in {row, column}:
            return (count(number), "plain")
        if column in _FAILED and row != "ERROR":
            return (f"! {count(number)}", "bad")
        tones = {verdict: tone for verdict, _, tone in VERDICTS}
        tone = tones.get(row, "open")
        if row == "PASS" and column != "bound":
            tone = "open"
        return (count(number), tone)

    def heads(self, width: int) -> tuple[tuple[str, int], ...]:
        """Return the titles of the columns with their widths, short where there is no room."""
        whole = tuple((title, len(title) + 2) for title in map(_title, self.columns))
        if sum(cells for _, cells in whole) + _LABEL <= width:
            return whole
        return tuple((title, len(title) + 1) for title in map(_short_title, self.columns))

    def label_width(self, width: int) -> int:
        """Return the cells of the row labels."""
        is_whole = self.heads(width)[0][1] > len(_title(self.columns[0])) + 1
        return _LABEL if is_whole else _LABEL_SHORT

    def head_line(self, width: int) -> Line:
        """Return the titles."""
        titles = [
            fit_line(line((title, "muted")), cells, right=True)
            for title, cells in self.heads(width)
        ]
        return line(" " * self.label_width(width), *titles)

    def label_line(self, row: str, width: int) -> Line:
        """Return the label of a row."""
        return fit_line(_label(row), self.label_width(width))

    def says(self, row: str, column: str) -> Line:
        """Return a cell in words."""
        number = plural(self.number(row, column), "check")
        if row == column == TOTAL:
            return line((number, "bright"), ": every completed check")
        where = " ".join(
            word.upper() if word != _UNSAID else f"{self.axis} binding not recorded"
            for word in (row, column)
            if word != TOTAL
        )
        return line((f"{number} ", "bright"), (where, "bright"), *_meaning(self, row, column))


def make_matrix(checks: Sequence[CheckView], axis: Axis) -> CheckMatrix:
    """Count the completed checks by verdict and by one binding."""
    counts = Counter((_verdict(check), _status(check, axis)) for check in checks)
    known = _COLUMNS[axis]
    odd = sorted({status for _, status in counts} - {*known, _UNSAID})
    unsaid = [_UNSAID] if any(status == _UNSAID for _, status in counts) else []
    verdicts = tuple(word for word, _, _ in VERDICTS)
    odd_verdicts = sorted({verdict for verdict, _ in counts} - set(verdicts))
    return CheckMatrix(
        axis=axis,
        columns=(*known, *odd, *unsaid, TOTAL),
        rows=(*verdicts, *odd_verdicts, TOTAL),
        counts=counts,
    )


def matrix_text(matrix: CheckMatrix, width: int = 120) -> list[Line]:
    """Return a matrix for a pipe."""
    lines = [line(f"verdict by {matrix.axis} binding"), matrix.head_line(width)]
    for row in matrix.rows:
        cells = [
            fit_line(line(matrix.cell(row, column)), cells, right=True)
            for column, (_, cells) in zip(matrix.columns, matrix.heads(width), strict=True)
        ]
        lines.append(line(*matrix.label_line(row, width), *cells))
    return lines


def _meaning(matrix: CheckMatrix, row: str, column: str) -> Line:
    if TOTAL in {row, column} or not matrix.number(row, column):
        return ()
    if column in _FAILED:
        if row == "ERROR":
            return line(f": the {matrix.axis} binding failed, so nothing was run")
        return line((": nothing is run on that; this record contradicts itself", "bad"))
    said = _MEANS.get((row, column), "")
    return line(f": {said.format(axis=matrix.axis)}") if said else ()


def _verdict(check: CheckView) -> str:
    return check.verdict if check.verdict is not None else "no verdict"


def _status(check: CheckView, axis: Axis) -> str:
    status = check.binding_status if axis == "state" else check.artifact_binding_status
    return status if status is not None else _UNSAID


def _title(status: str) -> str:
    if status in {TOTAL, _UNSAID}:
        return "total" if status == TOTAL else "- not recorded"
    return f"{BINDINGS.get(status, ('?', 'open'))[0]} {status.upper()}"


def _short_title(status: str) -> str:
    if status == TOTAL:
        return "total"
    glyph = "-" if status == _UNSAID else BINDINGS.get(status, ("?", "open"))[0]
    return f"{glyph} {_SHORT.get(status, status.upper())}"


def _label(row: str) -> Line:
    if row == TOTAL:
        return line(("  total", "muted"))
    glyph = next((glyph for word, glyph, _ in VERDICTS if word == row), "?")
    return line(f"{glyph} {row}")
