"""Which events are a fan-out's, in the peer's ledgers, whose call ids may be used again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from codeai_engine.ledger.reader import open_ledger
from codeai_engine.queries.views import read_attempts, read_fanout, read_fanouts
from codeai_engine.rules.fold import Circumstances, fold_events, view_fanout
from tests.engine.fanout_script import FanoutScript, HeldSources, rows_of, with_payload

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.events import EventDraft

PEER_TABLE = """
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT UNIQUE NOT NULL,
    stream_id TEXT NOT NULL, kind TEXT NOT NULL, actor_id TEXT NOT NULL,
    payload_json TEXT NOT NULL, created_at TEXT NOT NULL, causation_id TEXT, correlation_id TEXT);
CREATE INDEX ix_events_stream ON events (stream_id, sequence);
CREATE INDEX ix_events_kind ON events (kind, sequence);
"""


def write_peer(path: Path, drafts: list[EventDraft]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(PEER_TABLE)
        connection.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    row.sequence,
                    row.event_id,
                    row.stream_id,
                    row.kind,
                    row.actor_id,
                    row.payload_json,
                    row.created_at,
                    row.causation_id,
                    row.correlation_id,
                )
                for row in rows_of(drafts)
            ],
        )
    return path


def test_a_call_id_used_again_in_a_later_fanout_counts_in_each_by_itself(tmp_path: Path) -> None:
    one = FanoutScript(names=("A", "B"), fanout_id="one", call_prefix="reused")
    two = FanoutScript(names=("A", "B"), fanout_id="two", call_prefix="reused")
    drafts = [*one.whole(), *two.begin(), *two.succeeded("A"), two.ended(["succeeded", "failed"])]
    with open_ledger(write_peer(tmp_path / "l.sqlite", drafts)) as ledger:
        assert ledger.origin == "peer"
        first, second = read_fanout(ledger, "one"), read_fanout(ledger, "two")
    assert [branch.requested for branch in first.branches] == [1, 1]
    assert [branch.requested for branch in second.branches] == [1, 0]
    assert [branch.attempts_completed for branch in second.branches] == [1, 0]
    assert second.branches[1].status == "failed"
    assert second.branches[1].output is None


def test_a_killed_fanout_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    killed = FanoutScript(names=("A", "B"), fanout_id="killed", call_prefix="reused")
    again = FanoutScript(names=("A", "B"), fanout_id="again", call_prefix="reused")
    drafts = [*killed.begin(), *killed.prepared("A"), *again.whole()]
    path = write_peer(tmp_path / "l.sqlite", drafts)
    with sqlite3.connect(path) as other:  # a writer is there, so the file itself says nothing
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("INSERT INTO events VALUES (NULL, 'x', 'x', 'note', 'x', '{}', '', '', '')")
        other.commit()
        with open_ledger(path) as ledger:
            assert ledger.mode == "LIVE"
            first = read_fanout(ledger, "killed")
            orphan = read_attempts(ledger, orphans_only=True).items[0]
            listed = read_fanouts(ledger).items[1]
    other.close()
    assert (first.summary.completed, first.summary.statuses) == (False, None)
    assert [branch.completions for branch in first.branches] == [0, 0]
    assert (orphan.fanout_id, orphan.orphan, orphan.running) == ("killed", True, False)
    assert (listed.fanout_id, listed.orphans, listed.running) == ("killed", 1, 0)


def test_the_first_completion_of_the_peers_counts_and_a_stray_one_does_not(
    tmp_path: Path,
) -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.whole(), script.ended(["failed"])]
    with open_ledger(write_peer(tmp_path / "l.sqlite", drafts)) as ledger:
        assert read_fanout(ledger, "fanout-1").summary.statuses == ("succeeded",)
        assert read_fanouts(ledger).items[0].statuses == ("succeeded",)


def test_a_replayed_branch_names_the_call_that_it_was_answered_from() -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), *script.succeeded("A"), script.ended()]
    rows = list(rows_of(drafts))
    text = '{"requested_call_id":"fanout-1:call-B","original_call_id":"call-of-yesterday"}'
    replayed = replace(rows[4], sequence=90, event_id="r", kind="call.replayed", stream_id="other")
    fanout = view_fanout(
        fold_events([*rows, with_payload(replayed, text)]), HeldSources(), Circumstances()
    )
    b = fanout.branches[1]
    assert (b.replayed_from, b.status, b.completions) == ("call-of-yesterday", "succeeded", 0)
    assert b.nothing_sent is True
    assert "answered from an earlier one" in b.missing[0]
