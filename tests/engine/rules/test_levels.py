"""What a record establishes: each level needs all that DESIGN 7 names, and says what it lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from codeai_engine.rules.levels import LevelFacts, WireFacts, establish_level, lowest_level

SELECTION = LevelFacts(is_compiled=True, offered=2, decided=2, package="match", trace="match")
FINAL = replace(SELECTION, is_rendered=True, rendered="match", request="match", carries_input=True)
WIRE = replace(FINAL, attempts=(WireFacts(1, None, matches=True),))


def test_each_level_is_reached_when_nothing_is_missing_for_it() -> None:
    assert establish_level(SELECTION)[0] == "selection blind"
    assert establish_level(FINAL)[0] == "final-input blind"
    assert establish_level(WIRE) == ("wire-observed", ())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"is_compiled": False}, "neither a seal nor a trace"),
        ({"refused": "REQUIRED_CONTEXT_MISSING: x"}, "REQUIRED_CONTEXT_MISSING: x"),
        ({"unreadable_seal": "frozenset({'call-B'})"}, "frozenset({'call-B'})"),
        ({"unsealed": ("call-B",)}, "sibling call-B both as call and as lineage"),
        ({"decided": 1}, "decides on 1 candidates, 2 were offered"),
        ({"violations": ("event e is selected",)}, "event e is selected"),
        ({"package": "mismatch"}, "package id does not recompute"),
        ({"package": "absent"}, "package id cannot be recomputed"),
        ({"trace": "not recorded"}, "trace id is not recorded"),
    ],
)
def test_without_selection_blind_there_is_no_level(changed: dict[str, Any], said: str) -> None:
    level, missing = establish_level(replace(WIRE, **changed))
    assert level == "none"
    assert said in "; ".join(missing)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"unbound": "preparation failed at context_render"}, "context_render"),
        ({"is_rendered": False}, "selection only"),
        ({"rendered": "mismatch"}, "rendered context does not recompute"),
        ({"rendered": "absent"}, "rendered context cannot be recomputed"),
        ({"rendering_problems": ("an item is not the package's",)}, "not the package's"),
        ({"request": "mismatch"}, "request body does not recompute"),
        ({"request": "not recorded"}, "request body is not recorded"),
        ({"carries_input": False}, "does not carry exactly the composed input"),
        ({"carries_input": None}, "composed input is unknown"),
    ],
)
def test_without_final_input_blind_the_level_is_selection_blind(
    changed: dict[str, Any], said: str
) -> None:
    level, missing = establish_level(replace(WIRE, **changed))
    assert level == "selection blind"
    assert said in "; ".join(missing)


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ((), "nothing was sent"),
        ((WireFacts(1, "not_sent", matches=None),), "nothing was sent"),
        ((WireFacts(1, None, matches=None),), "attempt 1 has no account"),
        ((WireFacts(1, "sent", matches=False),), "attempt 1: the transport was given other bytes"),
        (
            (WireFacts(1, None, matches=True), WireFacts(2, None, matches=None)),
            "attempt 2 has no account",
        ),
    ],
)
def test_every_attempt_must_be_observed_on_the_wire(
    attempts: tuple[WireFacts, ...], said: str
) -> None:
    level, missing = establish_level(replace(WIRE, attempts=attempts))
    assert level == "final-input blind"
    assert said in "; ".join(missing)


def test_an_attempt_that_sent_nothing_needs_no_account_of_its_bytes() -> None:
    attempts = (WireFacts(1, "not_sent", matches=None), WireFacts(2, None, matches=True))
    assert establish_level(replace(WIRE, attempts=attempts))[0] == "wire-observed"


def test_a_fanout_that_does_not_say_what_it_offered_is_taken_by_its_trace() -> None:
    assert establish_level(replace(SELECTION, offered=None))[0] == "selection blind"


def test_the_lowest_of_some_levels_counts_and_of_none_it_is_none() -> None:
    assert lowest_level(["wire-observed", "selection blind"]) == "selection blind"
    assert lowest_level([]) == "none"


def test_no_level_and_no_lack_speaks_of_outputs() -> None:
    worst = LevelFacts(refused=None, is_compiled=True, package="mismatch", trace="absent")
    words = " ".join([*establish_level(worst)[1], *establish_level(WIRE)[0].split()])
    assert "independent" not in words
    assert "diverse" not in words
