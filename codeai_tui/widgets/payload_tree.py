"""One event: its columns, then its payload as a tree that opens and closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from codeai_tui.keymap import key
from codeai_tui.present.line import BLANK, Line, line, plain
from codeai_tui.present.payload import (
    COLUMNS,
    Path,
    Payload,
    closed_at_first,
    has_children,
    node_text,
    parse_path,
    path_key,
    payload_rows,
)
from codeai_tui.present.table import Row
from codeai_tui.widgets.line_grid import LineGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

_HEAD = "head"


class PayloadTree(LineGrid):
    """The payload pane of the event browser."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("plus,equals_sign,right", "open_node", "open node", binding_id="tree.open", shows="+"),
        key("minus,left", "close_node", "close node", binding_id="tree.close", shows="-"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(COLUMNS, headed=False, id=id, classes=classes)
        self._head: tuple[Line, ...] = ()
        self._payload: Payload | None = None
        self._folded: frozenset[Path] = frozenset()

    def set_event(self, head: Sequence[Line], payload: Payload) -> None:
        """Show another event."""
        problem = (line((f"! {payload.problem}", "bad")),) if payload.problem else ()
        self._head = (*head, *problem, BLANK)
        self._payload = payload
        self._folded = closed_at_first(payload)
        self._show(cursor=f"{_HEAD} 0")

    def action_open_node(self) -> None:
        """Open the node under the cursor."""
        self._set_closed(closed=False)

    def action_close_node(self) -> None:
        """Close the node under the cursor, or the one around it."""
        self._set_closed(closed=True)

    @override
    def copy_text(self) -> str:
        return self.value_text(self.cursor_key)

    def value_text(self, row_key: str) -> str:
        """Return the exact value behind a row: a column of the event, or a node's value."""
        if self._payload is None or not row_key or row_key.startswith("more"):
            return ""
        if row_key.startswith(_HEAD):
            return plain(self.rows[self.cursor].cells[0])
        return node_text(self._payload, parse_path(row_key))

    def _set_closed(self, *, closed: bool) -> None:
        if self._payload is None or not self._payload.parses or not self._is_node():
            return
        path = parse_path(self.cursor_key)
        if closed and (not has_children(self._payload, path) or path in self._folded):
            path = path[:-1]
        if not path:
            return
        self._folded = self._folded | {path} if closed else self._folded - {path}
        self._show(cursor=path_key(path))

    def _is_node(self) -> bool:
        return bool(self.cursor_key) and self.cursor_key[0].isdigit()

    def _show(self, *, cursor: str) -> None:
        if self._payload is None:
            return
        head = tuple(Row(f"{_HEAD} {at}", (content,)) for at, content in enumerate(self._head))
        self.set_rows((*head, *payload_rows(self._payload, self._folded)), cursor=cursor)
