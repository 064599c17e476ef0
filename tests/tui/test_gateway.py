"""The gateway: one thread asks the ledger, and asks for no more than is shown."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from codeai_engine import CodeAIError, LedgerError
from codeai_tui.gateway import PAGE_LIMIT, Gateway
from codeai_tui.places import parse_place
from codeai_tui.widgets.line_grid import LineGrid
from tests.tui.driving import press, screen_text, settle
from tests.tui.ledgers import peer_like_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.tui.conftest import AppMaker


@pytest.fixture
def gateway(pilot_db: Path) -> Iterator[Gateway]:
    opened = Gateway(str(pilot_db))
    yield opened
    opened.close()


def ledger_threads() -> list[str]:
    return [entry.name for entry in threading.enumerate() if entry.name.startswith("ledger")]


async def test_every_question_is_asked_on_one_thread_that_is_not_the_screens(
    gateway: Gateway,
) -> None:
    asked = await asyncio.gather(*(gateway._ask(lambda _: threading.get_ident()) for _ in range(9)))
    assert len(set(asked)) == 1
    assert threading.get_ident() not in asked


async def test_questions_that_are_asked_together_are_all_answered(gateway: Gateway) -> None:
    overview, page, fanout, events, event = await asyncio.gather(
        gateway.overview(),
        gateway.fanouts(),
        gateway.fanout("fanout-1"),
        gateway.events(kind="call.*"),
        gateway.event(1),
    )
    assert overview.total_fanouts == len(page.items) == 3
    assert len(fanout.branches) == 3
    assert {entry.kind.partition(".")[0] for entry in events.items} == {"call"}
    assert event.kind == "fanout.requested"


async def test_an_error_reaches_who_asked_and_the_next_question_is_answered(
    gateway: Gateway,
) -> None:
    with pytest.raises(LedgerError):
        await gateway.fanout("none")
    assert (await gateway.fanout("fanout-2")).summary.fanout_id == "fanout-2"


@pytest.mark.parametrize("place", ["fanout/none", "event/99999", "events?filter=x"])
def test_a_place_that_is_not_in_the_ledger_is_refused(gateway: Gateway, place: str) -> None:
    with pytest.raises(CodeAIError):
        gateway.refuse_unless_there(parse_place(place))


def test_closing_ends_the_thread_and_so_does_failing_to_open(
    pilot_db: Path, tmp_path: Path
) -> None:
    Gateway(str(pilot_db)).close()
    with pytest.raises(LedgerError):
        Gateway(str(tmp_path / "missing.db"))
    assert ledger_threads() == []


@pytest.fixture
def large_db(tmp_path: Path) -> Path:
    payloads = [("odd.event", f"s{at % 9}", '{"a":1}') for at in range(200_000)]
    payloads.append(("odd.event", "s", '{"line":"' + "x" * 5_000_000 + '"}'))
    return peer_like_ledger(tmp_path / "large.db", payloads)


async def test_of_a_large_ledger_only_pages_are_read(an_app: AppMaker, large_db: Path) -> None:
    with an_app(large_db, "events") as app:
        reader = app.gateway._reader
        async with app.run_test(size=(160, 48)) as pilot:
            await settle(pilot)
            assert len(app.screen.query_one("#events", LineGrid).rows) == PAGE_LIMIT
            await press(pilot, "pagedown", "pagedown", "home")
            await press(pilot, "end")
            assert "seq 200,001 of 200,001" in screen_text(app)
            assert "4.8 MiB" in screen_text(app)
            assert reader.rows_read < 10 * PAGE_LIMIT
