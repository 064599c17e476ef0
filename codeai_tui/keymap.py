"""Keys: every binding has an id, global ones live here, and no screen may take one of them.

Never bound: Ctrl+S, Q, Z, H, I, J and M, which terminals and multiplexers keep for themselves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAMES = {
    "down": "Down",
    "up": "Up",
    "left": "Left",
    "right": "Right",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "enter": "Enter",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
}
FORBIDDEN = frozenset(f"ctrl+{letter}" for letter in "sqzhijm")


def key(
    keys: str, action: str, says: str, *, binding_id: str, shows: str = "", footer: bool = False
) -> Binding:
    """Return one binding: `says` and `shows` are its words and key in footer, help and palette."""
    return Binding(
        keys, action, says, id=binding_id, key_display=shows or None, show=footer, system=False
    )


GLOBAL: tuple[Binding, ...] = (
    key("question_mark", "help", "help", binding_id="app.help", shows="?", footer=True),
    key("colon", "palette", "actions", binding_id="app.palette", shows=":", footer=True),
    key("slash", "search", "search", binding_id="app.search", shows="/"),
    key("n", "screen.search_step(1)", "next hit", binding_id="app.next_hit"),
    key("N", "screen.search_step(-1)", "previous hit", binding_id="app.previous_hit"),
    key("number_sign", "jump", "jump to id or sequence", binding_id="app.jump", shows="#"),
    key("g", "go", "go to", binding_id="app.go", footer=True),
    key("left_square_bracket", "step(-1)", "back", binding_id="app.back", shows="["),
    key("right_square_bracket", "step(1)", "forward", binding_id="app.forward", shows="]"),
    key("escape", "screen.up", "up", binding_id="app.up", shows="Esc"),
    key("tab", "screen.next_pane", "next pane", binding_id="app.next_pane", shows="Tab"),
    key("shift+tab", "screen.previous_pane", "previous pane", binding_id="app.previous_pane"),
    key("z", "screen.zoom", "zoom pane", binding_id="app.zoom"),
    key("y", "copy", "copy what is under the cursor", binding_id="app.copy"),
    key("t", "next_theme", "next theme", binding_id="app.theme"),
    key("exclamation_mark", "errors", "errors", binding_id="app.errors", shows="!"),
    key("ctrl+r", "screen.reread", "read again", binding_id="app.reread", shows="Ctrl+R"),
    key("q", "quit", "quit", binding_id="app.quit", footer=True),
    Binding(
        "ctrl+c",
        "interrupt",
        "quit at once",
        id="app.interrupt",
        key_display="Ctrl+C",
        show=False,
        priority=True,
    ),
)

# Within a list or a text; the letters are those that pagers taught.
MOVING: tuple[Binding, ...] = (
    key("down,j", "move(1)", "down", binding_id="move.down"),
    key("up,k", "move(-1)", "up", binding_id="move.up"),
    key("pagedown", "move_page(1)", "page down", binding_id="move.page_down"),
    key("pageup", "move_page(-1)", "page up", binding_id="move.page_up"),
    key("home", "move_first", "first", binding_id="move.first"),
    key("end,G", "move_last", "last", binding_id="move.last"),
)


@dataclass(frozen=True, slots=True)
class Clash:
    """A key with two meanings at once."""

    key: str
    ids: tuple[str, ...]


def clashes(bindings: Iterable[Binding]) -> list[Clash]:
    """Return the keys that several of `bindings` claim, and those that nothing may claim."""
    claimed = [(name, binding) for binding in bindings for name in binding.key.split(",")]
    counts = Counter(name for name, _ in claimed)
    return [
        Clash(name, tuple(binding.id or "" for other, binding in claimed if other == name))
        for name in dict.fromkeys(name for name, _ in claimed)
        if counts[name] > 1 or name in FORBIDDEN
    ]


def key_names(bindings: Sequence[Binding]) -> str:
    """Return the keys of one thing to do as a reader would type them."""
    if bindings[0].key_display:
        return bindings[0].key_display
    return " ".join(
        _NAMES.get(name, name) for binding in bindings for name in binding.key.split(",")
    )


def by_id(bindings: Iterable[Binding]) -> list[tuple[Binding, ...]]:
    """Return the bindings of each id together, in order: several keys may do the same."""
    grouped: dict[str, list[Binding]] = {}
    for binding in bindings:
        grouped.setdefault(binding.id or binding.key, []).append(binding)
    return [tuple(group) for group in grouped.values()]


def help_rows(bindings: Iterable[Binding]) -> list[tuple[str, str]]:
    """Return what each key does, for the help sheet."""
    return [(key_names(group), group[0].description) for group in by_id(bindings)]
