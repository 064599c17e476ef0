"""The one door to a ledger: opens it on a thread of its own, answers with views.

SQLite connections belong to the thread that opened them, so every question is asked there, one
after another; the loop that draws never waits for a disk.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from codeai_engine import (
    open_ledger,
    read_check,
    read_checks,
    read_claim,
    read_claims,
    read_event,
    read_events,
    read_fanout,
    read_fanouts,
    read_overview,
)
from codeai_tui.present.events import parse_filter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from codeai_engine import (
        ChecksView,
        CheckView,
        ClaimsView,
        ClaimView,
        EventRow,
        EventSummary,
        FanoutSummary,
        FanoutView,
        LedgerInfo,
        LedgerReader,
        OverviewView,
        Page,
        StandingView,
    )
    from codeai_tui.places import Place

T = TypeVar("T")
PAGE_LIMIT = 200
NEWEST_SUBJECTS = 500  # checks or claims that one screen counts and lists


def open_reading(
    path: str, *, snapshot: bool = False, artifacts: Path | None = None
) -> LedgerReader:
    """Open a ledger on the calling thread, for text.

    Raises:
        LedgerError: The file cannot be read as a ledger.
    """
    return open_ledger(path, snapshot=snapshot, artifacts=artifacts)


class Gateway:
    """A ledger that is open for a screen.

    Args:
        path: The ledger.
        snapshot: Read a private copy.
        artifacts: Where the peer's artifact files are, when not beside the ledger.

    Raises:
        LedgerError: The file cannot be read as a ledger.
    """

    def __init__(self, path: str, *, snapshot: bool = False, artifacts: Path | None = None) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        try:
            self._reader, self.info = self._thread.submit(
                _open, path, snapshot=snapshot, artifacts=artifacts
            ).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def refuse_unless_there(self, place: Place) -> None:
        """Check that a place which was named from outside is in this ledger.

        Raises:
            CodeAIError: It is not, or it is several.
        """
        match place.kind:
            case "fanout":
                self._thread.submit(read_fanout, self._reader, place.id).result()
            case "event":
                self._thread.submit(read_event, self._reader, int(place.id)).result()
            case "events":
                parse_filter(place.key("filter"))
            case "check":
                self._thread.submit(read_check, self._reader, place.id).result()
            case "claim":
                self._thread.submit(read_claim, self._reader, place.id).result()
            case "overview" | "fanouts" | "checks" | "claims":
                pass

    def close(self) -> None:
        """Close the ledger and end its thread; a question still under way is waited for."""
        self._thread.submit(self._reader.close).result()
        self._thread.shutdown()

    async def glance(self) -> tuple[LedgerInfo, tuple[tuple[str, int], ...]]:
        """Return the ledger as a whole and its counts by kind: no payload is opened."""
        self.info, kinds = await self._ask(_glance)
        return self.info, kinds

    async def overview(self) -> OverviewView:
        """Return what the record establishes."""
        return await self._ask(read_overview)

    async def fanouts(
        self, *, before: int | None = None, limit: int = PAGE_LIMIT
    ) -> Page[FanoutSummary]:
        """Return a page of fan-outs, newest first."""
        return await self._ask(partial(read_fanouts, before=before, limit=limit))

    async def fanout(self, fanout_id: str) -> FanoutView:
        """Return one fan-out by its id or a unique prefix of it.

        Raises:
            LedgerError: There is none, or several.
        """
        return await self._ask(lambda reader: read_fanout(reader, fanout_id))

    async def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        kind: str | None = None,
        stream: str | None = None,
        limit: int = PAGE_LIMIT,
    ) -> Page[EventSummary]:
        """Return a page of events: after one sequence, before one, or the newest."""
        return await self._ask(
            lambda reader: read_events(
                reader, after=after, before=before, kind=kind, stream_id=stream, limit=limit
            )
        )

    async def event(self, sequence: int) -> EventRow:
        """Return one event whole.

        Raises:
            LedgerError: There is none.
        """
        return await self._ask(lambda reader: read_event(reader, sequence))

    async def checks(self) -> ChecksView:
        """Return the newest checks."""
        return await self._ask(lambda reader: read_checks(reader, newest=NEWEST_SUBJECTS))

    async def check(self, check_id: str) -> tuple[CheckView, ...]:
        """Return one check, every completion of its id.

        Raises:
            LedgerError: There is none.
        """
        return await self._ask(lambda reader: read_check(reader, check_id))

    async def claims(self) -> ClaimsView:
        """Return the newest claims with their histories."""
        return await self._ask(lambda reader: read_claims(reader, newest=NEWEST_SUBJECTS))

    async def claim(self, claim_id: str) -> tuple[ClaimView | None, StandingView | None]:
        """Return one claim, by the recorded and by the extracted path.

        Raises:
            LedgerError: There is none.
        """
        return await self._ask(lambda reader: read_claim(reader, claim_id))

    async def _ask(self, question: Callable[[LedgerReader], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, question, self._reader)


def _open(path: str, *, snapshot: bool, artifacts: Path | None) -> tuple[LedgerReader, LedgerInfo]:
    reader = open_reading(path, snapshot=snapshot, artifacts=artifacts)
    return reader, reader.info()


def _glance(reader: LedgerReader) -> tuple[LedgerInfo, tuple[tuple[str, int], ...]]:
    return reader.info(), reader.kind_counts()
