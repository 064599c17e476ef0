"""Drafts and ledgers for the tests of the ledger: a valid one with one thing changed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.ambient import FixedClock, FixedIds
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.ledger.writer import open_writer

if TYPE_CHECKING:
    from codeai_engine.domain.view import EventRow
    from codeai_engine.ledger.reader import LedgerReader

ROOT = Path(__file__).resolve().parents[3]
_SERIES = count(1)


def new_ids() -> FixedIds:
    """Return ids that no other test of this process has."""
    return FixedIds(next(_SERIES))


IDS = new_ids()


def draft(**own: Any) -> EventDraft:
    fields: dict[str, Any] = {
        "event_id": IDS.new_id(),
        "stream_id": "stream-1",
        "kind": "note.made",
        "actor_id": "actor-1",
        "payload": {"text": "hello"},
    }
    return EventDraft(**(fields | own))


def source(content: bytes = b"some text", **own: Any) -> ArtifactDraft:
    fields: dict[str, Any] = {"artifact_type": "source", "media_type": "text/plain"}
    return ArtifactDraft(content, **(fields | own))


async def write(path: Path, *drafts: EventDraft, artifacts: Any = ()) -> tuple[EventRow, ...]:
    """Append drafts as one batch to a ledger, made where there is none, and close it."""
    async with open_writer(path, clock=FixedClock()) as ledger:
        return await ledger.append(drafts, artifacts)


def make(path: Path, *drafts: EventDraft, artifacts: Any = ()) -> Path:
    """Make a ledger from a test that is not async."""
    anyio.run(lambda: write(path, *drafts, artifacts=artifacts))
    return path


def tamper(path: Path, script: str) -> None:
    """Run SQL on a ledger as someone would who has dropped its triggers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in names.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(script)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def folder_facts(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return names, sizes, times and modes of everything in a folder and of the folder itself."""
    places = {".": folder} | {str(path): path for path in sorted(folder.rglob("*"))}
    found = {name: path.stat() for name, path in places.items()}
    return {name: (at.st_size, at.st_mtime_ns, at.st_mode) for name, at in found.items()}


def read_everything(ledger: LedgerReader) -> int:
    """Ask every question that a reader answers; return how many events there are."""
    rows = ledger.rows(limit=10_000)
    page = ledger.summaries(limit=1_000)
    ledger.summaries(kind="attempt.*")
    ledger.kind_counts()
    ledger.open_attempts()
    ledger.has_changed()
    for row in rows[:5]:
        ledger.stream(row.stream_id)
        ledger.of_kind(row.kind)
        ledger.event_by_id(row.event_id)
    for artifact in ledger.artifacts():
        ledger.artifact_bytes(artifact.artifact_id)
    assert [item.sequence for item in page.items] == [row.sequence for row in rows[-1_000:]]
    assert ledger.last_sequence() == ledger.info().last_sequence
    return len(rows)


def environment() -> dict[str, str]:
    """Return an environment in which a child finds the packages, wherever it runs."""
    return os.environ | {"PYTHONPATH": str(ROOT)}


def run_child(
    script: str, *arguments: str, limit_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter; the limit only ends what would hang for ever."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
