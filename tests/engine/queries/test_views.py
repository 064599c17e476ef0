"""The queries over ledgers that our own writer made: bounded reads, pages, and what is running."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.writer import open_writer
from codeai_engine.queries.views import (
    read_artifact_facts,
    read_attempts,
    read_event,
    read_events,
    read_fanout,
    read_fanouts,
    read_kinds,
    read_overview,
    read_packages,
    read_unattached,
    read_unfinished_calls,
)
from codeai_engine.rules.fold import Circumstances, fold_events, view_fanout
from tests.engine.fanout_script import PARAGRAPH, FanoutScript, Item, rows_of, sources_of
from tests.peers import needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from codeai_engine.domain.events import ArtifactDraft, EventDraft


async def write(
    path: Path, drafts: Sequence[EventDraft], artifacts: Iterable[ArtifactDraft] = ()
) -> Path:
    async with open_writer(path, clock=FixedClock()) as ledger:
        await ledger.append(drafts, tuple(artifacts))
    return path


async def write_whole(path: Path, *scripts: FanoutScript) -> Path:
    drafts = [draft for script in scripts for draft in script.whole()]
    artifacts = {key: draft for script in scripts for key, draft in script.artifacts.items()}
    return await write(path, drafts, artifacts.values())


async def test_a_fanout_read_from_the_file_is_the_one_folded_from_its_rows(tmp_path: Path) -> None:
    script = FanoutScript()
    rows = rows_of(script.whole())
    folded = view_fanout(
        fold_events(rows), sources_of(script), Circumstances("pilot.db", is_closed=True)
    )
    again = FanoutScript()
    path = await write_whole(tmp_path / "pilot.db", again)
    with open_ledger(path) as ledger:
        read = read_fanout(ledger, "fanout-1")
    assert read.branches == folded.branches
    assert (read.level, read.shared, read.notes) == ("wire-observed", folded.shared, ())


async def test_interleaved_fanouts_of_two_processes_keep_their_events_apart(
    tmp_path: Path,
) -> None:
    one, two = FanoutScript(fanout_id="one"), FanoutScript(fanout_id="two")
    drafts = [*one.begin(), *two.begin()]
    for name in "ABC":
        drafts += [*one.prepared(name), *two.prepared(name)]
    for name in "CBA":
        drafts += [*two.answered(name), *one.answered(name)]
    drafts += [two.ended(), one.ended()]
    path = await write(tmp_path / "l.db", drafts, one.artifacts.values())
    with open_ledger(path) as ledger:
        for fanout_id in ("one", "two"):
            fanout = read_fanout(ledger, fanout_id)
            assert [branch.attempts_started for branch in fanout.branches] == [1, 1, 1]
            assert fanout.level == "wire-observed"
        assert [s.fanout_id for s in read_fanouts(ledger).items] == ["two", "one"]


async def test_one_fanout_costs_the_same_reads_however_large_the_ledger(tmp_path: Path) -> None:
    reads = []
    for count in (1, 8):
        scripts = [FanoutScript(fanout_id=f"f-{number:02}") for number in range(count)]
        path = await write_whole(tmp_path / f"{count}.db", *scripts)
        with open_ledger(path) as ledger:
            before = ledger.rows_read
            read_fanout(ledger, "f-00")
            reads.append(ledger.rows_read - before)
    assert reads[0] == reads[1]


async def test_an_attempt_runs_while_its_writer_is_there_and_rests_with_the_file(
    tmp_path: Path,
) -> None:
    script = FanoutScript(names=("A",))
    path = tmp_path / "l.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append(
            [*script.begin(), *script.prepared("A")], tuple(script.artifacts.values())
        )
        live = await asyncio.to_thread(_look, path)
    assert live == (1, 0, True)
    assert _look(path) == (0, 1, False)  # resting: nothing has the file open to write


def _look(path: Path) -> tuple[int, int, bool]:
    with open_ledger(path) as ledger:
        overview = read_overview(ledger)
        summary = read_fanouts(ledger).items[0]
        attempt = read_attempts(ledger, orphans_only=True).items[0]
        opened = read_fanout(ledger, summary.fanout_id)
    assert (summary.running, summary.orphans) == (overview.running, overview.orphans)
    assert opened.summary == summary
    assert opened.branches[0].attempts[0] == attempt
    return overview.running, overview.orphans, attempt.running


@pytest.mark.parametrize("end", ["abandoned", "call", "fanout", "session"])
async def test_an_attempt_stops_running_when_something_ended_it(tmp_path: Path, end: str) -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A")]
    drafts.append(
        {
            "abandoned": script.abandoned("A"),
            "call": script.completed("A", status="failed", raw_output=None),
            "fanout": script.ended(["failed"]),
            "session": script.session_ended(),
        }[end]
    )
    path = tmp_path / "l.db"
    async with open_writer(path, clock=FixedClock()) as writer:
        await writer.append(drafts, tuple(script.artifacts.values()))
        assert await asyncio.to_thread(_look, path) == (0, 1, False)


async def test_attempts_know_their_call_their_branch_and_their_wire(tmp_path: Path) -> None:
    script = FanoutScript()
    path = await write_whole(tmp_path / "l.db", script)
    with open_ledger(path) as ledger:
        newest = read_attempts(ledger, limit=2)
        rest = read_attempts(ledger, before=newest.next_cursor, limit=2)
    first = newest.items[0]
    assert (first.branch, first.fanout_id, first.wire_matches) == ("C", "fanout-1", True)
    assert first.call_has_completion is True
    found = [attempt.branch for attempt in (*newest.items, *rest.items)]
    assert (found, rest.next_cursor) == (["C", "B", "A"], None)


async def test_pages_of_fanouts_list_each_once_newest_first(tmp_path: Path) -> None:
    scripts = [FanoutScript(names=("A",), fanout_id=f"f-{number}") for number in range(5)]
    path = await write_whole(tmp_path / "l.db", *scripts)
    found: list[str] = []
    with open_ledger(path) as ledger:
        before = None
        while True:
            page = read_fanouts(ledger, before=before, limit=2)
            found += [summary.fanout_id for summary in page.items]
            before = page.next_cursor
            if before is None:
                break
    assert found == ["f-4", "f-3", "f-2", "f-1", "f-0"]


async def test_an_id_may_be_a_unique_prefix_and_an_ambiguous_one_lists_candidates(
    tmp_path: Path,
) -> None:
    scripts = [FanoutScript(names=("A",), fanout_id=name) for name in ("aa-1", "aa-2", "b-1")]
    path = await write_whole(tmp_path / "l.db", *scripts)
    with open_ledger(path) as ledger:
        assert read_fanout(ledger, "b").summary.fanout_id == "b-1"
        assert read_fanout(ledger, "aa-1").summary.fanout_id == "aa-1"
        with pytest.raises(LedgerError, match="aa-2, aa-1"):
            read_fanout(ledger, "aa")
        with pytest.raises(LedgerError, match="no fan-out zz") as unknown:
            read_fanout(ledger, "zz")
        assert "b-1" in unknown.value.hint


async def test_an_empty_ledger_has_an_overview_and_no_fanouts(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with open_writer(path, clock=FixedClock()):
        pass
    with open_ledger(path) as ledger:
        overview = read_overview(ledger)
        assert read_fanouts(ledger).items == ()
        assert read_events(ledger).items == ()
        assert read_unfinished_calls(ledger).items == ()
        with pytest.raises(LedgerError, match="no fan-out x") as unknown:
            read_fanout(ledger, "x")
        assert "no fan-outs" in unknown.value.hint
        with pytest.raises(LedgerError, match="no event 7") as missing:
            read_event(ledger, 7)
        assert "no events" in missing.value.hint
    assert (overview.total_fanouts, overview.attempts, overview.orphans) == (0, 0, 0)
    assert set(overview.levels.values()) == {0}


async def test_the_overview_counts_levels_digests_and_what_it_does_not_know(
    tmp_path: Path,
) -> None:
    note = Item("found somewhere\n", "note")
    rendered = FanoutScript(fanout_id="r", base=(PARAGRAPH, note))
    selection = FanoutScript(fanout_id="s", rendered=False)
    path = await write_whole(tmp_path / "l.db", rendered, selection)
    with open_ledger(path) as ledger:
        whole = read_overview(ledger)
        newest = read_overview(ledger, newest_fanouts=1)
        assert dict(read_kinds(ledger))["fanout.requested"] == 2
    assert whole.levels == {"selection blind": 2, "final-input blind": 1, "wire-observed": 1}
    assert (whole.branches, whole.digests_mismatched, whole.digests_absent) == (6, 0, 0)
    # Five digests of a rendered branch, two items, three parts; four of a selection record.
    assert whole.digests_matched == 3 * (5 + 2 + 3) + 3 * 4
    assert whole.unknown_provenance == 1
    assert (newest.fanouts, newest.total_fanouts) == (1, 2)
    assert newest.levels["final-input blind"] == 0


async def test_endings_of_branches_are_counted_apart(tmp_path: Path) -> None:
    script = FanoutScript(
        names=("A", "B", "C", "D"),
        base=(PARAGRAPH, Item("A said so.\n", lineage=("fanout-1:call-D",))),
    )
    script.names = ("A", "B", "D")
    drafts = script.begin()  # A and B are refused: the required item is of their sibling D
    drafts += [*script.cancelled("D"), script.ended(["failed", "failed", "cancelled"])]
    path = await write(tmp_path / "l.db", drafts, script.artifacts.values())
    with open_ledger(path) as ledger:
        overview = read_overview(ledger)
    assert (overview.refused_branches, overview.failed_branches) == (2, 0)
    assert overview.cancelled_branches == 1


async def test_artifacts_are_looked_at_a_range_at_a_time(tmp_path: Path) -> None:
    path = await write_whole(tmp_path / "l.db", FanoutScript())
    with open_ledger(path) as ledger:
        whole = read_artifact_facts(ledger)
        first = read_artifact_facts(ledger, limit=1)
        assert first.next_cursor is not None
        rest = read_artifact_facts(ledger, after=first.next_cursor)
    assert (whole.missing, whole.corrupt, whole.next_cursor) == ((), (), None)
    assert first.examined + rest.examined == whole.examined == whole.intact
    assert dict(whole.by_type)["prepared_body"] == 1  # three branches, one body


async def test_compilations_are_paged_in_order(tmp_path: Path) -> None:
    path = await write_whole(tmp_path / "l.db", FanoutScript())
    with open_ledger(path) as ledger:
        first = read_packages(ledger, limit=2)
        assert first.next_cursor is not None
        rest = read_packages(ledger, after=first.next_cursor, limit=2)
    assert [package.sequence for package in (*first.items, *rest.items)] == [2, 3, 4]
    assert rest.next_cursor is None


async def test_an_event_without_its_cause_is_found_a_range_at_a_time(tmp_path: Path) -> None:
    script = FanoutScript(names=("A",))
    drafts = script.whole()
    late = drafts.pop(1)  # before its request is there, nothing names it
    stray = script.completed("A")
    object.__setattr__(stray, "causation_id", "no-such-event")
    path = await write(tmp_path / "l.db", [*drafts, late, stray], script.artifacts.values())
    with open_ledger(path) as ledger:
        assert [row.event_id for row in read_unattached(ledger).items] == [stray.event_id]
        none = read_unattached(ledger, limit=5)
        assert (none.items, none.next_cursor) == ((), 5)


async def test_calls_without_an_end_are_found(tmp_path: Path) -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), *script.succeeded("A"), *script.prepared("B")]
    path = await write(tmp_path / "l.db", drafts, script.artifacts.values())
    with open_ledger(path) as ledger:
        calls = [row.stream_id for row in read_unfinished_calls(ledger).items]
    assert calls == [script.call_id("B")]


@needs_peer_ledgers
def test_no_list_reads_the_whole_ledger() -> None:
    with open_ledger(peer_ledger("big_500")) as ledger:
        events = ledger.info().event_count

        def cost(query: object) -> int:
            before = ledger.rows_read
            assert callable(query)
            query()
            return ledger.rows_read - before

        assert cost(lambda: read_events(ledger, limit=20)) <= 21
        assert cost(lambda: read_fanouts(ledger, limit=3)) < events // 10
        assert cost(lambda: read_attempts(ledger, limit=3)) < events // 5
        assert cost(lambda: read_overview(ledger, newest_fanouts=0)) < events // 10
        assert cost(lambda: read_fanout(ledger, "c448fede")) < events // 3


def test_lists_load_neither_pydantic_nor_a_writer(tmp_path: Path) -> None:
    path = asyncio.run(write_whole(tmp_path / "l.db", FanoutScript()))
    program = (
        "import sys\n"
        "from codeai_engine.ledger.reader import open_ledger\n"
        "from codeai_engine.queries import views\n"
        "with open_ledger(sys.argv[1]) as ledger:\n"
        "    views.read_events(ledger), views.read_kinds(ledger), views.read_event(ledger, 1)\n"
        "    views.read_artifact_facts(ledger), views.read_unattached(ledger)\n"
        "    heavy = {'pydantic', 'aiosqlite', 'anyio', 'codeai_engine.domain.events'}\n"
        "    print(sorted(heavy & set(sys.modules)))\n"
        "    print(len(views.read_fanouts(ledger).items), 'pydantic' in sys.modules)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert child.stdout.splitlines() == ["[]", "1 True"]
