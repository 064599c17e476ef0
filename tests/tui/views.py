"""Valid views with one thing changed, for tests of what is said about them."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from codeai_engine import (
    AttemptView,
    BranchView,
    FanoutSummary,
    FanoutView,
    LedgerInfo,
    OutputView,
    OverviewView,
    SealView,
    TraceView,
)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def an_info(**changes: Any) -> LedgerInfo:
    info = LedgerInfo(
        name="pilot.db",
        path="/ledgers/pilot.db",
        mode="RO",
        origin="ours",
        event_count=1_204_331,
        first_sequence=1,
        last_sequence=1_204_331,
        artifacts=None,
    )
    return replace(info, **changes)


def an_attempt(**changes: Any) -> AttemptView:
    attempt = AttemptView(
        attempt_id="attempt-1",
        call_id="call-A",
        index=1,
        cause="first",
        started=10,
        sending=11,
        observed=13,
        interpreted=14,
        completed=15,
        status="succeeded",
        latency_ms=41.0,
    )
    return replace(attempt, **changes)


def an_orphan(**changes: Any) -> AttemptView:
    return an_attempt(
        observed=None,
        interpreted=None,
        completed=None,
        status=None,
        latency_ms=None,
        orphan=True,
        wire="sent",
        **changes,
    )


def a_branch(letter: str = "A", **changes: Any) -> BranchView:
    siblings = tuple(f"call-{name}" for name in "ABC" if name != letter)
    branch = BranchView(
        call_id=f"call-{letter}",
        position="ABCDEFGHIJ".index(letter),
        name={"A": "careful", "B": "plain", "C": "terse"}.get(letter),
        actor_id=f"reviewer_{letter}",
        actor_kind="model",
        provider="local",
        model="tiny-1b",
        adapter_id="local_model",
        protocol="openai_chat",
        task_id="review",
        variant={"model": "tiny-1b", "temperature": 0.0, "seed": None},
        instruction="Answer in one sentence.",
        prompt="Does the paragraph overstate its source?",
        status="succeeded",
        seal=SealView(call_ids=siblings, lineage_ids=siblings),
        seal_names_every_sibling=True,
        package_id=digest(f"package {letter}"),
        package_recomputed="match",
        trace=(
            TraceView("ev-311", "event", "included", "included because required"),
            TraceView(
                "artifact-sib-B",
                "artifact",
                "excluded",
                "excluded because seal forbids lineage ['call-B']",
                exclusion_class="lineage",
                blocking_ids=("call-B",),
                provenance="declared",
                name="sibling's draft",
            ),
        ),
        trace_recomputed="match",
        rendered=True,
        rendered_sha256=digest("rendered"),
        rendered_recomputed="match",
        model_input_sha256=digest("input"),
        request_sha256=digest("body"),
        request_recomputed="match",
        attempts=(an_attempt(call_id=f"call-{letter}"),),
        output=OutputView("The paragraph says more than its source does.", byte_length=45),
        input_tokens=412,
        compiled_at=4,
        manifest_at=8,
        completed_at=17,
        level="final-input blind",
        missing=("the transport's digest of what left",),
    )
    return replace(branch, **changes)


def a_summary(**changes: Any) -> FanoutSummary:
    summary = FanoutSummary(
        fanout_id="fo-7",
        sequence=3,
        task_id="review",
        call_ids=("call-A", "call-B", "call-C"),
        completed=True,
        statuses=("succeeded", "succeeded", "failed"),
        input_provenance="rendered_bytes",
        context_render="CONTEXT_RENDER_V1",
        created_at="2026-01-02T10:02:11.000000+00:00",
        base_offered={"artifacts": 9, "claims": 1, "events": 2},
        base_lineage_declared={"artifacts": 7, "claims": 0},
        orphans=1,
    )
    return replace(summary, **changes)


def a_fanout(*branches: BranchView, **changes: Any) -> FanoutView:
    """A fan-out of the given branches, by default two alike and one that fell in transport."""
    shown = branches or (
        a_branch("A"),
        a_branch("B"),
        a_branch(
            "C",
            status="failed",
            error="OSError: connection reset",
            error_kind="transport",
            request_sha256=digest("other body"),
            attempts=(an_orphan(call_id="call-C"),),
            output=None,
            input_tokens=None,
            level="selection blind",
        ),
    )
    view = FanoutView(
        summary=a_summary(call_ids=tuple(branch.call_id for branch in shown)),
        base_prompt="Does the paragraph overstate its source?",
        provenance_policy="admit_recorded",
        blind_until_collected=True,
        branches=shown,
        level="selection blind",
        mixed=True,
    )
    return replace(view, **changes)


def an_overview(**changes: Any) -> OverviewView:
    view = OverviewView(
        info=an_info(),
        kinds=(("attempt.started", 812), ("fanout.requested", 6), ("call.completed", 811)),
        fanouts=6,
        total_fanouts=6,
        levels={"selection blind": 6, "final-input blind": 4, "wire-observed": 0},
        branches=18,
        refused_branches=1,
        failed_branches=2,
        cancelled_branches=0,
        orphans=3,
        attempts=812,
        digests_matched=41,
        digests_mismatched=0,
        digests_absent=7,
        unknown_provenance=12,
        unread_events=0,
    )
    return replace(view, **changes)
