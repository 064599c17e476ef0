"""What one branch is and what came of it: status, actor, attempts, tokens, output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from codeai_tui.display import SafeText, safe_lines
from codeai_tui.present.line import BLANK, Line, Span, Tone, line
from codeai_tui.present.words import NOT_RECORDED, count, size, status_line

if TYPE_CHECKING:
    from codeai_engine import AttemptView, BranchView

_QUESTION_LINES = 6
_OUTPUT_LINES = 200
_MS_IN_S = 1000
_STAGES = (
    ("started", "attempt.started"),
    ("sending", "attempt.sending"),
    ("wire_observed", "attempt.wire_observed"),
    ("observed", "attempt.observed"),
    ("interpreted", "attempt.interpreted"),
    ("completed", "attempt.completed"),
    ("abandoned", "attempt.abandoned"),
)


def level_line(level: str) -> Line:
    """Return a level as glyph and word."""
    return line(("- no level", "none")) if level == "none" else line(("✓ ", "good"), level)


def shown_status(branch: BranchView) -> str | None:
    """Return the status a branch is shown with; where its fan-out has none, its call's."""
    if branch.refused:
        return "refused"
    own = branch.status or branch.call_status or branch.decided_status
    return "replayed" if own is None and branch.replayed_from else own


def status_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return how a branch ended, and what else the record says of its end."""
    if branch.refused:
        return (status_line("refused"), line(("before any call was made", "muted")))
    running = any(attempt.running for attempt in branch.attempts)
    lines = [status_line(shown_status(branch), running=running)]
    if branch.status is None and shown_status(branch):
        lines.append(line(("its fan-out is not completed", "open")))
    if branch.cancelled_cause:
        lines.append(line((f"cause {branch.cancelled_cause}", "muted")))
    if branch.replayed_from:
        lines.append(line(("replayed from ", "muted"), branch.replayed_from))
    if branch.completed_at is not None:
        lines.append(line(("event ", "muted"), count(branch.completed_at)))
    if branch.completions > 1:
        lines.append(line((f"{branch.completions} completions, the last counts", "open")))
    if branch.synthesized_completion:
        lines.append(line(("completion written by the guard", "muted")))
    return tuple(lines)


def error_text(branch: BranchView) -> str:
    """Return the recorded error of a branch, exactly."""
    return branch.refused or branch.error or ""


def error_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return the recorded error of a branch and its kind."""
    text = error_text(branch)
    if not text:
        return ()
    kind = (line((branch.error_kind, "open")),) if branch.error_kind else ()
    return (*kind, *(_toned(piece, "bad") for piece in safe_lines(text)))


def level_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return the level that the record of a branch has, and what the next one lacks."""
    if branch.refused:
        return (level_line(branch.level), line(("refused before any input was made", "muted")))
    lacks = (line(("lacks ", "muted"), (what, "open")) for what in branch.missing)
    return (level_line(branch.level), *lacks)


def actor_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return who a branch is by."""
    if not branch.actor_id:
        return (NOT_RECORDED,)
    kind = f" {branch.actor_kind}" if branch.actor_kind else ""
    lines = [line(branch.actor_id, (kind, "muted"))]
    who = " / ".join(part for part in (branch.provider, branch.model) if part)
    if who:
        lines.append(line((who, "muted")))
    return tuple(lines)


def variant_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return what sets a branch apart: those fields of its variant that have a value."""
    said = _known({**branch.variant, **branch.parameters})
    if not said:
        return (line(("- none", "none")),)
    return tuple(line((f"{key} ", "muted"), value) for key, value in said)


def variant_text(branch: BranchView) -> str:
    """Return the whole variant as JSON."""
    return json.dumps({"variant": branch.variant, "parameters": branch.parameters}, indent=2)


def adapter_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return which adapter a branch went through."""
    if not (branch.adapter_id or branch.protocol):
        return (NOT_RECORDED,)
    protocol = line((f" {branch.protocol}", "muted")) if branch.protocol else ()
    return (line(branch.adapter_id or "", *protocol),)


def question_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return the head of the question that a branch was asked."""
    if branch.prompt is None:
        return (NOT_RECORDED,)
    pieces = safe_lines(branch.prompt)
    shown = [_toned(piece, "plain") for piece in pieces[:_QUESTION_LINES]]
    if len(pieces) > _QUESTION_LINES:
        shown.append(line((f"… {len(pieces) - _QUESTION_LINES} more lines, Enter", "muted")))
    return tuple(shown)


def question_detail(branch: BranchView) -> tuple[Line, ...]:
    """Return instruction and question whole."""
    lines: list[Line] = []
    for label, text in (("instruction", branch.instruction), ("question", branch.prompt)):
        lines.append(line((label, "muted")))
        if text is None:
            lines.append(NOT_RECORDED)
        else:
            lines += [_toned(piece, "plain") for piece in safe_lines(text)]
        lines.append(BLANK)
    return tuple(lines)


def wire_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return whether what the transport was given equals the prepared body."""
    seen = [attempt.wire_matches for attempt in branch.attempts if attempt.wire_observed]
    if not seen:
        return (NOT_RECORDED,)
    if all(seen):
        return (line(("✓ ", "good"), "equals the prepared body"),)
    if None in seen and False not in seen:
        return (line(("? not comparable", "open")),)
    return (line(("✗ differs from the prepared body", "bad")),)


