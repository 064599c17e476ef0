"""The script takes the steps of a real adapter, and fails where it is told to."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from pydantic import ValidationError

from codeai_engine.adapters.base import CallInput
from codeai_engine.adapters.scripted import ScriptedAdapter, from_settings
from codeai_engine.errors import PrepareError, SendError
from tests.engine.adapters.wires import WatchedWire

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Observation, Wire
    from codeai_engine.adapters.scripted import Failure


async def ask(
    adapter: ScriptedAdapter, text: str = "text", wire: Wire | None = None
) -> Observation:
    return await adapter.send(adapter.prepare(CallInput(text)), wire or WatchedWire())


def scripted(**settings: Any) -> ScriptedAdapter:
    return from_settings({"kind": "scripted"} | settings)


async def test_answers_come_in_the_order_of_the_calls_and_end() -> None:
    adapter = scripted(answers=["one", "two"])
    assert [(await ask(adapter)).body for _ in range(2)] == [b"one", b"two"]
    wire = WatchedWire()
    with pytest.raises(SendError, match="the script is over"):
        await ask(adapter, wire=wire)
    assert wire.sending_count == 0


async def test_one_answer_serves_every_call() -> None:
    adapter = scripted(answer="one")
    assert [(await ask(adapter)).body for _ in range(3)] == [b"one"] * 3
    assert (await ask(scripted(answer=""))).body == b""


async def test_a_function_answers_by_the_input() -> None:
    adapter = ScriptedAdapter(str.upper, repeat=True)
    assert (await ask(adapter, "louder")).body == b"LOUDER"


async def test_any_bytes_are_an_answer_and_read_as_text() -> None:
    adapter = ScriptedAdapter(b"ok \xff")
    read = adapter.interpret(await ask(adapter))
    assert (read.output, read.status) == ("ok \\xff", "succeeded")
    assert read.note is not None
    assert adapter.interpret(await ask(ScriptedAdapter(b""))).generation_state == "empty"


@pytest.mark.parametrize(
    ("fail", "kind", "account", "received"),
    [
        ("before_sending", "connect", "not_sent", b""),
        ("transport", "transport", "sent", b""),
        ("mid_body", "incomplete_response", "sent", b"12"),
    ],
)
async def test_a_failure_comes_where_the_script_says(
    fail: Failure, kind: str, account: str, received: bytes
) -> None:
    wire = WatchedWire()
    with pytest.raises(SendError) as failed:
        await ask(scripted(answer="1234", fail=fail), wire=wire)
    assert failed.value.error_kind == kind
    assert (wire.account(), bytes(wire.received)) == (account, received)


def test_preparing_fails_where_the_script_says() -> None:
    with pytest.raises(PrepareError, match="the script refuses"):
        scripted(fail="prepare").prepare(CallInput("text"))
    with pytest.raises(OSError, match="mine"):
        ScriptedAdapter(OSError("mine"), fail="prepare").prepare(CallInput("text"))


@pytest.mark.parametrize("error", [OSError(), KeyboardInterrupt(), asyncio.CancelledError()])
@pytest.mark.parametrize("fail", [None, "before_sending", "transport", "mid_body"])
async def test_an_exception_of_any_kind_is_raised_as_it_is(
    error: BaseException, fail: Failure | None
) -> None:
    with pytest.raises(type(error)) as raised:
        await ask(ScriptedAdapter(error, fail=fail))
    assert raised.value is error


async def test_an_answer_that_never_comes_can_be_cancelled() -> None:
    wire = WatchedWire()
    async with anyio.create_task_group() as group:
        group.start_soon(ask, ScriptedAdapter("late", delay_s=math.inf), "text", wire)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert (wire.account(), bytes(wire.received)) == ("sent", b"")


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="at most one of: answer, answers"):
        scripted(answer="one", answers=["two"])
