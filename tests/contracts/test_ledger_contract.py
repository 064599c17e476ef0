"""What every ledger must do: one suite over the file and the memory."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from codeai_engine.ambient import FixedClock
from codeai_engine.digests import sha256_hex
from codeai_engine.domain.call import AttemptSending
from codeai_engine.errors import AppendConflict, ArtifactTooLarge, LedgerError, PayloadRefused
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES
from codeai_engine.ledger.memory import MemoryLedger
from codeai_engine.ledger.writer import Absent, Ledger, open_writer
from tests.engine.ledger.ledgers import draft, source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from codeai_engine.domain.events import EventDraft
    from codeai_engine.domain.view import EventRow


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Ledger]:
    if kind == "memory":
        yield MemoryLedger(clock=FixedClock())
        return
    async with open_writer(folder / "ledger.db", clock=FixedClock()) as ledger:
        yield ledger


@pytest.fixture(params=["file", "memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_an_append_returns_what_is_stored(kind: str, tmp_path: Path) -> None:
    asked = draft(payload={"b": 1, "a": "é"}, causation_id="cause", correlation_id="task-1")
    async with opened(kind, tmp_path) as ledger:
        (row,) = await ledger.append([asked])
        assert await ledger.event(asked.event_id) == row
    assert row.sequence == 1
    assert row.payload_json == '{"a":"\\u00e9","b":1}'
    assert row.created_at == "2026-01-01T00:00:00.000000+00:00"
    assert (row.stream_id, row.kind, row.actor_id) == ("stream-1", "note.made", "actor-1")
    assert (row.causation_id, row.correlation_id) == ("cause", "task-1")


async def test_a_model_is_stored_with_every_field_of_its_kind(kind: str, tmp_path: Path) -> None:
    payload = AttemptSending(attempt_id="a", call_id="c", task_id="t")
    async with opened(kind, tmp_path) as ledger:
        (row,) = await ledger.append([draft(payload=payload)])
    assert '"request_body_sha256":null' in row.payload_json


async def test_a_batch_has_consecutive_sequences_and_one_time(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        first = await ledger.append([draft(), draft()])
        second = await ledger.append([draft()])
    assert [row.sequence for row in (*first, *second)] == [1, 2, 3]
    assert first[0].created_at == first[1].created_at < second[0].created_at


async def test_a_stream_is_read_in_order_and_without_others(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        rows = await ledger.append(
            [draft(stream_id="x"), draft(stream_id="y"), draft(stream_id="x")]
        )
        assert await ledger.stream("x") == (rows[0], rows[2])
        assert await ledger.stream("nothing") == ()


@pytest.mark.parametrize("text", ["absent", "\udc00", "nul\x00"])
async def test_what_was_never_stored_is_not_found(kind: str, tmp_path: Path, text: str) -> None:
    async with opened(kind, tmp_path) as ledger:
        await ledger.append([draft()])
        assert await ledger.event(text) is None
        assert await ledger.stream(text) == ()
        assert await ledger.artifact_bytes(text) is None


@pytest.mark.parametrize("content", [b"", b"a\x00b", bytes(range(256)), b"x" * 3_000_000])
async def test_artifact_bytes_come_back_as_they_went_in(
    kind: str, tmp_path: Path, content: bytes
) -> None:
    artifact = source(content)
    async with opened(kind, tmp_path) as ledger:
        await ledger.append([draft(payload=artifact.reference())], [artifact])
        stored = await ledger.artifact_bytes(sha256_hex(content))
    assert stored == content


async def test_equal_bytes_may_come_again(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        await ledger.append([draft()], [source(b"same"), source(b"same")])
        await ledger.append([draft()], [source(b"same", artifact_type="other")])
        assert await ledger.artifact_bytes(sha256_hex(b"same")) == b"same"


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"score": math.nan}, "$.score"),
        ({"a": [1, {"b": math.inf}]}, "$.a[1].b"),
        ({"answer": "ok \udc00 end"}, "$.answer"),
        ({"n": 2**53}, "$.n"),
        ({"k": {1: "x"}}, "$.k"),
        ({"when": object()}, "$.when"),
    ],
)
async def test_a_payload_that_is_not_i_json_is_refused_with_its_path(
    kind: str, tmp_path: Path, payload: dict[str, Any], path: str
) -> None:
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(PayloadRefused) as refused:
            await ledger.append([draft(stream_id="x"), draft(payload=payload)], [source()])
        assert refused.value.json_path == path
        assert await ledger.stream("x") == ()
        assert await ledger.artifact_bytes(source().artifact_id) is None
        (row,) = await ledger.append([draft()])
    assert row.sequence == 1


@pytest.mark.parametrize("field", ["event_id", "stream_id", "kind", "actor_id", "correlation_id"])
@pytest.mark.parametrize("value", [7, b"x", "\ud800"])
async def test_a_column_that_is_not_text_is_refused_by_name(
    kind: str, tmp_path: Path, field: str, value: object
) -> None:
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(PayloadRefused, match=field):
            await ledger.append([draft(**{field: value})])


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", "text"), ("media_type", "a\udc00"), ("artifact_type", None)],
)
async def test_an_artifact_that_cannot_be_stored_is_refused_by_name(
    kind: str, tmp_path: Path, field: str, value: object
) -> None:
    fields: dict[str, Any] = {"content": b"x"} | {field: value}
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(PayloadRefused, match=field):
            await ledger.append([draft()], [source(**fields)])
        (row,) = await ledger.append([draft()])
    assert row.sequence == 1


async def test_a_precondition_that_is_not_text_is_refused(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(PayloadRefused, match=r"absent\.stream_id"):
            await ledger.append([draft()], absent=[Absent("\ud800", "done")])


async def test_an_event_id_that_exists_is_a_conflict_and_nothing_of_the_batch_is_kept(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as ledger:
        (row,) = await ledger.append([draft()])
        with pytest.raises(AppendConflict, match=row.event_id):
            await ledger.append([draft(stream_id="x"), draft(event_id=row.event_id)], [source()])
        assert await ledger.stream("x") == ()
        assert await ledger.artifact_bytes(source().artifact_id) is None
        assert await ledger.event(row.event_id) == row


async def test_an_event_id_twice_in_one_batch_is_a_conflict(kind: str, tmp_path: Path) -> None:
    twin = draft(stream_id="x")
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(AppendConflict, match=twin.event_id):
            await ledger.append([twin, twin])
        assert await ledger.stream("x") == ()


async def test_a_precondition_holds_until_such_an_event_is_there(kind: str, tmp_path: Path) -> None:
    once = [Absent("x", "done")]
    async with opened(kind, tmp_path) as ledger:
        await ledger.append(
            [draft(stream_id="x", kind="other"), draft(stream_id="y", kind="done")], absent=once
        )
        await ledger.append([draft(stream_id="x", kind="done")], absent=once)
        with pytest.raises(AppendConflict, match="stream x already has an event done"):
            await ledger.append([draft(stream_id="x", kind="done")], absent=once)
        kinds = [row.kind for row in await ledger.stream("x")]
    assert kinds == ["other", "done"]


async def test_of_two_that_ask_for_the_same_one_wins(kind: str, tmp_path: Path) -> None:
    lost: list[AppendConflict] = []

    async def complete(ledger: Ledger) -> None:
        try:
            await ledger.append([draft(stream_id="x", kind="done")], absent=[Absent("x", "done")])
        except AppendConflict as conflict:
            lost.append(conflict)

    async with opened(kind, tmp_path) as ledger:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(complete, ledger)
        assert len(await ledger.stream("x")) == 1
    assert len(lost) == 4


async def test_an_artifact_past_the_limit_is_refused_with_size_and_limit(
    kind: str, tmp_path: Path
) -> None:
    at_limit = source(bytes(ARTIFACT_LIMIT_BYTES))
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(ArtifactTooLarge, match=f"{ARTIFACT_LIMIT_BYTES + 1} bytes"):
            await ledger.append([draft(stream_id="x")], [source(bytes(ARTIFACT_LIMIT_BYTES + 1))])
        assert await ledger.stream("x") == ()
        await ledger.append([draft()], [at_limit])
        stored = await ledger.artifact_bytes(at_limit.artifact_id)
    assert stored is not None
    assert len(stored) == ARTIFACT_LIMIT_BYTES


async def test_artifacts_need_an_event_that_names_them(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        with pytest.raises(ValueError, match="there is no event"):
            await ledger.append([], [source()])


async def test_an_append_of_nothing_appends_nothing(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        assert await ledger.append([]) == ()
        (row,) = await ledger.append([draft()])
    assert row.sequence == 1


async def test_a_refused_batch_among_others_fails_its_caller_only(
    kind: str, tmp_path: Path
) -> None:
    refused: list[LedgerError] = []
    kept: list[EventRow] = []

    async def append(ledger: Ledger, event: EventDraft, absent: tuple[Absent, ...]) -> None:
        try:
            kept.extend(await ledger.append([event], absent=absent))
        except LedgerError as error:
            refused.append(error)

    async with opened(kind, tmp_path) as ledger:
        (first,) = await ledger.append([draft(stream_id="x", kind="done")])
        async with anyio.create_task_group() as tasks:
            for place in range(40):
                wrong: dict[int, dict[str, Any]] = {
                    10: {"event_id": first.event_id},
                    20: {"payload": {"n": 2**60}},
                }
                absent = (Absent("x", "done"),) if place == 30 else ()
                tasks.start_soon(append, ledger, draft(**wrong.get(place, {})), absent)
    assert sorted(error.code for error in refused) == [
        "APPEND_CONFLICT",
        "APPEND_CONFLICT",
        "PAYLOAD_REFUSED",
    ]
    assert sorted(row.sequence for row in kept) == list(range(2, 39))


async def test_appends_are_stamped_in_the_order_they_were_asked(kind: str, tmp_path: Path) -> None:
    rows: list[EventRow] = []

    async def append(ledger: Ledger) -> None:
        rows.extend(await ledger.append([draft()]))

    async with opened(kind, tmp_path) as ledger, anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(append, ledger)
    rows.sort(key=lambda row: row.sequence)
    times = [row.created_at for row in rows]
    assert times == sorted(set(times))


async def test_a_caller_that_is_cancelled_meanwhile_still_gets_the_outcome(
    kind: str, tmp_path: Path
) -> None:
    rows: list[EventRow] = []

    async def append(ledger: Ledger, scope: anyio.CancelScope) -> None:
        with scope:
            rows.extend(await ledger.append([draft()]))

    async with opened(kind, tmp_path) as ledger:
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()
            tasks.start_soon(append, ledger, scope)
            await anyio.lowlevel.checkpoint()
            scope.cancel()
        assert [row.sequence for row in rows] == [1]
        assert await ledger.event(rows[0].event_id) == rows[0]


async def test_a_caller_that_is_cancelled_before_appends_nothing(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as ledger:
        with anyio.CancelScope() as scope:
            scope.cancel()
            while True:  # it can be stopped though it does nothing but append
                await ledger.append([draft(stream_id="x")])
        assert await ledger.stream("x") == ()


async def test_within_a_shield_a_cancelled_caller_appends_all_the_same(
    kind: str, tmp_path: Path
) -> None:
    async with opened(kind, tmp_path) as ledger:
        with anyio.CancelScope() as scope:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                await ledger.append([draft(stream_id="x")])
        assert len(await ledger.stream("x")) == 1
