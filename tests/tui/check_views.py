"""Valid views of checks and claims with one thing changed, for tests of what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from codeai_engine import (
    BindingView,
    CheckView,
    ClaimEntry,
    ClaimsView,
    ClaimView,
    EarlierView,
    OutputHead,
    PolicyView,
)
from tests.tui.views import digest


def a_check(**changes: Any) -> CheckView:
    """A PASS that was bound to a file's state."""
    state = changes.pop("binding_status", "bound")
    artifact = changes.pop("artifact_binding_status", "unbound")
    check = CheckView(
        check_id="k-1",
        sequence=24,
        verdict="PASS",
        binding_status=state,
        artifact_binding_status=artifact,
        exit_code=0,
        requested=22,
        claim_ids=("c-1",),
        command=("sh", "-c", "! grep TODO notes.md"),
        event_id="event-24",
        state=BindingView(state, digest("state"), digest("state")),
        artifact=BindingView(artifact, reason="the check names no artifact"),
        policy=PolicyView("exit-code-v1", (0,)),
        cwd=".",
        verifier="LocalCommandVerifier 1",
        details="command completed",
        stdout=OutputHead("12 passed\n", byte_length=10),
        stderr=OutputHead("", byte_length=0),
        invocations=1,
        state_after="stable",
        subject="file notes.md",
    )
    return replace(check, **changes)


def an_earlier(**changes: Any) -> EarlierView:
    return replace(EarlierView("k-0", 14, "FAIL", "c-1"), **changes)


def an_entry(step: Any = "attempt", **changes: Any) -> ClaimEntry:
    kinds = {"attempt": "verification_attempted", "refused attempt": "verification_attempt_refused"}
    entry = ClaimEntry(25, step, f"claim.{kinds.get(step, step)}", "runtime", "k-1")
    return replace(entry, **changes)


def a_claim(*history: ClaimEntry, **changes: Any) -> ClaimView:
    """A claim that a check supports, unless a history is given."""
    entries = history or (
        an_entry("recorded", sequence=2, check_id=None, effect="E0_ASSERTED, asserted"),
        an_entry(check=a_check(), admitted=True),
        an_entry("evidence", sequence=26, check=a_check(), effect="E3_REPRODUCED"),
    )
    claim = ClaimView(
        claim_id="c-1",
        recordings=1,
        statement="No TODO is left.",
        status="asserted",
        evidence_class="E3_REPRODUCED",
        source_call_id="call-A",
        recorded=2,
        actor_id="reviewer_A",
        history=entries,
        standing="supported",
    )
    return replace(claim, **changes)


def a_claims_view(*claims: ClaimView, **changes: Any) -> ClaimsView:
    return replace(ClaimsView(claims, (), (), (), {"claim.recorded": len(claims)}), **changes)
