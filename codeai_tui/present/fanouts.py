"""The list of fan-outs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.present.line import Line, Tone, line
from codeai_tui.present.table import Column, Row
from codeai_tui.present.words import NOT_RECORDED, clock_time, count, plural, short_id

if TYPE_CHECKING:
    from codeai_engine import FanoutSummary

COLUMNS = (
    Column("seq", 7, right=True),
    Column("fan-out", 13),
    Column("branches", 8, right=True),
    Column("statuses", 22, flexible=True),
    Column("orphans", 9, right=True),
    Column("base offered", 26, from_width=118),
    Column("default mode", 16, from_width=86),
    Column("task", 16, flexible=True, from_width=104),
    Column("time", 12, from_width=118),
)
EMPTY = (
    line(("No fan-out in this ledger.", "bright")),
    line(("Looked for events of kind fanout.requested.  g e shows the events.", "muted")),
)
_MODES = {"rendered_bytes": "rendered bytes", "selection_record": "selection record"}


def fanout_rows(summaries: tuple[FanoutSummary, ...]) -> tuple[Row, ...]:
    """Return one row for each fan-out, in the order given."""
    return tuple(_row(summary) for summary in summaries)


def statuses_line(summary: FanoutSummary) -> Line:
    """Return how the branches of a fan-out ended, as glyphs with their counts and words."""
    if summary.unread is not None:
        return line(("! payload not read", "bad"))
    if summary.statuses is None:
        return line(("… open" if summary.orphans else "○ not completed", "open"))
    if not summary.statuses:
        return line(("- no branches", "none"))
    parts: list[tuple[str, Tone]] = []
    for status, glyph, word, tone in _SHOWN:
        number = summary.statuses.count(status)
        if number:
            parts.append((f"{'  ' if parts else ''}{glyph} {number} {word}", tone))
    known = {status for status, *_ in _SHOWN}
    others = [status for status in summary.statuses if status not in known]
    if others:
        parts.append((f"{'  ' if parts else ''}? {len(others)} {others[0]}", "open"))
    return line(*parts)


_SHOWN: tuple[tuple[str, str, str, Tone], ...] = (
    ("succeeded", "✓", "ok", "good"),
    ("failed", "✗", "failed", "bad"),
    ("cancelled", "-", "cancelled", "open"),
)


def _row(summary: FanoutSummary) -> Row:
    orphans: Line = (
        line((f"○ {summary.orphans}", "open")) if summary.orphans else line(("-", "none"))
    )
    return Row(
        summary.fanout_id,
        (
            line((count(summary.sequence), "muted")),
            line((short_id(summary.fanout_id), "bright")),
            line(count(len(summary.call_ids))),
            statuses_line(summary),
            orphans,
            _base_line(summary),
            _mode_line(summary),
            line((summary.task_id, "muted")) if summary.task_id else NOT_RECORDED,
            line((clock_time(summary.created_at), "muted")),
        ),
        copy=summary.fanout_id,
    )


def _mode_line(summary: FanoutSummary) -> Line:
    mode = summary.input_provenance
    return line(_MODES.get(mode, mode)) if mode else NOT_RECORDED


def _base_line(summary: FanoutSummary) -> Line:
    if summary.base_offered is None:
        return NOT_RECORDED
    offered = sum(summary.base_offered.values())
    if summary.base_lineage_declared is None:
        return line(plural(offered, "item"))
    declared = sum(summary.base_lineage_declared.values())
    return line(plural(offered, "item"), (f", lineage for {declared}", "muted"))
