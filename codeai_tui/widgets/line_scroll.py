"""What every scrolling pane shares: drawn line by line from memory, moved through by key."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from textual.scroll_view import ScrollView

from codeai_tui.keymap import MOVING
from codeai_tui.widgets.painting import Painter, painter_for

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.geometry import Size


TOO_SMALL = "-too-small"
"""The class of a screen that has no room for its panes."""


class LineScroll(ScrollView, can_focus=True, inherit_bindings=False):
    """A pane whose lines are drawn only as far as they are in sight."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [*MOVING]

    @property
    def painter(self) -> Painter:
        """The painter of the theme that is in force."""
        return painter_for(self)

    @property
    def room(self) -> Size:
        """The cells that lines may take: what the scrollbar leaves."""
        return self.scrollable_size

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out for another size; in a terminal too small to read all stays as it is."""
        if not self.screen.has_class(TOO_SMALL):
            self.fit()

    @abstractmethod
    def fit(self) -> None:
        """Lay out for the room there is, what is looked at kept in sight."""

    @abstractmethod
    def action_move(self, by: int) -> None:
        """Move by lines or rows."""

    @abstractmethod
    def action_move_first(self) -> None:
        """Go to the beginning."""

    @abstractmethod
    def action_move_last(self) -> None:
        """Go to the end."""

    @abstractmethod
    def action_move_page(self, by: int) -> None:
        """Move by as much as is in sight."""

    @abstractmethod
    def texts(self) -> list[str]:
        """Return what a search looks through, one text for each thing that can be gone to."""

    @abstractmethod
    def place_of_cursor(self) -> int:
        """Return which of `texts` the reader is at."""

    @abstractmethod
    def go_to(self, index: int) -> None:
        """Bring one of `texts` into sight, in the middle where that is possible."""

    @abstractmethod
    def copy_text(self) -> str:
        """Return the exact text of what is under the cursor."""

    def scroll_line_to(self, y: int) -> None:
        """Scroll so that line `y` is the first in sight, at once."""
        self.scroll_to(y=max(y, 0), animate=False, force=True)
