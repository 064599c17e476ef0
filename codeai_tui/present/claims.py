"""Claims: what was asserted, every attempt on it, and what its record makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_tui.present.check_words import (
    NAMED,
    compared_line,
    earlier_line,
    probes_text,
    subject_name,
    telling_binding,
    verdict_line,
)
from codeai_tui.present.checks import unread_lines
from codeai_tui.present.line import BLANK, Line, Tone, line
from codeai_tui.present.table import Column, Row, text_table
from codeai_tui.present.words import count, plural, short_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine import ClaimEntry, ClaimsView, ClaimView, RefusalView, StandingView

_ROOMY = 92  # cells from which statements have a column
CLAIM_COLUMNS = (
    Column("claim", 16, below=_ROOMY),
    Column("claim", 28, from_width=_ROOMY),
    Column("recorded state", 24),
    Column("attempts", 17),
    Column("standing", 12),
    Column("statement", 12, flexible=True, from_width=_ROOMY),
)
HISTORY_COLUMNS = (
    Column("seq", 7, right=True),
    Column("what", 8),
    Column("check", 11),
    Column("verdict", 14),
    Column("binding", 12),
    Column("effect", 12, flexible=True),
)
EMPTY = (
    line(("No claim in this ledger.", "bright")),
    line(("Looked for claim.recorded and claim.extracted.  g c shows the checks.", "muted")),
)
NONE_DIFFERS = (
    line(("No claim whose record and attempts part.", "bright")),
    line(("d shows every claim again.", "muted")),
)
NO_ATTEMPT = "no attempt is discoverable"
NO_EVIDENCE = "attempts exist, no evidence"
_WHAT = {
    "recorded": "recorded",
    "attempt": "attempt",
    "refused attempt": "refused",
    "evidence": "evidence",
    "status": "status",
    "passage": "evidence",
}
_STANDINGS: dict[str, tuple[str, Tone]] = {
    "supported": ("+", "note"),
    "refuted": ("✗", "bad"),
    "contested": ("#", "open"),
    "unresolved": ("?", "open"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of the list of claims: a recorded claim, an extracted one, or a refusal.

    Args:
        key: Names it among the rows.
    """

    key: str
    claim: ClaimView | None = None
    extracted: StandingView | None = None
    refusal: RefusalView | None = None

    @property
    def claim_id(self) -> str:
        """The claim's id; of a refusal what it is about."""
        if self.claim is not None:
            return self.claim.claim_id
        if self.extracted is not None:
            return self.extracted.claim_id
        return (self.refusal.subject_id if self.refusal else None) or ""

    @property
    def history(self) -> tuple[ClaimEntry, ...]:
        """What happened to it."""
        if self.claim is not None:
            return self.claim.history
        return self.extracted.history if self.extracted is not None else ()

    @property
    def parts(self) -> bool:
        """Whether its record and its standing part."""
        return bool(self.claim and self.claim.disagreement)


def shown_claims(view: ClaimsView) -> tuple[Shown, ...]:
    """Return the rows: claims as they were mentioned, extracted ones, then what was refused."""
    return (
        *(Shown(f"c{item.claim_id}", claim=item) for item in view.items),
        *(Shown(f"x{item.claim_id}", extracted=item) for item in view.standings),
        *(Shown(f"r{item.sequence}", refusal=item) for item in view.refusals),
    )


def named_claims(claim: ClaimView | None, extracted: StandingView | None) -> tuple[Shown, ...]:
    """Return the rows of one claim id, by either path."""
    rows = []
    if claim is not None:
        rows.append(Shown(f"c{claim.claim_id}", claim=claim))
    if extracted is not None:
        rows.append(Shown(f"x{extracted.claim_id}", extracted=extracted))
    return tuple(rows)


def claim_rows(shown: Sequence[Shown]) -> tuple[Row, ...]:
    """Return one row for each."""
    return tuple(_row(item) for item in shown)


def scope_text(view: ClaimsView) -> str:
    """Return how many claims are shown, of how many."""
    shown = len(view.items) + len(view.standings)
    read = view.counts.get("claim.recorded", 0)
    if view.total is not None and view.total > read:
        return f"newest {count(shown)}, {count(read)} of {count(view.total)} recordings"
    return plural(shown, "claim")


def history_rows(history: Sequence[ClaimEntry], chosen: str) -> tuple[Row, ...]:
    """Return a claim's history; `chosen` is `all`, `admitted` or `not admitted`."""
    wanted = {"admitted": True, "not admitted": False}
    return tuple(
        _entry_row(entry)
        for entry in history
        if chosen == "all" or entry.admitted is wanted[chosen]
    )


def history_empty(shown: Shown | None, chosen: str) -> tuple[Line, ...]:
    """Return what an empty history says."""
    if shown is None:
        return ()
    if shown.refusal is not None:
        return tuple(line(("refused: ", "open"), reason) for reason in shown.refusal.reasons)
    return (line((f"Nothing {chosen} here.  a shows the rest.", "muted")),)


