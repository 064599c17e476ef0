"""The list of fan-outs, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from typing_extensions import override

from codeai_tui.messages import PlaceWanted
from codeai_tui.places import Place
from codeai_tui.present.branches import preview_lines
from codeai_tui.present.fanouts import COLUMNS, EMPTY, fanout_rows
from codeai_tui.present.words import count
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.widgets.line_block import LineBlock
from codeai_tui.widgets.line_grid import LineGrid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.widget import Widget

    from codeai_engine import FanoutSummary, FanoutView, Page


class FanoutsScreen(PlaceScreen):
    """Every fan-out of the ledger in one row."""

    PANES: ClassVar[tuple[str, ...]] = ("fanouts",)

    @dataclass
    class Read(Message):
        """A page is there; `more` when it goes on from what is shown."""

        page: Page[FanoutSummary]
        more: bool

    @dataclass
    class Previewed(Message):
        """The fan-out under the cursor is there."""

        view: FanoutView

    _summaries: tuple[FanoutSummary, ...] = ()
    _next: int | None = None

    @override
    def crumbs(self) -> tuple[str, ...]:
        return ("Fan-outs",)

    @override
    def compose_body(self) -> Iterable[Widget]:
        grid = LineGrid(COLUMNS, id="fanouts", classes="pane")
        grid.border_title = "Fan-outs, newest first"
        with Vertical(id="list"):
            yield grid
            yield LineBlock(id="preview")

    @override
    def read(self) -> None:
        self._read_page(None)

    @override
    def current_place(self) -> Place:
        cursor = self._grid.cursor_key
        return Place("fanouts", keys=(("item", cursor),) if cursor else ())

    @override
    def current_state(self) -> Mapping[str, object]:
        return {"cursor": self._grid.cursor_key}

    @override
    def fanout_at_hand(self) -> str:
        return self._grid.cursor_key

    @override
    def searched_name(self) -> str:
        return f"the {count(len(self._summaries))} fan-outs loaded"

    @property
    def _grid(self) -> LineGrid:
        return self.query_one("#fanouts", LineGrid)

    @work(group="fanouts.page", exclusive=True, exit_on_error=False)
    async def _read_page(self, before: int | None) -> None:
        page = await self.gateway.fanouts(before=before)
        self.post_message(self.Read(page, more=before is not None))

    @on(Read)
    def _page_read(self, event: Read) -> None:
        first = not self._summaries
        self._summaries = (*(self._summaries if event.more else ()), *event.page.items)
        self._next = event.page.next_cursor
        grid = self._grid
        grid.more_below = self._next is not None
        cursor = self.state.get("cursor") or self.place.key("item") if first else None
        grid.set_rows(
            fanout_rows(self._summaries),
            cursor=cursor if isinstance(cursor, str) else None,
            empty=EMPTY,
        )
        more = "+" if self._next is not None else ""
        self.say_of("fanouts", f"{count(len(self._summaries))}{more} fan-outs")

    @work(group="fanouts.preview", exclusive=True, exit_on_error=False)
    async def _read_preview(self, fanout_id: str) -> None:
        self.post_message(self.Previewed(await self.gateway.fanout(fanout_id)))

    @on(Previewed)
    def _preview_read(self, event: Previewed) -> None:
        if event.view.summary.fanout_id == self._grid.cursor_key:
            view = event.view
            self.query_one("#preview", LineBlock).show(lambda width: preview_lines(view, width))

    @on(LineGrid.CursorMoved)
    def _look_at(self, event: LineGrid.CursorMoved) -> None:
        if self.query_one("#preview").display:
            self._read_preview(event.key)

    @on(LineGrid.EdgeReached)
    def _read_more(self, event: LineGrid.EdgeReached) -> None:
        if event.edge == "below" and self._next is not None:
            self._read_page(self._next)

    @on(LineGrid.Opened)
    def _open(self, event: LineGrid.Opened) -> None:
        self.post_message(PlaceWanted(Place("fanout", event.key)))
