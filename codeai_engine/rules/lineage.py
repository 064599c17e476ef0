"""The lineage of an event: ids of where its content came from, derived from the event itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codeai_engine.domain.view import EventRow

_SINGLE = ("call_id", "source_call_id", "claim_id", "source_artifact_id", "artifact_id")
_LISTS = ("claim_ids", "lineage_ids")


def event_lineage(row: EventRow) -> frozenset[str]:
    """Return the ids an event's content came from, its own id included.

    Source: PEER_FORMAT section 3; for a completed call its stream as well. A payload that does not
    parse, or a reference that is not text, adds nothing.
    """
    found = {row.event_id}
    payload = _object(row.payload_json)
    found |= {payload[key] for key in _SINGLE if isinstance(payload.get(key), str)}
    for key in _LISTS:
        listed = payload.get(key)
        if isinstance(listed, list):
            found |= {item for item in listed if isinstance(item, str)}
    if row.kind == "call.completed":
        found.add(row.stream_id)
    return frozenset(found)


def _object(text: str) -> dict[str, Any]:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}
