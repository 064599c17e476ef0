"""Tables: columns give way, numbers stand right."""

from __future__ import annotations

from codeai_tui.present.line import line, line_width, plain
from codeai_tui.present.table import Column, Row, header_line, lay_out, row_line, text_table

COLUMNS = (
    Column("seq", 5, right=True),
    Column("name", 6, flexible=True),
    Column("time", 8, from_width=40),
)
ROW = Row("1", (line("12"), line("a long name indeed"), line("10:02:11")))


def test_a_column_is_left_out_where_the_table_is_too_narrow_for_it() -> None:
    assert [index for index, _ in lay_out(COLUMNS, 39)] == [0, 1]
    assert [index for index, _ in lay_out(COLUMNS, 40)] == [0, 1, 2]


def test_the_flexible_column_takes_what_is_left() -> None:
    for width in (20, 39, 40, 81):
        layout = lay_out(COLUMNS, width)
        assert line_width(row_line(COLUMNS, ROW, layout, colour=True)) == width
        assert line_width(header_line(COLUMNS, layout)) == width


def test_numbers_stand_right_and_what_is_too_long_is_cut() -> None:
    layout = lay_out(COLUMNS, 20)
    assert plain(row_line(COLUMNS, ROW, layout, colour=True)) == "   12  a long name …"


def test_a_table_for_a_pipe_leaves_nothing_out() -> None:
    lines = [plain(content) for content in text_table(COLUMNS, (ROW,))]
    assert lines == ["seq  name                time    ", " 12  a long name indeed  10:02:11"]
