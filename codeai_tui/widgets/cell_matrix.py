"""A matrix of figures with a cursor on one cell, its meaning in words below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Size
from textual.message import Message
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.present.check_matrix import TOTAL, CheckMatrix, make_matrix
from codeai_tui.present.line import BLANK, clip_line, fit_line, line, plain, wrap_line
from codeai_tui.widgets.line_scroll import LineScroll

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from codeai_tui.present.line import Line

_HEAD_ROWS = 1
_WORD_ROWS = 2
_MARGIN = 1


class CellMatrix(LineScroll):
    """Counts of checks; the cursor chooses a cell, a row, a column, or all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("left,h", "move_across(-1)", "left", binding_id="matrix.left"),
        key("right,l", "move_across(1)", "right", binding_id="matrix.right"),
        key("enter", "open_cell", "list", binding_id="matrix.open", shows="Enter", footer=True),
    ]

    @dataclass
    class CursorMoved(Message):
        """Another cell is looked at."""

        row: str
        column: str

    @dataclass
    class Opened(Message):
        """The cell's checks are wanted."""

        row: str
        column: str

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._matrix = make_matrix((), "state")
        self._row, self._column = TOTAL, TOTAL

    @property
    def cell(self) -> tuple[str, str]:
        """The verdict and the status under the cursor."""
        return self._row, self._column

    @property
    def matrix(self) -> CheckMatrix:
        """What is shown."""
        return self._matrix

    def set_matrix(self, matrix: CheckMatrix, *, cell: tuple[str, str] | None = None) -> None:
        """Show other figures; the cursor stays on its cell where there still is one."""
        row, column = cell or self.cell
        self._matrix = matrix
        self._row = row if row in matrix.rows else TOTAL
        self._column = column if column in matrix.columns else TOTAL
        self.virtual_size = Size(0, _HEAD_ROWS + len(matrix.rows) + _WORD_ROWS)
        self.refresh()
        self.post_message(self.CursorMoved(self._row, self._column))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the cell that was clicked."""
        at = event.get_content_offset(self)
        if at is None:
            return
        row = at.y + self.scroll_offset.y - _HEAD_ROWS
        left = self._matrix.label_width(self.room.width) + _MARGIN
        for column, (_, cells) in enumerate(self._matrix.heads(self.room.width)):
            if left <= at.x < left + cells and 0 <= row < len(self._matrix.rows):
                self._go(row, column)
            left += cells

    @override
    def fit(self) -> None:
        self.refresh()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row: titles, figures, or the words for the cell under the cursor."""
        width = self.room.width
        at = y + self.scroll_offset.y
        return self.painter.strip(self._line(at, width), width)

    def _line(self, at: int, width: int) -> Line:
        matrix, room = self._matrix, width - _MARGIN
        if at < _HEAD_ROWS:
            return clip_line(line(" ", *matrix.head_line(room)), width)
        at -= _HEAD_ROWS
        if at < len(matrix.rows):
            return clip_line(self._row_line(matrix.rows[at], room), width)
        words = wrap_line(matrix.says(*self.cell), room)
        at -= len(matrix.rows)
        return line(" ", *words[at]) if at < min(len(words), _WORD_ROWS) else BLANK

    def _row_line(self, row: str, room: int) -> Line:
        cells = [line(" ", *self._matrix.label_line(row, room))]
        for column, (_, width) in zip(self._matrix.columns, self._matrix.heads(room), strict=True):
            figure, tone = self._matrix.cell(row, column)
            here = (row, column) == self.cell
            marked = line(("▸" if here else "", "accent" if self.has_focus else "muted"))
            shown = line(*marked, (figure, "bright" if here and tone == "plain" else tone))
            cells.append(fit_line(shown, width, right=True))
        return line(*cells)

    @override
    def action_move(self, by: int) -> None:
        self._go(self._at[0] + by, self._at[1])

    def action_move_across(self, by: int) -> None:
        """Move the cursor by columns."""
        self._go(self._at[0], self._at[1] + by)

    @override
    def action_move_page(self, by: int) -> None:
        self._go(len(self._matrix.rows) - 1 if by > 0 else 0, self._at[1])

    @override
    def action_move_first(self) -> None:
        self._go(0, 0)

    @override
    def action_move_last(self) -> None:
        self._go(len(self._matrix.rows) - 1, len(self._matrix.columns) - 1)

    def action_open_cell(self) -> None:
        """Go on to the checks of the cell."""
        self.post_message(self.Opened(self._row, self._column))

    @override
    def texts(self) -> list[str]:
        return [plain(self._matrix.says(row, column)) for row, column in self._cells]

    @override
    def place_of_cursor(self) -> int:
        return self._cells.index(self.cell)

    @override
    def go_to(self, index: int) -> None:
        row, column = self._cells[index]
        self._go(self._matrix.rows.index(row), self._matrix.columns.index(column))

    @override
    def copy_text(self) -> str:
        return plain(self._matrix.says(*self.cell))

    @property
    def _cells(self) -> list[tuple[str, str]]:
        return [(row, column) for row in self._matrix.rows for column in self._matrix.columns]

    @property
    def _at(self) -> tuple[int, int]:
        return self._matrix.rows.index(self._row), self._matrix.columns.index(self._column)

    def _go(self, row: int, column: int) -> None:
        row = max(0, min(row, len(self._matrix.rows) - 1))
        column = max(0, min(column, len(self._matrix.columns) - 1))
        before = self.cell
        self._row, self._column = self._matrix.rows[row], self._matrix.columns[column]
        if self.cell != before:
            self.refresh()
            self.post_message(self.CursorMoved(self._row, self._column))
