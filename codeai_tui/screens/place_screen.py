"""What every place has: title row, chips, problem row, body of panes, footer, search, zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer
from textual.worker import Worker, WorkerState
from typing_extensions import override

from codeai_engine import CodeAIError
from codeai_tui.messages import PlaceWanted, ProblemMet
from codeai_tui.places import OVERVIEW, Place
from codeai_tui.present.frame import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    found_text,
    problem_line,
    title_line,
    too_small_lines,
)
from codeai_tui.present.line import Line, line
from codeai_tui.widgets.line_block import LineBlock
from codeai_tui.widgets.line_scroll import TOO_SMALL, LineScroll

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from codeai_tui.gateway import Gateway

WIDE = 120
TALL = 36


class PlaceScreen(Screen[None], inherit_bindings=False):
    """One place of a ledger.

    Args:
        gateway: The ledger.
        place: The place.
        state: How the screen stood when it was left, to be taken up again.
    """

    AUTO_FOCUS: ClassVar[str | None] = ""
    PANES: ClassVar[tuple[str, ...]] = ()
    """The ids of the panes, in the order of Tab; the first is where Esc leads back to."""

    def __init__(self, gateway: Gateway, place: Place, state: Mapping[str, object]) -> None:
        super().__init__()
        self.gateway = gateway
        self.place = place
        self.state = dict(state)
        self.pane = self.PANES[0] if self.PANES else ""
        self._zoomed = False
        self._query = ""
        self._hits: list[int] = []
        self._chips: Line = ()

    # What a place has to say.

    def crumbs(self) -> tuple[str, ...]:
        """Return where the place is, below the ledger."""
        return ()

    def parent_place(self) -> Place:
        """Return the place that Esc leads to."""
        return OVERVIEW

    def current_place(self) -> Place:
        """Return the place as it stands, for history and for another person."""
        return self.place

    def current_state(self) -> Mapping[str, object]:
        """Return what `state` needs to take the screen up again."""
        return {}

    def fanout_at_hand(self) -> str:
        """Return the fan-out that is looked at, or an empty text."""
        return ""

    def searched_name(self) -> str:
        """Return what a search on this screen looks through."""
        return "this screen"

    def compose_body(self) -> Iterable[Widget]:
        """Yield the panes."""
        return ()

    def read(self) -> None:
        """Begin to read what the place shows; workers answer by message."""

    # The frame.

    @override
    def compose(self) -> ComposeResult:
        """Yield the frame around the body."""
        yield LineBlock(id="title")
        yield LineBlock(id="chips")
        yield LineBlock(id="problem")
        with Container(id="body"):
            yield from self.compose_body()
        yield Footer(show_command_palette=False)
        yield LineBlock(id="too-small")

    def on_mount(self) -> None:
        """Draw the frame at once, then read."""
        self.query_one("#title", LineBlock).show(
            lambda width: (title_line(self.gateway.info, self.crumbs(), width),)
        )
        self.query_one("#too-small", LineBlock).show(
            lambda width: too_small_lines(width, self.size.height)
        )
        self.show_panes()
        self.read()

    def on_resize(self, _event: events.Resize) -> None:
        """Show one pane or all, or only that the terminal is too small."""
        width, height = self.size
        too_small = width < LEAST_WIDTH or height < LEAST_HEIGHT
        self.set_class(too_small, TOO_SMALL)
        if too_small:
            return
        self.set_class(width >= WIDE, "-wide")
        self.set_class(width >= WIDE and height >= TALL, "-roomy")
        self.show_panes()

    def refresh_title(self) -> None:
        """Draw the title row again."""
        self.query_one("#title", LineBlock).refresh()

    def say_of(self, pane: str, fact: str) -> None:
        """Say a count or a position in the lower border of a pane."""
        self.query_one(f"#{pane}").border_subtitle = Content(fact)

    def show_chips(self, content: Line) -> None:
        """Show the row of filters; an empty line hides it."""
        self._chips = content
        self._draw_chips("")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Turn the error of a worker into a problem; what was shown stays."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        if not isinstance(error, CodeAIError):
            error = CodeAIError(f"{type(error).__name__}: {error}")
        self.show_problem(error)
        self.post_message(ProblemMet(error))

    def show_problem(self, error: CodeAIError | None) -> None:
        """Show what went wrong in a row of its own; None takes the row away."""
        row = self.query_one("#problem", LineBlock)
        row.display = error is not None
        if error is not None:
            content = problem_line(error)
            row.show(lambda _: (content,))

    # Panes.

    def scrolls(self) -> Sequence[LineScroll]:
        """Return the panes that scroll, in the order of Tab."""
        panes = (self.query_one(f"#{pane}") for pane in self.PANES)
        return [pane for pane in panes if isinstance(pane, LineScroll)]

    def pane_group(self, pane: str) -> tuple[str, ...]:
        """Return the panes that are shown together where only one fits."""
        return (pane,)

    def show_panes(self) -> None:
        """Show the panes that there is room for, and focus the one that is read."""
        if not self.PANES or not self.query("#body"):
            return
        alone = self._zoomed or not self.has_class("-wide")
        if self._zoomed:
            group: tuple[str, ...] = (self.pane,)
        else:
            group = self.pane_group(self.pane) if alone else self.PANES
        target = self.query_one(f"#{self.pane}")
        target.display = True
        if self.focused is not target:
            self.set_focus(target)
        for pane in self.PANES:
            self.query_one(f"#{pane}").display = pane in group
        self.set_class(alone, "-alone")

    def show_pane(self, pane: str) -> None:
        """Go to a pane."""
        self.pane = pane
        self.show_panes()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the focus where a click put it."""
        if event.widget.id in self.PANES:
            self.pane = event.widget.id

    def action_next_pane(self) -> None:
        """Go to the next pane."""
        self._step_pane(1)

    def action_previous_pane(self) -> None:
        """Go to the pane before."""
        self._step_pane(-1)

    def action_zoom(self) -> None:
        """Show this pane alone, or all that there is room for."""
        self._zoomed = not self._zoomed
        self.show_panes()

    def action_up(self) -> None:
        """Leave the zoom, then the pane, then the place."""
        if self._zoomed:
            self.action_zoom()
        elif self.PANES and self.pane != self.PANES[0]:
            self.show_pane(self.PANES[0])
        elif self.place.kind != "overview":
            self.post_message(PlaceWanted(self.parent_place()))

    def action_reread(self) -> None:
        """Read the ledger again."""
        self.show_problem(None)
        self.read()

    # Search and copy.

    def copy_text(self) -> str:
        """Return the exact text of what is under the cursor."""
        pane = self._read_pane()
        return pane.copy_text() if pane else ""

    def search_for(self, query: str) -> None:
        """Find a text in the pane that is read and go to the first hit from the cursor on."""
        pane = self._read_pane()
        self._query = query
        if pane is None or not query:
            self._hits = []
            self._draw_chips("")
            return
        wanted = query.casefold()
        self._hits = [at for at, text in enumerate(pane.texts()) if wanted in text.casefold()]
        at = pane.place_of_cursor()
        self._go_to_hit(next((hit for hit in self._hits if hit >= at), None))

    def action_search_step(self, by: int) -> None:
        """Go to the next hit or the one before."""
        pane = self._read_pane()
        if pane is None or not self._hits:
            self._draw_chips(found_text(self._query, None, 0, among=self.searched_name()))
            return
        at = pane.place_of_cursor()
        if by > 0:
            hit = next((hit for hit in self._hits if hit > at), self._hits[0])
        else:
            hit = next((hit for hit in reversed(self._hits) if hit < at), self._hits[-1])
        self._go_to_hit(hit)

    def _go_to_hit(self, hit: int | None) -> None:
        pane = self._read_pane()
        if hit is None and self._hits:
            hit = self._hits[0]
        if hit is not None and pane is not None:
            pane.go_to(hit)
        nth = self._hits.index(hit) + 1 if hit is not None else None
        self._draw_chips(found_text(self._query, nth, len(self._hits), among=self.searched_name()))

    def _draw_chips(self, found: str) -> None:
        row = self.query_one("#chips", LineBlock)
        said = line(" ", *self._chips, "  " if self._chips else "", (found, "note"))
        row.display = bool(self._chips or found)
        row.show(lambda _: (said,))

    def _read_pane(self) -> LineScroll | None:
        pane = self.query_one(f"#{self.pane}") if self.pane else None
        return pane if isinstance(pane, LineScroll) else next(iter(self.scrolls()), None)

    def _step_pane(self, by: int) -> None:
        if self.PANES:
            at = (self.PANES.index(self.pane) + by) % len(self.PANES)
            self.show_pane(self.PANES[at])
