"""Sheets over a place: a text to read, a question to type, the letters after `g`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input
from typing_extensions import override

from codeai_tui.display import safe
from codeai_tui.keymap import key
from codeai_tui.places import OVERVIEW, Place
from codeai_tui.present.line import Line, line
from codeai_tui.widgets.line_block import LineBlock
from codeai_tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

# What may be typed or pasted into a field: nothing that drives a terminal or reorders its text.
_TYPED = (
    "[^\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]*"
)


class TextSheet(ModalScreen[None], inherit_bindings=False):
    """A text over the place, to be read and closed.

    Args:
        title: What it is.
        lines: Its lines.
        copy: The exact text behind it, for `y`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key("escape,q,enter", "dismiss", "close", binding_id="sheet.close", shows="Esc"),
        key("y", "app.copy", "copy", binding_id="sheet.copy"),
    ]

    def __init__(self, title: str, lines: Sequence[Line], copy: str = "") -> None:
        super().__init__()
        self._title = title
        self._text_lines = lines
        self._copy = copy

    @override
    def compose(self) -> ComposeResult:
        """Yield the one pane."""
        pane = LinesView(self._text_lines, id="text", classes="pane")
        pane.border_title = Content(safe(self._title))
        pane.border_subtitle = Content("Esc closes")
        yield pane

    def copy_text(self) -> str:
        """Return the exact text of the sheet."""
        return self._copy or self.query_one(LinesView).copy_text()


class AskSheet(ModalScreen[str | None], inherit_bindings=False):
    """A field at the bottom of the screen; gives what was typed, or None.

    Args:
        label: What is asked for.
        value: What stands in the field at first.
        check: Returns what is wrong with a text, or an empty text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "close", id="ask.close", key_display="Esc", show=False),
    ]

    def __init__(
        self, label: str, value: str = "", check: Callable[[str], str] = lambda _: ""
    ) -> None:
        super().__init__()
        self._label = label
        self._value = value
        self._check = check

    @override
    def compose(self) -> ComposeResult:
        """Yield label, field and the row for what is wrong."""
        with Vertical(id="ask"):
            yield LineBlock(id="ask-label")
            yield Input(self._value, id="ask-field", compact=True, restrict=_TYPED)

    def on_mount(self) -> None:
        """Put the cursor into the field."""
        self._say(line((f" {self._label}", "muted")))
        field = self.query_one(Input)
        field.cursor_blink = False  # nothing moves while nothing happens
        self.set_focus(field)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        problem = self._check(event.value)
        if problem:
            self._say(line((f" {problem}", "bad")))
        else:
            _ = self.dismiss(event.value)  # awaited here, it would wait for this handler

    def action_give_up(self) -> None:
        """Close without an answer."""
        _ = self.dismiss(None)

    def _say(self, content: Line) -> None:
        self.query_one("#ask-label", LineBlock).show(lambda _: (content,))


PLACES: tuple[tuple[str, str, Place | None], ...] = (
    ("o", "overview", OVERVIEW),
    ("f", "fan-outs", Place("fanouts")),
    ("b", "branches of the fan-out at hand", None),
    ("e", "events", Place("events")),
    ("c", "checks", Place("checks")),
    ("k", "claims", Place("claims")),
)


class GoSheet(ModalScreen[str | None], inherit_bindings=False):
    """The letters after `g`; gives the one that was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,g,q", "choose('')", "close", id="go.close", show=False),
        *(
            Binding(letter, f"choose('{letter}')", name, id=f"go.{letter}", show=False)
            for letter, name, _ in PLACES
        ),
    ]

    @override
    def compose(self) -> ComposeResult:
        """Yield the list of letters."""
        block = LineBlock(id="go")
        lines = [line(" ", (letter, "accent"), f"  {name}") for letter, name, _ in PLACES]
        block.show(lambda _: lines)
        block.border_title = "go to"
        yield block

    def action_choose(self, letter: str) -> None:
        """Give the letter."""
        _ = self.dismiss(letter or None)
