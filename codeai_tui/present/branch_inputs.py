"""What one branch was given: seal, trace, package, rendered context, model input, request body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from codeai_tui.present.line import BLANK, Line, Tone, line
from codeai_tui.present.words import (
    NOT_RECORDED,
    branch_letter,
    count,
    digest_line,
    plural,
    recomputed_line,
    short_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codeai_engine import BranchView, BytesPart, FanoutView, TraceView

_FEW_LETTERS = 4
_DIGESTS = {
    "package": ("package_id", "package_recomputed"),
    "rendered": ("rendered_sha256", "rendered_recomputed"),
    "input": ("model_input_sha256", None),
    "request": ("request_sha256", "request_recomputed"),
}


def seal_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return how many ids of each set a branch's seal forbids."""
    seal = branch.seal
    if seal is None:
        return (NOT_RECORDED,)
    if seal.unreadable is not None:
        return (line(("! unreadable seal", "bad")), line((seal.unreadable, "muted")))
    sets = (
        ("calls", seal.call_ids),
        ("lineage", seal.lineage_ids),
        ("artifacts", seal.artifact_ids),
        ("events", seal.event_ids),
    )
    said = "  ".join(f"{word} {len(ids)}" for word, ids in sets if ids)
    return (line(said or ("- nothing", "none")), *_sibling_lines(branch))


def seal_text(branch: BranchView) -> str:
    """Return the four sets of a seal as JSON."""
    seal = branch.seal
    if seal is None:
        return ""
    return json.dumps(
        {
            "forbidden_event_ids": seal.event_ids,
            "forbidden_call_ids": seal.call_ids,
            "forbidden_artifact_ids": seal.artifact_ids,
            "forbidden_lineage_ids": seal.lineage_ids,
        },
        indent=2,
    )


def seal_detail(branch: BranchView) -> tuple[Line, ...]:
    """Return every id that a seal forbids."""
    seal = branch.seal
    if seal is None or seal.unreadable is not None:
        return seal_lines(branch)
    lines: list[Line] = [*_sibling_lines(branch)]
    for word, ids in (
        ("calls", seal.call_ids),
        ("lineage", seal.lineage_ids),
        ("artifacts", seal.artifact_ids),
        ("events", seal.event_ids),
    ):
        lines += [BLANK, line((f"{word} ", "muted"), count(len(ids)))]
        lines += [line("  ", identifier) for identifier in ids]
    return tuple(lines)


def included_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return what was selected for a branch."""
    included = _entries(branch, "included")
    if not branch.trace:
        return (NOT_RECORDED,)
    if not included:
        return (line(("- nothing", "none")),)
    lines = [line(plural(len(included), "candidate"))]
    for entry in included:
        lines.append(line(("· ", "muted"), *_candidate(entry)))
        if entry.provenance == "unknown":
            lines.append(line(("  ○ unknown provenance", "open")))
    return tuple(lines)


def excluded_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return what was kept from a branch, each with the reason that the trace names."""
    if not branch.trace:
        return (NOT_RECORDED,)
    excluded = _entries(branch, "excluded")
    if not excluded:
        return (line(("- nothing", "none")),)
    lines = [line(plural(len(excluded), "candidate"))]
    for entry in excluded:
        lines.append(line(("✗ ", "open"), *_candidate(entry)))
        lines.append(line(("  " + entry.reason, "muted")))
    return tuple(lines)


def trace_text(branch: BranchView, decision: str) -> str:
    """Return the candidates of one decision, one a line with its reason."""
    return "\n".join(
        f"{entry.kind or '?'}\t{entry.candidate_id}\t{entry.reason}"
        for entry in _entries(branch, decision)
    )


def trace_detail(branch: BranchView, decision: str) -> tuple[Line, ...]:
    """Return every candidate of one decision with id, reason, provenance and lineage."""
    entries = _entries(branch, decision)
    lines: list[Line] = [line(("trace ", "muted"), *recomputed_line(branch.trace_recomputed))]
    for entry in entries:
        name = f"  {entry.name}" if entry.name else ""
        lines += [
            BLANK,
            line((f"{entry.kind or 'candidate'} ", "muted"), (entry.candidate_id, "bright"), name),
            line(("reason ", "muted"), entry.reason),
            line(("provenance ", "muted"), *_provenance(entry)),
        ]
        if entry.lineage:
            lines.append(line(("lineage ", "muted"), ", ".join(entry.lineage)))
    return tuple(lines)


def package_lines(branch: BranchView) -> tuple[Line, ...]:
    """Return a branch's package id and whether it recomputes."""
    if branch.package_id is None:
        return (line(("- no package", "none")),) if branch.refused else (NOT_RECORDED,)
    return (digest_line(branch.package_id), recomputed_line(branch.package_recomputed))


def rendered_lines(view: FanoutView, branch: BranchView) -> tuple[Line, ...]:
    """Return the digest of the rendered context, and which branches have the same."""
    if branch.rendered_sha256 is None:
        return _no_rendering(branch)
    return (
        digest_line(branch.rendered_sha256),
        _compared(_same(view, branch, "rendered_sha256"), _others(view, branch, "rendered_sha256")),
        recomputed_line(branch.rendered_recomputed),
    )


