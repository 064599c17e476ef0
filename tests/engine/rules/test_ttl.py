"""`ttl-check-v1` as the seed froze it: what it accepts, what it rejects, and by which name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from codeai_engine.rules.ttl import durations, ttl_problem

CORPUS = Path(__file__).resolve().parents[2] / "data" / "ttl_corpus.json"
ITEMS: dict[str, dict[str, Any]] = {
    item["id"]: item for item in json.loads(CORPUS.read_text("utf-8"))["items"]
}
EIGHT_REASONS = {
    "output_not_json",
    "no_value_to_verify",
    "seconds_not_a_whole_number",
    "quote_missing",
    "quote_not_in_input",
    "quote_has_0_durations",
    "quote_has_2_durations",
    "seconds_do_not_follow_from_quote",
}
SOURCE = "Kept for 10 minutes. Then for 1 hour 30 minutes. The value is 600."


def problem(item_id: str) -> str | None:
    return ttl_problem(ITEMS[item_id]["output"], ITEMS[item_id]["input"])


def answered(item_id: str) -> object:
    return json.loads(ITEMS[item_id]["output"])["seconds"]


def test_the_corpus_has_forty_items_and_every_reason_name() -> None:
    assert len(ITEMS) == 40
    assert {item["reason"] for item in ITEMS.values()} == EIGHT_REASONS | {None}


@pytest.mark.parametrize("item_id", ITEMS)
def test_every_item_is_accepted_or_rejected_by_its_reason(item_id: str) -> None:
    assert problem(item_id) == ITEMS[item_id]["reason"]


def test_a05_is_accepted_and_wrong_because_two_lifetimes_determine_none() -> None:
    assert ITEMS["A05"]["output"] == '{"seconds": 600, "quote": "10 minutes"}'
    assert problem("A05") is None
    assert ITEMS["A05"]["gold"] is None
    assert len(durations(ITEMS["A05"]["input"])) == 2


def test_t07_and_t10_are_rejected_though_their_answers_are_right() -> None:
    assert (answered("T07"), problem("T07")) == (7200, "quote_has_0_durations")
    assert (answered("T10"), problem("T10")) == (5400, "quote_has_2_durations")
    assert [ITEMS[item]["gold"] for item in ("T07", "T10")] == [7200, 5400]


def test_the_forced_wrong_answer_is_caught() -> None:
    (forced,) = (item for item in ITEMS.values() if item["kind"] == "forced_wrong")
    assert answered(forced["id"]) == 45_000
    assert problem(forced["id"]) == "seconds_do_not_follow_from_quote"


def test_of_what_is_accepted_only_a05_is_wrong() -> None:
    accepted = [item for item in ITEMS.values() if problem(item["id"]) is None]
    wrong = [item["id"] for item in accepted if answered(item["id"]) != item["gold"]]
    assert wrong == ["A05"]
    assert Counter(item["kind"] for item in accepted)["plain"] == 15


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "output_not_json"),
        ('{"seconds": 600', "output_not_json"),
        ('{"seconds": 600} {"seconds": 600}', "output_not_json"),
        ("null", "output_not_json"),
        ("[" * 100_000, "output_not_json"),
        ('{"quote": "10 minutes"}', "no_value_to_verify"),
        ('{"seconds": true, "quote": "10 minutes"}', "seconds_not_a_whole_number"),
        ('{"seconds": 600.5, "quote": "10 minutes"}', "seconds_not_a_whole_number"),
        ('{"seconds": 600}', "quote_missing"),
        ('{"seconds": 600, "quote": ["10 minutes"]}', "quote_missing"),
        ('{"seconds": 600, "quote": "10  minutes"}', "quote_not_in_input"),
        ('{"seconds": 600, "quote": "600"}', "quote_has_0_durations"),
        ('{"seconds": 600, "quote": "1 hour 30 minutes"}', "quote_has_2_durations"),
        ('{"seconds": 6000, "quote": "10 minutes"}', "seconds_do_not_follow_from_quote"),
        ('{"seconds": 600, "quote": "10 minutes", "more": 1}', None),
    ],
)
def test_the_first_rule_that_does_not_hold_gives_the_name(output: str, reason: str | None) -> None:
    assert ttl_problem(output, SOURCE) == reason


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10 minutes", [600]),
        ("1.5 hours", [5400]),
        ("2d", [172_800]),
        ("a 20-minute TTL", [1200]),
        ("500 ms", []),
        ("v2.5 days", []),
        ("7200 (seconds)", []),
        ("1,000 seconds", []),
        ("5 minuteship", []),
        ("1 minute, 2 hours and 3 days", [60, 7200, 259_200]),
    ],
)
def test_a_duration_is_a_number_and_its_unit(text: str, found: list[int]) -> None:
    assert list(durations(text)) == found
