"""The list of fan-outs: how each ended, never by colour alone."""

from __future__ import annotations

import pytest

from codeai_tui.present.fanouts import COLUMNS, fanout_rows, statuses_line
from codeai_tui.present.line import plain
from codeai_tui.present.table import lay_out, row_line, row_text
from tests.tui.views import a_summary


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        (("succeeded", "succeeded", "failed"), "✓ 2 ok  ✗ 1 failed"),
        (("cancelled",), "- 1 cancelled"),
        ((), "- no branches"),
        (None, "… open"),
        (("strange", "succeeded"), "✓ 1 ok  ? 1 strange"),
    ],
)
def test_statuses_are_counted_in_words(statuses: tuple[str, ...] | None, shown: str) -> None:
    assert plain(statuses_line(a_summary(statuses=statuses))) == shown


def test_a_fan_out_that_cannot_be_read_says_so() -> None:
    assert plain(statuses_line(a_summary(unread="call_ids: no list"))) == "! payload not read"


def test_what_is_not_recorded_is_said_and_not_counted_as_nought() -> None:
    summary = a_summary(base_offered=None, input_provenance=None, task_id=None)
    assert row_text(fanout_rows((summary,))[0]).count("- not recorded") == 3


def test_offered_items_stand_beside_those_whose_lineage_is_known() -> None:
    assert "12 items, lineage for 7" in row_text(fanout_rows((a_summary(),))[0])


def test_statuses_and_orphans_fit_into_eighty_columns() -> None:
    layout = lay_out(COLUMNS, 75)
    content = plain(row_line(COLUMNS, fanout_rows((a_summary(),))[0], layout, colour=True))
    assert "✓ 2 ok  ✗ 1 failed" in content
    assert "○ 1" in content
    assert len(content) == 75
