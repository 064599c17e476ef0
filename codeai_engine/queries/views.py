"""The read side's public queries: one answer for each screen, and what programs ask besides.

None of them loads pydantic until it opens a payload, so that a list of events paints at once.
"""

from __future__ import annotations

from codeai_engine.queries.artifacts import read_artifact_facts
from codeai_engine.queries.attempts import read_attempts, read_unfinished_calls
from codeai_engine.queries.claims import (
    read_check,
    read_checks,
    read_claim,
    read_claims,
    read_packages,
)
from codeai_engine.queries.events import read_event, read_events, read_kinds, read_unattached
from codeai_engine.queries.fanouts import read_fanout, read_fanouts
from codeai_engine.queries.overview import read_overview

__all__ = [
    "read_artifact_facts",
    "read_attempts",
    "read_check",
    "read_checks",
    "read_claim",
    "read_claims",
    "read_event",
    "read_events",
    "read_fanout",
    "read_fanouts",
    "read_kinds",
    "read_overview",
    "read_packages",
    "read_unattached",
    "read_unfinished_calls",
]
