"""`ttl-check-v1`: does a number of seconds follow from a quoted passage?

Source: the seed "The Agent Cannot Grade Its Own Homework", section "Adequacy". The check is narrow
and frozen: it asks for derivability, not for relevance. An input that states two lifetimes passes
with either of them; `7200 (seconds)` and `1 hour 30 minutes` are rejected though a person reads
them at once. These are properties of the check, kept and not tuned.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

TTL_CHECK = "ttl-check-v1"
OUTPUT_NOT_JSON = "output_not_json"
NO_VALUE = "no_value_to_verify"
NOT_WHOLE = "seconds_not_a_whole_number"
QUOTE_MISSING = "quote_missing"
QUOTE_NOT_IN_INPUT = "quote_not_in_input"
DOES_NOT_FOLLOW = "seconds_do_not_follow_from_quote"

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
# A number and its unit with nothing but space or a hyphen between them. The number does not start
# inside another one, and the unit ends as a word: `500 ms` and `v2.5 days` hold no duration.
_DURATION = re.compile(
    r"(?<![\w.,])([0-9]+(?:\.[0-9]+)?)(?:\s*|-)"
    r"(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b",
    re.IGNORECASE,
)


def durations(text: str) -> tuple[Fraction, ...]:
    """Return every duration of a text, in seconds and in order."""
    return tuple(
        Fraction(number) * _SECONDS[unit[0].lower()] for number, unit in _DURATION.findall(text)
    )


def ttl_problem(output: str, source: str) -> str | None:
    """Return why an answer is rejected, by its reason name; None where it is accepted.

    Args:
        output: What was answered: one JSON object with `seconds` and `quote`.
        source: The input that the question was about.
    """
    try:
        answer: object = json.loads(output)
    except (ValueError, RecursionError):
        return OUTPUT_NOT_JSON
    if not isinstance(answer, dict):
        return OUTPUT_NOT_JSON
    seconds = answer.get("seconds")
    if seconds is None:
        return NO_VALUE
    if type(seconds) is not int:  # a bool is an int to isinstance
        return NOT_WHOLE
    return _quote_problem(answer.get("quote"), seconds, source)


def _quote_problem(quote: Any, seconds: int, source: str) -> str | None:  # noqa: ANN401 - JSON
    if not isinstance(quote, str) or not quote:
        return QUOTE_MISSING
    if quote not in source:
        return QUOTE_NOT_IN_INPUT
    found = durations(quote)
    if len(found) != 1:
        return f"quote_has_{len(found)}_durations"
    return None if found[0] == seconds else DOES_NOT_FOLLOW
