"""What the reference peer gets wrong, and ours must not: a test for each line it concerns.

The numbers are those of the list of the peer's defects; those of checks and claims come with them.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_ledger, read_fanout, read_fanouts
from codeai_engine.domain.context import Actor, Candidate, Seal
from codeai_engine.errors import PayloadRefused, SpecError
from codeai_engine.rules.compile import CompileRequest, compile_package
from codeai_engine.rules.render import rendered_item_bytes, size_tokens
from tests.engine.runtime.doubles import (
    FakeProvider,
    branch,
    fanout,
    item,
    payloads,
    raising,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path


async def test_1_an_unknown_effect_is_visible_and_its_key_is_not_sent_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    reached = FakeProvider(raising(TimeoutError("deadline")))
    (outcome,) = await run_on(path, fanout(branch("A", reached)))
    with open_ledger(path) as ledger:
        (view,) = read_fanout(ledger, outcome.fanout_id).branches
    assert [attempt.orphan for attempt in view.attempts] == [True]
    assert payloads(path, "call.completed")[0]["idempotency_key"] == "call-A"
    with pytest.raises(SpecError):
        await run_on(path, fanout(branch("again", reached, call_id="call-A")), series=1)
    assert len(reached.seen) == 1


async def test_2_an_interrupt_is_contained_and_the_fanout_completes(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    await run_on(path, fanout(branch("A", FakeProvider(raising(KeyboardInterrupt()))), branch("B")))
    assert payloads(path, "fanout.completed")[0]["statuses"] == ["failed", "succeeded"]


async def test_3_a_malformed_branch_is_a_failed_branch(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    (outcome,) = await run_on(path, fanout(branch("A", actor=7), branch("B", object())))
    assert outcome.statuses == ["failed", "failed"]
    assert len(payloads(path, "fanout.completed")) == 1


async def test_4_successes_are_counted_from_the_statuses(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    await run_on(path, fanout(branch("A"), branch("B"), branch("C")))
    with open_ledger(path) as ledger:
        (summary,) = read_fanouts(ledger).items
    assert summary.statuses == ("succeeded",) * 3


async def test_5_a_repeated_call_id_is_refused_and_every_sibling_is_forbidden(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    with pytest.raises(SpecError, match="used 2 times"):
        await run_on(path, fanout(branch("A", call_id="x"), branch("B", call_id="x")))
    assert not path.exists()
    await run_on(path, fanout(branch("A"), branch("B"), branch("C")))
    for compiled in payloads(path, "context.compiled"):
        siblings = sorted({"call-A", "call-B", "call-C"} - {compiled["call_id"]})
        assert compiled["seal"]["forbidden_call_ids"] == siblings
        assert compiled["seal"]["forbidden_lineage_ids"] == siblings


async def test_6_an_empty_required_list_filters_instead_of_refusing(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    note = item("From B.", lineage=("call-B",))
    (outcome,) = await run_on(
        path, fanout(branch("A"), branch("B"), base=(note,), required=frozenset())
    )
    assert outcome.statuses == ["succeeded", "succeeded"]
    a, b = payloads(path, "context.compiled")
    assert (a["excluded_ids"], b["included_ids"]) == ([note.item_id], [note.item_id])


def test_9_a_forbidden_artifact_does_not_enter_through_an_event_that_names_it() -> None:
    event = Candidate("event", "ev-1", frozenset({"secret-artifact"}))
    seal = Seal(forbidden_artifact_ids=frozenset({"secret-artifact"}))
    compilation = compile_package(CompileRequest("t", Actor("r"), "p", (event,), seal))
    assert compilation.package.event_ids == ()
    (entry,) = compilation.trace
    assert entry.reason.startswith("excluded because seal forbids artifact")
    assert "secret-artifact" in entry.reason


async def test_10_an_unknown_number_is_null(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    await run_on(path, fanout(branch("A", FakeProvider(raising(OSError("reset"))))))
    (done,) = payloads(path, "call.completed")
    assert done["input_tokens"] is done["total_input_tokens"] is None
    assert done["usage_source"] is None


async def test_11_a_refused_compilation_leaves_seal_reasons_and_its_own_event(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    note = item("From B.", lineage=("call-B",))
    await run_on(path, fanout(branch("A"), branch("B"), base=(note,)))
    (failed,) = payloads(path, "context.compilation_failed")
    assert failed["seal"]["forbidden_lineage_ids"] == ["call-B"]
    assert failed["trace"][0]["reason"] == ("excluded because seal forbids call lineage ['call-B']")


async def test_13_nan_and_lone_surrogates_are_refused_with_their_path(tmp_path: Path) -> None:
    for bad in (float("nan"), "\ud800", 2**53):
        with pytest.raises(SpecError, match=r"branch 'A'\.variant\.x"):
            await run_on(tmp_path / "l.db", fanout(branch("A", variant={"x": bad})))
    assert PayloadRefused("$.x", "why").json_path == "$.x"


async def test_14_16_bytes_stand_in_the_file_and_no_path_of_the_writer_does(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    await run_on(path, fanout(branch("A")))
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        rows = database.execute(
            "SELECT uri, byte_length, length(bytes) FROM artifacts JOIN artifact_bytes USING"
            " (artifact_id)"
        ).fetchall()
        (texts,) = database.execute("SELECT group_concat(payload_json) FROM events").fetchone()
    assert rows
    assert all(uri is None and size == stored for uri, size, stored in rows)
    assert str(tmp_path) not in texts
    assert os.listdir(tmp_path) == ["l.db"]  # noqa: PTH208 - not awaited, a test


async def test_15_the_type_that_counts_is_the_one_in_the_event(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    # The answer equals the base item, which was stored first, as a source.
    await run_on(path, fanout(branch("A"), base=(item("ok"),)))
    (done,) = payloads(path, "call.completed")
    with open_ledger(path) as ledger:
        row = ledger.artifact(done["output_artifact"]["sha256"])
    assert row is not None
    assert row.artifact_type == "source"
    assert done["output_artifact"]["artifact_type"] == "raw_model_output"


async def test_17_one_key_runs_once_even_when_two_engines_start_it(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    provider = FakeProvider()
    await run_on(path, fanout(branch("A", provider)))
    with pytest.raises(SpecError, match="already in the ledger"):
        await run_on(path, fanout(branch("B", provider, call_id="call-A")), series=1)
    assert len(provider.seen) == 1


async def test_19_the_tasks_own_stream_has_its_creation(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    await run_on(path, fanout(branch("A")), fanout(branch("B")))
    with open_ledger(path) as ledger:
        assert [row.kind for row in ledger.stream("task-1")] == ["task.created"]


def compiled(budget: int | None) -> dict[str, str]:
    candidates = tuple(
        Candidate("artifact", name, size_tokens=size)
        for name, size in (("a", 5), ("b", 50), ("c", 4))
    )
    request = CompileRequest("t", Actor("r"), "p", candidates, Seal(), budget_tokens=budget)
    return {entry.candidate_id: entry.reason for entry in compile_package(request).trace}


def test_20_the_trace_says_whether_there_is_a_budget_and_what_used_it_up() -> None:
    assert set(compiled(None).values()) == {"included, no budget"}
    reasons = compiled(10)
    assert reasons["a"] == reasons["c"] == "included within budget"
    assert reasons["b"].startswith("excluded because budget")
    assert all(part in reasons["b"] for part in ("50", "5 ", "a"))


def test_21_a_size_is_that_of_the_rendered_item() -> None:
    content = "naïve".encode()
    rendered = rendered_item_bytes("claim", "c-1", content)
    assert size_tokens("claim", "c-1", len(content)) == -(-len(rendered) // 4)
