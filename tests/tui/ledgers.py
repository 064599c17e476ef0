"""Ledgers for the app's tests: real files, the same bytes every time."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.ambient import FixedClock
from codeai_engine.ledger.writer import open_writer
from tests.engine.fanout_script import FanoutScript, Item

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from codeai_engine.domain.events import ArtifactDraft, EventDraft

SOURCE = Item("The bridge opened in 1932. It carries two lanes.\n", "source", lineage=())
DRAFT = Item("A sibling wrote: it opened in 1932.\n", "sibling's draft", ("fanout-1:call-plain",))
LOOSE = Item("A note of unknown origin.\n", "loose note")

HOSTILE = {
    "markup": "[/bad] [red]x[/red] [@click=app.exit]y[/] [b +",
    "escape": "\x1b[31mred\x1b[2J\x1b]52;c;aGFjaw==\x07\x1b[?2026l",
    "eight bit": "\x9b31m\x9d0;title\x9c",
    "bidi": "abc\u202edef\u2066ghi",
    "separators": "a\u2028b\u2029c\u0085d",
    "nul": "a\x00b",
    "return": "first\rsecond",
    "wide": "日本語 한국어 \uff21\uff22",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \u2764\ufe0f",
    "marks": "e\u0301 a" + "\u0300" * 30,
    "blank": "\u3164\u115f\u2800",
    "lone": "x\ud800y",
}


def write_ledger(
    path: Path, drafts: Sequence[EventDraft], artifacts: Sequence[ArtifactDraft] = ()
) -> Path:
    """Write one of our ledgers."""

    async def write() -> None:
        async with open_writer(path, clock=FixedClock()) as ledger:
            await ledger.append(list(drafts), list(artifacts))

    anyio.run(write)
    return path


def pilot_ledger(path: Path) -> Path:
    """Three fan-outs: three reviewers of which one falls in transport, a refusal, many branches."""
    first = FanoutScript(
        names=("careful", "plain", "terse"),
        base=(SOURCE, DRAFT, LOOSE),
        required=False,
        prompts={"terse": "Name one error."},
    )
    drafts = first.begin()
    drafts += first.succeeded("careful") + first.succeeded("plain")
    drafts += [*first.prepared("terse"), first.abandoned("terse", wire="sent")]
    drafts += [
        first.completed(
            "terse",
            status="failed",
            call_status="failed",
            raw_output=None,
            error="OSError: connection reset by peer",
            error_kind="transport",
        ),
        first.ended(["succeeded", "succeeded", "failed"]),
    ]
    second = FanoutScript(
        names=("left", "right"),
        base=(Item("Left wrote this.\n", "left's draft", ("fanout-2:call-left",)),),
        fanout_id="fanout-2",
    )
    drafts += second.begin()
    drafts += [*second.prepared("left"), *second.cancelled("left")]
    drafts += [second.ended(["cancelled", "failed"])]
    third = FanoutScript(
        names=tuple(f"r{number}" for number in range(1, 13)),
        base=(SOURCE,),
        rendered=False,
        fanout_id="fanout-3",
    )
    drafts += third.whole()
    scripts = (first, second, third)
    artifacts = {key: draft for script in scripts for key, draft in script.artifacts.items()}
    return write_ledger(path, drafts, tuple(artifacts.values()))


def empty_ledger(path: Path) -> Path:
    """A ledger of ours without an event."""
    return write_ledger(path, ())


def peer_like_ledger(path: Path, payloads: Sequence[tuple[str, str, str]]) -> Path:
    """A ledger in the peer's shape, of `(kind, stream, stored payload)`: any text at all."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE events (sequence INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT UNIQUE"
            " NOT NULL, stream_id TEXT NOT NULL, kind TEXT NOT NULL, actor_id TEXT NOT NULL,"
            " payload_json TEXT NOT NULL, created_at TEXT NOT NULL, causation_id TEXT,"
            " correlation_id TEXT)"
        )
        connection.execute("CREATE INDEX ix_events_stream ON events(stream_id, sequence)")
        connection.execute("CREATE INDEX ix_events_kind ON events(kind, sequence)")
        connection.executemany(
            "INSERT INTO events (event_id, stream_id, kind, actor_id, payload_json, created_at)"
            " VALUES (?, ?, ?, 'reviewer', ?, '2026-01-02T10:02:11.000000+00:00')",
            [(f"e{at}", stream, kind, text) for at, (kind, stream, text) in enumerate(payloads)],
        )
    return path


def hostile_ledger(path: Path) -> Path:
    """A ledger whose every text is one that breaks terminals, in every place that takes text."""
    everything = "\n".join(HOSTILE.values())
    plain = everything.encode("utf-8", "replace").decode("utf-8")
    names = [f"call{at} {text}" for at, text in enumerate(HOSTILE.values())]
    streams = [name.encode("utf-8", "replace").decode("utf-8") for name in names]
    fanout: dict[str, Any] = {
        "fanout_id": "fo\x1b[31m[/bad]",
        "task_id": plain,
        "call_ids": names,
        "base_prompt": everything,
        "input_provenance": everything,
        "base_offered": {"artifacts": 1},
    }
    payloads = [("fanout.requested", "fo\x1b[31m[/bad]", json.dumps(fanout))]
    for name, stream in zip(names, streams, strict=True):
        request = {
            "call_id": name,
            "task_id": everything,
            "actor": {"actor_id": everything, "kind": everything},
            "context": {"prompt": everything, "task_id": "t"},
            "idempotency_key": name,
            "metadata": {"fanout_id": "fo\x1b[31m[/bad]", "branch": name},
            "variant": {"model": everything},
            "instruction": everything,
        }
        done = {"call_id": name, "status": "succeeded", "raw_output": everything, "error": name}
        payloads += [
            ("call.requested", stream, json.dumps(request)),
            ("call.completed", stream, json.dumps(done)),
        ]
    payloads += [
        (plain, plain, json.dumps({plain: everything})),
        ("odd.raw", "raw", plain),
        ("odd.nan", "nan", '{"score": NaN, "order": 900719925474099267, "order": 1e400}'),
        ("odd.long", "long", json.dumps({"line": "x" * 1_000_000})),
        ("odd.deep", "deep", "[" * 50_000),
        ("call.completed", "unread", '{"call_id": 7, "status": ["x"]}'),
    ]
    return peer_like_ledger(path, payloads)
