"""A fan-out ends with a status for every branch, whatever its branches do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from codeai_engine import open_ledger, read_fanout
from codeai_engine.adapters.base import (
    Interpretation,
    Observation,
    PreparedRequest,
    Wire,
)
from codeai_engine.domain.context import Seal
from codeai_engine.errors import PrepareError, ProviderError, SendError, SpecError
from tests.engine.runtime.doubles import (
    FakeProvider,
    answering,
    branch,
    completion,
    fanout,
    item,
    kinds_of,
    payloads,
    raising,
    rows_of,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path


async def never(_request: PreparedRequest, wire: Wire) -> bytes:
    await wire.sending()
    wire.sent()
    await anyio.sleep_forever()
    return b""


async def test_one_rendered_branch_writes_its_events_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await run_on(path, fanout(branch("A")))
    assert kinds_of(rows_of(path)) == [
        "session.started",
        "task.created",
        "fanout.requested",
        "context.compiled",
        "call.requested",
        "call.manifest",
        "attempt.started",
        "attempt.sending",
        "attempt.observed",
        "attempt.interpreted",
        "attempt.completed",
        "call.status_decided",
        "call.completed",
        "fanout.completed",
        "session.ended",
    ]


async def test_an_os_error_a_timeout_and_a_success_end_with_three_statuses(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(
        path,
        fanout(
            branch("A", FakeProvider(raising(OSError("connection reset")))),
            branch("B", FakeProvider(never), timeout_s=0.05),
            branch("C", FakeProvider(answering(b"fine"))),
        ),
    )
    assert outcome.statuses == ["failed", "failed", "succeeded"]
    assert payloads(path, "fanout.completed")[0]["statuses"] == ["failed", "failed", "succeeded"]
    assert completion(path, "A")["error"] == "OSError: connection reset"
    assert completion(path, "B")["error_kind"] == "timeout"
    assert completion(path, "C")["raw_output"] == "fine"


async def test_a_failure_after_the_bytes_left_is_an_orphan_that_is_explained(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    await run_on(path, fanout(branch("A", FakeProvider(raising(OSError("reset")))), branch("B")))
    (abandoned,) = payloads(path, "attempt.abandoned")
    assert (abandoned["wire"], abandoned["by"]) == ("sent", "guard")
    with open_ledger(path) as ledger:
        assert [attempt for attempt, _ in ledger.open_attempts()] == [abandoned["attempt_id"]]


async def test_a_failure_before_any_byte_completes_its_attempt(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    error = SendError("no route", error_kind="connect")
    await run_on(path, fanout(branch("A", FakeProvider(raising(error, after="nothing")))))
    (completed,) = payloads(path, "attempt.completed")
    assert (completed["status"], completed["wire"]) == ("failed", "not_sent")
    assert not payloads(path, "attempt.sending")
    with open_ledger(path) as ledger:
        assert ledger.open_attempts() == ()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), BaseException("odd"), ValueError]
)
async def test_every_kind_of_exception_is_contained_in_its_branch(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(
        path, fanout(branch("A", FakeProvider(raising(error))), branch("B"), branch("C"))
    )
    assert outcome.statuses == ["failed", "succeeded", "succeeded"]
    assert len(payloads(path, "call.completed")) == 3


async def test_a_branch_that_a_library_cancels_is_cancelled_and_its_siblings_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(
        path, fanout(branch("A", FakeProvider(raising(asyncio.CancelledError()))), branch("B"))
    )
    assert outcome.statuses == ["cancelled", "succeeded"]
    assert payloads(path, "branch.cancelled")[0]["cause"] == "library"


async def test_a_cancelled_run_records_every_branch_and_the_completion(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    waiting = anyio.Event()

    async def wait(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        wire.receive(b"two of ")
        wire.receive(b"five")
        waiting.set()
        await anyio.sleep_forever()
        return b""

    request = fanout(branch("A", FakeProvider(wait)), branch("B"), branch("C"), concurrency=1)
    async with anyio.create_task_group() as group:
        group.start_soon(run_on, path, request)
        await waiting.wait()
        group.cancel_scope.cancel()
    assert payloads(path, "fanout.completed")[0]["statuses"] == ["cancelled"] * 3
    (observed,) = payloads(path, "attempt.observed")
    assert observed["incomplete"] is True
    with open_ledger(path) as ledger:
        stored = ledger.artifact_bytes(observed["response_body_artifact"]["sha256"])
    assert stored == b"two of five"
    assert not payloads(path, "attempt.interpreted")
    assert payloads(path, "session.ended")[0]["reason"] == "interrupted"


async def test_what_a_command_said_before_its_deadline_is_kept(tmp_path: Path) -> None:
    from codeai_engine.adapters.registry import make_adapter

    path = tmp_path / "ledger.db"
    code = (
        "import sys, time; sys.stderr.write('half'); sys.stderr.flush(); "
        "print('so far', flush=True); time.sleep(600)"
    )
    slow = make_adapter("command", {"kind": "command", "argv": ["python", "-c", code]})
    (outcome,) = await run_on(path, fanout(branch("A", slow, timeout_s=2.0)))
    assert outcome.statuses == ["failed"]
    (observed,) = payloads(path, "attempt.observed")
    assert observed["incomplete"] is True
    with open_ledger(path) as ledger:
        kept = [
            ledger.artifact_bytes(observed[name]["sha256"])
            for name in ("response_body_artifact", "stderr_artifact")
        ]
    assert kept == [b"so far\n", b"half"]


async def test_a_branch_that_its_own_seal_refuses_fails_and_leaves_its_trace(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    note = item("A note of B.", lineage=("call-B",))
    (outcome,) = await run_on(path, fanout(branch("A"), branch("B"), base=(note,)))
    assert outcome.statuses == ["failed", "succeeded"]
    (failed,) = payloads(path, "context.compilation_failed")
    assert failed["exception"] == "RequiredContextMissing"
    assert failed["seal"]["forbidden_call_ids"] == ["call-B"]
    assert [entry["decision"] for entry in failed["trace"]] == ["excluded"]
    assert completion(path, "A")["error"].startswith("context compilation refused: ")
    assert {row["call_id"] for row in payloads(path, "context.compiled")} == {"call-B"}


async def test_an_adapter_that_cannot_prepare_fails_as_a_branch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    cannot = FakeProvider(prepare_error=PrepareError("no such control"))
    (outcome,) = await run_on(path, fanout(branch("A", cannot), branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]
    (failed,) = payloads(path, "call.preparation_failed")
    assert (failed["stage"], failed["provider_effect"]) == ("prepare", False)


@pytest.mark.parametrize("malformed", [object(), None])
async def test_an_object_that_is_no_adapter_fails_as_a_branch(
    tmp_path: Path, malformed: object
) -> None:
    path = tmp_path / "ledger.db"
    odd = branch("A", FakeProvider())
    object.__setattr__(odd, "adapter", malformed)
    (outcome,) = await run_on(path, fanout(odd, branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]


async def test_an_actor_of_the_wrong_type_fails_as_a_branch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(path, fanout(branch("A", actor="not an actor"), branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]


async def test_a_body_that_lacks_a_byte_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    short = FakeProvider(spoil=lambda text: text[:-1])
    (outcome,) = await run_on(path, fanout(branch("A", short)))
    assert outcome.statuses == ["failed"]
    assert short.seen == []
    assert payloads(path, "call.preparation_failed")[0]["stage"] == "render_binding"
    assert not payloads(path, "call.manifest")


async def test_branches_over_one_input_are_identical_and_a_changed_question_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(
        path, fanout(branch("A"), branch("B"), branch("C", prompt="Something else?"))
    )
    with open_ledger(path) as ledger:
        a, b, c = read_fanout(ledger, outcome.fanout_id).branches
    assert a.rendered_sha256 == b.rendered_sha256 == c.rendered_sha256
    assert a.request_sha256 == b.request_sha256 != c.request_sha256
    assert a.same_request_as
    assert not c.same_request_as


async def test_a_fanout_of_no_branches_completes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(path, fanout())
    assert outcome.statuses == []
    assert payloads(path, "fanout.completed")[0]["statuses"] == []


async def test_five_hundred_branches_under_a_bound_all_end(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    running = most = 0

    async def count(_request: PreparedRequest, wire: Wire) -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await wire.sending()
        await anyio.lowlevel.checkpoint()
        running -= 1
        return b"ok"

    branches = [branch(str(number), FakeProvider(count)) for number in range(500)]
    (outcome,) = await run_on(path, fanout(*branches, concurrency=8))
    assert outcome.statuses == ["succeeded"] * 500
    assert most <= 8


async def test_every_branch_is_compiled_before_the_first_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await run_on(path, fanout(branch("A"), branch("B"), branch("C"), concurrency=1))
    kinds = kinds_of(rows_of(path))
    last_compiled = len(kinds) - 1 - kinds[::-1].index("context.compiled")
    assert last_compiled < kinds.index("attempt.started")


async def test_a_per_branch_override_is_honoured_and_the_manifest_is_the_evidence(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    await run_on(path, fanout(branch("A"), branch("B", context_render=False)))
    assert payloads(path, "fanout.requested")[0]["input_provenance"] == "rendered_bytes"
    by_call = {m["call_id"]: m for m in payloads(path, "call.manifest")}
    assert by_call["call-A"]["rendered_context_sha256"]
    assert by_call["call-B"]["rendered_context_sha256"] is None
    assert by_call["call-B"]["input_layout"] == []


async def test_the_request_says_what_was_offered_and_what_was_declared(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    base = (
        item("unknown"),
        item("none", declared_none=("editor", "by hand")),
        item("declared", lineage=("call-of-old",), name="old"),
    )
    await run_on(path, fanout(branch("A"), base=base))
    (asked,) = payloads(path, "fanout.requested")
    assert asked["base_offered"] == {"artifacts": 3, "claims": 0, "events": 0}
    assert asked["base_lineage_declared"] == {"artifacts": 1, "claims": 0}
    assert asked["base_lineage"]["artifacts"] == {base[2].item_id: ["call-of-old"]}
    assert asked["base_declared_none"] == [
        {"kind": "artifact", "id": base[1].item_id, "by": "editor", "why": "by hand"}
    ]
    assert asked["provenance_policy"] == "admit_recorded"


async def test_a_lone_surrogate_in_an_answer_ends_its_own_branch_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def surrogate(_observation: Observation) -> Interpretation:
        return Interpretation(
            output="ok \udc00 end", status="succeeded", generation_state="complete"
        )

    branches = [branch(str(number)) for number in range(5)]
    branches[2] = branch("2", FakeProvider(read=surrogate))
    (outcome,) = await run_on(path, fanout(*branches))
    assert outcome.statuses == ["succeeded"] * 5
    assert completion(path, "2")["raw_output"] == "ok \\udc00 end"
    assert completion(path, "2")["raw_output_escaped"] is True


async def test_a_value_that_no_payload_can_hold_fails_its_branch_with_the_path(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"

    def spoiled(_observation: Observation) -> Interpretation:
        return Interpretation(output="fine", status="succeeded", provider_reason="\ud835")

    (outcome,) = await run_on(path, fanout(branch("A", FakeProvider(read=spoiled)), branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]
    assert "$.provider_reason" in completion(path, "A")["error"]
    assert len(payloads(path, "attempt.observed")) == 2
    assert [p["status"] for p in payloads(path, "attempt.completed")].count("failed") == 1


async def test_nul_bytes_and_empty_answers_are_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await run_on(
        path,
        fanout(
            branch("A", FakeProvider(answering(b"a\x00b"))),
            branch("B", FakeProvider(answering(b""))),
        ),
    )
    assert completion(path, "A")["raw_output"] == "a\x00b"
    assert completion(path, "A")["output_artifact"]["byte_length"] == 3
    empty = completion(path, "B")
    assert (empty["status"], empty["raw_output"]) == ("succeeded", "")
    assert empty["output_artifact"]["byte_length"] == 0
    assert empty["output_artifact"]["sha256"].startswith("e3b0c442")


async def test_an_answer_past_the_limit_is_one_failed_attempt(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def flood(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        wire.sent()
        for _ in range(65):
            wire.receive(b"\x00" * 1024 * 1024)
        return b""

    (outcome,) = await run_on(
        path, fanout(branch("A", FakeProvider(flood), attempts=3), branch("B"))
    )
    assert outcome.statuses == ["failed", "succeeded"]
    assert completion(path, "A")["attempt_count"] == 1
    assert str(64 * 1024 * 1024) in completion(path, "A")["error"]


async def test_a_long_answer_stands_whole_in_its_artifact(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    text = "é" * 70_000
    await run_on(path, fanout(branch("A", FakeProvider(answering(text.encode())))))
    done = completion(path, "A")
    assert (len(done["raw_output"]), done["raw_output_truncated"]) == (65_536, True)
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(done["output_artifact"]["sha256"]) == text.encode()


async def test_unknown_usage_is_null_and_never_zero(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    failing = FakeProvider(raising(OSError("reset")))
    await run_on(path, fanout(branch("A"), branch("B", failing)))
    for name in "AB":
        done = completion(path, name)
        assert done["input_tokens"] is done["output_tokens"] is done["total_input_tokens"] is None
        assert done["usage_source"] in (None, "unknown")


async def test_a_failed_call_keeps_its_key_and_is_never_sent_again_unasked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    reached = FakeProvider(raising(OSError("reset")))
    await run_on(path, fanout(branch("A", reached)))
    with pytest.raises(SpecError, match="already in the ledger"):
        await run_on(path, fanout(branch("A", reached)), series=1)
    assert len(reached.seen) == 1
    assert completion(path, "A")["idempotency_key"] == "call-A"


async def test_retries_are_attempts_with_their_cause_and_only_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    answers = [ProviderError("busy", error_kind="rate_limited", retry_after_s=0.0), None]

    async def busy_once(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        error = answers.pop(0)
        if error is not None:
            raise error
        return b"ok"

    (outcome,) = await run_on(path, fanout(branch("A", FakeProvider(busy_once), attempts=2)))
    assert outcome.statuses == ["succeeded"]
    assert [p["cause"] for p in payloads(path, "attempt.started")] == [
        "first",
        "retry:rate_limited",
    ]


async def test_two_calls_in_one_session_leave_two_manifests(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await run_on(path, fanout(branch("A")), fanout(branch("B")))
    assert len(payloads(path, "call.manifest")) == 2
    assert len(payloads(path, "session.started")) == len(payloads(path, "task.created")) == 1


async def test_each_of_the_four_sets_excludes_by_name(tmp_path: Path) -> None:
    note, base = item("A note."), item("Kept.")
    seals = {
        "artifact": Seal(forbidden_artifact_ids=frozenset({note.item_id})),
        "event": Seal(forbidden_event_ids=frozenset({note.item_id})),
        "call": Seal(forbidden_call_ids=frozenset({note.item_id})),
        "lineage": Seal(forbidden_lineage_ids=frozenset({note.item_id})),
    }
    for word, seal in seals.items():
        path = tmp_path / f"{word}.db"
        adapter = FakeProvider()
        await run_on(
            path,
            fanout(
                branch("A", adapter),
                base=(note, base),
                seal=seal,
                required=frozenset({base.key}),
            ),
        )
        (compiled,) = payloads(path, "context.compiled")
        assert compiled["excluded_ids"] == [note.item_id]
        reason = next(e["reason"] for e in compiled["trace"] if e["decision"] == "excluded")
        assert reason.startswith("excluded because seal forbids")
        assert note.item_id in reason
        assert "A note." not in adapter.seen[0]


@pytest.mark.parametrize("policy", ["exclude_under_seal", "refuse", "whatever"])
async def test_a_policy_of_a_later_release_is_refused_by_name(tmp_path: Path, policy: str) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(SpecError, match=policy):
        await run_on(path, fanout(branch("A"), provenance_policy=policy))
    assert not path.exists()


@pytest.mark.parametrize(
    ("branches", "words"),
    [
        ((branch("A"), branch("A", call_id="other")), "branch name"),
        ((branch("A"), branch("B", call_id="call-A")), "call_id"),
    ],
)
async def test_a_repeated_name_or_call_id_is_refused_before_anything_is_written(
    tmp_path: Path, branches: Any, words: str
) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(SpecError, match=words):
        await run_on(path, fanout(*branches))
    assert not path.exists()


async def test_the_same_run_with_the_same_clock_and_ids_is_the_same_ledger(tmp_path: Path) -> None:
    request = fanout(branch("A"), branch("B"), branch("C"), concurrency=1)
    for name in ("one.db", "two.db"):
        await run_on(tmp_path / name, request)
    assert rows_of(tmp_path / "one.db") == rows_of(tmp_path / "two.db")
