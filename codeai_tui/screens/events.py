"""The event browser: every event in order, one of them with its payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on, work
from textual.message import Message
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.places import Place
from codeai_tui.present import events as present
from codeai_tui.present.payload import parse_payload
from codeai_tui.present.words import count
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.screens.sheets import AskSheet, TextSheet
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.payload_tree import PayloadTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import BindingType
    from textual.widget import Widget

    from codeai_engine import EventRow, EventSummary
    from codeai_tui.gateway import Gateway

Part = Literal["whole", "above", "below"]
_MOST_ROWS = 6400  # 32 pages; past that the far end is let go


class EventsScreen(PlaceScreen):
    """Events by sequence, of all kinds or of those that a filter names."""

    PANES: ClassVar[tuple[str, ...]] = ("events", "payload")
    BINDINGS: ClassVar[list[BindingType]] = [
        key("f", "filter", "filter", binding_id="events.filter", footer=True),
    ]

    @dataclass
    class Read(Message):
        """Events are there: a new list, or more of it at one end."""

        events: tuple[EventSummary, ...]
        part: Part
        more_above: bool
        more_below: bool
        cursor: str | None = None

    @dataclass
    class PayloadRead(Message):
        """One event is there whole."""

        event: EventRow

    def __init__(self, gateway: Gateway, place: Place, state: Mapping[str, object]) -> None:
        super().__init__(gateway, place, state)
        self.chosen = present.parse_filter(place.key("filter"))
        self._events: tuple[EventSummary, ...] = ()
        self._shown: EventRow | None = None

    @override
    def crumbs(self) -> tuple[str, ...]:
        return ("Events",)

    @override
    def compose_body(self) -> Iterable[Widget]:
        grid = LineGrid(present.COLUMNS, id="events", classes="pane")
        grid.border_title = "Events"
        yield grid
        tree = PayloadTree(id="payload", classes="pane")
        tree.border_title = "Event"
        yield tree

    @override
    def read(self) -> None:
        cursor = self._grid.cursor_key or self.state.get("cursor") or self.place.id
        self.show_filter()
        self._read_around(int(cursor) if isinstance(cursor, str) and cursor else None)

    @override
    def current_place(self) -> Place:
        chosen = self.chosen.text()
        keys = (("filter", chosen),) if chosen else ()
        cursor = self._grid.cursor_key
        return Place("event", cursor, keys) if cursor else Place("events", keys=keys)

    @override
    def current_state(self) -> Mapping[str, object]:
        return {"cursor": self._grid.cursor_key}

    @override
    def searched_name(self) -> str:
        if self.pane == "payload":
            return "this event"
        return f"the {count(len(self._events))} events loaded"

    @property
    def _grid(self) -> LineGrid:
        return self.query_one("#events", LineGrid)

    @property
    def _tree(self) -> PayloadTree:
        return self.query_one("#payload", PayloadTree)

    def jump_to(self, sequence: int) -> None:
        """Go to one event; the list goes on from there in both directions."""
        if not self._grid.put_cursor(str(sequence)):
            self._read_around(sequence)

    def show_filter(self) -> None:
        """Show the filter that is in force."""
        self.show_chips(
            present.filter_line(self.chosen, len(self._events)) if self.chosen.text() else ()
        )

    async def action_filter(self) -> None:
        """Ask for another filter."""
        label = f"filter: {present.FILTER_HINT}; empty shows all"
        sheet = AskSheet(label, self.chosen.text(), present.filter_problem)
        await self.app.push_screen(sheet, self._filter)

    def _filter(self, answer: str | None) -> None:
        if answer is not None:
            self.chosen = present.parse_filter(answer)
            self._events = ()
            self._read_around(None)

    @work(group="events.page", exclusive=True, exit_on_error=False)
    async def _read_around(self, sequence: int | None) -> None:
        """Read the list anew: from its beginning, or on both sides of one event."""
        kind, stream = self.chosen.kind, self.chosen.stream
        if sequence is None:
            page = await self.gateway.events(after=0, kind=kind, stream=stream)
            answer = self.Read(page.items, "whole", False, page.next_cursor is not None)  # noqa: FBT003
        else:
            above = await self.gateway.events(before=sequence, kind=kind, stream=stream)
            below = await self.gateway.events(after=sequence - 1, kind=kind, stream=stream)
            events = (*above.items, *below.items)
            first = below.items[0] if below.items else events[-1] if events else None
            answer = self.Read(
                events,
                "whole",
                above.previous_cursor is not None,
                below.next_cursor is not None,
                cursor=str(first.sequence) if first else None,
            )
        self.post_message(answer)

    @work(group="events.page", exclusive=True, exit_on_error=False)
    async def _read_end(self) -> None:
        """Read the newest page."""
        page = await self.gateway.events(kind=self.chosen.kind, stream=self.chosen.stream)
        last = str(page.items[-1].sequence) if page.items else None
        self.post_message(
            self.Read(page.items, "whole", page.previous_cursor is not None, False, cursor=last)  # noqa: FBT003
        )

    @work(group="events.page", exclusive=True, exit_on_error=False)
    async def _read_more(self, part: Literal["above", "below"]) -> None:
        """Read the page that goes on at one end."""
        kind, stream = self.chosen.kind, self.chosen.stream
        if part == "above":
            page = await self.gateway.events(
                before=self._events[0].sequence, kind=kind, stream=stream
            )
        else:
            page = await self.gateway.events(
                after=self._events[-1].sequence, kind=kind, stream=stream
            )
        self.post_message(
            self.Read(
                page.items, part, page.previous_cursor is not None, page.next_cursor is not None
            )
        )

    @work(group="events.payload", exclusive=True, exit_on_error=False)
    async def _read_payload(self, sequence: int) -> None:
        self.post_message(self.PayloadRead(await self.gateway.event(sequence)))

    @on(Read)
    def _events_read(self, event: Read) -> None:
        grid = self._grid
        match event.part:
            case "whole":
                self._events = event.events
                grid.more_above, grid.more_below = event.more_above, event.more_below
            case "above":
                merged = (*event.events, *self._events)
                self._events = merged[:_MOST_ROWS]
                grid.more_above = event.more_above
                grid.more_below = grid.more_below or len(merged) > _MOST_ROWS
            case "below":
                merged = (*self._events, *event.events)
                self._events = merged[-_MOST_ROWS:]
                grid.more_below = event.more_below
                grid.more_above = grid.more_above or len(merged) > _MOST_ROWS
        empty = present.nothing_matches(self.chosen)
        grid.set_rows(present.event_rows(self._events), cursor=event.cursor, empty=empty)
        if event.cursor is not None:
            grid.put_cursor(event.cursor)
        self.show_filter()

    @on(LineGrid.EdgeReached, "#events")
    def _edge_reached(self, event: LineGrid.EdgeReached) -> None:
        if event.jump and event.edge == "below":
            self._read_end()
        elif event.jump:
            self._read_around(None)
        else:
            self._read_more(event.edge)

    @on(LineGrid.CursorMoved, "#events")
    def _event_looked_at(self, event: LineGrid.CursorMoved) -> None:
        last = self.gateway.info.last_sequence
        self.say_of("events", f"seq {int(event.key):,} of {count(last)}")
        self._read_payload(int(event.key))

    @on(PayloadRead)
    def _payload_read(self, event: PayloadRead) -> None:
        if str(event.event.sequence) == self._grid.cursor_key:
            self._shown = event.event
            payload = parse_payload(event.event.payload_json)
            self._tree.set_event(present.head_lines(event.event), payload)

    @on(LineGrid.Opened, "#events")
    def _open_event(self, event: LineGrid.Opened) -> None:
        event.stop()
        self.show_pane("payload")

    @on(LineGrid.Opened, "#payload")
    async def _open_value(self, event: LineGrid.Opened) -> None:
        text = self._tree.value_text(event.key)
        title = f"event {self._grid.cursor_key}"
        await self.app.push_screen(TextSheet(title, present.value_lines(text), text))
