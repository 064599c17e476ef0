"""The branches of one fan-out side by side, under the picture of how they ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.messages import PlaceWanted
from codeai_tui.places import Place
from codeai_tui.present import branches as present
from codeai_tui.present.flow import ROWS, stage_field
from codeai_tui.present.line import clip_line
from codeai_tui.present.words import branch_letter, plural, short_id
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.screens.sheets import TextSheet
from codeai_tui.widgets.branch_columns import BranchColumns
from codeai_tui.widgets.flow_picture import FlowPicture
from codeai_tui.widgets.line_block import LineBlock
from codeai_tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from textual.binding import BindingType
    from textual.widget import Widget

    from codeai_engine import FanoutView
    from codeai_tui.gateway import Gateway
    from codeai_tui.widgets.line_scroll import LineScroll


class BranchesScreen(PlaceScreen):
    """One fan-out."""

    PANES: ClassVar[tuple[str, ...]] = ("columns", "flow", "cell")
    BINDINGS: ClassVar[list[BindingType]] = [
        key("B", "fold", "fold the picture", binding_id="branches.fold"),
        key("e", "events", "events of this branch", binding_id="branches.events"),
    ]
    folded: ClassVar[bool] = False
    """Whether the picture is folded away; it stays so from one fan-out to the next."""

    @dataclass
    class Read(Message):
        """The fan-out is there."""

        view: FanoutView

    def __init__(self, gateway: Gateway, place: Place, state: Mapping[str, object]) -> None:
        super().__init__(gateway, place, state)
        self._board: present.BranchBoard | None = None

    @override
    def crumbs(self) -> tuple[str, ...]:
        return ("Fan-outs", short_id(self.place.id), "Branches")

    @override
    def compose_body(self) -> Iterable[Widget]:
        with Vertical(id="fanout"):
            yield LineBlock(id="summary")
            flow = FlowPicture(id="flow", classes="pane")
            flow.border_title = "Fan-out"
            yield flow
            yield LineBlock(id="strip")
            with Horizontal(id="table"):
                columns = BranchColumns(id="columns", classes="pane")
                columns.border_title = "Branches"
                yield columns
                cell = LinesView(id="cell", classes="pane")
                cell.border_title = "Cell"
                yield cell
            yield LineBlock(id="below")

    @override
    def read(self) -> None:
        self._read_fanout()

    @override
    def parent_place(self) -> Place:
        return Place("fanouts", keys=(("item", self.place.id),))

    @override
    def current_place(self) -> Place:
        board, columns = self._board, self.query_one(BranchColumns)
        if board is None or not len(board):
            return self.place
        call_id = board.branches[columns.branch].call_id
        return Place("fanout", self.place.id, (("branch", call_id), ("item", columns.field_key)))

    @override
    def fanout_at_hand(self) -> str:
        return self.place.id

    @override
    def scrolls(self) -> Sequence[LineScroll]:
        return [self.query_one(BranchColumns), self.query_one(LinesView)]

    @override
    def pane_group(self, pane: str) -> tuple[str, ...]:
        return ("cell",) if pane == "cell" else ("columns", "flow")

    @override
    def searched_name(self) -> str:
        return "all branches" if self.pane != "cell" else "this cell"

    @override
    def show_panes(self) -> None:
        super().show_panes()
        for flow in self.query(FlowPicture):
            flow.display = flow.display and not (self.folded and self.pane != "flow")

    def action_fold(self) -> None:
        """Fold the picture away, or show it again."""
        BranchesScreen.folded = not self.folded
        if self.pane == "flow":
            self.pane = "columns"
        self.show_panes()
        self._draw_strip()

    def action_events(self) -> None:
        """Go to the events of the branch that is looked at."""
        if self._board is not None and len(self._board):
            branch = self._board.branches[self.query_one(BranchColumns).branch]
            chosen = f"stream:{present.event_stream(branch)}"
            self.post_message(PlaceWanted(Place("events", keys=(("filter", chosen),))))

    @work(group="branches.fanout", exclusive=True, exit_on_error=False)
    async def _read_fanout(self) -> None:
        self.post_message(self.Read(await self.gateway.fanout(self.place.id)))

    @on(Read)
    def _fanout_read(self, event: Read) -> None:
        view = event.view
        self.place = Place("fanout", view.summary.fanout_id, self.place.keys)
        self._board = board = present.BranchBoard(view)
        columns = self.query_one(BranchColumns)
        at, field = self._wanted(board)
        self.query_one(FlowPicture).set_view(view)
        columns.set_board(board, branch=at, field=field)
        self.query_one("#summary", LineBlock).show(
            lambda width: (clip_line(present.summary_line(view), width),)
        )
        below = self.query_one("#below", LineBlock)
        lines = (present.below_line(),) if len(board) else present.EMPTY
        below.styles.height = len(lines)
        below.show(lambda _: lines)
        self._draw_strip()
        self._say_position(board)

    @on(BranchColumns.CursorMoved)
    def _cell_looked_at(self, event: BranchColumns.CursorMoved) -> None:
        if self._board is not None:
            cell = self.query_one("#cell", LinesView)
            cell.set_lines(self._board.detail(event.branch, event.field))
            cell.border_title = self._board.name_of(event.branch, event.field)
            self.query_one(FlowPicture).look_at(event.branch)
            self._draw_strip()
            self._say_position(self._board)

    @on(BranchColumns.Opened)
    async def _cell_opened(self, event: BranchColumns.Opened) -> None:
        if self._board is not None:
            title = self._board.name_of(event.branch, event.field)
            lines = self._board.detail(event.branch, event.field)
            copy = self._board.copy_text(event.branch, event.field)
            await self.app.push_screen(TextSheet(title, lines, copy))

    @on(FlowPicture.BranchChosen)
    def _branch_chosen(self, event: FlowPicture.BranchChosen) -> None:
        self.query_one(BranchColumns).look_at(event.branch)

    @on(FlowPicture.StageOpened)
    def _stage_opened(self, event: FlowPicture.StageOpened) -> None:
        self.query_one(BranchColumns).look_at(event.branch, stage_field(event.stage))
        self.show_pane("columns")

    def _wanted(self, board: present.BranchBoard) -> tuple[int, str]:
        """Return the branch and the row that the place names: a call id, or a name."""
        name = self.place.key("branch")
        for index, branch in enumerate(board.branches):
            if name and name in {branch.call_id, branch.name}:
                return index, self.place.key("item")
        return 0, self.place.key("item")

    def _say_position(self, board: present.BranchBoard) -> None:
        columns = self.query_one(BranchColumns)
        if len(board):
            letter = branch_letter(board.branches[columns.branch].position)
            row = f"row {columns.field + 1} of {columns.row_count}"
            self.say_of("columns", f"{letter} of {plural(len(board), 'branch')}, {row}")

    def _draw_strip(self) -> None:
        strip = self.query_one("#strip", LineBlock)
        board, columns = self._board, self.query_one(BranchColumns)
        # The picture shows the same of up to five branches.
        pictured = ROWS if not self.folded else columns.columns_in_sight
        strip.display = board is not None and len(board) > pictured
        if board is not None and strip.display:
            strip.show(lambda width: (board.strip(columns.branch, width),))
