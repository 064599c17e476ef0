"""What a fold asks a ledger for by key, remembered for as long as one answer takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.reader import LedgerReader

KEPT_ARTIFACTS = 16  # branches mostly share their bytes; one artifact may have 64 MiB
KEPT_BYTES = 1 << 20  # so larger ones are read again rather than kept


class LedgerSources:
    """Bytes, events and claims of one ledger, by key.

    Args:
        ledger: Stays the caller's to close.
    """

    def __init__(self, ledger: LedgerReader) -> None:
        self._ledger = ledger
        self._artifacts: dict[str, bytes | None] = {}
        self._events: dict[str, EventRow | None] = {}
        self._claims: dict[str, tuple[EventRow, ...]] = {}

    def artifact_bytes(self, artifact_id: str) -> bytes | None:
        """Return the stored bytes, unchecked, or None where they are not there."""
        if artifact_id in self._artifacts:
            return self._artifacts[artifact_id]
        content = self._ledger.artifact_bytes(artifact_id)
        if content is None or len(content) <= KEPT_BYTES:
            if len(self._artifacts) >= KEPT_ARTIFACTS:
                del self._artifacts[next(iter(self._artifacts))]
            self._artifacts[artifact_id] = content
        return content

    def event(self, event_id: str) -> EventRow | None:
        """Return an event by its id."""
        if event_id not in self._events:
            self._events[event_id] = self._ledger.event_by_id(event_id)
        return self._events[event_id]

    def claim_records(self, claim_id: str) -> tuple[EventRow, ...]:
        """Return every `claim.recorded` of a claim."""
        if claim_id not in self._claims:
            self._claims[claim_id] = tuple(
                row for row in self._ledger.stream(claim_id) if row.kind == "claim.recorded"
            )
        return self._claims[claim_id]
