"""Branches side by side: one widget draws every column from one offset, so they scroll as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.present.line import (
    BLANK,
    Line,
    Tone,
    fit_line,
    line,
    plain,
    without_hues,
    wrap_line,
)
from codeai_tui.widgets.line_scroll import LineScroll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from codeai_tui.present.branches import BranchBoard

LABEL_CELLS = 13
_LEAST_COLUMN = 25
_MOST_COLUMNS = 6
_RULE_CELLS = 1


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns are in sight, how wide they are, and the field and line of every row."""

    first: int
    widths: tuple[int, ...]
    rows: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    cells: tuple[tuple[tuple[Line, ...], ...], ...]


_NOTHING = _Layout(0, (), (), (), ())


class BranchColumns(LineScroll):
    """The rows of all branches; h and l go through the branches, j and k through the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("left,h", "branch(-1)", "branch left", binding_id="columns.left"),
        key(
            "right,l",
            "branch(1)",
            "branch",
            binding_id="columns.right",
            shows="h/l",
            footer=True,
        ),
        key("enter", "open_cell", "whole", binding_id="columns.open", shows="Enter", footer=True),
    ]

    @dataclass
    class CursorMoved(Message):
        """Another cell is looked at."""

        branch: int
        field: str

    @dataclass
    class Opened(Message):
        """The reader wants the whole of a cell."""

        branch: int
        field: str

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.board: BranchBoard | None = None
        self._plan = _NOTHING
        self.branch = 0
        self.field = 0

    def set_board(self, board: BranchBoard, *, branch: int = 0, field: str = "") -> None:
        """Show another fan-out, the cursor on one cell of it."""
        self.board = board
        self.branch = max(0, min(branch, len(board) - 1))
        keys = [name for name, _ in board.fields]
        self.field = keys.index(field) if field in keys else 0
        self._lay_out()
        self._show_field()
        self._tell()

    @property
    def field_key(self) -> str:
        """The row under the cursor."""
        return self.board.fields[self.field][0] if self.board else ""

    @property
    def row_count(self) -> int:
        """How many rows there are to go through."""
        return len(self.board.fields) if self.board else 0

    @property
    def columns_in_sight(self) -> int:
        """How many branches are shown side by side."""
        return len(self._plan.widths)

    def look_at(self, branch: int, field: str = "") -> None:
        """Put the cursor on a branch, and on one of its rows where one is named."""
        if self.board is None or not len(self.board):
            return
        keys = [name for name, _ in self.board.fields]
        self.branch = max(0, min(branch, len(self.board) - 1))
        if field in keys:
            self.field = keys.index(field)
        self._lay_out()
        self._show_field()
        self._tell()

    @override
    def fit(self) -> None:
        self._lay_out()
        self._show_field()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row of what is in sight: label, then every column that fits."""
        width = self.room.width
        if self.board is None or not self._plan.widths:
            return self.painter.strip(BLANK, width)
        if y == 0:
            return self._head_strip(width)
        at = self.scroll_offset.y + y - 1
        if at >= len(self._plan.rows):
            return self.painter.strip(BLANK, width)
        field, nth = self._plan.rows[at]
        here = field == self.field
        label = self.board.fields[field][1] if nth == 0 else ""
        focus: Tone = "accent" if self.has_focus else "muted"
        mark = line(("▸", focus)) if here and nth == 0 else line(" ")
        tone: Tone = "bright" if here else "muted"
        strips = [self.painter.strip(line(*mark, (label, tone)), LABEL_CELLS)]
        for column, cells in enumerate(self._plan.cells):
            content = cells[field][nth] if nth < len(cells[field]) else BLANK
            chosen = here and self._plan.first + column == self.branch
            strips += self._column_strips(content, self._plan.widths[column], chosen=chosen)
        return Strip.join(strips).adjust_cell_length(width)

    @override
    def action_move(self, by: int) -> None:
        if self.board is None or not self._plan.rows:
            return
        top, bottom = self._extent(self.field)
        first, last = self.scroll_offset.y, self.scroll_offset.y + self.room.height - 2
        # A text longer than the pane is read to its end before the next row is gone to.
        if by > 0 and bottom > last:
            self.scroll_line_to(first + 1)
        elif by < 0 and top < first:
            self.scroll_line_to(first - 1)
        else:
            self._move_to(self.field + by)

    @override
    def action_move_page(self, by: int) -> None:
        page = max(self.room.height - 2, 1)
        target = max(0, min(self.scroll_offset.y + by * page, len(self._plan.rows) - 1))
        self.scroll_line_to(target)
        if self._plan.rows:
            at = min(self.scroll_offset.y if by > 0 else target, len(self._plan.rows) - 1)
            self.field = self._plan.rows[at][0]
            self._tell()
            self.refresh()

    @override
    def action_move_first(self) -> None:
        self._move_to(0)
        self.scroll_line_to(0)

    @override
    def action_move_last(self) -> None:
        self._move_to(self.row_count - 1)
        self.scroll_line_to(len(self._plan.rows))

    def action_branch(self, by: int) -> None:
        """Go to the branch on the left or right."""
        self.look_at(self.branch + by)

    def action_open_cell(self) -> None:
        """Open the whole of the cell under the cursor."""
        if self.board is not None and len(self.board):
            self.post_message(self.Opened(self.branch, self.field_key))

    @override
    def texts(self) -> list[str]:
        board = self.board
        if board is None:
            return []
        return [
            " ".join(plain(content) for content in board.cells(branch)[name].lines)
            for branch in range(len(board))
            for name, _ in board.fields
        ]

    @override
    def place_of_cursor(self) -> int:
        return self.branch * self.row_count + self.field

    @override
    def go_to(self, index: int) -> None:
        if self.board is not None and self.row_count:
            branch, field = divmod(index, self.row_count)
            self.look_at(branch, self.board.fields[field][0])

    @override
    def copy_text(self) -> str:
        if self.board is None or not len(self.board):
            return ""
        return self.board.copy_text(self.branch, self.field_key)

    def _head_strip(self, width: int) -> Strip:
        board = self.board
        strips = [self.painter.strip(BLANK, LABEL_CELLS)]
        for column, cells in enumerate(self._plan.widths):
            index = self._plan.first + column
            content = board.head(index) if board else BLANK
            if index == self.branch:
                content = line(("▾ ", "accent" if self.has_focus else "muted"), *content)
            strips += self._column_strips(content, cells, chosen=False)
        return Strip.join(strips).adjust_cell_length(width)

    def _column_strips(self, content: Line, width: int, *, chosen: bool) -> list[Strip]:
        colours = self.painter.palette
        cursor = colours.cursor if self.has_focus else colours.cursor_away
        content = content if self.painter.colour else without_hues(content)
        return [
            self.painter.strip(line(("│", "rule")), _RULE_CELLS),
            self.painter.strip(
                line(" ", *fit_line(content, width - 1)),
                width,
                background=cursor if chosen else None,
            ),
        ]

    def _lay_out(self) -> None:
        """Choose the columns in sight and wrap their cells; the cursor's branch is among them."""
        board = self.board
        room = self.room.width - LABEL_CELLS
        if board is None or not len(board) or room <= 0:
            self._plan = _NOTHING
            return
        fit = max(1, min(room // (_LEAST_COLUMN + _RULE_CELLS), _MOST_COLUMNS, len(board)))
        each, rest = divmod(room - fit * _RULE_CELLS, fit)
        first = self._plan.first if self._plan.widths else 0
        first = max(self.branch - fit + 1, min(first, self.branch, len(board) - fit), 0)
        widths = tuple(each + (column < rest) for column in range(fit))
        cells = tuple(
            _wrapped(board, first + column, width - 2) for column, width in enumerate(widths)
        )
        rows: list[tuple[int, int]] = []
        starts: list[int] = []
        for field in range(len(board.fields)):
            starts.append(len(rows))
            height = max(1, *(len(column[field]) for column in cells), 1)
            rows += [(field, nth) for nth in range(height)]
        self._plan = _Layout(first, widths, tuple(rows), tuple(starts), cells)
        self.virtual_size = Size(self.room.width, len(rows) + 1)
        self.refresh()

    def _extent(self, field: int) -> tuple[int, int]:
        """Return the first and last row that a field takes."""
        starts = self._plan.starts
        end = starts[field + 1] if field + 1 < len(starts) else len(self._plan.rows)
        return starts[field], end - 1

    def _move_to(self, field: int) -> None:
        field = max(0, min(field, self.row_count - 1))
        if field != self.field:
            self.field = field
            self._tell()
        self._show_field()
        self.refresh()

    def _show_field(self) -> None:
        """Bring the cursor's field into sight, from its beginning where it is longer than that."""
        in_sight = self.room.height - 1
        if in_sight <= 0 or self.field >= len(self._plan.starts):
            return
        top, bottom = self._extent(self.field)
        first = self.scroll_offset.y
        if top < first or bottom - top + 1 >= in_sight:
            self.scroll_line_to(top)
        elif bottom >= first + in_sight:
            self.scroll_line_to(bottom - in_sight + 1)

    def _tell(self) -> None:
        if self.board is not None and len(self.board):
            self.post_message(self.CursorMoved(self.branch, self.field_key))


def _wrapped(board: BranchBoard, branch: int, width: int) -> tuple[tuple[Line, ...], ...]:
    cells = board.cells(branch)
    return tuple(_wrapped_lines(cells[name].lines, width) for name, _ in board.fields)


def _wrapped_lines(lines: Sequence[Line], width: int) -> tuple[Line, ...]:
    return tuple(piece for content in lines for piece in wrap_line(content, width))