def attempts_text(claim: ClaimView) -> str:
    """Return how many attempts there are and how many are evidence: none is not nothing."""
    attempts = [entry for entry in claim.history if entry.step == "attempt"]
    if not attempts:
        return NO_ATTEMPT
    admitted = sum(bool(entry.admitted) for entry in attempts)
    if not admitted:
        return f"{plural(len(attempts), 'attempt')}: {NO_EVIDENCE}"
    return f"{plural(len(attempts), 'attempt')}, {count(admitted)} admitted"


def title_text(shown: Shown) -> str:
    """Return what stands over a claim's history."""
    if shown.claim is None:
        return shown.claim_id
    is_promoted = any(entry.step == "evidence" and entry.effect for entry in shown.history)
    state = _state_text(shown.claim)
    return f"{shown.claim_id}  {state}" + (f"  {NAMED}" if is_promoted else "")


def promotion_lines(shown: Shown | None) -> tuple[Line, ...]:
    """Return a claim's two paths side by side: what its record was set to, and its attempts."""
    if shown is None:
        return ()
    if shown.refusal is not None:
        return (line(("refused: ", "open"), shown.refusal.kind), *history_empty(shown, "all"))
    if shown.extracted is not None:
        return _extracted_lines(shown.extracted)
    claim = shown.claim
    return _recorded_lines(claim) if claim is not None else ()


def marked_lines(shown: Shown) -> tuple[Line, ...]:
    """Return the claim that was marked, to be read beside the one that is looked at."""
    return (
        BLANK,
        line(("marked: ", "accent"), (shown.claim_id, "bright")),
        *promotion_lines(shown),
    )


def entry_lines(entry: ClaimEntry | None) -> tuple[Line, ...]:
    """Return one step of a history in words."""
    if entry is None:
        return ()
    lines = [BLANK, line((f"event {count(entry.sequence)} ", "bright"), (entry.kind, "muted"))]
    lines.append(line(("by ", "muted"), entry.actor_id))
    if entry.statement is not None:
        lines.append(line(entry.statement))
    if entry.why is not None:
        lines.append(line((entry.why, "open")))
    check = entry.check
    if check is None:
        return tuple(lines)
    lines.append(line(("check ", "muted"), check.check_id, "  ", *verdict_line(check)))
    reason = check.error or check.inconclusive_reason
    if reason is not None:
        lines.append(line(("  ", "muted"), reason))
    if check.earlier is not None:
        lines.append(earlier_line(check.earlier))
    lines.append(line(("adequacy ", "muted"), probes_text(check)))
    return (*lines, line(("Enter opens the check", "muted")))


def claims_text(view: ClaimsView) -> list[Line]:
    """Return the claims of a ledger for a pipe: the list, then each history."""
    shown = shown_claims(view)
    if not shown:
        return [EMPTY[0]]
    lines = [line(scope_text(view)), BLANK, *text_table(CLAIM_COLUMNS, claim_rows(shown))]
    for item in shown:
        if item.refusal is None:
            lines += [BLANK, *claim_text(item)]
    return [*lines, *unread_lines(view.unread)]


def claim_text(shown: Shown) -> list[Line]:
    """Return one claim for a pipe."""
    rows = history_rows(shown.history, "all")
    table = text_table(HISTORY_COLUMNS, rows) if rows else []
    return [line(title_text(shown)), *table, *promotion_lines(shown)]


def claim_text_of(claim: ClaimView | None, extracted: StandingView | None) -> list[Line]:
    """Return one claim id for a pipe, by either path."""
    lines: list[Line] = []
    for item in named_claims(claim, extracted):
        lines += [*([BLANK] if lines else []), *claim_text(item)]
    return lines


def _row(shown: Shown) -> Row:
    name = line((subject_name(shown.claim_id), "bright"))
    return Row(shown.key, (name, name, *_cells(shown)), copy=shown.claim_id)


def _cells(shown: Shown) -> tuple[Line, ...]:
    claim, extracted, refusal = shown.claim, shown.extracted, shown.refusal
    if claim is not None:
        mark: Line = line(("! ", "open")) if claim.disagreement else ()
        return (
            line(*mark, *_state_line(claim)),
            _attempts_line(claim),
            _standing_line(claim.standing) if claim.recordings else line(("-", "none")),
            line(claim.statement or ""),
        )
    if extracted is not None:
        sides = f"{len(extracted.supporting)} for, {len(extracted.refuting)} against"
        return (
            line((f"extracted {extracted.evidence_class}", "muted")),
            line(sides),
            _standing_line(extracted.status),
            line(extracted.statement or extracted.quote or ""),
        )
    kind, reasons = (refusal.kind, refusal.reasons) if refusal is not None else ("", ())
    return (
        line((f"✗ {kind}", "open")),
        line(("; ".join(reasons), "plain")),
        line(("-", "none")),
        line("; ".join(reasons)),
    )


def _state_text(claim: ClaimView) -> str:
    if not claim.recordings:
        return "never recorded"
    words = (claim.evidence_class, claim.status)
    return " ".join(word for word in words if word) or "not recorded"


def _state_line(claim: ClaimView) -> Line:
    if not claim.recordings:
        return line(("- never recorded", "none"))
    tone: Tone = "bad" if claim.status == "refuted" else "plain"
    return line((_state_text(claim), tone))


