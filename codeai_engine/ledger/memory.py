"""A ledger in memory, with the same contract as the file: for tests, and for looking ahead.

One suite runs over both (tests/contracts/test_ledger_contract.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.lowlevel

from codeai_engine.domain.view import EventRow
from codeai_engine.ledger.batch import Absent, event_is_present, kind_is_present, prepare_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.ambient import Clock
    from codeai_engine.domain.events import ArtifactDraft, EventDraft


class MemoryLedger:
    """Keeps events and artifacts for as long as it lives.

    Args:
        clock: Stamps the events.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._rows: list[EventRow] = []
        self._by_id: dict[str, EventRow] = {}
        self._artifacts: dict[str, bytes] = {}

    async def append(
        self,
        events: Sequence[EventDraft],
        artifacts: Sequence[ArtifactDraft] = (),
        *,
        absent: Sequence[Absent] = (),
    ) -> tuple[EventRow, ...]:
        """See `Ledger.append`."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        batch = prepare_batch(events, artifacts, absent, self._clock)
        present = {(row.stream_id, row.kind) for row in self._rows}
        for condition in batch.absent:
            if (condition.stream_id, condition.kind) in present:
                raise kind_is_present(condition)
        rows = tuple(
            EventRow(sequence, *columns)
            for sequence, columns in enumerate(batch.columns, start=len(self._rows) + 1)
        )
        seen = set(self._by_id)
        for row in rows:
            if row.event_id in seen:
                raise event_is_present(row.event_id)
            seen.add(row.event_id)
        self._rows += rows
        self._by_id.update((row.event_id, row) for row in rows)
        for artifact in batch.artifacts:
            self._artifacts.setdefault(artifact.artifact_id, artifact.content)
        return rows

    async def stream(self, stream_id: str) -> tuple[EventRow, ...]:
        """See `Ledger.stream`."""
        return tuple(row for row in self._rows if row.stream_id == stream_id)

    async def event(self, event_id: str) -> EventRow | None:
        """See `Ledger.event`."""
        return self._by_id.get(event_id)

    async def artifact_bytes(self, artifact_id: str) -> bytes | None:
        """See `Ledger.artifact_bytes`."""
        return self._artifacts.get(artifact_id)
