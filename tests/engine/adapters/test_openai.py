"""The chat adapter against a real server: what leaves, what is kept, nothing sent twice."""

from __future__ import annotations

import socket
import traceback
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from pydantic import ValidationError

from codeai_engine.adapters.base import CallInput
from codeai_engine.adapters.openai import OpenAIAdapter, from_settings
from codeai_engine.digests import canonical_json, sha256_hex
from codeai_engine.errors import AdapterError, PrepareError, SendError
from tests import http_server as servers
from tests.engine.adapters.wires import WatchedWire
from tests.http_server import answer, chat, http_server

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Interpretation, Observation, Wire
    from tests.http_server import HttpServer

KEY_NAME = "CODEAI_TEST_KEY"
KEY = "sk-test-0123456789abcdef"
TEXT = "Zürich 東京 \U0001f99c\nand \x00"


def adapter_for(base_url: str, **settings: Any) -> OpenAIAdapter:
    return from_settings({"kind": "openai", "base_url": base_url, "model": "model-1"} | settings)


async def ask(
    server: HttpServer, wire: Wire | None = None, **settings: Any
) -> tuple[Observation, Interpretation]:
    adapter = adapter_for(server.base_url, **settings)
    observation = await adapter.send(adapter.prepare(CallInput(TEXT)), wire or WatchedWire())
    return observation, adapter.interpret(observation)


async def failure_of(server: HttpServer, wire: Wire | None = None, **settings: Any) -> AdapterError:
    with pytest.raises(AdapterError) as failed:
        await ask(server, wire, **settings)
    return failed.value


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_NAME, KEY)
    return KEY


# What leaves


async def test_the_canonical_text_of_the_body_is_what_leaves() -> None:
    wire = WatchedWire()
    async with http_server(answer(chat("fine"))) as server:
        adapter = adapter_for(server.base_url)
        request = adapter.prepare(CallInput(TEXT, {"max_output_tokens": 5}, {"temperature": 0.0}))
        await adapter.send(request, wire)
    assert server.bodies == [request.body_text().encode("ascii")]
    (sent,) = server.requests
    assert sent.json() == {
        "model": "model-1",
        "messages": [{"role": "user", "content": TEXT}],
        "temperature": 0.0,
        "max_tokens": 5,
    }
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert wire.observation is not None
    assert wire.observation.request_sha256 == request.body_sha256()
    assert wire.observation.request_bytes == len(sent.body)


async def test_the_transport_keeps_names_of_headers_and_no_values(key: str) -> None:
    wire = WatchedWire()
    async with http_server(answer(chat("fine"), headers={"X-Private": "value-1"})) as server:
        await ask(server, wire, api_key_env=KEY_NAME)
    assert wire.observation is not None
    assert "authorization" in wire.observation.request_header_names
    assert "x-private" in wire.observation.response_header_names
    assert key not in repr(wire.observation)
    assert "value-1" not in repr(wire.observation)
    assert wire.observation.host == f"127.0.0.1:{server.port}"
    assert wire.observation.path == "/v1/chat/completions"


async def test_sending_is_durable_before_a_byte_leaves() -> None:
    async with http_server(answer(chat("fine"))) as server:

        def look() -> None:
            assert server.requests == []

        wire = WatchedWire(look)
        await ask(server, wire)
    assert wire.sending_count == 1
    assert wire.account() == "sent"


async def test_a_refused_sending_lets_nothing_leave() -> None:
    def refuse() -> None:
        raise KeyboardInterrupt

    wire = WatchedWire(refuse)
    async with http_server(answer(chat("fine"))) as server:
        with pytest.raises(KeyboardInterrupt):
            await ask(server, wire)
    assert server.requests == []
    assert wire.observation is None


async def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with http_server(answer(chat("fine"))) as server:
        _, read = await ask(server)
    assert read.output == "fine"


# Failures on the way


