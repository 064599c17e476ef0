"""The overview: what a record establishes, what it does not, and why (DESIGN 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.present.line import BLANK, Line, Tone, line
from codeai_tui.present.table import Column, Row
from codeai_tui.present.words import LEVELS, count, plural

if TYPE_CHECKING:
    from codeai_engine import LedgerInfo, OverviewView

ESTABLISHED = "Established by this record"
NOT_ESTABLISHED = "Not established here, never inferred"
ESTABLISHED_COLUMNS = (
    Column("what", 20),
    Column("how many", 19),
    Column("read from", 20, flexible=True),
)
KIND_COLUMNS = (Column("kind", 16, flexible=True), Column("events", 9, right=True))

_HOW = {
    "selection blind": "seal and trace",
    "final-input blind": "rendered bytes, prepared body",
    "wire-observed": "digest of what left",
}
_NEEDS = {
    "selection blind": (
        "the seal names every sibling, the trace has a decision on every candidate, and nothing "
        "forbidden is selected"
    ),
    "final-input blind": (
        "selection blind, and the rendered bytes are present and recomputed, and the prepared "
        "body carries exactly the composed input"
    ),
    "wire-observed": (
        "final-input blind, and for every attempt the transport's digest of what it was given to "
        "send equals the prepared body's"
    ),
}
_WHY = {
    "digests": (
        "Digests of package, trace, prompt, rendered context and request body were recomputed "
        "from the bytes in this record. Without a root kept outside this file the record is "
        "internally consistent at most."
    ),
    "orphans": (
        "An orphan is an attempt that started and has neither an observation nor a completion. "
        "Its effect is unknown, and nothing in the record resolves it."
    ),
    "branches": (
        "Branches of the fan-outs read here whose recorded status is failed or cancelled, and "
        "those refused before a call was made. A failed branch takes nothing from its siblings."
    ),
    "unread": (
        "Events whose payload does not have the form of its kind. Each is kept and shown as it "
        "is stored; nothing is read out of it."
    ),
}


def established_rows(view: OverviewView | None) -> tuple[Row, ...]:
    """Return what the record establishes; before it is read, the same rows without figures."""
    if view is None:
        return tuple(
            Row(level, (line(("… ", "none"), level), line(("reading", "muted")), _how(level)))
            for level in LEVELS
        )
    if not view.total_fanouts:
        return (
            Row(
                "empty",
                (line(("- ", "none"), "no fan-out"), line("0 fan-outs"), line(_looked_for(view))),
            ),
            _orphan_row(view),
            *_unread_rows(view),
        )
    return (
        *(_level_row(view, level) for level in LEVELS),
        _digest_row(view),
        _orphan_row(view),
        _branch_row(view),
        *_unread_rows(view),
    )


def not_established_lines(view: OverviewView | None) -> tuple[Line, ...]:
    """Return what no record of inputs establishes, and the holes of this one."""
    unknown = view.unknown_provenance if view else 0
    holes: tuple[Line, ...] = ()
    if unknown:
        hole = f"{plural(unknown, 'base item')} of unknown provenance: a seal cannot act on them"
        holes = (line(("○ ", "open"), (hole, "open")),)
    return (
        _denied("answers independent or diverse", "a record of inputs cannot show either"),
        _denied("a checker is adequate", "a check says what it ran, not that it suffices"),
        _denied("nothing else was shared", "files, caches, tools and weights lie outside"),
        _denied("what a provider did", "the record ends where the bytes left"),
        _denied("the file is as written", "no outside root; internally consistent at most"),
        *holes,
    )


def kind_rows(kinds: tuple[tuple[str, int], ...]) -> tuple[Row, ...]:
    """Return how many events of each kind there are, most first."""
    ordered = sorted(kinds, key=lambda pair: (-pair[1], pair[0]))
    return tuple(Row(kind, (line(kind), line(count(number))), kind) for kind, number in ordered)


def scope_text(view: OverviewView | None) -> str:
    """Return from which fan-outs the levels were read."""
    return _fanouts_read(view)


def why_lines(key: str, view: OverviewView | None, info: LedgerInfo) -> tuple[Line, ...]:
    """Return the rule behind one row of the overview, and what it was read from."""
    if key in _NEEDS:
        read = _fanouts_read(view)
        return (
            line((key, "bright")),
            BLANK,
            line(("needs ", "muted"), _NEEDS[key]),
            BLANK,
            line(
                ("level ", "muted"), "of a fan-out: the lowest of its branches; a mixed one says so"
            ),
            line(("read  ", "muted"), read),
            BLANK,
            line(("Enter lists the fan-outs", "muted")),
        )
    if key in _WHY:
        return (line((key, "bright")), BLANK, line(_WHY[key]), BLANK, *_note_lines(info))
    return _note_lines(info)


def overview_text(view: OverviewView) -> list[Line]:
    """Return the whole overview for a pipe."""
    rows = established_rows(view)
    info = view.info
    return [
        line((info.name, "bright"), f"  {info.mode}  {plural(info.event_count, 'event')}"),
        *_note_lines(info),
        BLANK,
        line((ESTABLISHED, "bright"), f", read from {scope_text(view)}"),
        *(line("  ", *(part for cell in row.cells for part in (cell, "  "))) for row in rows),
        BLANK,
        line((NOT_ESTABLISHED, "bright")),
        *(line("  ", *entry) for entry in not_established_lines(view)),
        BLANK,
        line(("Events by kind", "bright")),
        *(line("  ", row.cells[0], "  ", row.cells[1]) for row in kind_rows(view.kinds)),
    ]


def _how(level: str) -> Line:
    return line((_HOW[level], "muted"))


def _level_row(view: OverviewView, level: str) -> Row:
    number = view.levels.get(level, 0)
    glyph, tone = _share(number, view.fanouts)
    return Row(
        level,
        (
            line((f"{glyph} ", tone), (level, "bright" if number else "plain")),
            line(f"{count(number)} of {plural(view.fanouts, 'fan-out')}"),
            _how(level),
        ),
    )


def _digest_row(view: OverviewView) -> Row:
    total = view.digests_matched + view.digests_mismatched + view.digests_absent
    glyph, tone = _share(view.digests_matched, total)
    rest: list[tuple[str, Tone]] = []
    if view.digests_mismatched:
        glyph, tone = "✗", "bad"
        rest.append((f"{count(view.digests_mismatched)} do not match", "bad"))
    if view.digests_absent:
        joint = ", " if rest else ""
        rest.append((f"{joint}bytes absent for {count(view.digests_absent)}", "open"))
    if not rest:
        rest.append(("internally consistent", "muted"))
    matched = f"{count(view.digests_matched)} of {count(total)} match"
    return Row(
        "digests", (line((f"{glyph} ", tone), "digests recomputed"), line(matched), line(*rest))
    )


def _orphan_row(view: OverviewView) -> Row:
    found = view.orphans > 0
    said = "started, then no observation"
    if view.running:
        said = f"{count(view.running)} more may still be running"
    return Row(
        "orphans",
        (
            line(("○ ", "open") if found else ("- ", "none"), "orphan attempts"),
            line(f"{count(view.orphans)} of {plural(view.attempts, 'attempt')}"),
            line((said, "open" if found or view.running else "muted")),
        ),
    )


def _branch_row(view: OverviewView) -> Row:
    fell = view.failed_branches + view.cancelled_branches + view.refused_branches
    parts = (
        (view.failed_branches, "failed"),
        (view.cancelled_branches, "cancelled"),
        (view.refused_branches, "refused"),
    )
    said = ", ".join(f"{count(number)} {word}" for number, word in parts if number)
    mark: tuple[str, Tone] = ("✗ ", "bad") if fell else ("- ", "none")
    return Row(
        "branches",
        (
            line(mark, "branches that fell"),
            line(f"{count(fell)} of {count(view.branches)} branches"),
            line((said or "none failed, was cancelled or refused", "muted")),
        ),
    )


def _unread_rows(view: OverviewView) -> tuple[Row, ...]:
    if not view.unread_events:
        return ()
    return (
        Row(
            "unread",
            (
                line(("! ", "bad"), "payloads not read"),
                line(plural(view.unread_events, "event")),
                line(("kept and shown as stored", "muted")),
            ),
        ),
    )


def _share(number: int, total: int) -> tuple[str, Tone]:
    """Return the mark of `number` out of `total`: all, some or none."""
    if not number:
        return "-", "none"
    return ("✓", "good") if number == total else ("~", "open")


def _denied(what: str, why: str) -> Line:
    return line(("- ", "none"), f"{what}: ", (why, "muted"))


def _looked_for(view: OverviewView) -> str:
    events = plural(view.info.event_count, "event")
    return f"no fanout.requested in {events}"


def _fanouts_read(view: OverviewView | None) -> str:
    if view is None:
        return "reading"
    if view.fanouts < view.total_fanouts:
        return f"the newest {count(view.fanouts)} of {count(view.total_fanouts)} fan-outs"
    if not view.total_fanouts:
        return "no fan-out"
    if view.total_fanouts == 1:
        return "the one fan-out of this ledger"
    return f"all {plural(view.total_fanouts, 'fan-out')} of this ledger"


def _note_lines(info: LedgerInfo) -> tuple[Line, ...]:
    return tuple(line((note, "muted")) for note in info.notes)
