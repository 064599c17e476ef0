"""The grid: only what is in sight is drawn, and a row that stays stays where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.app import App
from typing_extensions import override

from codeai_tui.present.line import line
from codeai_tui.present.table import Column, Row
from codeai_tui.widgets.line_grid import LineGrid

if TYPE_CHECKING:
    from textual.app import ComposeResult

COLUMNS = (Column("key", 9, right=True), Column("text", 10, flexible=True))


def rows(first: int, last: int) -> tuple[Row, ...]:
    return tuple(
        Row(str(at), (line(f"{at:,}"), line(f"row {at}")), copy=f"exact {at}")
        for at in range(first, last)
    )


class GridApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    @override
    @override
    def compose(self) -> ComposeResult:
        yield LineGrid(COLUMNS, id="grid")

    def on_line_grid_edge_reached(self, event: LineGrid.EdgeReached) -> None:
        self.heard.append(f"{event.edge} {event.jump}")

    def on_line_grid_opened(self, event: LineGrid.Opened) -> None:
        self.heard.append(f"open {event.key}")


@pytest.fixture
def app() -> GridApp:
    return GridApp()


def shown(grid: LineGrid) -> list[str]:
    return [grid.render_line(y).text.rstrip() for y in range(grid.size.height)]


async def test_of_two_hundred_thousand_rows_those_in_sight_are_drawn(app: GridApp) -> None:
    async with app.run_test(size=(40, 10)) as pilot:
        grid = app.query_one(LineGrid)
        grid.set_rows(rows(0, 200_000))
        await pilot.pause()
        assert shown(grid)[:3] == [
            "        key  text",
            "▸         0  row 0",
            "          1  row 1",
        ]
        await pilot.press("end")
        assert shown(grid)[-1] == "▸   199,999  row 199999"
        assert len(shown(grid)) == 10


async def test_rows_that_come_in_above_move_neither_the_cursor_nor_its_place(
    app: GridApp,
) -> None:
    async with app.run_test(size=(40, 10)) as pilot:
        grid = app.query_one(LineGrid)
        grid.set_rows(rows(500, 700))
        grid.put_cursor("600")
        await pilot.pause()
        before = next(y for y, text in enumerate(shown(grid)) if "▸" in text)
        grid.set_rows(rows(0, 700))
        await pilot.pause()
        assert grid.cursor_key == "600"
        assert next(y for y, text in enumerate(shown(grid)) if "▸" in text) == before


async def test_near_an_end_more_is_asked_for_and_at_the_keys_for_the_very_end_a_jump(
    app: GridApp,
) -> None:
    async with app.run_test(size=(40, 10)) as pilot:
        grid = app.query_one(LineGrid)
        grid.set_rows(rows(0, 200))
        await pilot.press("j", "end")
        assert app.heard == []
        grid.more_below = True
        await pilot.press("k")
        assert app.heard == ["below False"]
        await pilot.press("end")
        assert app.heard[-1] == "below True"


async def test_the_row_under_the_cursor_is_opened_and_copied(app: GridApp) -> None:
    async with app.run_test(size=(40, 10)) as pilot:
        grid = app.query_one(LineGrid)
        grid.set_rows(rows(0, 5))
        grid.focus()
        await pilot.press("j", "j", "enter")
        assert app.heard == ["open 2"]
        assert grid.copy_text() == "exact 2"
        assert grid.texts()[2] == "2  row 2"


async def test_without_rows_the_reason_is_shown_and_no_key_fails(app: GridApp) -> None:
    async with app.run_test(size=(40, 10)) as pilot:
        grid = app.query_one(LineGrid)
        grid.set_rows((), empty=(line("nothing matches"),))
        await pilot.press("j", "k", "end", "home", "pagedown", "pageup", "enter")
        assert "nothing matches" in "\n".join(shown(grid))
        assert (grid.cursor_key, grid.copy_text()) == ("", "")
        assert app.heard == []
