"""The fan-out as a picture, one row a branch; Enter on a stage goes to its row below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.widget import Widget
from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.present.flow import STAGES, FlowCursor, Stage, flow_height, flow_lines
from codeai_tui.present.line import BLANK
from codeai_tui.widgets.painting import painter_for

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.strip import Strip

    from codeai_engine import FanoutView


class FlowPicture(Widget, can_focus=True, inherit_bindings=False):
    """Base, seal, package, bytes and answer of every branch, or of five of many."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        key("left,h", "stage(-1)", "stage before", binding_id="flow.left"),
        key("right,l", "stage(1)", "stage after", binding_id="flow.right"),
        key("up,k", "branch(-1)", "branch above", binding_id="flow.up"),
        key("down,j", "branch(1)", "branch below", binding_id="flow.down"),
        key("enter", "open_stage", "go to its row", binding_id="flow.open", shows="Enter"),
    ]

    @dataclass
    class BranchChosen(Message):
        """Another branch is looked at."""

        branch: int

    @dataclass
    class StageOpened(Message):
        """The reader wants the row of a stage."""

        branch: int
        stage: Stage

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._view: FanoutView | None = None
        self._branch = 0
        self._stage: Stage = STAGES[0]

    def set_view(self, view: FanoutView) -> None:
        """Show another fan-out."""
        self._view = view
        self._branch = min(self._branch, max(len(view.branches) - 1, 0))
        self.styles.height = flow_height(view) + 2
        self.refresh()

    def look_at(self, branch: int) -> None:
        """Mark the branch that the columns below look at."""
        self._branch = branch
        self.refresh()

    @override
    def render_line(self, y: int) -> Strip:
        """Return one row of the picture."""
        width = self.size.width
        content = BLANK
        if self._view is not None and y < flow_height(self._view):
            stage = self._stage if self.has_focus else None
            content = flow_lines(self._view, width, FlowCursor(self._branch, stage))[y]
        return painter_for(self).strip(content, width)

    def action_stage(self, by: int) -> None:
        """Go along the branch."""
        at = STAGES.index(self._stage) + by
        self._stage = STAGES[max(0, min(at, len(STAGES) - 1))]
        self.refresh()

    def action_branch(self, by: int) -> None:
        """Go to the branch above or below."""
        if self._view is None:
            return
        self._branch = max(0, min(self._branch + by, len(self._view.branches) - 1))
        self.refresh()
        self.post_message(self.BranchChosen(self._branch))

    def action_open_stage(self) -> None:
        """Go to the row of the columns that stands for this stage."""
        if self._view is not None and self._view.branches:
            self.post_message(self.StageOpened(self._branch, self._stage))
