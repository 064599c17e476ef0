"""Verification attempts to evidence status (DESIGN 9). Naming a claim is not testing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMED = "named, adequacy not shown"
E0_ASSERTED = "E0_ASSERTED"
E3_REPRODUCED = "E3_REPRODUCED"
ASSERTED = "asserted"
REFUTED = "refuted"
UNKNOWN_CLAIM = "unknown_claim"

Standing = Literal["unresolved", "supported", "refuted", "contested"]
Effect = Literal["evidence", "refutation"]
_EFFECTS: dict[str, Effect] = {"PASS": "evidence", "FAIL": "refutation"}


@dataclass(frozen=True, slots=True)
class AttemptEffects:
    """What one completed check does to one claim that it names.

    Args:
        refusal: Why the attempt is refused; None where it is recorded.
        effect: `evidence` promotes the claim, `refutation` refutes it; None moves nothing.
        inadmissible: Why the attempt is no evidence; None where it is.
    """

    refusal: str | None = None
    effect: Effect | None = None
    inadmissible: str | None = None


def attempt_effects(verdict: str | None, *, claim_known: bool) -> AttemptEffects:
    """Return what a verdict does to one claim; a refused claim is never promoted.

    Args:
        verdict: The check's, read from the check.
        claim_known: Whether the claim had been recorded when the check completed.
    """
    why = inadmissible(verdict)
    if not claim_known:
        return AttemptEffects(refusal=UNKNOWN_CLAIM, inadmissible=why or "the claim is unknown")
    return AttemptEffects(effect=_EFFECTS.get(verdict or ""), inadmissible=why)


def inadmissible(verdict: str | None) -> str | None:
    """Return why a check of this verdict is no evidence, None where it is."""
    match verdict:
        case "PASS" | "FAIL":
            return None
        case "ERROR":
            return "ERROR: the check was not carried out"
        case "INCONCLUSIVE":
            return "INCONCLUSIVE: the check could not settle it"
        case _:
            return "there is no verdict"


def standing(verdicts: Iterable[str | None]) -> Standing:
    """Return where a claim stands after its recorded attempts.

    Args:
        verdicts: Of the checks that the attempts refer to; those that are inadmissible move
            nothing.
    """
    admitted = {verdict for verdict in verdicts if inadmissible(verdict) is None}
    if admitted == {"PASS", "FAIL"}:
        return "contested"
    if admitted:
        return "supported" if "PASS" in admitted else "refuted"
    return "unresolved"
