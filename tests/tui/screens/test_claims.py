"""Claims on the screen: histories, and record and attempts side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_tui.places import Place
from codeai_tui.widgets.line_grid import LineGrid
from tests.peers import needs_peer_ledgers, peer_ledger
from tests.tui.driving import press, screen_text, settle

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_tui.app import LedgerApp
    from tests.tui.conftest import AppMaker

NARROW, WIDE = (80, 24), (160, 48)


def keys_of(app: LedgerApp, pane: str) -> list[str]:
    return [row.key for row in app.screen.query_one(f"#{pane}", LineGrid).rows]


async def test_claims_without_attempt_and_without_evidence_read_differently(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claims") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            rows = {row.strip("│▸ ").split()[0]: row for row in screen_text(app).split("\n")[2:10]}
            assert "- no attempt" in rows["untested"]
            assert "1, no evidence" in rows["linked"]
            assert "1, no evidence" in rows["spelled"]
            assert "- never recorded" in rows["nobody"]
            await press(pilot, "end", "up", "enter")
            assert "no attempt is discoverable" in screen_text(app)
            await press(pilot, "escape", "up", "up", "enter", "tab", "end")
            assert "attempts exist, no evidence" in screen_text(app)


async def test_a_history_shows_what_refuted_what_is_no_repair_and_what_is(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claim/clean") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            history = screen_text(app).split("\n")[19:]
            rows = [row for row in history if " attempt  " in row]
            assert "✗ FAIL" in rows[0]
            assert "differs in command" in rows[1]
            assert "before k-todo FAIL" in rows[2]
            assert "inadmissible: target state m" in rows[3]
            assert "named, adequacy not shown" in screen_text(app)
            assert "recorded at once as refuted and E3_REPRODUCED" in screen_text(app)


async def test_a_shows_the_admitted_then_the_others_then_all(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claim/clean") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            assert len(keys_of(app, "history")) == 8
            await press(pilot, "a")
            assert keys_of(app, "history") == ["15", "20", "25"]
            await press(pilot, "a")
            assert keys_of(app, "history") == ["29"]
            await press(pilot, "a")
            assert len(keys_of(app, "history")) == 8


async def test_d_shows_only_claims_whose_record_and_attempts_part(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claims") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "d")
            assert keys_of(app, "claims") == ["cclean"]
            await press(pilot, "d")
            assert len(keys_of(app, "claims")) == 7


async def test_a_marked_claim_is_kept_beside_the_one_that_is_looked_at(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claims") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            assert "marked: dated" not in screen_text(app)
            await press(pilot, "m", "down", "down")
            assert "marked: dated" in screen_text(app)
            assert "attempts exist, no evidence" in screen_text(app)
            await press(pilot, "up", "up", "m", "down", "down")
            assert "marked: dated" not in screen_text(app)


async def test_enter_on_an_attempt_opens_its_check_and_back_comes_back_to_it(
    an_app: AppMaker, checks_db: Path
) -> None:
    with an_app(checks_db, "claims") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "down", "enter", "down", "enter")
            assert app.history.current.place == Place("check", "k-todo", (("item", "14"),))
            assert "k-todo  event 14" in screen_text(app)
            await press(pilot, "left_square_bracket")
            assert app.screen.query_one("#history", LineGrid).cursor_key == "15"
            await press(pilot, "home", "enter")
            assert app.history.current.place == Place("event", "2")


async def test_events_of_the_claim_are_a_key_away(an_app: AppMaker, checks_db: Path) -> None:
    with an_app(checks_db, "claim/linked") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            await press(pilot, "e")
            assert "[stream:linked]" in screen_text(app)


async def test_a_ledger_without_claims_says_so_and_takes_every_key(
    an_app: AppMaker, empty_db: Path
) -> None:
    with an_app(empty_db, "claims") as app:
        async with app.run_test(size=NARROW) as pilot:
            await settle(pilot)
            assert "No claim in this ledger." in screen_text(app)
            await press(pilot, "enter", "enter", "a", "d", "e", "y", "n", "tab", "end")
            assert app.history.current.place.kind == "claims"


@needs_peer_ledgers
async def test_extracted_claims_refusals_and_unknown_claims_have_their_rows(
    an_app: AppMaker,
) -> None:
    with an_app(peer_ledger("evidence_path"), "claims") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            said = screen_text(app)
            assert "extracted E3_REPRODUCED" in said
            assert "✗ claim.evidence_refused" in said
            await press(pilot, "down", "down")
            assert "by recorded evidence" in screen_text(app)


@needs_peer_ledgers
async def test_an_effect_on_a_claim_nobody_recorded_is_shown_to_move_nothing(
    an_app: AppMaker,
) -> None:
    with an_app(peer_ledger("claims_promotion"), "claims") as app:
        async with app.run_test(size=WIDE) as pilot:
            await settle(pilot)
            await press(pilot, "end", "enter", "end")
            said = screen_text(app)
            assert "moves nothing" in said
            assert "Nobody recorded this claim" in said
