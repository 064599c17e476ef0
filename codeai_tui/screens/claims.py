"""Claims: each with its history, and what its record and its attempts make of it side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from typing_extensions import override

from codeai_tui.display import safe
from codeai_tui.keymap import key
from codeai_tui.messages import PlaceWanted
from codeai_tui.places import Place
from codeai_tui.present import claims as present
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import BindingType
    from textual.widget import Widget

    from codeai_engine import ClaimEntry, ClaimsView
    from codeai_tui.gateway import Gateway

_CHOICES = ("all", "admitted", "not admitted")


class ClaimsScreen(PlaceScreen):
    """Every claim of the ledger, or as many of the newest as are read."""

    PANES: ClassVar[tuple[str, ...]] = ("claims", "history", "promotions")
    BINDINGS: ClassVar[list[BindingType]] = [
        key("m", "mark", "mark to compare with", binding_id="claims.mark"),
        key("a", "choose", "admitted or not", binding_id="claims.choose", footer=True),
        key("d", "differing", "where record and attempts part", binding_id="claims.differing"),
        key("e", "events", "events of this claim", binding_id="claims.events"),
    ]

    @dataclass
    class Read(Message):
        """The claims are there; `named` are those that the place names."""

        view: ClaimsView
        named: tuple[present.Shown, ...]

    def __init__(self, gateway: Gateway, place: Place, state: Mapping[str, object]) -> None:
        super().__init__(gateway, place, state)
        self._view: ClaimsView | None = None
        self._shown: dict[str, present.Shown] = {}
        self._chosen = str(self.state.get("chosen", _CHOICES[0]))
        self._marked = str(self.state.get("marked", ""))
        self._only_differing = bool(self.state.get("differing"))

    @override
    def crumbs(self) -> tuple[str, ...]:
        shown = self._under_cursor()
        return ("Claims", shown.claim_id) if shown is not None else ("Claims",)

    @override
    def compose_body(self) -> Iterable[Widget]:
        grid = LineGrid(present.CLAIM_COLUMNS, id="claims", classes="pane")
        grid.border_title = "Claims"
        yield grid
        with Container(id="claim"):
            history = LineGrid(present.HISTORY_COLUMNS, id="history", classes="pane")
            history.border_title = "History"
            yield history
            promotions = LinesView(id="promotions", classes="pane")
            promotions.border_title = "Record beside attempts"
            yield promotions

    @override
    def read(self) -> None:
        self._read_claims()

    @override
    def show_panes(self) -> None:
        super().show_panes()
        for claim in self.query("#claim"):
            claim.display = self.pane != "claims" or not self.has_class("-alone")

    @override
    def pane_group(self, pane: str) -> tuple[str, ...]:
        return ("claims",) if pane == "claims" else ("history", "promotions")

    @override
    def current_place(self) -> Place:
        shown = self._under_cursor()
        if shown is None or shown.refusal is not None:
            return Place("claims")
        return Place("claim", shown.claim_id)

    @override
    def current_state(self) -> Mapping[str, object]:
        return {
            "claim": self._claims.cursor_key,
            "entry": self._history.cursor_key,
            "chosen": self._chosen,
            "differing": self._only_differing,
            "marked": self._marked,
            "pane": self.pane,
        }

    @override
    def searched_name(self) -> str:
        if self.pane == "claims":
            return "the claims loaded"
        return "this claim"

    @property
    def _claims(self) -> LineGrid:
        return self.query_one("#claims", LineGrid)

    @property
    def _history(self) -> LineGrid:
        return self.query_one("#history", LineGrid)

    def action_choose(self) -> None:
        """Show every step, only what was admitted, or only what was not."""
        self._chosen = _CHOICES[(_CHOICES.index(self._chosen) + 1) % len(_CHOICES)]
        self._draw_history(None)

    def action_mark(self) -> None:
        """Keep the claim under the cursor beside whichever is looked at, or let it go."""
        cursor = self._claims.cursor_key
        self._marked = "" if cursor == self._marked else cursor
        self._draw_promotions()

    def action_differing(self) -> None:
        """Show only the claims whose record and attempts part, or all again."""
        self._only_differing = not self._only_differing
        self._draw_claims(None)

    def action_events(self) -> None:
        """Go to the events of the claim under the cursor."""
        shown = self._under_cursor()
        if shown is not None and shown.claim_id:
            keys = (("filter", f"stream:{shown.claim_id}"),)
            self.post_message(PlaceWanted(Place("events", keys=keys)))

    @work(group="claims.page", exclusive=True, exit_on_error=False)
    async def _read_claims(self) -> None:
        named = (
            present.named_claims(*await self.gateway.claim(self.place.id)) if self.place.id else ()
        )
        self.post_message(self.Read(await self.gateway.claims(), named))

    @on(Read)
    def _claims_read(self, event: Read) -> None:
        first = self._view is None
        self._view = event.view
        shown = {item.key: item for item in present.shown_claims(event.view)}
        # A claim that is older than those read is shown all the same.
        self._shown = {**shown, **{item.key: item for item in event.named}}
        kept = self.state.get("claim")
        cursor = event.named[0].key if first and event.named else kept if first else None
        self._draw_claims(cursor if isinstance(cursor, str) else None)
        if first:
            pane = self.state.get("pane")
            if isinstance(pane, str) and pane in self.PANES:
                self.show_pane(pane)
            elif event.named:
                self.show_pane("history")

    def _draw_claims(self, cursor: str | None) -> None:
        chosen = [item for item in self._shown.values() if item.parts or not self._only_differing]
        empty = present.NONE_DIFFERS if self._shown else present.EMPTY
        grid = self._claims
        grid.set_rows(present.claim_rows(chosen), cursor=cursor, empty=empty)
        if cursor is not None:
            grid.put_cursor(cursor)
        if self._view is not None:
            self.say_of("claims", present.scope_text(self._view))
        if not chosen:
            self._draw_history(None)

    @on(LineGrid.CursorMoved, "#claims")
    def _claim_looked_at(self) -> None:
        entry = self.state.pop("entry", None)
        self._draw_history(entry if isinstance(entry, str) else None)
        self.refresh_title()

    def _draw_history(self, entry: str | None) -> None:
        shown = self._under_cursor()
        history = self._history
        rows = present.history_rows(shown.history if shown else (), self._chosen)
        history.set_rows(rows, cursor=entry, empty=present.history_empty(shown, self._chosen))
        title = present.title_text(shown) if shown is not None else "History"
        history.border_title = Content(safe(title))
        self.say_of("history", f"{self._chosen}: {len(rows):,}")
        self._draw_promotions()

    @on(LineGrid.CursorMoved, "#history")
    def _draw_promotions(self) -> None:
        pane = self.query_one("#promotions", LinesView)
        shown, marked = self._under_cursor(), self._shown.get(self._marked)
        lines = present.promotion_lines(shown)
        beside = present.marked_lines(marked) if marked is not None and marked != shown else ()
        pane.set_lines((*lines, *present.entry_lines(self._entry()), *beside))
        is_marked = marked is not None and marked == shown
        self.say_of("promotions", "marked" if is_marked else "m marks")

    @on(LineGrid.Opened, "#claims")
    def _claim_opened(self) -> None:
        self.show_pane("history")

    @on(LineGrid.Opened, "#history")
    def _entry_opened(self) -> None:
        entry = self._entry()
        if entry is None:
            return
        if entry.check is None:
            self.post_message(PlaceWanted(Place("event", str(entry.sequence))))
            return
        keys = (("item", str(entry.check.sequence)),)
        self.post_message(PlaceWanted(Place("check", entry.check.check_id, keys)))

    def _under_cursor(self) -> present.Shown | None:
        return self._shown.get(self._claims.cursor_key) if self.query("#claims") else None

    def _entry(self) -> ClaimEntry | None:
        shown, sequence = self._under_cursor(), self._history.cursor_key
        entries = shown.history if shown is not None else ()
        return next((entry for entry in entries if str(entry.sequence) == sequence), None)