def input_lines(view: FanoutView, branch: BranchView) -> tuple[Line, ...]:
    """Return the digest of the composed model input, identical inputs marked."""
    if branch.model_input_sha256 is None:
        return (NOT_RECORDED,)
    same = _same(view, branch, "model_input_sha256")
    return (
        digest_line(branch.model_input_sha256),
        _compared(same, _others(view, branch, "model_input_sha256")),
        *_identical(same),
    )


def request_lines(view: FanoutView, branch: BranchView) -> tuple[Line, ...]:
    """Return the digest of the prepared body, identical inputs marked."""
    if branch.request_sha256 is None:
        return (NOT_RECORDED,)
    same = _same(view, branch, "request_sha256")
    return (
        digest_line(branch.request_sha256),
        _compared(same, _others(view, branch, "request_sha256")),
        *_identical(same),
        recomputed_line(branch.request_recomputed),
    )


def digest_detail(view: FanoutView, branch: BranchView, key: str) -> tuple[Line, ...]:
    """Return one digest whole, what recomputing gave, where it stands and who shares it."""
    name, recomputed = _DIGESTS[key]
    digest = getattr(branch, name)
    if digest is None:
        return (NOT_RECORDED,)
    lines = [line(("sha256", "muted")), digest_line(digest), line(digest), BLANK]
    if recomputed is not None:
        lines.append(
            line(("from its bytes ", "muted"), *recomputed_line(getattr(branch, recomputed)))
        )
    at = branch.compiled_at if key == "package" else branch.manifest_at
    if at is not None:
        kind = "context.compiled" if key == "package" else "call.manifest"
        lines.append(line(("event ", "muted"), count(at), (f" {kind}", "muted")))
    if key != "package":
        same = _same(view, branch, name)
        lines += [_compared(same, _others(view, branch, name)), *_identical(same)]
    parts = {"rendered": branch.items, "input": branch.parts}.get(key, ())
    return (*lines, *_part_lines(parts))


def _part_lines(parts: Iterable[BytesPart]) -> list[Line]:
    lines: list[Line] = []
    for part in parts:
        if not lines:
            lines.append(BLANK)
        label = f"{part.label} {short_id(part.item_id)}" if part.item_id else part.label
        lines.append(
            line((label, "bright"), (f"  {count(part.start)} to {count(part.end)}", "muted"))
        )
        lines.append(
            line("  ", *digest_line(part.recorded_sha256), "  ", *recomputed_line(part.recomputed))
        )
    return lines


def _no_rendering(branch: BranchView) -> tuple[Line, ...]:
    if branch.preparation_failed_stage:
        return (line((f"✗ stopped at {branch.preparation_failed_stage}", "bad")),)
    return (NOT_RECORDED,)


def _same(view: FanoutView, branch: BranchView, name: str) -> list[str]:
    """Return the letters of the other branches whose whole digest equals this branch's."""
    digest = getattr(branch, name)
    return [
        branch_letter(other.position)
        for other in view.branches
        if other.position != branch.position and getattr(other, name) == digest
    ]


def _others(view: FanoutView, branch: BranchView, name: str) -> list[str]:
    digest = getattr(branch, name)
    return [
        branch_letter(other.position)
        for other in view.branches
        if getattr(other, name) not in {None, digest}
    ]


def _compared(same: list[str], others: list[str]) -> Line:
    parts: list[tuple[str, Tone]] = []
    if same:
        parts.append((f"== {_letters(same)}", "note"))
    if others:
        parts.append((f"{'  ' if same else ''}!= {_letters(others)}", "plain"))
    return line(*parts) if parts else line(("nothing to compare with", "muted"))


def _identical(same: list[str]) -> tuple[Line, ...]:
    return (line(("identical input", "note")),) if same else ()


def _letters(letters: list[str]) -> str:
    if len(letters) <= _FEW_LETTERS:
        return " ".join(letters)
    return f"{' '.join(letters[: _FEW_LETTERS - 1])} and {len(letters) - _FEW_LETTERS + 1} more"


def _sibling_lines(branch: BranchView) -> tuple[Line, ...]:
    named = branch.seal_names_every_sibling
    if named is None:
        return ()
    if named:
        return (line(("✓ ", "good"), "names every sibling"),)
    return (line(("✗ ", "bad"), "does not name every sibling"),)


def _entries(branch: BranchView, decision: str) -> list[TraceView]:
    return [entry for entry in branch.trace if entry.decision == decision]


def _candidate(entry: TraceView) -> Line:
    label = line(entry.name or short_id(entry.candidate_id))
    kind = line((f" {entry.kind}", "muted")) if entry.kind else ()
    return line(*label, *kind)


def _provenance(entry: TraceView) -> Line:
    match entry.provenance:
        case "declared":
            return line("declared")
        case "declared_none":
            return line("declared none", (f" by {entry.vouched}" if entry.vouched else "", "muted"))
        case "unknown":
            return line(("○ unknown: a seal cannot act on it", "open"))
        case _:
            return NOT_RECORDED
