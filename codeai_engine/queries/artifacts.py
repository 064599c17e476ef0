"""Whether registered artifacts have the bytes that their ids say, a range at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.view import ArtifactFacts

if TYPE_CHECKING:
    from codeai_engine.ledger.reader import LedgerReader


def read_artifact_facts(
    ledger: LedgerReader, *, after: str = "", limit: int = 500
) -> ArtifactFacts:
    """Read the bytes of a range of artifacts and compare each with its id.

    Args:
        ledger: Open for reading.
        after: The range begins after this id: the `next_cursor` of an answer.
        limit: At most so many; one artifact is in memory at a time.
    """
    rows = ledger.artifacts(after=after, limit=limit + 1)
    missing: list[str] = []
    corrupt: list[str] = []
    examined = rows[:limit]
    for row in examined:
        content = ledger.artifact_bytes(row.artifact_id)
        if content is None:
            missing.append(row.artifact_id)
        elif sha256_hex(content) != row.artifact_id:
            corrupt.append(row.artifact_id)
    return ArtifactFacts(
        examined=len(examined),
        intact=len(examined) - len(missing) - len(corrupt),
        missing=tuple(missing),
        corrupt=tuple(corrupt),
        by_type=tuple(sorted(Counter(row.artifact_type for row in examined).items())),
        declared_bytes=sum(row.byte_length for row in examined),
        next_cursor=examined[-1].artifact_id if len(rows) > limit else None,
    )
