"""Keys: no screen takes a key that works everywhere, and none that a terminal keeps."""

from __future__ import annotations

import pytest
from textual.binding import Binding

from codeai_tui.keymap import GLOBAL, MOVING, by_id, clashes, help_rows
from codeai_tui.screens.branches import BranchesScreen
from codeai_tui.screens.checks import ChecksScreen
from codeai_tui.screens.claims import ClaimsScreen
from codeai_tui.screens.events import EventsScreen
from codeai_tui.screens.fanouts import FanoutsScreen
from codeai_tui.screens.overview import OverviewScreen
from codeai_tui.widgets.branch_columns import BranchColumns
from codeai_tui.widgets.cell_matrix import CellMatrix
from codeai_tui.widgets.flow_picture import FlowPicture
from codeai_tui.widgets.line_grid import LineGrid
from codeai_tui.widgets.lines_view import LinesView
from codeai_tui.widgets.payload_tree import PayloadTree

SCREENS: dict[type, tuple[type, ...]] = {
    OverviewScreen: (LineGrid, LinesView),
    FanoutsScreen: (LineGrid,),
    BranchesScreen: (BranchColumns, FlowPicture, LinesView),
    EventsScreen: (LineGrid, PayloadTree),
    ChecksScreen: (CellMatrix, LineGrid, LinesView),
    ClaimsScreen: (LineGrid, LinesView),
}
PAIRS = [(screen, widget) for screen, widgets in SCREENS.items() for widget in widgets]


def bindings_of(*owners: type) -> list[Binding]:
    found = [entry for owner in owners for entry in owner.__dict__.get("BINDINGS", ())]
    assert all(isinstance(entry, Binding) for entry in found)
    return found


@pytest.mark.parametrize(("screen", "widget"), PAIRS)
def test_no_key_means_two_things_at_once(screen: type, widget: type) -> None:
    moving = () if widget is FlowPicture else MOVING
    assert clashes([*GLOBAL, *moving, *bindings_of(screen, widget)]) == []


def test_a_key_claimed_twice_and_a_key_that_terminals_keep_are_clashes() -> None:
    found = clashes(
        [Binding("a,b", "x", id="one"), Binding("b", "y", id="two"), Binding("ctrl+s", "z", id="s")]
    )
    assert [(clash.key, clash.ids) for clash in found] == [
        ("b", ("one", "two")),
        ("ctrl+s", ("s",)),
    ]


def test_every_binding_has_an_id_and_says_what_it_does() -> None:
    for binding in [*GLOBAL, *MOVING, *bindings_of(*SCREENS, *(widget for _, widget in PAIRS))]:
        assert binding.id
        assert binding.description


@pytest.mark.parametrize(("screen", "widget"), PAIRS)
def test_the_footer_has_at_most_six_keys(screen: type, widget: type) -> None:
    shown = [entry for entry in [*GLOBAL, *bindings_of(screen, widget)] if entry.show]
    assert len(by_id(shown)) <= 6


def test_keys_of_one_thing_stand_together_in_help() -> None:
    assert help_rows(MOVING)[0] == ("Down j", "down")
    assert ("Esc", "up") in help_rows(GLOBAL)
