"""The branches of one fan-out side by side: which rows there are, and what each branch says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_tui.present import branch_cells as say
from codeai_tui.present import branch_inputs as inputs
from codeai_tui.present.flow import FlowCursor, flow_lines
from codeai_tui.present.line import BLANK, Line, clip_line, line, line_width
from codeai_tui.present.words import (
    branch_letter,
    count,
    plural,
    status_glyph,
    status_line,
)

if TYPE_CHECKING:
    from codeai_engine import BranchView, FanoutView

BELOW = "equal inputs; nothing here says what the answers share"
_PREVIEW_LINES = 3
_DIGESTS = frozenset({"package", "rendered", "input", "request"})
EMPTY = (
    line(("This fan-out has no branches.", "bright")),
    line(("fanout.requested names no call.  Esc goes back to the list.", "muted")),
)
_FIELDS: tuple[tuple[str, str], ...] = (
    ("status", "status"),
    ("error", "error"),
    ("level", "level"),
    ("actor", "actor"),
    ("variant", "variant"),
    ("adapter", "adapter"),
    ("seal", "seal forbids"),
    ("included", "selected"),
    ("excluded", "excluded"),
    ("package", "package id"),
    ("question", "question"),
    ("rendered", "rendered"),
    ("input", "model input"),
    ("request", "request body"),
    ("wire", "on the wire"),
    ("attempts", "attempts"),
    ("tokens", "tokens"),
    ("output", "output"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one branch says in one row.

    Args:
        lines: What stands in the column, to be wrapped to its width.
        copy: The exact text behind it, for the clipboard.
    """

    lines: tuple[Line, ...]
    copy: str = ""


class BranchBoard:
    """All rows of all branches of a fan-out; a branch is laid out when it is first looked at.

    Args:
        view: The fan-out.
    """

    def __init__(self, view: FanoutView) -> None:
        self.view = view
        self.branches = view.branches
        has_error = any(say.error_text(branch) for branch in view.branches)
        self.fields = tuple(pair for pair in _FIELDS if pair[0] != "error" or has_error)
        self._cells: dict[int, dict[str, Cell]] = {}

    def __len__(self) -> int:
        return len(self.branches)

    def cells(self, index: int) -> dict[str, Cell]:
        """Return the cells of one branch by row."""
        if index not in self._cells:
            self._cells[index] = _branch_cells(self.view, self.branches[index])
        return self._cells[index]

    def head(self, index: int) -> Line:
        """Return the head of one column: letter, name and status."""
        branch = self.branches[index]
        name = f" {branch.name}" if branch.name else ""
        mark = status_line(say.shown_status(branch), running=_is_running(branch))
        return line((branch_letter(branch.position) + name, "bright"), "  ", mark)

    def strip(self, cursor: int, width: int) -> Line:
        """Return the branches as letters and glyphs, as many as fit around the one looked at."""
        marks = [self._mark(index, here=index == cursor) for index in range(len(self))]
        first = last = cursor
        room = width - line_width(marks[cursor]) - len("…  …") if marks else 0
        while first > 0 or last < len(marks) - 1:
            # Grow to the side that has been given less.
            left = first > 0 and (cursor - first <= last - cursor or last == len(marks) - 1)
            room -= line_width(marks[first - 1 if left else last + 1])
            if room < 0:
                break
            first, last = (first - 1, last) if left else (first, last + 1)
        return line(
            ("… " if first > 0 else "", "muted"),
            *marks[first : last + 1],
            (" …" if last < len(marks) - 1 else "", "muted"),
        )

    def _mark(self, index: int, *, here: bool) -> Line:
        branch = self.branches[index]
        glyph, tone = status_glyph(say.shown_status(branch))
        letter = branch_letter(branch.position)
        opening, closing = ("[", "]") if here else (" ", " ")
        name = line((opening + letter, "accent" if here else "plain"))
        return line(*name, (glyph, tone), (closing, "accent"))

    def name_of(self, index: int, key: str) -> str:
        """Return what one cell is called: `A output`."""
        return f"{branch_letter(self.branches[index].position)} {dict(_FIELDS)[key]}"

    def detail(self, index: int, key: str) -> tuple[Line, ...]:
        """Return the whole of one cell: full digests, sequences, every line of a text."""
        return _whole(self.view, self.branches[index], key)

    def copy_text(self, index: int, key: str) -> str:
        """Return the exact text behind one cell."""
        return self.cells(index)[key].copy


def below_line() -> Line:
    """Return what an equal sign on this screen means, and what it does not."""
    return line(("== ", "note"), (BELOW, "muted"))


def summary_line(view: FanoutView) -> Line:
    """Return the level of a fan-out and what it was asked, in one line."""
    level = say.level_line(view.level)
    mixed = line(("  mixed: each branch says its own", "open")) if view.mixed else ()
    policy = line(("  policy ", "muted"), view.provenance_policy) if view.provenance_policy else ()
    notes = line(("  " + "; ".join(view.notes), "muted")) if view.notes else ()
    return line(("level ", "muted"), level, mixed, *_unread(view), policy, notes)


