"""What every ledger takes: drafts, checked before they are queued, and preconditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from codeai_engine.ambient import timestamp
from codeai_engine.digests import refuse_unless_interoperable
from codeai_engine.errors import AppendConflict, ArtifactTooLarge, PayloadRefused
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.ambient import Clock
    from codeai_engine.domain.events import ArtifactDraft, EventDraft
    from codeai_engine.domain.view import EventRow

Columns: TypeAlias = tuple[str, str, str, str, str, str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Absent:
    """A precondition of an append: `stream_id` has no event of `kind`.

    It is looked at inside the transaction of the append, before its own events count.
    """

    stream_id: str
    kind: str


class Ledger(Protocol):
    """What the engine needs of a ledger: an append that lasts, and reads by key."""

    async def append(
        self,
        events: Sequence[EventDraft],
        artifacts: Sequence[ArtifactDraft] = (),
        *,
        absent: Sequence[Absent] = (),
    ) -> tuple[EventRow, ...]:
        """Append events with the artifacts that they name: all of it or nothing.

        It is durable when this returns. A cancellation comes before the batch is handed over, or
        after its outcome: a caller that is cancelled meanwhile still gets that.

        Args:
            events: In their order; they get consecutive sequences and one time.
            artifacts: Bytes that the events name; equal bytes are stored once.
            absent: What the ledger must not hold yet.

        Returns:
            The stored events.

        Raises:
            PayloadRefused: A value of an event is not I-JSON.
            ArtifactTooLarge: An artifact is past the limit.
            AppendConflict: A precondition does not hold, or an event id exists.
            LedgerError: The file refuses: busy, unwritable, full. It is as it was before.
            ValueError: There are artifacts and no event that could name them.
        """
        ...

    async def stream(self, stream_id: str) -> tuple[EventRow, ...]:
        """Return all events of a stream by sequence."""
        ...

    async def event(self, event_id: str) -> EventRow | None:
        """Return an event by its id."""
        ...

    async def artifact_bytes(self, artifact_id: str) -> bytes | None:
        """Return the bytes of an artifact, or None where the ledger has none."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """One append, checked and stamped.

    Args:
        columns: For each event the eight columns after the sequence.
        created_at: When it was handed over.
    """

    columns: tuple[Columns, ...]
    artifacts: tuple[ArtifactDraft, ...]
    absent: tuple[Absent, ...]
    created_at: str


def prepare_batch(
    events: Sequence[EventDraft],
    artifacts: Sequence[ArtifactDraft],
    absent: Sequence[Absent],
    clock: Clock,
) -> Batch:
    """Check drafts and stamp them with the time.

    Raises:
        PayloadRefused: A value cannot be stored; names its path.
        ArtifactTooLarge: An artifact is past the limit.
        ValueError: There are artifacts and no events.
    """
    if artifacts and not events:
        msg = "artifacts commit with the event that names them, and there is no event"
        raise ValueError(msg)
    for artifact in artifacts:
        _refuse_unless_storable(artifact)
    for condition in absent:
        _refuse_unless_text("absent.stream_id", condition.stream_id)
        _refuse_unless_text("absent.kind", condition.kind)
    created_at = timestamp(clock.now())
    columns = tuple(_columns(event, created_at) for event in events)
    return Batch(columns, tuple(artifacts), tuple(absent), created_at)


def _columns(event: EventDraft, created_at: str) -> Columns:
    _refuse_unless_text("event_id", event.event_id)
    _refuse_unless_text("stream_id", event.stream_id)
    _refuse_unless_text("kind", event.kind)
    _refuse_unless_text("actor_id", event.actor_id)
    if event.causation_id is not None:
        _refuse_unless_text("causation_id", event.causation_id)
    if event.correlation_id is not None:
        _refuse_unless_text("correlation_id", event.correlation_id)
    return (
        event.event_id,
        event.stream_id,
        event.kind,
        event.actor_id,
        event.payload_json(),
        created_at,
        event.causation_id,
        event.correlation_id,
    )


def _refuse_unless_storable(artifact: ArtifactDraft) -> None:
    if not isinstance(artifact.content, bytes):
        raise PayloadRefused("content", f"a {type(artifact.content).__name__} is not bytes")
    if len(artifact.content) > ARTIFACT_LIMIT_BYTES:
        raise ArtifactTooLarge(len(artifact.content), ARTIFACT_LIMIT_BYTES)
    _refuse_unless_text("artifact_type", artifact.artifact_type)
    _refuse_unless_text("media_type", artifact.media_type)


def _refuse_unless_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise PayloadRefused(name, f"a {type(value).__name__} is not text")
    if not value.isascii():
        refuse_unless_interoperable(value, name)


def kind_is_present(absent: Absent) -> AppendConflict:
    """Return the refusal of an append whose precondition does not hold."""
    return AppendConflict(f"stream {absent.stream_id} already has an event {absent.kind}")


def event_is_present(event_id: str) -> AppendConflict:
    """Return the refusal of an append with an event id that exists."""
    return AppendConflict(f"event id {event_id} is already in the ledger")
