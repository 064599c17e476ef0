"""Claims joined with the checks that their history refers to: verdicts are read, never copied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codeai_engine.rules.promotion import E3_REPRODUCED, REFUTED, inadmissible, standing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codeai_engine.domain.check_view import CheckView
    from codeai_engine.domain.claim_view import ClaimEntry, ClaimsView, ClaimView

_NO_COMPLETION = "its check has no completion in this ledger"


def join_checks(claims: ClaimsView, checks: Sequence[CheckView]) -> ClaimsView:
    """Return the claims with every verdict, admission and standing read from `checks`.

    Args:
        claims: As they were folded.
        checks: The completed checks that they name, by sequence.
    """
    by_event = {check.event_id: check for check in checks if check.event_id is not None}
    by_id: dict[str, list[CheckView]] = {}
    for check in checks:
        by_id.setdefault(check.check_id, []).append(check)
    known = _Checks(by_event, by_id)
    return replace(
        claims,
        items=tuple(_joined(item, known) for item in claims.items),
        standings=tuple(
            replace(item, history=tuple(known.read(entry) for entry in item.history))
            for item in claims.standings
        ),
    )


def recorded_reading(claim: ClaimView) -> str:
    """Return what recorded class and status say together, in the words of a standing."""
    is_promoted, is_refuted = claim.evidence_class == E3_REPRODUCED, claim.status == REFUTED
    if is_promoted and is_refuted:
        return "contested"
    if is_promoted:
        return "supported"
    return "refuted" if is_refuted else "unresolved"


class _Checks:
    """Finds the check that an entry refers to."""

    def __init__(
        self, by_event: Mapping[str, CheckView], by_id: Mapping[str, Sequence[CheckView]]
    ) -> None:
        self._by_event = by_event
        self._by_id = by_id

    def read(self, entry: ClaimEntry) -> ClaimEntry:
        """Return an entry with its check, and for an attempt whether it is evidence."""
        if entry.check_id is None and entry.completed_event_id is None:
            return entry
        check = self._find(entry)
        entry = replace(entry, check=check)
        if entry.step != "attempt":
            return entry
        why = inadmissible(check.verdict) if check else _NO_COMPLETION
        return replace(entry, admitted=why is None, why=why)

    def _find(self, entry: ClaimEntry) -> CheckView | None:
        """Return the completion it names, else the last of its check id before it."""
        named = self._by_event.get(entry.completed_event_id or "")
        if named is not None:
            return named
        own = self._by_id.get(entry.check_id or "", ())
        before = [check for check in own if check.sequence < entry.sequence]
        return before[-1] if before else None


def _joined(claim: ClaimView, checks: _Checks) -> ClaimView:
    history = tuple(checks.read(entry) for entry in claim.history)
    attempts = [entry for entry in history if entry.step == "attempt"]
    found = standing(entry.verdict for entry in attempts)
    joined = replace(claim, history=history, standing=found)
    return replace(joined, disagreement=_disagreement(joined))


def _disagreement(claim: ClaimView) -> str | None:
    """Return where the record of a claim and its admissible attempts part, None where nowhere."""
    if not claim.recordings:
        return None
    recorded = recorded_reading(claim)
    if recorded != claim.standing:
        return f"recorded as {recorded}, {claim.standing} by its admissible attempts"
    if recorded == "contested":
        return f"recorded at once as {claim.status} and {claim.evidence_class}"
    return None