def attempt_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return every attempt of a branch, orphans named."""
    if branch.attempts:
        return tuple(_attempt_line(attempt) for attempt in branch.attempts)
    if branch.nothing_sent or branch.refused:
        return (line(("- none, nothing was sent", "none")),)
    return (line(("- none", "none")),)


def attempt_text(branch: BranchView) -> str:
    """Return the ids of a branch's attempts, one a line."""
    return "\n".join(attempt.attempt_id for attempt in branch.attempts)


def attempt_detail(branch: BranchView) -> tuple[Line, ...]:
    """Return every attempt with the sequence of each of its events."""
    lines: list[Line] = []
    for attempt in branch.attempts:
        lines += [_attempt_line(attempt), line((attempt.attempt_id, "muted"))]
        for name, kind in _STAGES:
            sequence = getattr(attempt, name)
            shown: tuple[str, Tone] = (
                (f"{count(sequence):>9}", "plain")
                if sequence is not None
                else (f"{'-':>9}", "none")
            )
            lines.append(line(shown, (f"  {kind}", "muted")))
        lines += [*_attempt_facts(attempt), BLANK]
    return tuple(lines) or attempt_lines(branch)


def token_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return the tokens that the record knows of; what it does not know says so."""
    return (
        line(("in  ", "muted"), *_tokens(branch.input_tokens)),
        line(("out ", "muted"), *_tokens(branch.output_tokens)),
    )


def output_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return a branch's answer, its size first."""
    return _output(branch, _OUTPUT_LINES)


def output_detail(branch: BranchView) -> tuple[Line, ...]:
    """Return a branch's answer with every line that the view holds."""
    return _output(branch, None)


def _output(branch: BranchView, limit: int | None) -> tuple[Line, ...]:
    output = branch.output
    if output is None:
        return (line(("- no answer", "none")),)
    if not output.text and not output.byte_length:
        return (line(("○ empty answer", "open")),)
    head = line((size(output.byte_length), "muted"))
    if output.truncated:
        head = line(*head, (", shown in part", "open"))
    notes = [head]
    if output.escaped:
        notes.append(line(("what is not text is shown as escapes", "open")))
    pieces = safe_lines(output.text)
    shown = [_toned(piece, "bright") for piece in pieces[:limit]]
    if limit is not None and len(pieces) > limit:
        shown.append(line((f"… {len(pieces) - limit} more lines, Enter", "muted")))
    return (*notes, *shown)


def _toned(text: SafeText, tone: Tone) -> Line:
    """Return one line that the sanitiser has already made."""
    return (Span(text, tone),) if text else BLANK


def _attempt_line(attempt: AttemptView) -> Line:
    index = str(attempt.index) if attempt.index is not None else "?"
    cause = f" {attempt.cause}" if attempt.cause and attempt.cause != "first" else ""
    wait = f" after {_seconds(attempt.wait_s)}" if attempt.wait_s else ""
    spent = f" {attempt.latency_ms:,.0f} ms" if attempt.latency_ms is not None else ""
    return line((f"{index} ", "muted"), *_attempt_end(attempt), (f"{spent}{cause}{wait}", "muted"))


def _attempt_end(attempt: AttemptView) -> Line:
    if attempt.running:
        return line(("… running", "open"))
    if attempt.orphan:
        wire = f", bytes {attempt.wire.replace('_', ' ')}" if attempt.wire else ""
        return line((f"○ ORPHAN{wire}", "open"))
    if attempt.status is None:
        return line(("○ no completion", "open"))
    return status_line(attempt.status)


def _attempt_facts(attempt: AttemptView) -> list[Line]:
    facts = (
        ("error", attempt.error),
        ("error kind", attempt.error_kind),
        ("http status", attempt.http_status),
        ("exit code", attempt.exit_code),
        ("wire", attempt.wire),
        ("session", attempt.session_id),
    )
    lines = [
        line((f"{label} ", "muted"), str(value)) for label, value in facts if value is not None
    ]
    if attempt.incomplete:
        lines.append(line(("the observation is incomplete", "open")))
    return lines


def _seconds(wait_s: float) -> str:
    return f"{wait_s:,.1f} s" if wait_s >= 1 else f"{wait_s * _MS_IN_S:,.0f} ms"


def _tokens(number: int | None) -> Line:
    return line(("unknown", "open")) if number is None else line(count(number))


def _known(values: dict[str, object]) -> list[tuple[str, str]]:
    """Return the fields that hold something, as texts."""
    return [
        (key, value if isinstance(value, str) else json.dumps(value))
        for key, value in values.items()
        if value is not None and value not in ({}, [], "")
    ]
