"""Checks from their events: what was asked, bound, started, found, and what came before it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codeai_engine.domain.check import ARTIFACT_TARGET
from codeai_engine.domain.check_view import (
    BindingView,
    ChecksView,
    CheckView,
    EarlierView,
    OutputHead,
    PolicyView,
)
from codeai_engine.domain.claim import CheckCompleted, CheckRequested, CheckStarted
from codeai_engine.rules.fold_event import open_event, problems, reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_event import Read

CHECK_KINDS = ("check.requested", "check.started", "check.completed")
HEAD_CHARACTERS = 4096
_CARRIED_OUT = frozenset({"PASS", "FAIL", "INCONCLUSIVE"})
_PERMITTING = frozenset({"bound", "unbound", None})


def fold_checks(rows: Iterable[EventRow], *, counts_starts: bool = False) -> ChecksView:
    """Fold the events of `CHECK_KINDS`.

    A completion belongs to the request that it names as its cause, since check ids repeat; one
    without a cause belongs to the last request of its id before it.

    Args:
        rows: In any order.
        counts_starts: Every invocation of this ledger's writer is a `check.started`; without, that
            there is none says nothing.
    """
    events = tuple(open_event(row) for row in sorted(rows, key=lambda row: row.sequence))
    requested = reads(events, CheckRequested)
    completed = reads(events, CheckCompleted)
    started = _Starts(reads(events, CheckStarted), counts_starts=counts_starts)
    by_event_id = {request.row.event_id: request for request in requested}
    answered: set[int] = set()
    items: list[CheckView] = []
    completions = Counter(read.payload.check_id for read in completed)
    for read in completed:
        cause = read.row.causation_id
        request = by_event_id.get(cause) if cause else _earlier_request(read, requested)
        if request is not None:
            answered.add(request.row.sequence)
        view = _completed_view(read, _asked(request), started.of(request, read.payload.check_id))
        items.append(replace(view, completions=completions[view.check_id]))
    pending = [request for request in requested if request.row.sequence not in answered]
    return ChecksView(
        items=tuple(_with_earlier(items)),
        requested=sum(event.row.kind == CheckRequested.KIND for event in events),
        unanswered=tuple(request.payload.check_id for request in pending),
        unread=problems(events),
        pending=tuple(
            replace(_asked(request), invocations=started.of(request, request.payload.check_id))
            for request in pending
        ),
    )


def comparable(before: CheckView, after: CheckView) -> tuple[str, ...]:
    """Return what keeps two checks from being before and after, nothing where they are.

    The subject is what was bound, not the state it had: that may have moved, which is what a repair
    is. Bound bytes are their own subject. A subject that was not bound is nobody's.
    """
    differs = []
    if (before.command, before.cwd) != (after.command, after.cwd):
        differs.append("command")
    if before.policy != after.policy:
        differs.append("policy")
    if before.environment != after.environment:
        differs.append("environment")
    subjects = (_bound_subject(before), _bound_subject(after))
    if not all(subjects):
        which = "one of them" if any(subjects) else "each"
        differs.append(f"bound subject ({which} bound none)")
    elif subjects[0] != subjects[1]:
        differs.append("bound subject")
    return tuple(differs)


def _bound_subject(check: CheckView) -> tuple[tuple[str, str | None], ...]:
    parts: list[tuple[str, str | None]] = []
    if check.state.status == "bound":
        label = check.target if check.target and not _names_artifact(check.target) else None
        parts.append(("state", check.subject or label or check.state.requested))
    if check.artifact.status == "bound":
        parts.append(("artifact", check.artifact.requested))
    return tuple(parts)


def _names_artifact(target: str) -> bool:
    return target.startswith(ARTIFACT_TARGET)


def _with_earlier(items: Sequence[CheckView]) -> Iterable[CheckView]:
    """Yield each check with the one before it of the same claim: one that compares, else the last.

    What was not carried out is neither before nor after. A later PASS of another command is no
    repair.
    """
    by_claim: dict[str, list[CheckView]] = {}
    for item in items:
        if item.verdict not in _CARRIED_OUT:
            yield item
            continue
        yield replace(item, earlier=_earlier(item, by_claim))
        for claim_id in dict.fromkeys(item.claim_ids):
            by_claim.setdefault(claim_id, []).append(item)


def _earlier(item: CheckView, by_claim: Mapping[str, Sequence[CheckView]]) -> EarlierView | None:
    last: EarlierView | None = None
    for claim_id in item.claim_ids:
        for before in reversed(by_claim.get(claim_id, ())):
            found = _earlier_view(before, item, claim_id)
            if not found.differs:
                return found
            last = last or found
    return last


def _earlier_view(before: CheckView, after: CheckView, claim_id: str) -> EarlierView:
    digests = (before.state.observed, after.state.observed)
    return EarlierView(
        check_id=before.check_id,
        sequence=before.sequence,
        verdict=before.verdict,
        claim_id=claim_id,
        differs=comparable(before, after),
        observed=(digests[0], digests[1]) if digests[0] and digests[1] else None,
    )


@dataclass(frozen=True, slots=True)
class _Starts:
    """The starts of the commands, found by the request that caused them."""

    reads: Sequence[Read[CheckStarted]]
    counts_starts: bool

    def of(self, request: Read[CheckRequested] | None, check_id: str) -> int | None:
        """Return how many there were of one request; None where the record does not count them."""
        own = [read for read in self.reads if read.payload.check_id == check_id]
        if not own and not self.counts_starts:
            return None
        if request is None:
            return len(own)
        return sum(read.row.causation_id in {request.row.event_id, None} for read in own)


def _earlier_request(
    completed: Read[CheckCompleted], requested: Sequence[Read[CheckRequested]]
) -> Read[CheckRequested] | None:
    before = [
        request
        for request in requested
        if request.payload.check_id == completed.payload.check_id
        and request.row.sequence < completed.row.sequence
    ]
    return before[-1] if before else None


def _asked(request: Read[CheckRequested] | None) -> CheckView:
    """Return a check as far as its request says, an empty one without a request."""
    if request is None:
        return CheckView("", 0, None)
    asked = request.payload
    metadata = asked.metadata or {}
    return CheckView(
        check_id=asked.check_id,
        sequence=request.row.sequence,
        verdict=None,
        requested=request.row.sequence,
        claim_ids=tuple(asked.claim_ids or ()),
        command=tuple(asked.command or ()),
        target=asked.target,
        task_id=asked.task_id,
        created_at=request.row.created_at,
        state=BindingView(requested=asked.target_state_hash),
        policy=_policy(asked.verdict_policy),
        cwd=asked.cwd,
        timeout_s=asked.timeout_seconds,
        environment=tuple(sorted((k, str(v)) for k, v in (asked.environment or {}).items())),
        environment_from=tuple(sorted(asked.environment_from or ())),
        subject=_subject(asked.state),
        branch=_text(metadata.get("branch")),
        fanout_id=_text(metadata.get("fanout_id")),
    )


def _completed_view(
    completed: Read[CheckCompleted], asked: CheckView, invocations: int | None
) -> CheckView:
    payload = completed.payload
    after = payload.state_after or {}
    view = replace(
        asked,
        check_id=payload.check_id,
        sequence=completed.row.sequence,
        event_id=completed.row.event_id,
        created_at=completed.row.created_at,
        verdict=payload.verdict,
        binding_status=payload.binding_status,
        artifact_binding_status=payload.artifact_binding_status,
        error=payload.error,
        inconclusive_reason=payload.inconclusive_reason,
        exit_code=payload.exit_code,
        state=_binding(payload.binding, payload.binding_status, "state_hash"),
        artifact=_binding(
            payload.artifact_binding, payload.artifact_binding_status, "artifact_sha256"
        ),
        policy=_policy(payload.declared_verdict_policy) or asked.policy,
        verifier=_identity(payload.verifier_identity),
        details=payload.details,
        stdout=_output(payload, "stdout"),
        stderr=_output(payload, "stderr"),
        invocations=invocations,
        state_after=_text(after.get("status")),
        state_after_observed=_text(after.get("observed_state_hash")),
        consumption=_consumption(payload.consumption),
        probes=_probes(payload.probes),
    )
    return replace(view, contradictions=tuple(_contradictions(view)))


def _contradictions(view: CheckView) -> Iterable[str]:
    """Yield what no runtime of ours or of the peer can have come to."""
    for name, status in (
        ("state", view.binding_status),
        ("artifact", view.artifact_binding_status),
    ):
        if status not in _PERMITTING and view.verdict != "ERROR":
            yield f"{view.verdict} with {name} {str(status).upper()}: nothing is run on that"
    if view.invocations == 0 and view.verdict in {"PASS", "FAIL", "INCONCLUSIVE"}:
        yield f"{view.verdict} without an invocation"
    if view.invocations is not None and view.invocations > 1:
        yield f"{view.invocations} invocations of one check"


def _binding(stored: Mapping[str, Any] | None, status: str | None, field: str) -> BindingView:
    known = stored or {}
    found = "observed" if field == "state_hash" else "resolved"
    return BindingView(
        status=status or _text(known.get("status")),
        requested=_text(known.get(f"requested_{field}")),
        observed=_text(known.get(f"{found}_{field}")),
        reason=_text(known.get("reason")),
    )


def _policy(stored: Mapping[str, Any] | None) -> PolicyView | None:
    if stored is None:
        return None
    fail = stored.get("fail_codes")
    return PolicyView(
        policy_id=_text(stored.get("policy_id")),
        pass_codes=_codes(stored.get("pass_codes")),
        fail_codes=None if fail is None else _codes(fail),
        inconclusive_codes=_codes(stored.get("inconclusive_codes")),
    )


def _codes(stored: object) -> tuple[int, ...]:
    return tuple(code for code in stored if type(code) is int) if isinstance(stored, list) else ()


def _output(payload: CheckCompleted, name: str) -> OutputHead | None:
    text: str | None = getattr(payload, name)
    if text is None:
        return None
    cut = bool(getattr(payload, f"{name}_truncated"))
    ids = [
        _text(reference.get("artifact_id"))
        for reference in payload.artifacts or ()
        if str(reference.get("artifact_type", "")).endswith(name)
    ]
    return OutputHead(
        text=text[:HEAD_CHARACTERS],
        truncated=cut or len(text) > HEAD_CHARACTERS,
        recorded_cut=cut,
        byte_length=getattr(payload, f"{name}_bytes"),
        artifact_id=ids[0] if ids else None,
    )


def _identity(stored: Mapping[str, Any] | None) -> str | None:
    if not stored:
        return None
    shown = (_text(stored.get("name")), _text(stored.get("version")))
    return " ".join(part for part in shown if part) or None


def _subject(stored: Mapping[str, Any] | None) -> str | None:
    """Return how a state is read, without the digest that it is expected to have."""
    if not stored:
        return None
    resolver = _text(stored.get("resolver")) or "state"
    path = _text(stored.get("path"))
    rest = {k: v for k, v in stored.items() if k not in {"resolver", "path", "expect"} and v}
    parts = [resolver, path, json.dumps(rest, sort_keys=True) if rest else None]
    return " ".join(part for part in parts if part)


def _consumption(stored: Mapping[str, Any] | None) -> str | None:
    status = _text((stored or {}).get("status"))
    count = (stored or {}).get("bytes")
    return f"{status} {count:,} bytes" if status and type(count) is int else status


def _probes(stored: Mapping[str, Any] | None) -> tuple[int, int] | None:
    seeded, detected = ((stored or {}).get(name) for name in ("seeded", "detected"))
    return (seeded, detected) if type(seeded) is int and type(detected) is int else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
