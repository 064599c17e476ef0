"""What the record says of one branch, as one view: facts, digests recomputed, level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codeai_engine.domain.call import (
    AttemptCompleted,
    AttemptStarted,
    CallCompleted,
    CallManifest,
    CallRequested,
)
from codeai_engine.domain.view import AttemptView, BranchView, TraceView
from codeai_engine.errors import ContextSealViolation
from codeai_engine.rules.compile import refuse_violation
from codeai_engine.rules.fold_attempt import fold_attempt
from codeai_engine.rules.fold_event import payload_field
from codeai_engine.rules.fold_package import (
    TraceReader,
    selected_kinds,
    stored_trace,
    view_seal,
)
from codeai_engine.rules.levels import LevelFacts, WireFacts, establish_level
from codeai_engine.rules.recompute import recompute_branch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.context import Package, Seal
    from codeai_engine.rules.fold_branch import BranchFacts
    from codeai_engine.rules.fold_event import OpenedEvent
    from codeai_engine.rules.fold_package import BaseRecord, Sources
    from codeai_engine.rules.recompute import Recomputation


@dataclass(frozen=True, slots=True)
class BranchContext:
    """What a branch's own events do not say.

    Args:
        statuses: Of the fan-out's completion, by position; None where there is none.
        completed_at: Sequence of that completion.
        ended_sessions: Sessions that have ended.
        is_closed: No event of this fan-out can follow any more.
    """

    fanout_id: str
    base: BaseRecord
    sources: Sources
    statuses: tuple[str, ...] | None = None
    completed_at: int | None = None
    ended_sessions: frozenset[str] = frozenset()
    is_closed: bool = False


def view_branch(facts: BranchFacts, context: BranchContext) -> BranchView:
    """Return one branch; what it has in common with its siblings is filled in by the fan-out."""
    found = recompute_branch(facts, context.sources)
    attempts = _attempts(facts, context, found)
    trace, violations = _trace(facts, context)
    seal = facts.seal
    unsealed = _unsealed(seal, facts) if seal is not None and not isinstance(seal, str) else ()
    level, missing = establish_level(
        LevelFacts(
            refused=facts.refused,
            is_compiled=facts.compiled is not None,
            unreadable_seal=seal if isinstance(seal, str) else None,
            unsealed=unsealed,
            offered=sum(context.base.offered.values()) if context.base.offered else None,
            decided=len(trace),
            violations=violations,
            package=found.package,
            trace=found.trace,
            unbound=_unbound(facts),
            is_rendered=found.rendered != "not recorded",
            rendered=found.rendered,
            rendering_problems=found.problems + _part_problems(found),
            request=found.request,
            carries_input=found.carries_input,
            attempts=tuple(WireFacts(a.index, a.wire, a.wire_matches) for a in attempts),
        )
    )
    view = replace(
        _described(facts, context),
        seal=view_seal(seal) if seal is not None else None,
        seal_names_every_sibling=None if seal is None or isinstance(seal, str) else not unsealed,
        trace=trace,
        attempts=attempts,
        nothing_sent=facts.nothing_sent or _sent_nothing(attempts),
        level=level,
        missing=missing,
    )
    return _with_digests(view, facts, found)


def _described(facts: BranchFacts, context: BranchContext) -> BranchView:
    """Return what events say directly: who, what was asked, how it ended."""
    statuses = context.statuses or ()
    last = facts.completed.payload if facts.completed else None
    requested = facts.requested.payload if facts.requested else None
    actor = facts.actor
    input_tokens, output_tokens = facts.usage()
    return BranchView(
        call_id=facts.call_id,
        position=facts.position,
        name=facts.name,
        actor_id=actor.get("actor_id"),
        actor_kind=actor.get("kind"),
        provider=_first(
            _manifest(facts, "provider"), actor.get("provider"), last and last.provider
        ),
        model=_first(
            _manifest(facts, "resolved_model_id"),
            _manifest(facts, "requested_model"),
            actor.get("model"),
        ),
        adapter_id=facts.adapter_id,
        protocol=_protocol(facts),
        task_id=_first(requested and requested.task_id, last and last.task_id),
        variant=(requested.variant if requested else None) or {},
        parameters=(requested.parameters if requested else None) or {},
        instruction=facts.instruction,
        prompt=facts.prompt,
        status=statuses[facts.position] if facts.position < len(statuses) else None,
        call_status=last.call_status if last else None,
        decided_status=facts.decided_status,
        error=last.error if last else None,
        error_kind=last.error_kind if last else None,
        replayed_from=facts.replayed.payload.original_call_id if facts.replayed else None,
        synthesized_completion=facts.is_synthesized,
        completions=facts.count(CallCompleted.KIND),
        requested=facts.count(CallRequested.KIND),
        manifests=facts.count(CallManifest.KIND),
        attempts_started=facts.count(AttemptStarted.KIND),
        attempts_completed=facts.count(AttemptCompleted.KIND),
        preparation_failed_stage=(
            facts.preparation_failed.payload.stage if facts.preparation_failed else None
        ),
        refused=facts.refused,
        cancelled_cause=facts.cancelled.payload.cause if facts.cancelled else None,
        output=facts.output(),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        compiled_at=facts.compiled.row.sequence if facts.compiled else None,
        requested_at=facts.requested.row.sequence if facts.requested else None,
        manifest_at=facts.manifest.row.sequence if facts.manifest else None,
        completed_at=facts.completed.row.sequence if facts.completed else None,
    )


def _with_digests(view: BranchView, facts: BranchFacts, found: Recomputation) -> BranchView:
    rendered = _manifest(facts, "rendered_context_sha256")
    return replace(
        view,
        rendered=rendered is not None,
        package_id=facts.compiled.payload.package_id if facts.compiled else None,
        package_recomputed=found.package,
        trace_recomputed=found.trace,
        prompt_sha256=_manifest(facts, "prompt_hash"),
        prompt_recomputed=found.prompt,
        rendered_sha256=rendered,
        rendered_recomputed=found.rendered,
        request_sha256=_manifest(facts, "request_body_sha256"),
        request_recomputed=found.request,
        model_input_sha256=found.model_input_sha256,
        parts=found.parts,
        items=found.items,
    )


def _attempts(
    facts: BranchFacts, context: BranchContext, found: Recomputation
) -> tuple[AttemptView, ...]:
    ends = [e.row.sequence for e in facts.events if e.row.kind == CallCompleted.KIND]
    if context.completed_at is not None:
        ends.append(context.completed_at)
    last_end = max(ends, default=0)
    return tuple(
        replace(
            fold_attempt(
                events,
                has_ended=_has_ended(events, last_end, context),
                sent_sha256=found.sent_sha256,
            ),
            call_has_completion=facts.count(CallCompleted.KIND) > 0,
            fanout_id=context.fanout_id,
            branch=facts.name,
        )
        for events in facts.attempts
    )


def _sent_nothing(attempts: tuple[AttemptView, ...]) -> bool:
    """Return whether there were attempts, and no byte of any of them left."""
    return bool(attempts) and all(attempt.wire == "not_sent" for attempt in attempts)


def _has_ended(events: tuple[OpenedEvent, ...], last_end: int, context: BranchContext) -> bool:
    session = next(filter(None, (payload_field(event, "session_id") for event in events)), None)
    is_over = session in context.ended_sessions
    return context.is_closed or is_over or events[0].row.sequence < last_end


def _trace(
    facts: BranchFacts, context: BranchContext
) -> tuple[tuple[TraceView, ...], tuple[str, ...]]:
    """Return every decision, and a sentence for a selected item that the seal forbids."""
    if facts.compiled is None:
        failed = facts.compilation_failed
        entries = stored_trace(failed.payload.trace if failed else None)
        reader = TraceReader(context.base, {}, frozenset(), context.sources)
        return tuple(reader.view(entry) for entry in entries), ()
    compiled = facts.compiled.payload
    omitted = frozenset(compiled.lineage_omitted or ())
    reader = TraceReader(context.base, selected_kinds(compiled), omitted, context.sources)
    trace = tuple(reader.view(entry) for entry in stored_trace(compiled.trace))
    if facts.package is None:
        return trace, ()
    return trace, _violations(facts.package, trace, reader, omitted)


def _violations(
    package: Package, trace: Sequence[TraceView], reader: TraceReader, omitted: frozenset[str]
) -> tuple[str, ...]:
    items = package.items()
    decided = {entry.candidate_id for entry in trace if entry.decision == "included"}
    found = [
        f"{kind} {item_id} was selected without a decision in the trace"
        for kind, item_id in items
        if item_id not in decided
    ]
    # What the record declares counts here even where the branch was compiled without it.
    lineage = {item_id: frozenset(reader.lineage((kind, item_id))) for kind, item_id in items}
    try:
        refuse_violation(package, lineage)
    except ContextSealViolation as violation:
        own = violation.candidate_id
        named = next(
            (reader.base.names[key] for key in items if key[1] == own and key in reader.base.names),
            own,
        )
        rest = violation.message.removeprefix("CONTEXT_SEAL_VIOLATION: ").removeprefix(own)
        sentence = f"{named}{rest}"
        if violation.candidate_id in omitted:
            sentence += "; the branch was compiled as if its lineage had not been declared"
        found.append(sentence)
    return tuple(found)


def _unbound(facts: BranchFacts) -> str | None:
    """Return why there is no manifest, in the record's own words where it has some."""
    if facts.manifest is not None:
        return None
    if facts.preparation_failed is not None:
        return f"preparation failed at {facts.preparation_failed.payload.stage}"
    if facts.replayed is not None:
        return "the call was answered from an earlier one"
    return facts.error or "nothing more is recorded of this branch"


def _unsealed(seal: Seal, facts: BranchFacts) -> tuple[str, ...]:
    named = seal.forbidden_call_ids & seal.forbidden_lineage_ids
    return tuple(sorted(facts.siblings - named))


def _part_problems(found: Recomputation) -> tuple[str, ...]:
    """Return a sentence for each item and part whose digest does not recompute."""
    wrong = [f"{part.label} {part.item_id}" for part in found.items if part.recomputed != "match"]
    wrong += [f"part {part.label}" for part in found.parts if part.recomputed != "match"]
    return tuple(f"the digest of {name} does not recompute" for name in wrong)


def _protocol(facts: BranchFacts) -> str | None:
    effective = _manifest(facts, "effective_parameters") or {}
    observed = [payload_field(event, "protocol") for group in facts.attempts for event in group]
    return _first(effective.get("protocol"), *observed)


def _manifest(facts: BranchFacts, name: str) -> Any:  # noqa: ANN401 - a field of any type
    return getattr(facts.manifest.payload, name) if facts.manifest else None


def _first(*values: Any) -> str | None:  # noqa: ANN401 - JSON, of which only text counts
    return next((value for value in values if isinstance(value, str)), None)
