"""The local model, really run; where its file cannot be had these tests say so and are skipped."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import pytest
from pydantic import ValidationError

from codeai_engine.adapters.base import CallInput
from codeai_engine.adapters.contract import check_adapter
from codeai_engine.adapters.local_model import LocalModelAdapter, fetch_model, from_settings
from codeai_engine.errors import AdapterError, SendError
from tests.engine.adapters.wires import WatchedWire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path
    from typing import Any

    from codeai_engine.adapters.base import Interpretation, Wire

GREETING = "Say hello in one word."
FIXED = {"temperature": 0.0, "seed": 7}


@pytest.fixture(scope="session")
def model() -> Path:
    """The model's file, fetched once into the user's cache."""
    try:
        return fetch_model()
    except AdapterError as error:
        pytest.skip(error.message)


@pytest.fixture
async def adapter(model: Path) -> AsyncIterator[LocalModelAdapter]:
    made = LocalModelAdapter(model)
    yield made
    await made.aclose()


async def ask(
    adapter: LocalModelAdapter,
    text: str = GREETING,
    parameters: Mapping[str, Any] | None = None,
    wire: Wire | None = None,
) -> Interpretation:
    call = CallInput(text, {"max_output_tokens": 8} | dict(parameters or {}), FIXED)
    observation = await adapter.send(adapter.prepare(call), wire or WatchedWire())
    return adapter.interpret(observation)


def host_of(wire: Wire) -> str:
    assert wire.observation is not None
    return str(wire.observation.host)


def listens(host: str) -> bool:
    parts = urlsplit(f"http://{host}")
    with socket.socket() as client:
        return client.connect_ex((str(parts.hostname), parts.port or 0)) == 0


@pytest.mark.local_model
async def test_it_keeps_the_contract(adapter: LocalModelAdapter) -> None:
    await check_adapter(adapter, text=GREETING, parameters={"max_output_tokens": 8}, variant=FIXED)


@pytest.mark.local_model
async def test_a_fixed_seed_gives_the_same_text_twice(adapter: LocalModelAdapter) -> None:
    first, second = await ask(adapter), await ask(adapter)
    assert first.status == "succeeded"
    assert first.output
    assert first.output == second.output
    assert first.input_tokens is not None
    assert first.output_tokens is not None


@pytest.mark.local_model
async def test_an_answer_names_the_model_and_no_place_of_this_machine(
    adapter: LocalModelAdapter, model: Path
) -> None:
    request = adapter.prepare(CallInput(GREETING, {"max_output_tokens": 8}, FIXED))
    observation = await adapter.send(request, WatchedWire())
    assert adapter.interpret(observation).provider_model == model.stem
    assert str(model.parent).encode() not in observation.body


@pytest.mark.local_model
async def test_branches_that_ask_at_once_share_one_server(adapter: LocalModelAdapter) -> None:
    wires = [WatchedWire() for _ in range(3)]
    async with anyio.create_task_group() as group:
        for wire in wires:
            group.start_soon(ask, adapter, GREETING, None, wire)
    assert len({host_of(wire) for wire in wires}) == 1


@pytest.mark.local_model
async def test_the_server_stops_when_the_last_adapter_is_closed(model: Path) -> None:
    one, other = LocalModelAdapter(model), LocalModelAdapter(model)
    wires = [WatchedWire(), WatchedWire()]
    try:
        await ask(one, wire=wires[0])
        await ask(other, wire=wires[1])
        host = host_of(wires[0])
        assert host_of(wires[1]) == host
        await one.aclose()
        await one.aclose()  # closing twice is closing once
        assert listens(host)
    finally:
        await one.aclose()
        await other.aclose()
    assert not listens(host)


@pytest.mark.local_model
async def test_it_starts_again_after_it_was_closed(adapter: LocalModelAdapter) -> None:
    assert (await ask(adapter)).status == "succeeded"
    await adapter.aclose()
    assert (await ask(adapter)).status == "succeeded"


@pytest.mark.local_model
async def test_a_prompt_past_the_context_is_refused_by_name(adapter: LocalModelAdapter) -> None:
    read = await ask(adapter, "word " * 5000)
    assert (read.status, read.error_kind) == ("failed", "client_error")
    assert read.provider_reason == "exceed_context_size_error"


@pytest.mark.local_model
async def test_a_schema_for_the_answer_is_enforced(adapter: LocalModelAdapter) -> None:
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    read = await ask(adapter, "Is water wet?", {"response_format": wanted, "max_output_tokens": 40})
    assert set(json.loads(read.output or "")) == {"ok"}


async def failure_of(adapter: LocalModelAdapter) -> SendError:
    wire = WatchedWire()
    with pytest.raises(SendError) as failed:
        await ask(adapter, wire=wire)
    assert (failed.value.wire, wire.sending_count) == ("not_sent", 0)
    return failed.value


async def test_a_model_that_is_not_there_is_said_without_naming_a_place(tmp_path: Path) -> None:
    failed = await failure_of(LocalModelAdapter(tmp_path / "none.gguf"))
    assert failed.message == "the local model none.gguf is not there"
    assert failed.error_kind == "model_missing"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="a convention of other systems")
async def test_the_cached_model_is_used_only_where_it_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    adapter = LocalModelAdapter()
    path = tmp_path / "codeai" / f"{adapter.requested_model}.gguf"
    path.parent.mkdir()
    path.write_bytes(b"not it")
    failed = await failure_of(adapter)
    assert failed.message == f"the local model {path.name} is not the file that it should be"


async def test_a_file_that_is_no_model_is_a_failure_and_not_a_crash(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "text.gguf").write_text("no model at all")
    failed = await failure_of(LocalModelAdapter(tmp_path / "text.gguf"))
    assert failed.message.startswith("the local model text.gguf cannot be loaded")


async def test_a_missing_runtime_names_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    failed = await failure_of(LocalModelAdapter(tmp_path / "model.gguf"))
    assert failed.error_kind == "not_installed"
    assert "pip install 'codeai-tui[demo]'" in failed.hint


async def test_closing_what_was_never_started_is_nothing() -> None:
    await LocalModelAdapter().aclose()


def test_settings_name_a_file_that_depends_on_no_folder() -> None:
    adapter = from_settings({"kind": "local_model", "path": "~/models/small.gguf"})
    assert adapter.requested_model == "small"
    with pytest.raises(ValidationError, match="must be absolute, or begin with ~"):
        from_settings({"kind": "local_model", "path": "small.gguf"})
    with pytest.raises(ValidationError, match="unknown key 'model'; allowed: kind, path"):
        from_settings({"kind": "local_model", "model": "small"})
