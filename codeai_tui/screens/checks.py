"""Checks on two axes: verdict by binding, the checks of a cell, and one of them whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.messages import PlaceWanted
from codeai_tui.places import Place
from codeai_tui.present import checks as present
from codeai_tui.present.check_matrix import TOTAL, Axis, make_matrix
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.screens.sheets import TextSheet
from codeai_tui.widgets.cell_matrix import CellMatrix
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import BindingType
    from textual.widget import Widget

    from codeai_engine import ChecksView, CheckView
    from codeai_tui.gateway import Gateway

_OTHER: dict[Axis, Axis] = {"state": "artifact", "artifact": "state"}


class ChecksScreen(PlaceScreen):
    """Every check of the ledger, or as many of the newest as are read."""

    PANES: ClassVar[tuple[str, ...]] = ("matrix", "list", "detail")
    BINDINGS: ClassVar[list[BindingType]] = [
        key("b", "switch_axis", "state/artifact", binding_id="checks.axis", footer=True),
        key("p", "policy", "policy of this check", binding_id="checks.policy"),
        key("e", "events", "events of this check", binding_id="checks.events"),
    ]

    @dataclass
    class Read(Message):
        """The checks are there; `named` are those that the place names."""

        view: ChecksView
        named: tuple[CheckView, ...]

    def __init__(self, gateway: Gateway, place: Place, state: Mapping[str, object]) -> None:
        super().__init__(gateway, place, state)
        self.axis: Axis = "artifact" if self.state.get("axis") == "artifact" else "state"
        self._view: ChecksView | None = None
        self._checks: tuple[CheckView, ...] = ()
        self._by_key: dict[str, CheckView] = {}
        self._wanted = ""

    @override
    def crumbs(self) -> tuple[str, ...]:
        return ("Checks",)

    @override
    def compose_body(self) -> Iterable[Widget]:
        with Vertical(id="cells"):
            yield CellMatrix(id="matrix", classes="pane")
            grid = LineGrid(present.COLUMNS, id="list", classes="pane")
            grid.border_title = "Checks, newest first"
            yield grid
        detail = LinesView(id="detail", classes="pane")
        detail.border_title = "Check"
        yield detail

    @override
    def read(self) -> None:
        self._read_checks()

    @override
    def show_panes(self) -> None:
        super().show_panes()
        for cells in self.query("#cells"):
            cells.display = self.pane != "detail" or not self.has_class("-alone")

    @override
    def pane_group(self, pane: str) -> tuple[str, ...]:
        return ("detail",) if pane == "detail" else ("matrix", "list")

    @override
    def current_place(self) -> Place:
        check = self._by_key.get(self._grid.cursor_key)
        if check is None or self.pane == "matrix":
            return Place("checks")
        return Place("check", check.check_id, (("item", str(check.sequence)),))

    @override
    def current_state(self) -> Mapping[str, object]:
        return {
            "axis": self.axis,
            "cell": self._matrix.cell,
            "cursor": self._grid.cursor_key,
            "pane": self.pane,
        }

    @override
    def searched_name(self) -> str:
        return {"matrix": "the cells", "detail": "this check"}.get(self.pane, "the checks loaded")

    @property
    def _grid(self) -> LineGrid:
        return self.query_one("#list", LineGrid)

    @property
    def _matrix(self) -> CellMatrix:
        return self.query_one(CellMatrix)

    def action_switch_axis(self) -> None:
        """Show the verdicts by the other binding."""
        if self._view is not None:
            self.axis = _OTHER[self.axis]
            self._draw_matrix((TOTAL, TOTAL))

    async def action_policy(self) -> None:
        """Show how the exit code of the check under the cursor was to be read."""
        check = self._by_key.get(self._grid.cursor_key)
        if check is not None:
            await self.app.push_screen(TextSheet("Policy", present.policy_lines(check)))

    def action_events(self) -> None:
        """Go to the events of the check under the cursor."""
        check = self._by_key.get(self._grid.cursor_key)
        if check is not None:
            keys = (("filter", f"stream:{check.check_id}"),)
            self.post_message(PlaceWanted(Place("events", keys=keys)))

    @work(group="checks.page", exclusive=True, exit_on_error=False)
    async def _read_checks(self) -> None:
        named = await self.gateway.check(self.place.id) if self.place.id else ()
        self.post_message(self.Read(await self.gateway.checks(), named))

    @on(Read)
    def _checks_read(self, event: Read) -> None:
        first = self._view is None
        self._view = event.view
        known = {check.sequence for check in present.all_checks(event.view)}
        # A check that is older than those read is shown all the same.
        older = tuple(check for check in event.named if check.sequence not in known)
        self._checks = (*present.all_checks(event.view), *older)
        self._by_key = {str(check.sequence): check for check in self._checks}
        if first:
            self._take_up(event.named)
        else:
            self._draw_matrix(self._matrix.cell)

    def _take_up(self, named: tuple[CheckView, ...]) -> None:
        """Begin where the place or the way back says."""
        cell = self.state.get("cell")
        cursor = self.place.key("item") or self.state.get("cursor")
        if named and cursor not in {str(check.sequence) for check in named}:
            cursor = str(named[-1].sequence)
        self._wanted = cursor if isinstance(cursor, str) else ""
        row, column = cell if isinstance(cell, tuple) else (TOTAL, TOTAL)
        self._draw_matrix((row, column))
        pane = self.state.get("pane")
        if isinstance(pane, str) and pane in self.PANES:
            self.show_pane(pane)
        elif named:
            self.show_pane("list" if self.has_class("-wide") else "detail")

    def _draw_matrix(self, cell: tuple[str, str]) -> None:
        if self._view is None:
            return
        matrix = make_matrix(self._view.items, self.axis)
        self._matrix.set_matrix(matrix, cell=cell)
        self._matrix.border_title = f"Verdict by {self.axis} binding"
        self.say_of("matrix", present.scope_text(self._view))

    @on(CellMatrix.CursorMoved)
    def _cell_looked_at(self, event: CellMatrix.CursorMoved) -> None:
        if self._view is None:
            return
        everything = (event.row, event.column) == (TOTAL, TOTAL)
        matrix = self._matrix.matrix
        # Those without a completion are in no cell: they stand only in the whole list.
        chosen = [
            check
            for check in self._checks
            if everything
            or (check.event_id is not None and matrix.holds(check, event.row, event.column))
        ]
        empty = present.NONE_HERE if self._checks else present.EMPTY
        grid = self._grid
        grid.set_rows(present.check_rows(chosen), cursor=self._wanted or None, empty=empty)
        if self._wanted:
            grid.put_cursor(self._wanted)
            self._wanted = ""
        self.say_of("list", f"{len(chosen):,} of {len(self._checks):,}")
        if not chosen:
            self.query_one("#detail", LinesView).set_lines(())

    @on(CellMatrix.Opened)
    def _cell_opened(self) -> None:
        self.show_pane("list")

    @on(LineGrid.CursorMoved, "#list")
    def _check_looked_at(self, event: LineGrid.CursorMoved) -> None:
        check = self._by_key.get(event.key)
        if check is not None:
            self.query_one("#detail", LinesView).set_lines(present.detail_lines(check))
            self.say_of("detail", f"event {check.sequence:,}")

    @on(LineGrid.Opened, "#list")
    def _check_opened(self) -> None:
        self.show_pane("detail")
