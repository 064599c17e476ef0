"""An adapter for tests, through the public protocol: it sends nothing anywhere."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from codeai_engine import open_ledger
from codeai_engine.adapters.base import (
    CallInput,
    Interpretation,
    Observation,
    PreparedRequest,
    Wire,
)
from codeai_engine.ambient import FixedClock, FixedIds
from codeai_engine.digests import sha256_hex
from codeai_engine.domain.context import Actor
from codeai_engine.domain.events import ArtifactDraft
from codeai_engine.engine import open_engine
from codeai_engine.runtime.request import BaseItem, BranchRequest, FanoutOutcome, FanoutRequest
from codeai_engine.runtime.session import ProcessIdentity

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.view import EventRow

IDENTITY = ProcessIdentity("0" * 64, "boot", 1, "2026-01-01T00:00:00.000000+00:00")
Behaviour = Callable[[PreparedRequest, Wire], Awaitable[bytes]]


async def answer_ok(_request: PreparedRequest, wire: Wire) -> bytes:
    await wire.sending()
    wire.sent()
    return b"ok"


def answering(content: bytes) -> Behaviour:
    async def behave(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        wire.sent()
        return content

    return behave


def raising(error: BaseException, *, after: str = "sent") -> Behaviour:
    """Raise before `sending`, after `sending`, or after everything was `sent`."""

    async def behave(_request: PreparedRequest, wire: Wire) -> bytes:
        if after != "nothing":
            await wire.sending()
        if after == "sent":
            wire.sent()
        raise error

    return behave


@dataclass
class FakeProvider:
    """Carries the input as `{"input": TEXT}`; what `send` does is given."""

    behave: Behaviour = answer_ok
    provider: str = "fake"
    protocol: str = "fake"
    requested_model: str | None = None
    read: Callable[[Observation], Interpretation] | None = None
    prepare_error: BaseException | None = None
    spoil: Callable[[str], str] = str
    seen: list[str] = field(default_factory=list)

    def prepare(self, call: CallInput) -> PreparedRequest:
        if self.prepare_error is not None:
            raise self.prepare_error
        body: dict[str, Any] = {"input": self.spoil(call.text), "parameters": dict(call.parameters)}
        return PreparedRequest(body=body, input_pointer="/input")

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        self.seen.append(request.body["input"])
        content = await self.behave(request, wire)
        return Observation(body=content, media_type="text/plain", artifact_type="fake_answer")

    def interpret(self, observation: Observation) -> Interpretation:
        if self.read is not None:
            return self.read(observation)
        text = observation.body.decode("utf-8", "surrogateescape")
        return Interpretation(output=text, status="succeeded", generation_state="complete")


def branch(name: str, adapter: Any = None, **own: Any) -> BranchRequest:
    fields: dict[str, Any] = {
        "name": name,
        "call_id": f"call-{name}",
        "actor": Actor(f"actor-{name}"),
        "adapter": adapter or FakeProvider(),
        "adapter_id": "fake",
    }
    return BranchRequest(**(fields | own))


def item(text: str, **own: Any) -> BaseItem:
    content = text.encode()
    fields: dict[str, Any] = {
        "kind": "artifact",
        "item_id": sha256_hex(content),
        "draft": ArtifactDraft(content, "source", "text/plain"),
    }
    return BaseItem(**(fields | own))


def fanout(*branches: BranchRequest, **own: Any) -> FanoutRequest:
    fields: dict[str, Any] = {
        "task_id": "task-1",
        "instruction": "Review.",
        "prompt": "What is wrong?",
        "base": (item("The base text."),),
    }
    return FanoutRequest(branches=branches, **(fields | own))


async def run_on(path: Path, *requests: FanoutRequest, series: int = 0) -> list[FanoutOutcome]:
    """Run requests on one engine with a fixed clock and ids."""
    clock = FixedClock(step=timedelta(milliseconds=1))
    async with open_engine(path, clock=clock, ids=FixedIds(series), identity=IDENTITY) as engine:
        return [await engine.run_fanout(request) for request in requests]


def kinds_of(rows: tuple[EventRow, ...]) -> list[str]:
    return [row.kind for row in rows]


def rows_of(path: Path) -> tuple[EventRow, ...]:
    with open_ledger(path) as ledger:
        return ledger.rows(limit=10_000)


def payloads(path: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(row.payload_json) for row in rows_of(path) if row.kind == kind]


def completion(path: Path, name: str) -> dict[str, Any]:
    return next(p for p in payloads(path, "call.completed") if p["call_id"] == f"call-{name}")
