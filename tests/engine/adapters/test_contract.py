"""Ours keep the contract, and the suite sees it where one does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from codeai_engine.adapters.base import CallInput, Interpretation
from codeai_engine.adapters.contract import ContractBroken, check_adapter
from codeai_engine.adapters.registry import make_adapter
from codeai_engine.adapters.scripted import ScriptedAdapter
from tests.http_server import answer, chat, http_server

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Observation, PreparedRequest, Wire


async def test_the_command_adapter_keeps_it() -> None:
    argv = ["python", "-c", "import sys; print(len(sys.stdin.read()))"]
    await check_adapter(
        make_adapter("command", {"kind": "command", "argv": argv}),
        parameters={"max_output_tokens": 3},
    )


async def test_the_chat_adapter_keeps_it_with_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEAI_TEST_KEY", "sk-echoed-0123456789")
    async with http_server(answer(chat("you said sk-echoed-0123456789"))) as server:
        settings = {
            "kind": "openai",
            "base_url": server.base_url,
            "model": "model-1",
            "api_key_env": "CODEAI_TEST_KEY",
        }
        await check_adapter(
            make_adapter("openai", settings),
            parameters={"max_output_tokens": 3},
            variant={"temperature": 0.0, "seed": 7},
            secrets=("sk-echoed-0123456789",),
        )
    assert len(server.requests) == 1


async def test_the_script_keeps_it() -> None:
    await check_adapter(ScriptedAdapter("scripted answer"))


class Impure(ScriptedAdapter):
    """Prepares another body each time."""

    count = 0

    @override
    def prepare(self, call: CallInput) -> PreparedRequest:
        self.count += 1
        request = super().prepare(call)
        return replace(request, body=request.body | {"count": self.count})


class Lossy(ScriptedAdapter):
    """Strips the text."""

    @override
    def prepare(self, call: CallInput) -> PreparedRequest:
        return super().prepare(replace(call, text=call.text.strip()))


class Silent(ScriptedAdapter):
    """Drops what it cannot honour."""

    @override
    def prepare(self, call: CallInput) -> PreparedRequest:
        return replace(super().prepare(call), omitted_unsupported=())


class Odd(ScriptedAdapter):
    """Prepares what is no I-JSON."""

    @override
    def prepare(self, call: CallInput) -> PreparedRequest:
        request = super().prepare(call)
        return replace(request, body=request.body | {"big": 2**60})


class Hasty(ScriptedAdapter):
    """Sends before it is recorded."""

    @override
    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        wire.receive(b"early")
        return await super().send(request, wire)


class Deaf(ScriptedAdapter):
    """Never asks whether it may send."""

    @override
    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        return await super().send(request, type(wire)(_nothing))


class Altering(ScriptedAdapter):
    """Sends another body than was prepared."""

    @override
    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        return await super().send(replace(request, body=request.body | {"more": 1}), wire)


class Partial(ScriptedAdapter):
    """Reads only some answers."""

    @override
    def interpret(self, observation: Observation) -> Interpretation:
        return Interpretation(output=observation.body.decode("utf-8"), status="succeeded")


class Unescaped(ScriptedAdapter):
    """Returns lone surrogates as they are."""

    @override
    def interpret(self, observation: Observation) -> Interpretation:
        text = observation.body.decode("utf-8", "surrogateescape")
        return Interpretation(output=text, status="succeeded")


class Curt(ScriptedAdapter):
    """Fails without a reason."""

    @override
    def interpret(self, observation: Observation) -> Interpretation:
        return Interpretation(output=None, status="failed")


async def _nothing() -> None:
    """Let everything be sent."""


@pytest.mark.parametrize(
    ("adapter", "rule"),
    [
        (object(), "every member"),
        (Impure("a"), "`prepare` is pure"),
        (Lossy("a"), "carries exactly the text"),
        (Silent("a"), "is named in `omitted_unsupported`"),
        (Odd("a"), "I-JSON"),
        (Hasty("a"), "nothing leaves and nothing comes back"),
        (Deaf("a"), "`wire.sending` is awaited before a byte can leave"),
        (Altering("a"), "what left is the canonical text of the body"),
        (Partial("a"), "`interpret` is total"),
        (Unescaped("a"), "a lone surrogate is escaped"),
        (Curt("a"), "a failure has an `error`"),
    ],
)
async def test_an_adapter_that_breaks_a_rule_is_told_which(adapter: Any, rule: str) -> None:
    with pytest.raises(ContractBroken) as broken:
        await check_adapter(adapter)
    assert rule in str(broken.value)


async def test_a_secret_that_is_kept_breaks_the_contract() -> None:
    with pytest.raises(ContractBroken, match="no secret"):
        await check_adapter(ScriptedAdapter("it is sk-123"), secrets=("sk-123",))
