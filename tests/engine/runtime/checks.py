"""Checks for tests: a run on a real ledger, verifiers and resolvers through their protocols."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codeai_engine import open_ledger
from codeai_engine.ambient import SystemClock, TimeOrderedIds
from codeai_engine.domain.check import CheckRequest, CheckResult
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.ledger.writer import open_writer
from codeai_engine.runtime.check import record_claim
from codeai_engine.runtime.record import RunContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from codeai_engine.domain.view import EventRow

KEY = b"k" * 32


@dataclass
class FakeVerifier:
    """Gives what it is told to; counts its calls.

    Args:
        answer: The fields of its result, or what it returns as it is.
        look: Called while it is invoked.
    """

    answer: Any = field(default_factory=lambda: {"verdict": "PASS"})
    look: Callable[[CheckRequest], object] = str
    name: str = "fake"
    version: str = "1"
    calls: int = 0

    async def verify(self, request: CheckRequest) -> CheckResult:
        self.calls += 1
        self.look(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        if isinstance(self.answer, dict):
            return CheckResult(request.check_id, **self.answer)
        return self.answer  # type: ignore[no-any-return] # whatever a test wants returned


class FakeResolver:
    """Gives one state after another, the last for ever; an exception among them is raised."""

    def __init__(self, *states: Any) -> None:
        self._states = list(states)
        self.reads = 0

    async def read(self) -> str:
        self.reads += 1
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        if isinstance(state, BaseException):
            raise state
        return state  # type: ignore[no-any-return] # whatever a test wants returned


def check(check_id: str = "check-1", *command: str, **own: Any) -> CheckRequest:
    return CheckRequest(check_id, "task-1", command=command, **own)


@asynccontextmanager
async def run_on(path: Path, **own: Any) -> AsyncIterator[RunContext]:
    """Open a ledger for a run, with the machine's own clock and ids."""
    clock = SystemClock()
    async with open_writer(path, clock=clock) as ledger:
        yield RunContext(ledger, clock, TimeOrderedIds(), "session-1", **own)


async def claim(run: RunContext, claim_id: str = "claim-1", **own: Any) -> EventRow:
    fields: dict[str, Any] = {
        "task_id": "task-1",
        "statement": "All tests pass.",
        "source_call_id": "call-A",
        "actor_id": "actor-A",
    }
    return await record_claim(run, claim_id=claim_id, **(fields | own))


async def store(run: RunContext, content: bytes) -> str:
    """Store bytes with an event that names them; return the target that names them."""
    draft = ArtifactDraft(content, "source", "text/plain")
    event = EventDraft(run.ids.new_id(), "note", "note", "a", draft.reference())
    await run.ledger.append([event], [draft])
    return f"artifact:sha256:{draft.artifact_id}"


def rows(path: Path) -> tuple[EventRow, ...]:
    with open_ledger(path) as ledger:
        return ledger.rows()


def kinds(path: Path) -> list[str]:
    """Return the kinds of what was written, the notes of `store` left out."""
    return [row.kind for row in rows(path) if row.kind != "note"]


def payloads(path: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(row.payload_json) for row in rows(path) if row.kind == kind]


def completed(path: Path) -> dict[str, Any]:
    """Return the only completion of a ledger."""
    (payload,) = payloads(path, "check.completed")
    return payload
