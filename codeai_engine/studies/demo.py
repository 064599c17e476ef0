"""The scene of the demo: three real reviewers, one versioned paragraph with its source pack.

Four fan-outs in one ledger (seed "Blind Before You Compare"):

1. *review*: the reviewers answer, and none can have seen another through its inputs.
2. *controls*: one note is declared to come from a sibling call. The seal excludes it where that
   lineage is declared, admits the same bytes where the declaration is left out, and does nothing
   about the sentence of it that was copied into the prompt. One branch fails in transport after
   its bytes left.
3. *refusal*: the same note as a required base item under a seal that forbids it. Every branch is
   refused loudly, and nothing is sent.
4. *checked*: two authors say that they are done, and real commands look (`demo_checks.py`).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

from codeai_engine.adapters.registry import make_adapter
from codeai_engine.domain.context import Actor, Seal
from codeai_engine.domain.events import ArtifactDraft
from codeai_engine.processes import find_program
from codeai_engine.runtime.request import BaseItem, BranchRequest, FanoutRequest
from codeai_engine.studies.demo_checks import TASK_ID, checked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from codeai_engine.adapters.base import Adapter
    from codeai_engine.ambient import IdSource
    from codeai_engine.engine import Engine
    from codeai_engine.runtime.request import FanoutOutcome

INSTRUCTION = "You review one paragraph against its source pack."
QUESTION = "Name every error in the paragraph, one a line. Do not rewrite it."
COPIED = 'One reviewer already wrote: "recieve" should be "receive".'
TIMEOUT_S = 120.0
PROGRAMS = {
    "grammar": (
        "harper",
        ("lint", "--format", "compact", "--quiet", "--no-color", "--ignore", "SpellCheck"),
        (0, 1),
    ),
    "spelling": ("codespell", ("-",), (0, 65)),
}


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Someone real to ask: who it is and how it is asked."""

    name: str
    actor_kind: str
    adapter: Adapter
    variant: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def branch(self, ids: IdSource, suffix: str = "") -> BranchRequest:
        """Return a branch of this reviewer with a call id of its own."""
        return BranchRequest(
            name=f"{self.name}{suffix}",
            call_id=ids.new_id(),
            actor=Actor(
                actor_id=f"{self.name}-reviewer{suffix}",
                kind=self.actor_kind,
                provider=self.adapter.provider,
                model=self.adapter.requested_model,
            ),
            adapter=self.adapter,
            adapter_id=self.name,
            variant=self.variant,
            parameters=self.parameters,
        )


def tool_reviewers() -> tuple[list[Reviewer], list[str]]:
    """Return the reviewers that are programs, and the names of those that are not installed."""
    found: list[Reviewer] = []
    missing: list[str] = []
    for name, (program, arguments, success_codes) in PROGRAMS.items():
        if find_program(program) is None:
            missing.append(program)
            continue
        settings = {
            "kind": "command",
            "argv": [program, *arguments],
            "success_codes": list(success_codes),
        }
        found.append(Reviewer(name, "tool", make_adapter("command", settings)))
    return found, missing


def model_reviewer(model: Adapter) -> Reviewer:
    """Return the local model as a reviewer."""
    return Reviewer(
        name="model",
        actor_kind="model",
        adapter=model,
        variant={"prompt_variant": "v1", "temperature": 0.0, "seed": 7},
        parameters={"max_output_tokens": 120},
    )


def base_item(name: str, *, lineage: tuple[str, ...] | None = None) -> BaseItem:
    """Return one of the scene's texts as a base item; without lineage its editor vouches for it."""
    content = (files("codeai_engine.studies") / "texts" / f"{name}.md").read_bytes()
    draft = ArtifactDraft(
        content, "source" if lineage is None else "sibling_output", "text/markdown"
    )
    return BaseItem(
        kind="artifact",
        item_id=draft.artifact_id,
        name=name,
        draft=draft,
        lineage=lineage,
        declared_none=None if lineage else ("editor", "written by hand for this scene"),
    )


