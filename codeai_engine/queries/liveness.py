"""Whether an attempt without an end may still have one (SCREENS 3.6).

It runs until it was abandoned, its call or fan-out completed, or its writer's session ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codeai_engine.domain.call import AttemptStarted
    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.reader import LedgerReader
    from codeai_engine.rules.fold_event import Read


class Liveness:
    """Looks up what ended an attempt; remembers sessions for as long as one answer takes."""

    def __init__(self, ledger: LedgerReader) -> None:
        self._ledger = ledger
        self._ended_sessions: dict[str, bool] = {}

    def has_ended(self, started: Read[AttemptStarted]) -> bool:
        """Return whether the end of this attempt can no longer come."""
        if self._ledger.mode == "RO":
            return True  # without a -wal nothing has the file open to write
        after = started.row.sequence
        session_id, call_id = started.payload.session_id, started.payload.call_id
        if session_id is not None and self._session_ended(session_id):
            return True
        if call_id is not None and self._call_ended(call_id, after):
            return True
        # The peer has no sessions; its branches run one after another.
        is_peer = self._ledger.origin == "peer"
        return is_peer and bool(self._ledger.of_kind("fanout.requested", after=after, limit=1))

    def open_attempts(
        self, *, after: int = 0, until: int | None = None, newest: int | None = None
    ) -> Iterator[tuple[EventRow, bool]]:
        """Yield the attempts without an end, newest first, with whether they may still run.

        Args:
            after: Only those that started past this sequence.
            until: Only those that started up to and with this sequence.
            newest: At most so many, since each takes a few reads; None for all.

        Yields:
            The row of `attempt.started`, and the answer.
        """
        found = sorted(
            (
                sequence
                for _, sequence in self._ledger.open_attempts()
                if sequence > after and (until is None or sequence <= until)
            ),
            reverse=True,
        )
        from codeai_engine.domain.call import AttemptStarted
        from codeai_engine.rules.fold_event import open_event, reads

        for sequence in found[:newest]:
            row = self._ledger.event(sequence)
            if row is None:
                continue
            started = reads([open_event(row)], AttemptStarted)
            is_running = bool(started) and not (
                self.has_ended(started[0]) or self._is_abandoned(row)
            )
            yield row, is_running

    def _is_abandoned(self, started: EventRow) -> bool:
        rows = self._ledger.stream(started.stream_id, after=started.sequence)
        return any(row.kind == "attempt.abandoned" for row in rows)

    def _session_ended(self, session_id: str) -> bool:
        if session_id not in self._ended_sessions:
            rows = self._ledger.stream(session_id)
            self._ended_sessions[session_id] = any(row.kind == "session.ended" for row in rows)
        return self._ended_sessions[session_id]

    def _call_ended(self, call_id: str, after: int) -> bool:
        from codeai_engine.domain.call import CallRequested
        from codeai_engine.rules.fold_event import last_read, open_event

        rows = self._ledger.stream(call_id)
        if any(row.kind == "call.completed" and row.sequence > after for row in rows):
            return True
        requests = [
            open_event(row)
            for row in rows
            if row.kind == CallRequested.KIND and row.sequence < after
        ]
        requested = last_read(requests, CallRequested)
        fanout_id = ((requested.payload.metadata if requested else None) or {}).get("fanout_id")
        if not isinstance(fanout_id, str):
            return False
        return any(
            row.kind == "fanout.completed" for row in self._ledger.stream(fanout_id, after=after)
        )
