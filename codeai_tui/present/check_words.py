"""Verdicts and bindings as glyph, word and tone: the same on every screen that shows a check.

A PASS is said in the good tone only where the runtime bound it to a subject.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codeai_tui.present.line import Line, Tone, line
from codeai_tui.present.words import short_id

if TYPE_CHECKING:
    from codeai_engine import CheckView, EarlierView, PolicyView

_MADE_UP = re.compile("[0-9a-f-]{20,}")  # by a machine: what tells two apart is their tail
NAMED = "named, adequacy not shown"
SUPPLIED = "supplied, not observed"
VERDICTS: tuple[tuple[str, str, Tone], ...] = (
    ("PASS", "✓", "good"),
    ("FAIL", "✗", "bad"),
    ("INCONCLUSIVE", "?", "open"),
    ("ERROR", "!", "open"),
)
BINDINGS: dict[str, tuple[str, Tone]] = {
    "bound": ("=", "plain"),
    "unbound": ("~", "open"),
    "mismatch": ("#", "bad"),
    "unavailable": ("0", "open"),
    "missing": ("0", "open"),
    "unconsumed": ("_", "open"),
}
_KNOWN = {word: (glyph, tone) for word, glyph, tone in VERDICTS}


def subject_name(identifier: str) -> str:
    """Return the id of a check or a claim: as its author wrote it, a machine's own in short."""
    return short_id(identifier) if _MADE_UP.fullmatch(identifier) else identifier


def is_bound(check: CheckView) -> bool:
    """Return whether the runtime bound a check to a state or to bytes, and neither failed."""
    statuses = {check.binding_status, check.artifact_binding_status}
    return "bound" in statuses and statuses <= {"bound", "unbound", None}


def verdict_line(check: CheckView) -> Line:
    """Return a check's verdict; what has no completion has none."""
    if check.event_id is None:
        return line(("○ no completion", "open"))
    return verdict_word(check.verdict, bound=is_bound(check))


def verdict_word(verdict: str | None, *, bound: bool) -> Line:
    """Return a verdict as glyph and word."""
    if verdict is None:
        return line(("- no verdict", "none"))
    glyph, tone = _KNOWN.get(verdict, ("?", "open"))
    if verdict == "PASS" and not bound:
        tone = "open"
    return line((f"{glyph} {verdict}", tone))


def binding_line(status: str | None) -> Line:
    """Return a binding as glyph and word; what the record does not say is no `unbound`."""
    if status is None:
        return line(("- not recorded", "none"))
    glyph, tone = BINDINGS.get(status, ("?", "open"))
    return line((f"{glyph} {status.upper()}", tone))


def telling_binding(check: CheckView) -> Line:
    """Return the one of a check's two bindings that says more: the failed, else the bound."""
    state, artifact = check.binding_status, check.artifact_binding_status
    for status in (state, artifact):
        if status not in {"bound", "unbound", None}:
            return binding_line(status)
    return binding_line(artifact if state in {"unbound", None} and artifact else state)


def policy_text(policy: PolicyView | None) -> str:
    """Return what each exit code was declared to mean."""
    if policy is None:
        return "not recorded; by default 0 is PASS, every other code FAIL"
    fail = policy.fail_codes
    parts = [
        f"{_codes(policy.pass_codes)} PASS",
        f"{_codes(fail)} FAIL" if fail is not None else "",
        f"{_codes(policy.inconclusive_codes)} INCONCLUSIVE" if policy.inconclusive_codes else "",
        "every other code FAIL" if fail is None else "every other code ERROR",
    ]
    return f"{', '.join(part for part in parts if part)} ({policy.policy_id or 'no name'})"


def consumption_text(check: CheckView) -> str:
    """Return what is known of the command having read the artifact it was given."""
    if check.artifact_binding_status != "bound":
        return "nothing was supplied"
    return check.consumption or SUPPLIED


def probes_text(check: CheckView) -> str:
    """Return what is known of the check's adequacy."""
    if check.probes is None or not check.probes[0]:
        return "not probed (0 seeded defects)"
    seeded, detected = check.probes
    return f"sensitive to {detected} of {seeded} seeded defects"


def compared_line(earlier: EarlierView) -> Line:
    """Return the same in short, for a column."""
    if not earlier.differs:
        return line(("before ", "note"), f"{earlier.check_id} {earlier.verdict}")
    differs = ", ".join(earlier.differs)
    return line(("differs in ", "muted"), differs, (f", from {earlier.check_id}", "muted"))


def earlier_line(earlier: EarlierView) -> Line:
    """Return whether an earlier check of the same claim is the before of this one, or why not."""
    said = verdict_word(earlier.verdict, bound=True)[0].text
    if not earlier.differs:
        return line(("before: ", "note"), f"{earlier.check_id} {said}")
    differs = ", ".join(earlier.differs)
    return line(
        (f"no before/after with {earlier.check_id} {said}: ", "muted"), f"differs in {differs}"
    )


def _codes(codes: tuple[int, ...]) -> str:
    return " ".join(str(code) for code in codes) or "no code"
