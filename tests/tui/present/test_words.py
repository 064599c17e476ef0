"""Numbers, sizes, digests and statuses in words."""

from __future__ import annotations

import pytest

from codeai_tui.present.line import line_width, plain
from codeai_tui.present.words import (
    branch_letter,
    clock_time,
    count,
    digest_line,
    plural,
    recomputed_line,
    short_id,
    size,
    status_line,
)
from tests.tui.views import digest


def test_an_unknown_number_is_a_word_and_never_nought() -> None:
    assert count(None) == "unknown"
    assert size(None) == "size unknown"
    assert count(0) == "0"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (2113, "2,113 B"),
        (0, "0 B"),
        (10_000, "9.8 KiB"),
        (5 * 2**20, "5.0 MiB"),
        (3 * 2**30, "3.0 GiB"),
    ],
)
def test_a_size_carries_its_unit(number: int, shown: str) -> None:
    assert size(number) == shown


def test_nouns_follow_their_number() -> None:
    assert [plural(1, "branch"), plural(2, "branch"), plural(1204331, "event")] == [
        "1 branch",
        "2 branches",
        "1,204,331 events",
    ]


def test_a_digest_is_four_cells_of_its_first_bytes_then_short() -> None:
    value = digest("x")
    content = digest_line(value)
    assert [span.hue for span in content[:4]] == list(bytes.fromhex(value[:8]))
    assert plain(content) == f"{value[:8]}…{value[-2:]}"
    assert line_width(content) == 5 + 11


def test_what_is_no_digest_has_no_swatch() -> None:
    assert all(span.hue is None for span in digest_line("not hex at all!"))
    assert plain(digest_line(None)) == "- not recorded"


def test_ids_of_one_moment_can_be_told_apart_in_short() -> None:
    first = "01937f2a-0000-7000-8000-00000000abcd"
    second = "01937f2a-0000-7000-8000-00000000dcba"
    assert short_id(first) != short_id(second)
    assert short_id("call-B") == "call-B"


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled", "refused", "else", None])
def test_a_status_is_a_glyph_and_a_word(status: str | None) -> None:
    glyph, _, word = plain(status_line(status)).partition(" ")
    assert len(glyph) == 1
    assert len(word) > 1


def test_a_digest_that_does_not_match_is_said_to_be_bad() -> None:
    assert recomputed_line("mismatch")[0].tone == "bad"
    assert recomputed_line("absent")[0].tone == "open"
    assert recomputed_line("match")[0].tone == "good"


def test_letters_go_on_past_z() -> None:
    assert [branch_letter(number) for number in (0, 25, 26, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "ZZ",
        "AAA",
    ]


def test_the_stored_time_is_shown_and_an_odd_one_as_it_is() -> None:
    assert clock_time("2026-01-02T10:02:11.123456+00:00") == "10:02:11.123"
    assert clock_time("2026-01-02T10:02:11+00:00") == "10:02:11"
    assert clock_time("yesterday") == "yesterday"