def preview_lines(view: FanoutView, width: int) -> tuple[Line, ...]:
    """Return a fan-out in short, for beside a list: level, picture, question."""
    question = view.base_prompt
    asked = [line(("question ", "muted"), ("- not recorded", "none"))]
    if question is not None:
        asked = [
            clip_line(line(("question " if at == 0 else " " * 9, "muted"), piece), width)
            for at, piece in enumerate(question.split("\n")[:_PREVIEW_LINES])
        ]
    if not view.branches:
        return (summary_line(view), BLANK, *EMPTY[:1])
    picture = flow_lines(view, width, FlowCursor(branch=-1))
    return (summary_line(view), BLANK, *picture, BLANK, *asked)


def fanout_text(view: FanoutView) -> list[Line]:
    """Return a fan-out and every branch of it for a pipe."""
    summary = view.summary
    title = f"Fan-out {summary.fanout_id}"
    lines = [
        line((title, "bright"), f"  event {count(summary.sequence)}"),
        line("  ", *summary_line(view)),
        *(line("  note: ", note) for note in view.notes),
    ]
    board = BranchBoard(view)
    if not view.branches:
        return [*lines, *(line("  ", *entry) for entry in EMPTY[:1]), BLANK]
    for index, branch in enumerate(view.branches):
        lines.append(BLANK)
        lines.append(line("  Branch ", *board.head(index), f"  {branch.call_id}"))
        cells = board.cells(index)
        for key, label in board.fields:
            first, *rest = cells[key].lines or (BLANK,)
            if key in _DIGESTS and cells[key].copy:
                first = line(cells[key].copy)  # whole: a pipe has the room, and what reads it
            lines.append(line(f"    {label:<13} ", *first))
            lines.extend(line(" " * 18, *entry) for entry in rest)
    return [*lines, BLANK, line("  ", *below_line()), BLANK]


def event_stream(branch: BranchView) -> str:
    """Return the stream in which a branch's call is recorded."""
    return branch.call_id


def _branch_cells(view: FanoutView, branch: BranchView) -> dict[str, Cell]:
    return {
        "status": Cell(say.status_lines(branch), branch.call_id),
        "error": Cell(say.error_lines(branch), say.error_text(branch)),
        "level": Cell(say.level_lines(branch), branch.level),
        "actor": Cell(say.actor_lines(branch), branch.actor_id or ""),
        "variant": Cell(say.variant_lines(branch), say.variant_text(branch)),
        "adapter": Cell(say.adapter_lines(branch), branch.adapter_id or ""),
        "seal": Cell(inputs.seal_lines(branch), inputs.seal_text(branch)),
        "included": Cell(inputs.included_lines(branch), inputs.trace_text(branch, "included")),
        "excluded": Cell(inputs.excluded_lines(branch), inputs.trace_text(branch, "excluded")),
        "package": Cell(inputs.package_lines(branch), branch.package_id or ""),
        "question": Cell(say.question_lines(branch), branch.prompt or ""),
        "rendered": Cell(inputs.rendered_lines(view, branch), branch.rendered_sha256 or ""),
        "input": Cell(inputs.input_lines(view, branch), branch.model_input_sha256 or ""),
        "request": Cell(inputs.request_lines(view, branch), branch.request_sha256 or ""),
        "wire": Cell(say.wire_lines(branch)),
        "attempts": Cell(say.attempt_lines(branch), say.attempt_text(branch)),
        "tokens": Cell(say.token_lines(branch)),
        "output": Cell(say.output_lines(branch), branch.output.text if branch.output else ""),
    }


def _whole(view: FanoutView, branch: BranchView, key: str) -> tuple[Line, ...]:
    """Return everything that a row holds of a branch, past what fits in its column."""
    match key:
        case "seal":
            lines = inputs.seal_detail(branch)
        case "included" | "excluded":
            lines = inputs.trace_detail(branch, key)
        case _ if key in _DIGESTS:
            lines = inputs.digest_detail(view, branch, key)
        case "question":
            lines = say.question_detail(branch)
        case "attempts":
            lines = say.attempt_detail(branch)
        case "output":
            lines = say.output_detail(branch)
        case _:
            lines = _branch_cells(view, branch)[key].lines
    return lines


def _is_running(branch: BranchView) -> bool:
    return say.shown_status(branch) is None and any(attempt.running for attempt in branch.attempts)


def _unread(view: FanoutView) -> tuple[Line, ...]:
    if not view.unread:
        return ()
    at = ", ".join(count(sequence) for sequence, _ in view.unread[:3])
    return (line((f"  ! {plural(len(view.unread), 'payload')} not read, at {at}", "bad")),)
