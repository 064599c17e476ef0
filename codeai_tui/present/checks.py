"""Checks: the list, and one of them with what it looked at, what it answered and what it lacks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from codeai_tui.display import safe_lines
from codeai_tui.present.check_matrix import make_matrix, matrix_text
from codeai_tui.present.check_words import (
    NAMED,
    binding_line,
    compared_line,
    consumption_text,
    earlier_line,
    is_bound,
    policy_text,
    probes_text,
    subject_name,
    telling_binding,
    verdict_line,
)
from codeai_tui.present.line import BLANK, Line, Span, line
from codeai_tui.present.table import Column, Row, text_table
from codeai_tui.present.words import count, digest_line, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine import BindingView, ChecksView, CheckView, OutputHead

_BOTH = 88  # cells from which both bindings have a column
COLUMNS = (
    Column("seq", 7, right=True),
    Column("check", 14, flexible=True),
    Column("verdict", 14),
    Column("binding", 13, below=_BOTH),
    Column("state", 13, from_width=_BOTH),
    Column("artifact", 12, from_width=_BOTH),
    Column("command", 10, flexible=True, from_width=_BOTH),
    Column("compared", 12, flexible=True),
    Column("claims", 10, flexible=True, from_width=118),
    Column("consumption", 22, from_width=140),
)
EMPTY = (
    line(("No check in this ledger.", "bright")),
    line(("Looked for events of kind check.requested.  g e shows the events.", "muted")),
)
NONE_HERE = (line(("No check in this cell.  Arrows go to another, b to the other axis.", "muted")),)
_LABEL = 13


def all_checks(view: ChecksView) -> tuple[CheckView, ...]:
    """Return completed and pending checks, newest first."""
    return tuple(sorted((*view.items, *view.pending), key=lambda check: -check.sequence))


def check_rows(checks: Sequence[CheckView]) -> tuple[Row, ...]:
    """Return one row for each check, in the order given."""
    return tuple(_row(check) for check in checks)


def scope_text(view: ChecksView) -> str:
    """Return how many checks are shown, of how many."""
    shown = len(view.items) + len(view.pending)
    if view.total is not None and view.total > shown:
        return f"newest {count(shown)} of {count(view.total)} checks"
    return plural(shown, "check")


def detail_lines(check: CheckView) -> tuple[Line, ...]:
    """Return everything that the record says of one check."""
    return (
        line((check.check_id, "bright"), (f"  event {count(check.sequence)}", "muted")),
        *_verdict_lines(check),
        BLANK,
        *(_bound_lines(check) if check.event_id is not None else _subject_lines(check)),
        BLANK,
        _labelled("command", command_text(check.command)),
        _labelled("folder", check.cwd),
        *_environment_lines(check),
        _labelled("policy", policy_text(check.policy)),
        _labelled("invocations", _invocations(check)),
        *(_found_lines(check) if check.event_id is not None else ()),
        *_claim_lines(check),
        *_output_lines("stdout", check.stdout),
        *_output_lines("stderr", check.stderr),
    )


def policy_lines(check: CheckView) -> tuple[Line, ...]:
    """Return the declared policy of one check, and how its exit code was read by it."""
    code = "no exit code" if check.exit_code is None else f"exit code {check.exit_code}"
    return (
        line(policy_text(check.policy)),
        line(("declared before the check ran; a code that nothing names is an ERROR", "muted"))
        if check.policy is not None and check.policy.fail_codes is not None
        else line(("declared before the check ran", "muted")),
        BLANK,
        line(f"{code}: ", *verdict_line(check)),
    )


def command_text(command: Sequence[str]) -> str:
    """Return a command as one text; an argument that is not one plain word is quoted."""
    return " ".join(
        part if part and part.isprintable() and not set(part) & set(" '\"\\") else json.dumps(part)
        for part in command
    )


def checks_text(view: ChecksView) -> list[Line]:
    """Return the checks of a ledger for a pipe: both matrices, then the list."""
    checks = all_checks(view)
    if not checks:
        return [EMPTY[0]]
    lines = [line(scope_text(view)), BLANK]
    lines += [*matrix_text(make_matrix(view.items, "state")), BLANK]
    lines += [*matrix_text(make_matrix(view.items, "artifact")), BLANK]
    rows = [replace(row, cells=_named(row)) for row in check_rows(checks)]
    lines += text_table(COLUMNS, rows)
    return [*lines, *unread_lines(view.unread)]


def check_text(checks: Sequence[CheckView]) -> list[Line]:
    """Return one check for a pipe, each completion of its id."""
    lines: list[Line] = []
    for check in checks:
        lines += [*([BLANK] if lines else []), *detail_lines(check)]
    return lines


def unread_lines(unread: Sequence[tuple[int, str]]) -> list[Line]:
    """Return the events that could not be read, each with its problem."""
    return [line((f"! event {count(at)} not read: {why}", "bad")) for at, why in unread]


def _named(row: Row) -> tuple[Line, ...]:
    """Return the cells of a row with the whole id, by which the check can be asked for."""
    return (row.cells[0], line((row.copy, "bright")), *row.cells[2:])


def _row(check: CheckView) -> Row:
    return Row(
        str(check.sequence),
        (
            line((count(check.sequence), "muted")),
            line((subject_name(check.check_id), "bright")),
            line(("! ", "bad"), *verdict_line(check))
            if check.contradictions
            else verdict_line(check),
            line(("-", "none")) if check.event_id is None else telling_binding(check),
            _status(check, check.binding_status),
            _status(check, check.artifact_binding_status),
            line(command_text(check.command)) if check.command else line(("-", "none")),
            compared_line(check.earlier) if check.earlier else line(("-", "none")),
            line((", ".join(check.claim_ids), "muted")) if check.claim_ids else line(("-", "none")),
            line((consumption_text(check), "muted")),
        ),
        copy=check.check_id,
    )


def _status(check: CheckView, status: str | None) -> Line:
    return line(("-", "none")) if check.event_id is None else binding_line(status)


def _verdict_lines(check: CheckView) -> list[Line]:
    lines = [line(*verdict_line(check), *_stands_for(check))]
    lines += [line(("! ", "bad"), (text, "bad")) for text in check.contradictions]
    if check.error is not None:
        lines.append(line(("error ", "muted"), check.error))
    if check.inconclusive_reason is not None:
        lines.append(line(("reason ", "muted"), check.inconclusive_reason))
    if check.completions > 1:
        again = f"this check id has {check.completions} completions; each is shown"
        lines.append(line((again, "open")))
    if check.earlier is not None:
        lines.append(earlier_line(check.earlier))
        lines += _moved_lines(check)
    return lines


def _stands_for(check: CheckView) -> Line:
    if check.verdict == "PASS" and not is_bound(check):
        return line(("  passed, but against no identified state and no bytes", "open"))
    return ()


def _moved_lines(check: CheckView) -> list[Line]:
    earlier = check.earlier
    if earlier is None or earlier.differs or earlier.observed is None:
        return []
    before, now = earlier.observed
    relation = "the same state as then" if before == now else "the state has moved since"
    return [
        line("  ", *digest_line(before), (" then, now ", "muted"), *digest_line(now)),
        line((f"  {relation}", "muted")),
    ]


def _binding_lines(name: str, binding: BindingView, status: str | None) -> list[Line]:
    lines = [line((f"{name:<{_LABEL}}", "muted"), *binding_line(status))]
    if binding.requested is not None:
        lines.append(line((f"{'  asked for':<{_LABEL}}", "muted"), *digest_line(binding.requested)))
    if binding.observed is not None:
        lines.append(line((f"{'  found':<{_LABEL}}", "muted"), *digest_line(binding.observed)))
    if binding.reason is not None and status != "bound":
        lines.append(line((f"  {binding.reason}", "plain")))
    return lines


def _bound_lines(check: CheckView) -> list[Line]:
    return [
        *_binding_lines("state", check.state, check.binding_status),
        *_subject_lines(check),
        *_after_lines(check),
        *_binding_lines("artifact", check.artifact, check.artifact_binding_status),
        _labelled("consumption", consumption_text(check)),
    ]


def _found_lines(check: CheckView) -> list[Line]:
    return [
        _labelled("exit code", None if check.exit_code is None else str(check.exit_code)),
        _labelled("by", check.verifier),
        _labelled("details", check.details),
        _labelled("adequacy", probes_text(check)),
    ]


def _subject_lines(check: CheckView) -> list[Line]:
    lines = []
    if check.subject is not None:
        lines.append(_labelled("  read from", check.subject))
    if check.target is not None:
        lines.append(_labelled("  target", check.target))
    return lines


def _after_lines(check: CheckView) -> list[Line]:
    if check.state_after is None:
        return []
    word = {"stable": "= stable", "moved": "# moved"}.get(check.state_after, check.state_after)
    said = line((word, "plain" if check.state_after == "stable" else "open"))
    found = check.state_after_observed
    digest = line("  ", *digest_line(found)) if found and check.state_after == "moved" else ()
    return [line((f"{'  after it':<{_LABEL}}", "muted"), *said, *digest)]


def _environment_lines(check: CheckView) -> list[Line]:
    lines = [_labelled("environment", f"{name}={value}") for name, value in check.environment]
    if check.environment_from:
        names = f"{', '.join(check.environment_from)} (values not recorded)"
        lines.append(_labelled("environment", names))
    return lines


def _invocations(check: CheckView) -> str | None:
    return None if check.invocations is None else count(check.invocations)


def _claim_lines(check: CheckView) -> list[Line]:
    if not check.claim_ids:
        return [_labelled("claims", "names no claim")]
    names = ", ".join(check.claim_ids)
    return [_labelled("claims", names), line((f"{'':<{_LABEL}}{NAMED}", "note"))]


def _output_lines(name: str, output: OutputHead | None) -> list[Line]:
    if output is None:
        return []
    length = size(output.byte_length) if output.byte_length is not None else ""
    cut = "beginning" if output.truncated else "whole"
    title = line((name, "bright"), (f"  {length}  {cut}" if length else f"  {cut}", "muted"))
    if not output.text:
        return [BLANK, line((name, "bright"), ("  empty", "none"))]
    lines: list[Line] = [
        (Span(piece),) if piece else BLANK for piece in safe_lines(output.text.removesuffix("\n"))
    ]
    if output.truncated:
        whole = f"; more in artifact {output.artifact_id}" if output.artifact_id else ""
        lines.append(line((f"… cut here{whole}", "muted")))
    return [BLANK, title, *lines]


def _labelled(label: str, value: str | None) -> Line:
    shown = line(value) if value is not None else line(("- not recorded", "none"))
    return line((f"{label:<{_LABEL}}", "muted"), *shown)