def _attempts_line(claim: ClaimView) -> Line:
    attempts = [entry for entry in claim.history if entry.step == "attempt"]
    if claim.refused and not attempts:
        return line((f"{len(claim.refused)} refused", "open"))
    if not attempts:
        return line(("- no attempt", "none"))
    admitted = sum(bool(entry.admitted) for entry in attempts)
    if not admitted:
        return line((f"{len(attempts)}, no evidence", "open"))
    return line(f"{len(attempts)}, {admitted} admitted")


def _standing_line(standing: str | None) -> Line:
    if standing is None:
        return line(("-", "none"))
    glyph, tone = _STANDINGS.get(standing, ("?", "open"))
    return line((f"{glyph} {standing}", tone))


def _entry_row(entry: ClaimEntry) -> Row:
    check = entry.check
    return Row(
        str(entry.sequence),
        (
            line((count(entry.sequence), "muted")),
            line(_WHAT.get(entry.step, entry.kind.removeprefix("claim."))),
            line(subject_name(entry.check_id)) if entry.check_id else line(("-", "none")),
            verdict_line(check) if check is not None else line(("-", "none")),
            telling_binding(check) if check is not None else line(("-", "none")),
            _effect_line(entry),
        ),
        copy=entry.check_id or str(entry.sequence),
    )


def _effect_line(entry: ClaimEntry) -> Line:
    match entry.step:
        case "attempt":
            if entry.admitted:
                return line("admitted", *_before(entry))
            return line((f"inadmissible: {_reason(entry)}", "open"))
        case "refused attempt":
            return line((f"refused: {entry.why or 'no reason recorded'}", "open"))
        case "recorded":
            return line((entry.effect or "", "muted"))
        case _:
            if entry.effect is None:
                return line((entry.why or "moves nothing", "open"))
            tone: Tone = "bad" if "refute" in entry.effect else "note"
            return line((entry.effect, tone))


def _reason(entry: ClaimEntry) -> str:
    """Return why an attempt is no evidence: what the check itself says of it, where it does."""
    check = entry.check
    own = (check.error or check.inconclusive_reason) if check is not None else None
    return own or entry.why or "no reason recorded"


def _before(entry: ClaimEntry) -> Line:
    earlier = entry.check.earlier if entry.check is not None else None
    return line("; ", *compared_line(earlier)) if earlier is not None else ()


def _recorded_lines(claim: ClaimView) -> tuple[Line, ...]:
    lines = [line((claim.statement or "no statement recorded", "bright"))]
    if claim.actor_id is not None:
        by = line(("asserted by ", "muted"), claim.actor_id)
        call = claim.source_call_id
        lines.append(line(*by, (" in call ", "muted"), short_id(call)) if call else by)
    if claim.recordings > 1:
        lines.append(line((f"recorded {claim.recordings} times; the last counts", "open")))
    if not claim.recordings:
        lines = [line(("Nobody recorded this claim; nothing here moves it.", "open"))]
    promotions = [entry for entry in claim.history if entry.step in {"evidence", "status"}]
    lines += [BLANK, line(("by its record", "accent"))]
    lines.append(line(("state      ", "muted"), _state_text(claim)))
    lines += [_promotion_line(entry) for entry in promotions]
    if any(entry.effect for entry in promotions):
        lines.append(line(("           ", "muted"), (NAMED, "note")))
    lines += [BLANK, line(("by its attempts", "accent"))]
    lines.append(line(("attempts   ", "muted"), _attempts_said(claim)))
    lines.append(line(("standing   ", "muted"), *_standing_line(claim.standing)))
    lines.append(
        line(("adequacy   ", "muted"), "not shown; a check names a claim, it need not fit")
    )
    if claim.disagreement is not None:
        lines += [BLANK, line(("! ", "bad"), claim.disagreement)]
    elif claim.recordings:
        lines += [BLANK, line(("both say the same", "muted"))]
    return tuple(lines)


def _attempts_said(claim: ClaimView) -> str:
    refused = f"; {plural(len(claim.refused), 'refused link')}" if claim.refused else ""
    return attempts_text(claim) + refused


def _promotion_line(entry: ClaimEntry) -> Line:
    what = f"{subject_name(entry.check_id)} " if entry.check_id else ""
    return line(
        ("           ", "muted"), what, ("→ " if entry.effect else ""), *_effect_line(entry)
    )


def _extracted_lines(extracted: StandingView) -> tuple[Line, ...]:
    lines = [line((extracted.statement or "no statement recorded", "bright"))]
    if extracted.quote is not None:
        lines.append(line(("quote      ", "muted"), extracted.quote))
    lines += [
        BLANK,
        line(("by recorded evidence", "accent")),
        line(("class      ", "muted"), extracted.evidence_class),
        line(("standing   ", "muted"), *_standing_line(extracted.status)),
        line(("for        ", "muted"), ", ".join(extracted.supporting) or "nothing"),
        line(("against    ", "muted"), ", ".join(extracted.refuting) or "nothing"),
        BLANK,
        line(("a claim recorded under the same id is another record", "muted")),
    ]
    return tuple(lines)