def review(reviewers: list[Reviewer], ids: IdSource) -> FanoutRequest:
    """Return the first fan-out: every reviewer, the same question, the same base."""
    return FanoutRequest(
        task_id=TASK_ID,
        objective="Is the paragraph right?",
        instruction=INSTRUCTION,
        prompt=QUESTION,
        base=(base_item("paragraph"), base_item("sources")),
        branches=tuple(one.branch(ids) for one in reviewers),
        timeout_s=TIMEOUT_S,
        source="demo",
    )


def controls(tools: list[Reviewer], broken: Adapter, ids: IdSource) -> FanoutRequest:
    """Return the second fan-out: what the seal excludes, admits and cannot see, and a failure."""
    first, last = tools[0], tools[-1]
    author = last.branch(ids, "-author")
    note = base_item("note-of-the-spelling-reviewer", lineage=(author.call_id,))
    paragraph = base_item("paragraph")
    return FanoutRequest(
        task_id=TASK_ID,
        instruction=INSTRUCTION,
        prompt=f"{QUESTION} {COPIED}",
        base=(paragraph, note),
        required=frozenset({paragraph.key}),
        branches=(
            first.branch(ids, "-sealed"),
            replace(first.branch(ids, "-undeclared"), omit_lineage=frozenset({note.key})),
            author,
            Reviewer("broken-line", "model", broken).branch(ids),
        ),
        timeout_s=TIMEOUT_S,
        source="demo",
    )


def refusal(tools: list[Reviewer], ids: IdSource) -> FanoutRequest:
    """Return the third fan-out: a required base item that the seal forbids."""
    note = base_item("note-of-the-spelling-reviewer", lineage=("call-of-the-spelling-reviewer",))
    return FanoutRequest(
        task_id=TASK_ID,
        instruction=INSTRUCTION,
        prompt=QUESTION,
        base=(base_item("paragraph"), note),
        branches=tuple(one.branch(ids) for one in tools),
        seal=Seal(forbidden_artifact_ids=frozenset({note.item_id})),
        source="demo",
    )


async def run_scene(
    engine: Engine,
    reviewers: list[Reviewer],
    ids: IdSource,
    on_step: Callable[[str, str], None],
) -> tuple[FanoutOutcome, ...]:
    """Run the four fan-outs on one engine and return how they ended.

    Args:
        engine: Opened on the demo's ledger.
        reviewers: The tools, and the local model where there is one.
        ids: Makes the call ids.
        on_step: Told the name of a branch and the step it reached.
    """
    tools = [one for one in reviewers if one.actor_kind == "tool"]
    first = await engine.run_fanout(review(reviewers, ids), on_step=on_step)
    async with line_that_breaks() as base_url:
        settings = {"kind": "openai", "base_url": base_url, "model": "nobody-answers"}
        broken = make_adapter("openai", settings)
        second = await engine.run_fanout(controls(tools, broken, ids), on_step=on_step)
    third = await engine.run_fanout(refusal(tools, ids), on_step=on_step)
    base = (base_item("paragraph"), base_item("sources"))
    fourth = await engine.run_fanout(checked(base, ids), on_step=on_step)
    return first, second, third, fourth


@asynccontextmanager
async def line_that_breaks() -> AsyncIterator[str]:
    """Serve a loopback address that takes a request whole and hangs up without an answer."""

    async def hang_up(stream: SocketStream) -> None:
        async with stream:
            request = b""
            while not _is_whole(request):
                request += await stream.receive()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, hang_up)
        yield f"http://127.0.0.1:{port}/v1"
        group.cancel_scope.cancel()
    await listener.aclose()


def _is_whole(request: bytes) -> bool:
    """Return whether an HTTP/1.1 request has arrived with as many bytes as it announced."""
    head, blank, body = request.partition(b"\r\n\r\n")
    if not blank:
        return False
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return len(body) >= int(value)
    return True


def ledger_path(folder: Path) -> Path:
    """Return the first of demo.db, demo-2.db, … that is not there yet: a record is never reused."""
    path, number = folder / "demo.db", 1
    while path.exists():
        number += 1
        path = folder / f"demo-{number}.db"
    return path
