"""Some rows of text that are laid out anew for every width: title, chips, problem, notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget
from typing_extensions import override

from codeai_tui.present.line import BLANK, Line
from codeai_tui.widgets.painting import painter_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.strip import Strip


class LineBlock(Widget):
    """Rows that take no focus and do not scroll."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._make: Callable[[int], Sequence[Line]] = lambda _: ()

    def show(self, make: Callable[[int], Sequence[Line]]) -> None:
        """Show the rows that `make` returns for the width there is."""
        self._make = make
        self.refresh()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row."""
        width = self.size.width
        rows = self._make(width)
        return painter_for(self).strip(rows[y] if y < len(rows) else BLANK, width)
