"""What a branch says of its own work: the part of its output that a JSON pointer names. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from codeai_engine.digests import canonical_json
from codeai_engine.rules.pointer import resolve

OUTPUT_MISSING = "output_missing"
OUTPUT_NOT_JSON = "output_not_json"
NOTHING_THERE = "nothing_at_pointer"
STATEMENT_TOO_LONG = "statement_too_long"
STATEMENT_CHARACTERS = 65_536  # what a payload keeps inline; a claim is a sentence


@dataclass(frozen=True, slots=True)
class NoStatement:
    """A branch did not say it, and nobody says it for the branch.

    Args:
        reason: One of the names above.
        problem: What was found instead, in a sentence.
    """

    reason: str
    problem: str


def read_statement(output: str | None, pointer: str) -> str | NoStatement:
    """Return what a branch says at a place in its output.

    Args:
        output: The whole output; None where there is none.
        pointer: JSON pointer (RFC 6901).

    Returns:
        The text as it is; for a value that is no text its JSON, such as `true`.
    """
    if output is None:
        return NoStatement(OUTPUT_MISSING, "the branch has no output")
    try:
        document: object = json.loads(
            output, parse_constant=_refuse_constant, object_pairs_hook=_once_each
        )
    except RecursionError:
        return NoStatement(OUTPUT_NOT_JSON, "it is nested too deeply")
    except ValueError as error:
        return NoStatement(OUTPUT_NOT_JSON, str(error))
    found = resolve(document, pointer)
    if found is None or found == "":
        return NoStatement(NOTHING_THERE, f"{pointer!r} names nothing that is said")
    text = found if isinstance(found, str) else canonical_json(found)
    if len(text) > STATEMENT_CHARACTERS:
        problem = f"{len(text)} characters, and a claim holds at most {STATEMENT_CHARACTERS}"
        return NoStatement(STATEMENT_TOO_LONG, problem)
    # A lone surrogate cannot be stored: it becomes a visible escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _refuse_constant(name: str) -> Any:  # noqa: ANN401 - never returns
    raise ValueError(f"{name} is not JSON")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one key with two values says nothing that could be quoted."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found
