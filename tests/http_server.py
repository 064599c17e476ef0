"""A real HTTP server on 127.0.0.1 for tests: it keeps what it was sent and answers as it is told.

    async with http_server(answer(b'{"ok": true}')) as server:
        ...  # server.base_url, server.requests, await server.arrived()

A behaviour is an async function of the request and the stream; those below cover what real servers
do wrong: stall, hang up, cut a body short, redirect, answer in HTML.
"""

from __future__ import annotations

import gzip
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import SocketAttribute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from anyio.abc import SocketStream

    Behaviour = Callable[["Received", SocketStream], Awaitable[None]]


@dataclass(frozen=True)
class Received:
    """One request as it came: header names in lower case, the body whole."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HttpServer:
    """What a test sees of a running server."""

    port: int
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self.requests]

    async def arrived(self) -> None:
        """Wait until the first request is here, whole."""
        await self._arrived.wait()

    def note(self, request: Received) -> None:
        self.requests.append(request)
        self._arrived.set()


@asynccontextmanager
async def http_server(behave: Behaviour) -> AsyncIterator[HttpServer]:
    """Serve until the block is left; every connection is closed then, answered or not."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = HttpServer(listener.extra(SocketAttribute.local_port))  # noqa: S610 - not Django's

    async def serve(stream: SocketStream) -> None:
        async with stream:
            server.connections += 1
            try:
                request = await _receive(stream)
                if request is not None:
                    server.note(request)
                    await behave(request, stream)
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                return  # the client has gone; that is its right

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield server
        group.cancel_scope.cancel()


async def _receive(stream: SocketStream) -> Received | None:
    """Read one request; None where the client goes before one is whole."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive()
    return Received(method, path, headers, body)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(
    body: bytes | str, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Behaviour:
    """Answer every request with one body, its length announced."""
    content = body.encode() if isinstance(body, str) else body
    sent = {"content-type": "application/json", "content-length": str(len(content))}

    async def behave(_request: Received, stream: SocketStream) -> None:
        await stream.send(head(status, sent | dict(headers or {})) + content)

    return behave


def chat(content: Any, *, finish_reason: str = "stop", **fields: Any) -> bytes:
    """Return the body of a chat completion, pure ASCII."""
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    document = {
        "id": "chatcmpl-1",
        "model": "model-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }
    return json.dumps(document | fields).encode()


async def hang_up(_request: Received, _stream: SocketStream) -> None:
    """Close the connection without an answer."""


async def stall(_request: Received, _stream: SocketStream) -> None:
    """Never answer."""
    await anyio.sleep_forever()


def stall_after(beginning: bytes, *, chunked: bool = True) -> Behaviour:
    """Send the head and the beginning of a body, then nothing more, and keep the line open."""

    async def behave(_request: Received, stream: SocketStream) -> None:
        await stream.send(_beginning(beginning, chunked=chunked))
        await anyio.sleep_forever()

    return behave


def cut_off(beginning: bytes, *, chunked: bool = True) -> Behaviour:
    """Send the beginning of a body that was announced as longer, and hang up."""

    async def behave(_request: Received, stream: SocketStream) -> None:
        await stream.send(_beginning(beginning, chunked=chunked))

    return behave


def _beginning(content: bytes, *, chunked: bool) -> bytes:
    if chunked:
        size = f"{len(content):x}\r\n".encode()
        return head(200, {"transfer-encoding": "chunked"}) + size + content + b"\r\n"
    return head(200, {"content-length": str(len(content) + 100)}) + content


def gzipped(body: bytes, *, cut: int = 0) -> Behaviour:
    """Answer in a content coding that nobody asked for, `cut` bytes short of its end."""
    content = gzip.compress(body)
    return answer(content[: len(content) - cut], headers={"content-encoding": "gzip"})


def in_pieces(*pieces: bytes) -> Behaviour:
    """Answer with a chunked body whose chunks end where the pieces do."""

    async def behave(_request: Received, stream: SocketStream) -> None:
        await stream.send(head(200, {"transfer-encoding": "chunked"}))
        for piece in pieces:
            await stream.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await stream.send(b"0\r\n\r\n")

    return behave
