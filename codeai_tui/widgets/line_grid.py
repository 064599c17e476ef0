"""A grid of rows drawn from memory: any number of them, only those in sight are touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.geometry import Size
from textual.message import Message
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.present.line import BLANK, Line, line
from codeai_tui.present.table import Column, Row, header_line, lay_out, row_line, row_text
from codeai_tui.widgets.line_scroll import LineScroll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

Edge = Literal["above", "below"]
_DOUBLE = 2


class LineGrid(LineScroll):
    """Rows under a header, with a cursor.

    Args:
        columns: The columns; those that do not fit give way.
        headed: Whether the titles of the columns are shown.
        near: How close to an end of the rows the cursor may come before more are asked for.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "open_row", "open", binding_id="grid.open", shows="Enter", footer=True),
    ]

    @dataclass
    class CursorMoved(Message):
        """The cursor is on another row."""

        grid: LineGrid
        key: str

        @property
        @override
        def control(self) -> LineGrid:
            """The grid, for selectors."""
            return self.grid

    @dataclass
    class Opened(Message):
        """A row was opened."""

        grid: LineGrid
        key: str

        @property
        @override
        def control(self) -> LineGrid:
            """The grid, for selectors."""
            return self.grid

    @dataclass
    class EdgeReached(Message):
        """The cursor is near an end of the rows; `jump` when the reader wants the very end."""

        grid: LineGrid
        edge: Edge
        jump: bool

        @property
        @override
        def control(self) -> LineGrid:
            """The grid, for selectors."""
            return self.grid

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        headed: bool = True,
        near: int = 50,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._headed = headed
        self._near = near
        self._rows: tuple[Row, ...] = ()
        self._index: dict[str, int] = {}
        self._empty: tuple[Line, ...] = ()
        self.cursor = 0
        self.more_above = False
        self.more_below = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows in memory."""
        return self._rows

    @property
    def cursor_key(self) -> str:
        """The key of the row under the cursor, empty where there are no rows."""
        return self._rows[self.cursor].key if self._rows else ""

    def set_rows(
        self, rows: Sequence[Row], *, cursor: str | None = None, empty: Sequence[Line] = ()
    ) -> None:
        """Show other rows; the row that stays the same stays where it is on the screen.

        The cursor goes to the row `cursor` (None: stays on its row); `empty` is shown instead of
        no rows.
        """
        wanted = self.cursor_key if cursor is None else cursor
        offset = self.cursor - self.scroll_offset.y
        self._rows = tuple(rows)
        self._empty = tuple(empty)
        self._index = {row.key: index for index, row in enumerate(self._rows)}
        self.virtual_size = Size(0, max(len(self._rows), len(self._empty)) + self._headed)
        last = max(len(self._rows) - 1, 0)
        self.cursor = self._index.get(wanted, min(self.cursor, last))
        self.scroll_line_to(self.cursor - offset)
        self._show_cursor()
        self.refresh()
        if self._rows:
            self.post_message(self.CursorMoved(self, self.cursor_key))

    def put_cursor(self, row_key: str) -> bool:
        """Put the cursor on a row, in the middle of the pane; False where there is no such row."""
        if row_key not in self._index:
            return False
        self.go_to(self._index[row_key])
        return True

    @override
    def fit(self) -> None:
        self._show_cursor()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row that was clicked; a second click opens it."""
        at = event.get_content_offset(self)
        if at is None or at.y < self._headed:
            return
        index = self.scroll_offset.y + at.y - self._headed
        if index < len(self._rows):
            self._move_to(index)
            if event.chain == _DOUBLE:
                self.action_open_row()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row of what is in sight."""
        width = self.room.width
        painter = self.painter
        layout = lay_out(self._columns, width - 2)
        if self._headed and y == 0:
            return painter.strip(line("  ", *header_line(self._columns, layout)), width)
        at = self.scroll_offset.y + y - self._headed
        if not self._rows:
            content = self._empty[at] if at < len(self._empty) else BLANK
            return painter.strip(line("  ", *content), width)
        if at >= len(self._rows):
            return painter.strip(BLANK, width)
        here = at == self.cursor
        mark = line(("▸ ", "accent" if self.has_focus else "muted")) if here else line("  ")
        content = row_line(self._columns, self._rows[at], layout, colour=painter.colour)
        colours = painter.palette
        background = (colours.cursor if self.has_focus else colours.cursor_away) if here else None
        return painter.strip(line(*mark, *content), width, background=background)

    @override
    def action_move(self, by: int) -> None:
        self._move_to(self.cursor + by)

    @override
    def action_move_page(self, by: int) -> None:
        page = max(self.room.height - self._headed - 1, 1)
        self.scroll_line_to(self.scroll_offset.y + by * page)
        self._move_to(self.cursor + by * page)

    @override
    def action_move_first(self) -> None:
        self._move_to(0)
        if self.more_above:
            self.post_message(self.EdgeReached(self, "above", jump=True))

    @override
    def action_move_last(self) -> None:
        self._move_to(len(self._rows) - 1)
        if self.more_below:
            self.post_message(self.EdgeReached(self, "below", jump=True))

    def action_open_row(self) -> None:
        """Open the row under the cursor."""
        if self._rows:
            self.post_message(self.Opened(self, self.cursor_key))

    @override
    def texts(self) -> list[str]:
        return [row_text(row) for row in self._rows]

    @override
    def place_of_cursor(self) -> int:
        return self.cursor

    @override
    def go_to(self, index: int) -> None:
        self.scroll_line_to(index - self.room.height // 2)
        self._move_to(index)

    @override
    def copy_text(self) -> str:
        return self._rows[self.cursor].copy if self._rows else ""

    def _move_to(self, index: int) -> None:
        index = max(0, min(index, len(self._rows) - 1))
        moved = index != self.cursor
        self.cursor = index
        self._show_cursor()
        if moved:
            self.refresh()
            self.post_message(self.CursorMoved(self, self.cursor_key))
        if self.more_above and index < self._near:
            self.post_message(self.EdgeReached(self, "above", jump=False))
        elif self.more_below and index >= len(self._rows) - self._near:
            self.post_message(self.EdgeReached(self, "below", jump=False))

    def _show_cursor(self) -> None:
        in_sight = self.room.height - self._headed
        if in_sight <= 0:
            return
        first = self.scroll_offset.y
        if self.cursor < first:
            self.scroll_line_to(self.cursor)
        elif self.cursor >= first + in_sight:
            self.scroll_line_to(self.cursor - in_sight + 1)
