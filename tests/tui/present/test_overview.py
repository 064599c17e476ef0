"""The overview says what the record establishes, what it does not, and nothing more."""

from __future__ import annotations

import pytest

from codeai_tui.present.line import plain
from codeai_tui.present.overview import (
    established_rows,
    kind_rows,
    not_established_lines,
    overview_text,
    scope_text,
    why_lines,
)
from codeai_tui.present.table import Row, row_text
from tests.tui.views import an_info, an_overview


def row(key: str, rows: tuple[Row, ...]) -> Row:
    return next(entry for entry in rows if entry.key == key)


def test_each_level_says_of_how_many_fan_outs_it_holds() -> None:
    rows = established_rows(an_overview())
    assert "6 of 6 fan-outs" in row_text(row("selection blind", rows))
    assert "4 of 6 fan-outs" in row_text(row("final-input blind", rows))
    assert "0 of 6 fan-outs" in row_text(row("wire-observed", rows))


def test_all_some_and_none_differ_by_glyph_and_not_by_colour_alone() -> None:
    rows = established_rows(an_overview())
    marks = [
        row_text(row(key, rows))[0]
        for key in ("selection blind", "final-input blind", "wire-observed")
    ]
    assert marks == ["✓", "~", "-"]


def test_a_digest_that_does_not_match_is_never_hidden() -> None:
    found = row("digests", established_rows(an_overview(digests_mismatched=1)))
    assert "1 do not match" in row_text(found)
    assert "bytes absent for 7" in row_text(found)
    assert found.cells[0][0].tone == "bad"


def test_consistency_is_said_only_where_every_digest_matches() -> None:
    whole = an_overview(digests_absent=0)
    assert "internally consistent" in row_text(row("digests", established_rows(whole)))
    assert "consistent" not in row_text(row("digests", established_rows(an_overview())))


def test_before_the_levels_are_read_no_figure_is_shown() -> None:
    for entry in established_rows(None):
        assert "reading" in row_text(entry)
        assert not any(char.isdigit() for char in row_text(entry))


def test_a_ledger_without_fan_outs_says_what_was_looked_for() -> None:
    view = an_overview(total_fanouts=0, fanouts=0, info=an_info(event_count=0))
    assert "no fanout.requested in 0 events" in row_text(established_rows(view)[0])


def test_payloads_that_cannot_be_read_are_counted() -> None:
    assert "2 events" in row_text(row("unread", established_rows(an_overview(unread_events=2))))


def test_what_no_record_of_inputs_shows_is_denied_in_the_same_place() -> None:
    said = " ".join(plain(entry) for entry in not_established_lines(an_overview()))
    assert "answers independent or diverse: a record of inputs cannot show either" in said
    assert "internally consistent at most" in said
    assert "12 base items of unknown provenance: a seal cannot act on them" in said


def test_without_items_of_unknown_provenance_there_is_no_such_line() -> None:
    lines = not_established_lines(an_overview(unknown_provenance=0))
    assert not any("provenance" in plain(entry) for entry in lines)


def test_a_part_of_the_fan_outs_is_said_to_be_a_part() -> None:
    assert scope_text(an_overview(total_fanouts=1204)) == "the newest 6 of 1,204 fan-outs"
    assert scope_text(an_overview()) == "all 6 fan-outs of this ledger"
    assert scope_text(None) == "reading"


@pytest.mark.parametrize(
    "key", ["selection blind", "final-input blind", "wire-observed", "digests", "orphans", "unread"]
)
def test_every_row_has_its_why(key: str) -> None:
    said = " ".join(plain(entry) for entry in why_lines(key, an_overview(), an_info()))
    assert len(said) > 60


def test_how_the_ledger_was_opened_is_said() -> None:
    info = an_info(notes=("a private copy was taken",))
    said = [plain(entry) for entry in why_lines("branches", an_overview(), info)]
    assert "a private copy was taken" in said


def test_kinds_are_listed_most_first() -> None:
    rows = kind_rows((("b", 2), ("a", 1_000), ("c", 2)))
    assert [entry.key for entry in rows] == ["a", "b", "c"]
    assert "1,000" in row_text(rows[0])


def test_the_text_for_a_pipe_has_every_part() -> None:
    said = "\n".join(plain(entry) for entry in overview_text(an_overview()))
    for part in ("Established by this record", "Not established here", "Events by kind"):
        assert part in said
