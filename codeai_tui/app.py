"""The app: which screen is shown, the keys that work everywhere, the list of problems."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App, SystemCommand
from textual.command import CommandPalette
from textual.filter import Monochrome
from textual.widgets import Input
from typing_extensions import override

from codeai_tui import themes
from codeai_tui.display import safe
from codeai_tui.keymap import GLOBAL, by_id, help_rows, key_names
from codeai_tui.messages import PlaceWanted, ProblemMet
from codeai_tui.places import History, Place
from codeai_tui.present.frame import error_lines, help_lines
from codeai_tui.screens.place_screen import PlaceScreen
from codeai_tui.screens.sheets import PLACES, AskSheet, GoSheet, TextSheet
from codeai_tui.widgets.filters import AsciiOnly, NoColours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from textual import events
    from textual.binding import Binding, BindingType
    from textual.dom import DOMNode
    from textual.filter import LineFilter
    from textual.screen import Screen
    from textual.types import CSSPathType

    from codeai_engine import CodeAIError
    from codeai_tui.gateway import Gateway

_SHEETS = ("frame", "sheets", "overview", "fanouts", "branches", "events")
CLIPBOARD_LIMIT = 74_994  # base64 characters that terminals take in one OSC 52
INTERRUPTED = 130
_LOOK_FOR_TERMINAL_S = 2.0
_STOPS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: 143, signal.SIGHUP: 129}


class LedgerApp(App[None], inherit_bindings=False):
    """A ledger on the screen.

    Args:
        gateway: The ledger, open.
        place: Where to begin.
        ascii_only: Draw with ASCII alone.
    """

    # All of them here: a sheet that comes with a later screen makes Textual style all anew.
    CSS_PATH: ClassVar[CSSPathType | None] = [
        "app.tcss",
        *(
            f"screens/{name}.tcss"
            for name in (
                "frame",
                "sheets",
                "overview",
                "fanouts",
                "branches",
                "events",
                "checks",
                "claims",
            )
        ),
    ]
    TITLE = "CodeAI"
    BINDINGS: ClassVar[list[BindingType]] = [*GLOBAL]
    ENABLE_COMMAND_PALETTE = False  # opened by a key of ours, and awaited

    def __init__(self, gateway: Gateway, place: Place, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.gateway = gateway
        self.history = History(place)
        self.errors: list[CodeAIError] = []
        self.crash: Exception | None = None
        self.last_fanout = ""
        self._ascii = AsciiOnly() if ascii_only else None
        self.animation_level = "none"
        for palette in themes.PALETTES.values():
            self.register_theme(themes.textual_theme(palette))
        self.theme = themes.DEFAULT
        self.set_class(ascii_only, "-ascii")

    @override
    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = [
            entry for entry in super().get_line_filters() if not isinstance(entry, Monochrome)
        ]
        if self.no_color:
            filters.append(NoColours())
        if self._ascii:
            filters.append(self._ascii)
        return filters

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield every action that there is a key for, every place and every theme."""
        for bindings, node in self._bindings_of(screen):
            for group in by_id(bindings):
                title = group[0].description.capitalize()
                run = partial(self.run_action, group[0].action, default_namespace=node)
                yield SystemCommand(title, f"key {key_names(group)}", run)
        for _letter, name, place in PLACES:
            if place is not None:
                yield SystemCommand(f"Go to {name}", "place", partial(self.open_place, place))
        for name in themes.PALETTES:
            yield SystemCommand(f"Theme {name}", "colours", partial(self._set_theme, name))

    async def on_mount(self) -> None:
        """Show the first place; signals end the app in order, garbage is collected again."""
        loop = asyncio.get_running_loop()
        for number, code in _STOPS.items():
            loop.add_signal_handler(number, partial(self.exit, return_code=code))
        # Not as the default screen: Textual cannot switch away from that one.
        await self.push_screen(self._make_screen(self.history.current.place, {}))
        self.call_after_refresh(gc.enable)
        if not self.is_headless:
            self.set_interval(_LOOK_FOR_TERMINAL_S, self._end_without_terminal)

    def on_unmount(self) -> None:
        """Give the signals back."""
        loop = asyncio.get_running_loop()
        for number in _STOPS:
            loop.remove_signal_handler(number)

    def _end_without_terminal(self) -> None:
        """End when the terminal is gone and no signal said so: reading it would never rest."""
        poll = select.poll()
        poll.register(sys.stdin.fileno(), 0)
        if any(flags & (select.POLLHUP | select.POLLERR) for _, flags in poll.poll(0)):
            self.exit(return_code=_STOPS[signal.SIGHUP])

    @override
    def _fatal_error(self) -> None:
        # Textual would print a traceback with the locals of every frame, ledger text among them.
        self._close_messages_no_wait()

    @override
    def _handle_exception(self, error: Exception) -> None:
        self.crash = self.crash or error
        super()._handle_exception(error)

    def on_key(self, event: events.Key) -> None:
        """Give a field what was typed before it was there.

        A field takes the letters that reach it, so one that comes up to here was sent to the
        pane that had the focus when it was typed.
        """
        field = self.focused
        if isinstance(field, Input) and event.is_printable and event.character:
            field.insert_text_at_cursor(event.character)

    # Places.

    async def open_place(self, place: Place) -> None:
        """Go to a place; where the reader was can be come back to."""
        self._leave()
        self.history.visit(place)
        await self._show_current()

    async def action_step(self, by: int) -> None:
        """Go back or forward through the places that were looked at."""
        self._leave()
        if self.history.step(by) is not None:
            await self._show_current()

    async def action_go(self) -> None:
        """Ask for a letter and go to its place."""
        # Awaited, so that a letter typed at once already finds the sheet.
        await self.push_screen(GoSheet(), self._go)

    async def _go(self, letter: str | None) -> None:
        if letter is None:
            return
        place = {key: place for key, _, place in PLACES}[letter]
        if place is None:
            self._go_to_fanout_at_hand()
        else:
            await self.open_place(place)

    async def action_jump(self) -> None:
        """Ask for a sequence, or for the head of a fan-out's id, and go there."""
        sheet = AskSheet("# sequence of an event, or id of a fan-out")
        await self.push_screen(sheet, self._jump)

    async def _jump(self, answer: str | None) -> None:
        wanted = (answer or "").strip().replace(",", "")
        if not wanted:
            return
        is_sequence = wanted.isascii() and wanted.isdigit()
        await self.open_place(Place("event" if is_sequence else "fanout", wanted))

    @on(PlaceWanted)
    async def _place_wanted(self, message: PlaceWanted) -> None:
        await self.open_place(message.place)

    @on(ProblemMet)
    def _problem_met(self, message: ProblemMet) -> None:
        self.errors.append(message.error)

    # What works everywhere.

    async def action_search(self) -> None:
        """Ask for a text and find it in the pane that is read."""
        await self.push_screen(AskSheet("search"), self._search)

    def _search(self, answer: str | None) -> None:
        if answer is not None and isinstance(self.screen, PlaceScreen):
            self.screen.search_for(answer)

    async def action_palette(self) -> None:
        """Show every action, to be searched."""
        palette = CommandPalette(id="--command-palette")
        await self.push_screen(palette)
        palette.query_one(Input).cursor_blink = False  # nothing moves while nothing happens

    async def action_help(self) -> None:
        """Show every key of the place and of the app."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for bindings, node in self._bindings_of(self.screen):
            where = "everywhere" if node is self else "here"
            sections.setdefault(where, []).extend(help_rows(bindings))
        await self.push_screen(TextSheet("Keys", help_lines(sections)))

    async def action_errors(self) -> None:
        """Show every problem since the ledger was opened."""
        await self.push_screen(TextSheet("Problems", error_lines(self.errors)))

    def action_copy(self) -> None:
        """Copy the exact text under the cursor: to the clipboard, or to a file where it is long."""
        screen = self.screen
        text = screen.copy_text() if isinstance(screen, PlaceScreen | TextSheet) else ""
        if not text:
            self.notify("nothing to copy here", markup=False)
            return
        # A lone surrogate has no bytes; its escape is the nearest that a clipboard can hold.
        data = text.encode("utf-8", "backslashreplace")
        if len(data) * 4 // 3 > CLIPBOARD_LIMIT:
            self.notify(f"{len(data):,} bytes kept in {_keep(data)}", markup=False)
            return
        self.copy_to_clipboard(data.decode("utf-8"))
        self.notify(f"{len(data):,} bytes to the clipboard", markup=False)

    def action_next_theme(self) -> None:
        """Go through the themes."""
        names = list(themes.PALETTES)
        self._set_theme(names[(names.index(self.theme) + 1) % len(names)])
        self.notify(f"theme {self.theme}", markup=False, timeout=2)

    def action_interrupt(self) -> None:
        """Quit at once, as interrupted."""
        self.exit(return_code=INTERRUPTED)

    def _set_theme(self, name: str) -> None:
        self.theme = name

    def _bindings_of(self, screen: Screen[object]) -> Iterator[tuple[list[Binding], DOMNode]]:
        """Yield the bindings in force on a screen by what they belong to, nearest first."""
        node: DOMNode | None = screen.focused or screen
        while node is not None:
            yield [binding for _, binding in node._bindings], node  # noqa: SLF001 - no public list
            node = node.parent

    @work(exclusive=True, group="app.fanout", exit_on_error=False)
    async def _go_to_fanout_at_hand(self) -> None:
        """Go to the fan-out that is or was looked at, else to the newest."""
        screen = self.screen
        chosen = screen.fanout_at_hand() if isinstance(screen, PlaceScreen) else ""
        chosen = chosen or self.last_fanout
        if not chosen:
            page = await self.gateway.fanouts(limit=1)
            chosen = page.items[0].fanout_id if page.items else ""
        if chosen:
            self.post_message(PlaceWanted(Place("fanout", chosen)))
        else:
            self.notify("no fan-out in this ledger", markup=False)

    def _leave(self) -> None:
        """Keep how the screen stands, so that coming back finds it so."""
        screen = self.screen
        if isinstance(screen, PlaceScreen):
            visit = self.history.current
            visit.place = screen.current_place()
            visit.state = screen.current_state()
            self.last_fanout = screen.fanout_at_hand() or self.last_fanout

    async def _show_current(self) -> None:
        visit = self.history.current
        await self.switch_screen(self._make_screen(visit.place, visit.state))

    def _make_screen(self, place: Place, state: Mapping[str, object]) -> PlaceScreen:
        return _screen_class(place)(self.gateway, place, state)


def _screen_class(place: Place) -> type[PlaceScreen]:
    """Return the screen of a place, imported when it is first gone to: starting stays quick."""
    match place.kind:
        case "overview":
            from codeai_tui.screens.overview import OverviewScreen

            return OverviewScreen
        case "fanouts":
            from codeai_tui.screens.fanouts import FanoutsScreen

            return FanoutsScreen
        case "fanout":
            from codeai_tui.screens.branches import BranchesScreen

            return BranchesScreen
        case "events" | "event":
            from codeai_tui.screens.events import EventsScreen

            return EventsScreen
        case "checks" | "check":
            from codeai_tui.screens.checks import ChecksScreen

            return ChecksScreen
        case "claims" | "claim":
            from codeai_tui.screens.claims import ClaimsScreen

            return ClaimsScreen


def _keep(data: bytes) -> str:
    """Write a text that is too long for a clipboard to a file that only its owner reads."""
    handle, path = tempfile.mkstemp(prefix="codeai-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return safe(path)