async def test_a_refused_connection_is_known_as_not_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets the port meanwhile
        adapter = adapter_for(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        wire = WatchedWire()
        with pytest.raises(SendError, match="cannot connect") as failed:
            await adapter.send(adapter.prepare(CallInput("text")), wire)
    assert (failed.value.error_kind, failed.value.wire) == ("connect", "not_sent")
    assert (wire.sending_count, wire.account(), wire.observation) == (0, "not_sent", None)


async def test_a_server_that_never_answers_gets_one_request_and_the_record_says_sent() -> None:
    wire = WatchedWire()
    async with http_server(servers.stall) as server:
        failed = await failure_of(server, wire, timeout_s=1)
    assert failed.error_kind == "timeout"
    assert failed.message == "no whole answer within 1 s"
    assert len(server.requests) == server.connections == 1
    assert wire.account() == "sent"


async def test_a_cancellation_keeps_what_had_come() -> None:
    wire = WatchedWire()
    async with http_server(servers.stall_after(b'{"choices": [')) as server:
        with anyio.CancelScope() as stopped:
            async with anyio.create_task_group() as group:
                group.start_soon(ask, server, wire)
                await wire.came()
                stopped.cancel()
    assert bytes(wire.received) == b'{"choices": ['
    assert wire.account() == "sent"
    assert wire.observation is not None
    assert wire.observation.response_sha256 == sha256_hex(b'{"choices": [')
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_without_an_answer_is_not_tried_again() -> None:
    wire = WatchedWire()
    async with http_server(servers.hang_up) as server:
        failed = await failure_of(server, wire)
    assert (failed.error_kind, failed.wire) == ("transport", "sent")
    assert len(server.requests) == server.connections == 1
    assert wire.observation is not None
    assert wire.observation.response_sha256 is None


@pytest.mark.parametrize("chunked", [True, False])
async def test_an_answer_that_ends_early_is_kept_as_far_as_it_came(*, chunked: bool) -> None:
    wire = WatchedWire()
    async with http_server(servers.cut_off(b'{"choices"', chunked=chunked)) as server:
        failed = await failure_of(server, wire)
    assert failed.error_kind == "incomplete_response"
    assert "the answer ended early, after 10 bytes" in failed.message
    assert bytes(wire.received) == b'{"choices"'
    assert len(server.requests) == 1


async def test_an_answer_past_the_limit_names_size_and_limit() -> None:
    wire = WatchedWire(limit_bytes=1000)
    async with http_server(answer(b"x" * 5000)) as server:
        failed = await failure_of(server, wire)
    assert failed.error_kind == "output_too_large"
    assert "past the limit of 1000 bytes: " in failed.message
    assert bytes(wire.received) == b"x" * 1000
    assert len(server.requests) == 1


async def test_a_redirect_is_not_followed(key: str) -> None:
    async with http_server(answer(chat("elsewhere"))) as other:
        location = {"location": f"{other.base_url}/chat/completions"}
        async with http_server(answer(b"", status=307, headers=location)) as server:
            observation, read = await ask(server, api_key_env=KEY_NAME)
    assert len(server.requests) == 1
    assert other.connections == 0
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert (read.status, read.error_kind, read.error) == ("failed", "redirect", "HTTP 307")
    assert observation.transport_outcome == "http_error"


# Answers that are none


async def test_a_429_is_read_by_its_status_and_asks_to_wait() -> None:
    refusal = answer(b'{"error": null}', status=429, headers={"retry-after": "86400"})
    async with http_server(refusal) as server:
        observation, read = await ask(server)
    assert observation.body == b'{"error": null}'
    assert (read.status, read.error_kind, read.error) == ("failed", "rate_limited", "HTTP 429")
    assert read.retry_after_s == 86400
    assert len(server.requests) == 1


async def test_a_503_in_html_is_a_server_error_with_its_body_kept() -> None:
    page = b"<html>busy</html>"
    html = answer(page, status=503, headers={"content-type": "text/html"})
    async with http_server(html) as server:
        observation, read = await ask(server)
    assert (observation.body, observation.media_type) == (page, "text/html")
    assert (read.error_kind, read.output) == ("server_error", None)


async def test_an_image_with_a_text_type_is_malformed_and_kept() -> None:
    image = b"\x89PNG\r\n\x1a\n\x00\xff"
    async with http_server(answer(image, headers={"content-type": "text/plain"})) as server:
        observation, read = await ask(server)
    assert observation.body == image
    assert (read.status, read.error_kind) == ("failed", "malformed_response")


async def test_a_declared_charset_that_is_wrong_changes_nothing() -> None:
    body = '{"choices": [{"message": {"content": "Zürich"}}]}'
    wrong = {"content-type": "application/json; charset=iso-8859-1"}
    async with http_server(answer(body, headers=wrong)) as server:
        _, read = await ask(server)
    assert read.output == "Zürich"


# Content codings: none is asked for


async def test_a_gzip_answer_is_read_and_the_wires_digest_is_of_the_bytes_that_came() -> None:
    wire = WatchedWire()
    body = chat("fine" * 400_000)  # inflates to more than one piece
    async with http_server(servers.gzipped(body)) as server:
        observation, read = await ask(server, wire)
    assert server.requests[0].headers["accept-encoding"] == "identity"
    assert (observation.body, read.output) == (body, "fine" * 400_000)
    assert wire.observation is not None
    assert wire.observation.response_bytes is not None
    assert wire.observation.response_bytes < len(body)


async def test_a_gzip_answer_cut_short_is_kept_as_far_as_it_can_be_read() -> None:
    wire = WatchedWire()
    body = chat("fine")
    async with http_server(servers.gzipped(body, cut=8)) as server:
        failed = await failure_of(server, wire)
    assert failed.error_kind == "incomplete_response"
    assert failed.message == "the answer's content coding is cut short"
    assert bytes(wire.received) == body


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_a_content_coding_that_cannot_be_read_is_refused(coding: str) -> None:
    lying = answer(b"not what it says", headers={"content-encoding": coding})
    async with http_server(lying) as server:
        failed = await failure_of(server)
    assert failed.error_kind == "unreadable_coding"


async def test_an_empty_body_in_a_content_coding_is_whole() -> None:
    busy = answer(b"", status=503, headers={"content-encoding": "gzip"})
    async with http_server(busy) as server:
        _, read = await ask(server)
    assert read.error_kind == "server_error"


# The key


async def test_the_key_goes_into_one_header_and_nowhere_else(key: str) -> None:
    async with http_server(answer(chat("fine"))) as server:
        adapter = adapter_for(server.base_url, api_key_env=KEY_NAME)
        request = adapter.prepare(CallInput("text"))
        observation = await adapter.send(request, WatchedWire())
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    seen = repr((adapter, request, observation, adapter.interpret(observation), vars(adapter)))
    assert key not in seen + canonical_json(request.body)
    assert KEY_NAME in repr(vars(adapter))


async def test_without_a_name_no_key_is_sent() -> None:
    async with http_server(answer(chat("fine"))) as server:
        await ask(server)
    assert "authorization" not in server.requests[0].headers


async def test_a_missing_key_is_said_by_name_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(KEY_NAME, raising=False)
    wire = WatchedWire()
    async with http_server(answer(chat("fine"))) as server:
        failed = await failure_of(server, wire, api_key_env=KEY_NAME)
    assert KEY_NAME in failed.message
    assert (failed.error_kind, failed.wire) == ("missing_credentials", "not_sent")
    assert (server.connections, wire.sending_count) == (0, 0)


@pytest.mark.parametrize("value", ["first\nsecond-line", "schlüssel"])
async def test_a_key_that_cannot_stand_in_a_header_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(KEY_NAME, value)
    async with http_server(answer(chat("fine"))) as server:
        failed = await failure_of(server, api_key_env=KEY_NAME)
    assert failed.error_kind == "bad_credentials"
    assert value not in "".join(traceback.format_exception(failed))
    assert server.connections == 0


async def test_an_echoed_key_is_replaced_before_the_answer_is_kept(key: str) -> None:
    wire = WatchedWire()
    body = chat(f"your key is {key}!")
    cut = body.index(key.encode()) + 5
    async with http_server(servers.in_pieces(body[:cut], body[cut:])) as server:
        observation, read = await ask(server, wire, api_key_env=KEY_NAME)
    assert key.encode() not in observation.body + bytes(wire.received)
    assert read.output == f"your key is [redacted: {KEY_NAME}]!"
    assert read.note == "the key stood in the answer and was replaced"
    assert wire.observation is not None
    assert wire.observation.response_sha256 == sha256_hex(body)  # of the bytes as they came


async def test_an_echoed_key_is_in_no_error_message_and_no_header(key: str) -> None:
    refusal = answer(
        f'{{"error": {{"message": "Incorrect API key provided: {key}"}}}}',
        status=401,
        headers={"x-request-id": f"for {key}"},
    )
    async with http_server(refusal) as server:
        observation, read = await ask(server, api_key_env=KEY_NAME)
    assert read.error == f"HTTP 401: Incorrect API key provided: [redacted: {KEY_NAME}]"
    assert key not in repr(observation) + repr(read)


async def test_half_of_a_key_at_the_end_of_a_cut_answer_is_not_kept(key: str) -> None:
    wire = WatchedWire()
    async with http_server(servers.cut_off(b"it is " + key.encode()[:-1])) as server:
        failed = await failure_of(server, wire, api_key_env=KEY_NAME)
    assert bytes(wire.received) == f"it is [redacted: {KEY_NAME}]".encode()
    assert key[:-1] not in "".join(traceback.format_exception(failed))


# Settings


@pytest.mark.parametrize(
    ("settings", "place", "reason"),
    [
        ({"base_url": "ftp://example.com"}, "base_url", "must begin with http:// or https://"),
        ({"base_url": "https:///v1"}, "base_url", "name a host"),
        ({"base_url": "https://user:pw@example.com/v1"}, "base_url", "name a key by api_key_env"),
        ({"base_url": "https://example.com/v1?key=1"}, "base_url", "holds no credentials, query"),
        ({"base_url": "http://[::1"}, "base_url", "is no URL"),
        ({"api_key_env": "sk-123"}, "api_key_env", "pattern"),
        ({"model": ""}, "model", "at least 1 character"),
        ({"retry": {"attempts": 0}}, "retry", "greater than or equal to 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    settings: dict[str, Any], place: str, reason: str
) -> None:
    table = {"kind": "openai", "base_url": "https://api.example.com/v1", "model": "model-1"}
    with pytest.raises(ValidationError) as refused:
        from_settings(table | settings)
    assert "user:pw" not in str(refused.value)
    (problem,) = refused.value.errors()
    assert problem["loc"][0] == place
    assert reason in problem["msg"]


def test_who_answers_is_the_host() -> None:
    adapter = adapter_for("https://api.example.com/v1/")
    assert (adapter.provider, adapter.requested_model) == ("api.example.com", "model-1")
    request = adapter.prepare(CallInput("text"))
    assert request.effective_parameters["endpoint"] == "/v1/chat/completions"


def test_text_that_utf_8_cannot_carry_is_refused() -> None:
    with pytest.raises(PrepareError, match=r"\$\.messages\[0\]\.content: lone surrogate"):
        adapter_for("https://api.example.com/v1").prepare(CallInput("\udc00"))
