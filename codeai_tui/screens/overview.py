"""Overview: what this record establishes and what it does not, both always in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from typing_extensions import override

from codeai_tui.messages import PlaceWanted
from codeai_tui.places import Place
from codeai_tui.present.fanouts import COLUMNS, EMPTY, fanout_rows
from codeai_tui.present.overview import (
    ESTABLISHED,
    ESTABLISHED_COLUMNS,
    KIND_COLUMNS,
    NOT_ESTABLISHED,
    established_rows,
    kind_rows,
    not_established_lines,
    scope_text,
    why_lines,
)
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.widget import Widget

    from codeai_engine import FanoutSummary, LedgerInfo, OverviewView

RECENT = 30
_EVENTS_OF = {"orphans": "kind:attempt.*", "unread": ""}


class OverviewScreen(PlaceScreen):
    """The first screen of a ledger."""

    PANES: ClassVar[tuple[str, ...]] = ("established", "denied", "recent", "kinds", "why")

    @dataclass
    class Glanced(Message):
        """Counts are there; no payload was opened for them."""

        info: LedgerInfo
        kinds: tuple[tuple[str, int], ...]

    @dataclass
    class Read(Message):
        """The levels are there."""

        view: OverviewView

    @dataclass
    class RecentRead(Message):
        """The newest fan-outs are there."""

        summaries: tuple[FanoutSummary, ...]

    view: OverviewView | None = None

    @override
    def crumbs(self) -> tuple[str, ...]:
        return ("Overview",)

    @override
    def compose_body(self) -> Iterable[Widget]:
        with Vertical(id="claims"):
            established = LineGrid(
                ESTABLISHED_COLUMNS, headed=False, id="established", classes="pane"
            )
            established.border_title = ESTABLISHED
            yield established
            denied = LinesView(not_established_lines(None), id="denied", classes="pane")
            denied.border_title = NOT_ESTABLISHED
            yield denied
            recent = LineGrid(COLUMNS, id="recent", classes="pane")
            recent.border_title = "Newest fan-outs"
            yield recent
        kinds = LineGrid(KIND_COLUMNS, headed=False, id="kinds", classes="pane")
        kinds.border_title = "Events by kind"
        yield kinds
        why = LinesView(id="why", classes="pane")
        why.border_title = "Why"
        yield why

    @override
    def on_mount(self) -> None:
        self._draw()
        super().on_mount()

    @override
    def read(self) -> None:
        self._glance()
        # Levels need payloads, and payloads need pydantic: not before the counts are painted.
        self.call_after_refresh(self._read_levels)

    @override
    def pane_group(self, pane: str) -> tuple[str, ...]:
        return ("why",) if pane == "why" else ("established", "denied", "kinds")

    @override
    def current_state(self) -> Mapping[str, object]:
        return {"cursor": self.query_one("#established", LineGrid).cursor_key}

    @override
    def searched_name(self) -> str:
        return "this pane"

    @work(group="overview.glance", exclusive=True, exit_on_error=False)
    async def _glance(self) -> None:
        self.post_message(self.Glanced(*await self.gateway.glance()))

    @work(group="overview.levels", exclusive=True, exit_on_error=False)
    async def _read_levels(self) -> None:
        self.post_message(self.Read(await self.gateway.overview()))
        page = await self.gateway.fanouts(limit=RECENT)
        self.post_message(self.RecentRead(page.items))

    @on(Glanced)
    def _glanced(self, event: Glanced) -> None:
        self.query_one("#kinds", LineGrid).set_rows(kind_rows(event.kinds))
        self.query_one("#kinds").border_subtitle = f"{len(event.kinds)} kinds"
        self.refresh_title()

    @on(Read)
    def _levels_read(self, event: Read) -> None:
        self.view = event.view
        self._draw()

    @on(RecentRead)
    def _recent_read(self, event: RecentRead) -> None:
        self.query_one("#recent", LineGrid).set_rows(fanout_rows(event.summaries), empty=EMPTY)

    @on(LineGrid.Opened, "#recent")
    def _open_fanout(self, event: LineGrid.Opened) -> None:
        self.post_message(PlaceWanted(Place("fanout", event.key)))

    @on(LineGrid.CursorMoved, "#established")
    def _explain(self, event: LineGrid.CursorMoved) -> None:
        lines = why_lines(event.key, self.view, self.gateway.info)
        self.query_one("#why", LinesView).set_lines(lines)

    @on(LineGrid.Opened, "#established")
    def _open_row(self, event: LineGrid.Opened) -> None:
        if event.key in _EVENTS_OF:
            chosen = _EVENTS_OF[event.key]
            keys = (("filter", chosen),) if chosen else ()
            self.post_message(PlaceWanted(Place("events", keys=keys)))
        else:
            self.post_message(PlaceWanted(Place("fanouts")))

    @on(LineGrid.Opened, "#kinds")
    def _open_kind(self, event: LineGrid.Opened) -> None:
        self.post_message(PlaceWanted(Place("events", keys=(("filter", f"kind:{event.key}"),))))

    def _draw(self) -> None:
        grid = self.query_one("#established", LineGrid)
        cursor = self.state.pop("cursor", None) if self.view else None
        grid.set_rows(
            established_rows(self.view), cursor=cursor if isinstance(cursor, str) else None
        )
        grid.border_subtitle = scope_text(self.view)
        self.query_one("#denied", LinesView).set_lines(not_established_lines(self.view))
