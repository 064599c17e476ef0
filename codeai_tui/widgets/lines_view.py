"""Lines to be read: wrapped to the width, scrolled, without a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from typing_extensions import override

from codeai_tui.present.line import BLANK, Line, plain, wrap_line
from codeai_tui.widgets.line_scroll import LineScroll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

_LEAST_WIDTH = 8


class LinesView(LineScroll):
    """A pane of text.

    Args:
        lines: What stands in it at first.
    """

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._lines = tuple(lines)
        self._wrapped: list[tuple[int, Line]] = []
        self._width = 0
        self._marked: int | None = None

    def set_lines(self, lines: Sequence[Line], *, keep_scroll: bool = False) -> None:
        """Show other lines, from their beginning unless the scroll is to be kept."""
        self._lines = tuple(lines)
        self._marked = None
        self._wrap()
        if not keep_scroll:
            self.scroll_line_to(0)

    @override
    def fit(self) -> None:
        if self.room.width != self._width:
            self._wrap()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row of what is in sight."""
        at = y + self.scroll_offset.y
        index, content = self._wrapped[at] if at < len(self._wrapped) else (-1, BLANK)
        marked = self.painter.palette.cursor if index == self._marked else None
        return self.painter.strip(content, self.room.width, background=marked)

    @override
    def action_move(self, by: int) -> None:
        self.scroll_line_to(self.scroll_offset.y + by)

    @override
    def action_move_page(self, by: int) -> None:
        self.action_move(by * max(self.room.height - 1, 1))

    @override
    def action_move_first(self) -> None:
        self.scroll_line_to(0)

    @override
    def action_move_last(self) -> None:
        self.scroll_line_to(len(self._wrapped))

    @override
    def texts(self) -> list[str]:
        return [plain(content) for content in self._lines]

    @override
    def place_of_cursor(self) -> int:
        if self._marked is not None:
            return self._marked
        at = self.scroll_offset.y
        return self._wrapped[at][0] if at < len(self._wrapped) else 0

    @override
    def go_to(self, index: int) -> None:
        self._marked = index
        first = next((y for y, (line, _) in enumerate(self._wrapped) if line == index), 0)
        self.scroll_line_to(first - self.room.height // 2)
        self.refresh()

    @override
    def copy_text(self) -> str:
        return "\n".join(self.texts())

    def _wrap(self) -> None:
        self._width = max(self.room.width, _LEAST_WIDTH)
        self._wrapped = [
            (index, piece)
            for index, content in enumerate(self._lines)
            for piece in wrap_line(content, self._width)
        ]
        self.virtual_size = Size(self._width, len(self._wrapped))
        self.refresh()
