"""A ledger of real checks for the app's tests: commands that are run, bytes that are bound."""

from __future__ import annotations

from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.ambient import FixedClock, FixedIds
from codeai_engine.domain.check import CheckRequest, ExitCodePolicy
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.ledger.writer import open_writer
from codeai_engine.runtime.check import record_claim, run_check
from codeai_engine.runtime.record import RunContext
from codeai_engine.verifiers.state import FileDigest, file_digest
from tests.tui.ledgers import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAFT = ArtifactDraft(b"The bridge opened in 1932.\n", "output", "text/plain")
LOST = ArtifactDraft(b"never stored\n", "output", "text/plain")
CLAIMS = (
    ("dated", "The paragraph names a year."),
    ("clean", "No TODO is left in the notes."),
    ("spelled", "Every word is spelled right."),
    ("linked", "Every link answers."),
    ("looked-at", "The output was read to its end."),
    ("untested", "It reads well."),
)
GREP_TODO = ("sh", "-c", "! grep TODO notes.md")
OPEN_CHECK = "k-open"


def target(draft: ArtifactDraft) -> str:
    return f"artifact:sha256:{draft.artifact_id}"


def checks_ledger(path: Path) -> Path:
    """Claims that real checks support, refute, cannot settle and never reach."""
    with chdir(path.parent):  # so that no folder's name is in the record
        anyio.run(_write_checks, path)
    return path


async def _write_checks(path: Path) -> None:
    clock, notes = FixedClock(), Path("notes.md")
    await anyio.Path(notes).write_text("TODO: a source\n", "utf-8")
    async with open_writer(path, clock=clock) as ledger:
        run = RunContext(ledger, clock, FixedIds(), "session-1")
        for claim_id, statement in CLAIMS:
            await _claim(run, claim_id, statement)
        check = partial(_check, run)
        dated = ("sh", "-c", 'grep -n 1932 "$1"', "sh", "{artifact}")
        await check("k-dated", dated, ("dated",), target=target(DRAFT), subject=DRAFT)
        clean = partial(check, claims=("clean",), notes=notes)
        await clean("k-todo", GREP_TODO)
        await anyio.Path(notes).write_text("A source.\n", "utf-8")
        await clean("k-other", ("true",))  # another command's PASS is no repair
        await clean("k-repaired", GREP_TODO)
        await clean("k-stale", GREP_TODO, target_state_hash="0" * 64)
        policy = ExitCodePolicy((0,), (1,), (2,))
        await check(
            "k-unsure",
            ("sh", "-c", "echo the speller is not here >&2; exit 2"),
            ("spelled",),
            verdict_policy=policy,
        )
        reach = ("sh", "-c", 'cat "$1"', "sh", "{artifact}")
        await check("k-lost", reach, ("linked",), target=target(LOST))
        blind = ("sh", "-c", "exit 0", "sh", "{artifact}")
        await check("k-blind", blind, ("looked-at", "nobody"), target=target(DRAFT))
        await check("k-label", ("true",), ("looked-at",), target=target(DRAFT))
        await check("k-loose", ("true",), ())
        await ledger.append([_request(OPEN_CHECK, run)])


async def _claim(run: RunContext, claim_id: str, statement: str) -> None:
    await record_claim(
        run,
        claim_id=claim_id,
        task_id="review",
        statement=statement,
        source_call_id="call-A",
        actor_id="reviewer_A",
    )


async def _check(
    run: RunContext,
    check_id: str,
    command: Sequence[str],
    claims: Sequence[str],
    *,
    subject: ArtifactDraft | None = None,
    notes: Path | None = None,
    **own: Any,
) -> None:
    if notes is not None:
        own = {"target_state_hash": file_digest(notes)} | own
        own["state"] = {"resolver": "file", "path": "notes.md"}
    request = CheckRequest(check_id, "review", tuple(claims), tuple(command), **own)
    resolver = FileDigest(notes) if notes is not None else None
    await run_check(request, run, resolver=resolver, subject=subject)


def _request(check_id: str, run: RunContext) -> EventDraft:
    payload = {"check_id": check_id, "command": ["sleep", "1"], "claim_ids": ["untested"]}
    return EventDraft(run.ids.new_id(), check_id, "check.requested", "runtime", payload)


def hostile_checks(path: Path) -> Path:
    """Claims and checks whose every text is one that breaks terminals."""
    anyio.run(_write_hostile, path)
    return path


async def _write_hostile(path: Path) -> None:
    everything = "\n".join(HOSTILE.values()).encode("utf-8", "replace").decode("utf-8")
    clock = FixedClock()
    async with open_writer(path, clock=clock) as ledger:
        ids = FixedIds()
        for at, text in enumerate([*HOSTILE.values(), everything]):
            said = text.encode("utf-8", "replace").decode("utf-8")
            name = f"{at} {said}"
            recorded = {"claim_id": name, "statement": said, "status": said, "evidence_class": said}
            asked: dict[str, Any] = {
                "check_id": name,
                "command": [said, said],
                "claim_ids": [name],
                "cwd": said,
            }
            asked |= {"target": said, "environment": {said: said}, "state": {"resolver": said}}
            done: dict[str, Any] = {
                "check_id": name,
                "verdict": said,
                "stdout": said,
                "stderr": said,
            }
            done |= {"error": said, "binding_status": said, "artifact_binding_status": said}
            tried = {"claim_id": name, "check_id": name}
            request_id = ids.new_id()
            await ledger.append(
                [
                    EventDraft(ids.new_id(), name, "claim.recorded", said, recorded),
                    EventDraft(request_id, name, "check.requested", said, asked),
                    EventDraft(ids.new_id(), name, "check.completed", said, done, request_id),
                    EventDraft(ids.new_id(), name, "claim.verification_attempted", said, tried),
                    EventDraft(ids.new_id(), name, "claim.evidence", said, recorded | tried),
                ]
            )
