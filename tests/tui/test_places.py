"""Places: what a command line names, and the way back."""

from __future__ import annotations

import pytest

from codeai_tui.places import History, Place, PlaceError, parse_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("overview", Place("overview")),
        ("", Place("overview")),
        ("fanouts", Place("fanouts")),
        ("fanout/fo-7", Place("fanout", "fo-7")),
        ("fanout/fo-7/branches", Place("fanout", "fo-7")),
        ("fanout/fo%2F7?branch=call-B", Place("fanout", "fo/7", (("branch", "call-B"),))),
        ("events?filter=kind%3Aattempt.*", Place("events", keys=(("filter", "kind:attempt.*"),))),
        ("event/8301", Place("event", "8301")),
        ("checks", Place("checks")),
        ("check/a%2Fjson?item=24", Place("check", "a/json", (("item", "24"),))),
        ("claims", Place("claims")),
        ("claim/cl-9", Place("claim", "cl-9")),
    ],
)
def test_a_place_is_read(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "place",
    [
        Place("fanout", "a/b c?&=#%", (("branch", "x&y=z"), ("item", "ö"))),
        Place("events", keys=(("filter", "stream:a b"),)),
        Place("event", "12"),
    ],
)
def test_what_a_place_is_written_as_names_the_same_place(place: Place) -> None:
    assert parse_place(place.text()) == place


@pytest.mark.parametrize(
    "text", ["nowhere", "fanout", "fanout/", "event/x", "event/", "claims/1", "check/"]
)
def test_a_text_that_names_no_place_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(PlaceError) as caught:
        parse_place(text)
    assert repr(text) in caught.value.message
    assert "fanout/ID" in caught.value.hint


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(PlaceError, match="'brunch'"):
        parse_place("fanout/x?brunch=1")


def test_back_and_forward_go_through_what_was_visited() -> None:
    history = History(Place("overview"))
    history.visit(Place("fanouts"))
    history.visit(Place("fanout", "a"))
    back = history.step(-1)
    assert back is not None
    assert back.place == Place("fanouts")
    forward = history.step(1)
    assert forward is not None
    assert forward.place == Place("fanout", "a")
    assert history.step(1) is None


def test_going_somewhere_new_forgets_what_lay_ahead() -> None:
    history = History(Place("overview"))
    history.visit(Place("fanouts"))
    history.step(-1)
    history.visit(Place("events"))
    assert history.step(1) is None
    assert history.step(-1) is history.current


def test_two_hundred_places_are_kept() -> None:
    history = History(Place("overview"))
    for number in range(300):
        history.visit(Place("event", str(number)))
    steps = 0
    while history.step(-1):
        steps += 1
    assert steps == 199
    assert history.current.place == Place("event", "100")
