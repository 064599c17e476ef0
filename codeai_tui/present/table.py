"""Tables: columns that give way when a terminal is narrow, and rows that fill them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_tui.display import SafeText
from codeai_tui.present.line import Line, Span, fit_line, line, plain, without_hues

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GAP = Span(SafeText("  "))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Args:
        width: Its cells; for a `flexible` column the least.
        right: Its content is set to the right, as numbers are.
        flexible: It takes what the others leave.
        from_width: It is shown only in a table at least this wide.
        below: It is shown only in a table narrower than this, in place of what has no room there.
    """

    title: str
    width: int
    right: bool = False
    flexible: bool = False
    from_width: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what names it, its cells, one for each column, and its exact text for copying."""

    key: str
    cells: tuple[Line, ...]
    copy: str = ""


def lay_out(columns: Sequence[Column], width: int) -> tuple[tuple[int, int], ...]:
    """Return `(index, cells)` of the columns that are shown in a table of `width` cells."""
    shown = [
        index
        for index, column in enumerate(columns)
        if width >= column.from_width and not (column.below and width >= column.below)
    ]
    flexible = [index for index in shown if columns[index].flexible]
    taken = sum(columns[index].width for index in shown) + 2 * (len(shown) - 1)
    share, rest = divmod(max(width - taken, 0), len(flexible)) if flexible else (0, 0)
    return tuple(
        (
            index,
            columns[index].width
            + (share + (rest if index == flexible[-1] else 0) if index in flexible else 0),
        )
        for index in shown
    )


def header_line(columns: Sequence[Column], layout: Iterable[tuple[int, int]]) -> Line:
    """Return the titles of the shown columns."""
    return _join(
        fit_line(line((columns[index].title, "muted")), cells, right=columns[index].right)
        for index, cells in layout
    )


def row_line(
    columns: Sequence[Column], row: Row, layout: Iterable[tuple[int, int]], *, colour: bool
) -> Line:
    """Return one row, each cell cut or padded to its column."""
    return _join(
        fit_line(
            row.cells[index] if colour else without_hues(row.cells[index]),
            cells,
            right=columns[index].right,
        )
        for index, cells in layout
    )


def row_text(row: Row) -> str:
    """Return the whole text of a row, for searching."""
    return "  ".join(plain(cell) for cell in row.cells)


def text_table(columns: Sequence[Column], rows: Sequence[Row]) -> list[Line]:
    """Return a table for a pipe: every column of a wide one, as wide as its widest cell."""
    layout = tuple(
        (index, max([len(column.title), *(len(plain(row.cells[index])) for row in rows)]))
        for index, column in enumerate(columns)
        if not column.below
    )
    return [
        header_line(columns, layout),
        *(row_line(columns, row, layout, colour=False) for row in rows),
    ]


def _join(cells: Iterable[Line]) -> Line:
    joined: list[Span] = []
    for cell in cells:
        if joined:
            joined.append(_GAP)
        joined.extend(cell)
    return tuple(joined)
