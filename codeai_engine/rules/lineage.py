"""The lineage of an event: ids of where its content came from, derived from the event itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codeai_engine.domain.view import EventRow

_SINGLE = ("call_id", "source_call_id", "claim_id", "source_artifact_id", "artifact_id")
_LISTS = ("claim_ids", "lineage_ids")


def event_lineage(row: EventRow) -> frozenset[str]:
    """Return the ids an event's content came from, its own id included.

    Source: DESIGN section 5. These are the peer's (`peer_event_lineage`) and every artifact that
    the payload refers to, at any depth: a reference is nearly always an object within, such as
    `raw_artifact`, and an event that names a forbidden artifact carries its content by another way
    (PEER_DEFECTS 9). An event whose payload cannot be read came at least from its stream.
    """
    payload = _read(row.payload_json)
    if payload is None:
        return frozenset({row.event_id, row.stream_id})
    return _peer_lineage(row, payload) | frozenset(_artifact_references(payload))


def peer_event_lineage(row: EventRow) -> frozenset[str]:
    """Return an event's lineage by the peer's own rule, its own id included.

    Source: PEER_FORMAT section 3. A reference that is not text adds nothing.
    """
    return _peer_lineage(row, _read(row.payload_json) or {})


def _read(text: str) -> dict[str, Any] | None:
    try:
        # No number is an id, and a stored integer may be longer than int() takes.
        payload = json.loads(text, parse_int=len)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _peer_lineage(row: EventRow, payload: dict[str, Any]) -> frozenset[str]:
    found = {row.event_id}
    for key in _SINGLE:
        found.update(_texts([payload.get(key)]))
    for key in _LISTS:
        found.update(_texts(payload.get(key)))
    if row.kind == "call.completed":
        found.add(row.stream_id)
    return frozenset(found)


def _artifact_references(payload: dict[str, Any]) -> Iterator[str]:
    """Yield the ids under `artifact_id`, `artifact_ids` and keys that end in one of them."""
    waiting: list[Any] = [payload]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, item in value.items():
                if key == "artifact_id" or key.endswith("_artifact_id"):
                    yield from _texts([item])
                elif key == "artifact_ids" or key.endswith("_artifact_ids"):
                    yield from _texts(item)
            waiting += value.values()


def _texts(value: Any) -> list[str]:  # noqa: ANN401 - JSON
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
