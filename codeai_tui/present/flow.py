"""The fan-out as a picture: base, seal per branch, package, bytes, answer (SCREENS 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from codeai_tui.present.branch_cells import shown_status
from codeai_tui.present.line import BLANK, Line, Span, fit_line, line, line_width
from codeai_tui.present.words import branch_letter, digest_line, plural, size, status_glyph

if TYPE_CHECKING:
    from codeai_engine import BranchView, FanoutView

Stage = Literal["seal", "package", "bytes", "answer"]
STAGES: tuple[Stage, ...] = ("seal", "package", "bytes", "answer")
ROWS = 5
_FEWEST_ROWS = 2
_WIDE = 146
_HEX_CELLS = 4
_ARROW = {True: " ──▶ ", False: " ▶ "}
_NAME_CELLS = {True: 16, False: 9}


@dataclass(frozen=True, slots=True)
class FlowCursor:
    """Where in the picture the reader is: a branch, and one of its stages once it has focus."""

    branch: int = 0
    stage: Stage | None = None


def flow_height(view: FanoutView) -> int:
    """Return how many rows the picture takes."""
    return max(_FEWEST_ROWS, min(ROWS, len(view.branches)))


def flow_lines(view: FanoutView, width: int, cursor: FlowCursor) -> tuple[Line, ...]:
    """Return the picture: at most five branches, those around the one looked at."""
    wide = width >= _WIDE
    first = max(0, min(cursor.branch - ROWS // 2, len(view.branches) - ROWS))
    shown = view.branches[first : first + ROWS]
    rows = [_stages(view, branch, wide=wide) for branch in shown]
    cells = {
        stage: max((line_width(row[stage]) for row in rows if stage in row), default=0)
        for stage in STAGES
    }
    base = _base_lines(view, len(shown), wide=wide)
    base_cells = max(line_width(entry) for entry in base)
    lines: list[Line] = []
    height = flow_height(view)
    top = (height - len(base)) // 2
    for index in range(height):
        left = base[index - top] if top <= index < top + len(base) else BLANK
        right = BLANK
        if index < len(shown):
            at = first + index
            here = cursor.stage if at == cursor.branch else None
            name = _name(shown[index], wide=wide, here=at == cursor.branch)
            right = line(name, *_joined(rows[index], cells, here, wide=wide))
        fork = line((_fork(index, len(shown)), "muted"))
        lines.append(line(fit_line(left, base_cells), " ", fork, right))
    return tuple(lines)


def stage_field(stage: Stage) -> str:
    """Return the row of the columns that a stage of the picture stands for."""
    return {"seal": "seal", "package": "package", "bytes": "rendered", "answer": "output"}[stage]


def _base_lines(view: FanoutView, shown: int, *, wide: bool) -> list[Line]:
    offered = view.summary.base_offered
    if offered is None:
        first = line(("base ", "bright"), ("not recorded" if wide else "-", "none"))
    else:
        items = sum(offered.values())
        first = line(("base ", "bright"), plural(items, "item") if wide else str(items))
    lines = [first]
    declared = view.summary.base_lineage_declared
    if declared is not None:
        label = "lineage known for " if wide else "lineage "
        lines.append(line((f"{label}{sum(declared.values())}", "muted")))
    if len(view.branches) > shown:
        lines.append(line((f"{shown} of {len(view.branches)}", "open")))
    return lines


def _fork(index: int, total: int) -> str:
    if total <= 1:
        return "───▶ " if index == 0 else "     "
    if index >= total:
        return "     "
    joint = "┌" if index == 0 else "└" if index == total - 1 else "├"
    middle = (total - 1) // 2
    if index == middle:
        joint = {"┌": "┬", "├": "┼", "└": "┴"}[joint]
    lead = "─" if index == middle else " "
    return f"{lead}{joint}─▶ "


def _name(branch: BranchView, *, wide: bool, here: bool) -> Line:
    letter = branch_letter(branch.position)
    label = line((letter, "accent" if here else "bright"), f" {branch.name}" if branch.name else "")
    return line(fit_line(label, _NAME_CELLS[wide] if branch.name else len(letter)), " ")


def _stages(view: FanoutView, branch: BranchView, *, wide: bool) -> dict[Stage, Line]:
    """Return the stages that a branch reached; the last says where and why it stopped."""
    row: dict[Stage, Line] = {"seal": _seal(branch, wide=wide)}
    if branch.refused:
        row["package"] = line(("✗ refused", "bad"))
        return row
    row["package"] = _digest("package", branch.package_id, wide=wide)
    if branch.preparation_failed_stage:
        row["bytes"] = line(("✗ not prepared", "bad"))
        return row
    row["bytes"] = line(
        *_digest("bytes", branch.rendered_sha256, wide=wide), *_shared(view, branch)
    )
    row["answer"] = _answer(branch, wide=wide)
    return row


def _seal(branch: BranchView, *, wide: bool) -> Line:
    seal = branch.seal
    if seal is None:
        return line(("seal ", "muted"), ("-", "none"))
    if seal.unreadable is not None:
        return line(("seal ", "muted"), ("! unreadable", "bad"))
    sets = (
        (len(seal.call_ids), "calls"),
        (len(seal.lineage_ids), "lineage"),
        (len(seal.artifact_ids), "artifacts"),
        (len(seal.event_ids), "events"),
    )
    if not wide:
        return line(("seal ", "muted"), str(sum(number for number, _ in sets)))
    said = "  ".join(f"{word} {number}" for number, word in sets if number)
    return line(("seal ", "muted"), said or "forbids nothing")


def _digest(label: str, digest: str | None, *, wide: bool) -> Line:
    if digest is None:
        return line((f"{label} ", "muted"), ("-", "none"))
    if wide:
        return line((f"{label} ", "muted"), *digest_line(digest))
    return line((f"{label} ", "muted"), digest[:_HEX_CELLS])


def _shared(view: FanoutView, branch: BranchView) -> Line:
    digest = branch.rendered_sha256
    if digest is None:
        return BLANK
    same = any(
        other.rendered_sha256 == digest and other.position != branch.position
        for other in view.branches
    )
    return line((" ==", "note")) if same else BLANK


def _answer(branch: BranchView, *, wide: bool) -> Line:
    status = shown_status(branch)
    glyph, tone = status_glyph(status)
    if branch.output is not None:
        label = "answer " if wide else ""
        return line((f"{glyph} ", tone), (label, "muted"), size(branch.output.byte_length))
    if any(attempt.orphan and not attempt.running for attempt in branch.attempts):
        word = f" {status or 'open'} " if wide else ""
        return line((f"{glyph}{word} ", tone), ("○ orphan", "open"))
    return line((f"{glyph} {status or 'no completion'}", tone))


def _joined(
    row: dict[Stage, Line], cells: dict[Stage, int], here: Stage | None, *, wide: bool
) -> tuple[Line, ...]:
    reached = [stage for stage in STAGES if stage in row]
    parts: list[Line] = []
    for stage in reached:
        if parts:
            parts.append(line((_ARROW[wide], "muted")))
        content = row[stage]
        if stage == here:
            content = tuple(Span(span.text, "accent", span.hue) for span in content)
        parts.append(content if stage == reached[-1] else fit_line(content, cells[stage]))
    return tuple(parts)
