"""What a record establishes, and what the next level lacks (DESIGN section 7).

A level speaks of inputs only. Nothing here says anything about how outputs relate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codeai_engine.domain.view import Level, Recomputed

LEVELS: tuple[Level, ...] = ("none", "selection blind", "final-input blind", "wire-observed")


@dataclass(frozen=True, slots=True)
class WireFacts:
    """What the record holds of one attempt's bytes.

    Args:
        index: Which attempt it was, from 1; None where the record does not say.
        wire: `not_sent`, `sent`, `unknown`, or None where the record does not say.
        matches: Whether the transport's digest equals the prepared body's (for a command: its
            standard input's); None where no transport gave an account.
    """

    index: int | None
    wire: str | None
    matches: bool | None


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """What the level of one branch is derived from.

    Args:
        refused: Why compiling was refused, or None.
        is_compiled: There is a `context.compiled` that can be read.
        unreadable_seal: The seal's text where it cannot be read as four sets.
        unsealed: Siblings that the seal does not name both as call and as lineage.
        offered: How many candidates the fan-out offered; None where it does not say.
        decided: How many candidates the trace decides on.
        violations: A sentence for each selected candidate that the seal forbids.
        unbound: Why there is no manifest, or None where there is one.
        is_rendered: The manifest binds rendered bytes.
        rendered: Whether the stored rendering is what the manifest binds.
        rendering_problems: What else is wrong with the rendering, a sentence each.
        request: Whether the prepared body is what the manifest binds.
        carries_input: The body carries exactly the composed input; None where that is unknown.
        attempts: One entry for each attempt.
    """

    refused: str | None = None
    is_compiled: bool = False
    unreadable_seal: str | None = None
    unsealed: tuple[str, ...] = ()
    offered: int | None = None
    decided: int = 0
    violations: tuple[str, ...] = ()
    package: Recomputed = "not recorded"
    trace: Recomputed = "not recorded"
    unbound: str | None = None
    is_rendered: bool = False
    rendered: Recomputed = "not recorded"
    rendering_problems: tuple[str, ...] = ()
    request: Recomputed = "not recorded"
    carries_input: bool | None = None
    attempts: tuple[WireFacts, ...] = ()


def establish_level(facts: LevelFacts) -> tuple[Level, tuple[str, ...]]:
    """Return the level of one branch, and what the next one lacks, in plain words."""
    steps: tuple[tuple[Level, Callable[[LevelFacts], tuple[str, ...]]], ...] = (
        ("selection blind", selection_missing),
        ("final-input blind", final_input_missing),
        ("wire-observed", wire_missing),
    )
    level: Level = "none"
    for next_level, missing_of in steps:
        missing = missing_of(facts)
        if missing:
            return level, missing
        level = next_level
    return level, ()


def selection_missing(facts: LevelFacts) -> tuple[str, ...]:
    """Return what `selection blind` lacks: seal, trace, selection and the two digests."""
    if facts.refused is not None:
        return (f"compiling was refused, so there is no package: {facts.refused}",)
    if not facts.is_compiled:
        return ("no context.compiled: neither a seal nor a trace is recorded",)
    missing: list[str] = []
    if facts.unreadable_seal is not None:
        missing.append(f"the seal cannot be read: {facts.unreadable_seal}")
    missing += [
        f"the seal does not name sibling {sibling} both as call and as lineage"
        for sibling in facts.unsealed
    ]
    if facts.offered is not None and facts.offered != facts.decided:
        missing.append(
            f"the trace decides on {facts.decided} candidates, {facts.offered} were offered"
        )
    missing += facts.violations
    missing += _digest_missing("package id", facts.package)
    missing += _digest_missing("trace id", facts.trace)
    return tuple(missing)


def final_input_missing(facts: LevelFacts) -> tuple[str, ...]:
    """Return what `final-input blind` lacks beyond `selection blind`."""
    if facts.unbound is not None:
        return (f"no call.manifest, so no input was bound: {facts.unbound}",)
    if not facts.is_rendered:
        return ("the input was not rendered: the record is of a selection only",)
    missing = _digest_missing("rendered context", facts.rendered)
    missing += facts.rendering_problems
    missing += _digest_missing("request body", facts.request)
    if facts.carries_input is False:
        missing.append("the request body does not carry exactly the composed input")
    elif facts.carries_input is None and facts.request == "match":
        missing.append("whether the request body carries exactly the composed input is unknown")
    return tuple(missing)


def wire_missing(facts: LevelFacts) -> tuple[str, ...]:
    """Return what `wire-observed` lacks beyond `final-input blind`: each attempt's bytes."""
    sent = [attempt for attempt in facts.attempts if attempt.wire != "not_sent"]
    if not sent:
        return ("nothing was sent",)
    missing: list[str] = []
    for attempt in sent:
        name = "an attempt" if attempt.index is None else f"attempt {attempt.index}"
        if attempt.matches is None:
            missing.append(f"{name} has no account from its transport")
        elif not attempt.matches:
            missing.append(f"{name}: the transport was given other bytes than the prepared body")
    return tuple(missing)


def lowest_level(levels: Sequence[Level]) -> Level:
    """Return the lowest of some levels, `none` where there are none."""
    return min(levels, key=LEVELS.index, default="none")


def _digest_missing(name: str, recomputed: Recomputed) -> list[str]:
    match recomputed:
        case "match":
            return []
        case "mismatch":
            return [f"the {name} does not recompute: it differs from the record"]
        case "absent":
            return [f"the {name} cannot be recomputed: what it is made of is not in the record"]
        case "not recorded":
            return [f"the {name} is not recorded"]
