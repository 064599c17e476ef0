"""The observing transport over a transport that gives no account of its steps."""

from __future__ import annotations

import httpx2
import pytest
from typing_extensions import override

from codeai_engine.adapters.wire import ObservingTransport
from codeai_engine.digests import sha256_hex
from tests.engine.adapters.wires import WatchedWire


class Bare(httpx2.AsyncBaseTransport):
    """Takes the body and answers; says nothing of its steps."""

    def __init__(self, wire: WatchedWire) -> None:
        self._wire = wire
        self.counts: list[int] = []

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "nobody.test":
            raise httpx2.ConnectError("no", request=request)
        self.counts.append(self._wire.sending_count)
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        body = b"".join([chunk async for chunk in request.stream])
        self.counts.append(self._wire.sending_count)
        return httpx2.Response(200, stream=httpx2.ByteStream(b"got " + body))


async def test_a_transport_without_an_account_does_not_slip_past_sending() -> None:
    wire = WatchedWire()
    bare = Bare(wire)
    transport = ObservingTransport(wire, bare)
    async with httpx2.AsyncClient(transport=transport) as client:
        response = await client.post("http://host.test/path?x=1", content=b"body")
    assert response.content == b"got body"
    assert bare.counts == [0, 1]
    seen = transport.observation()
    assert seen is not None
    assert (seen.request_sha256, seen.request_bytes) == (sha256_hex(b"body"), 4)
    assert (seen.response_sha256, seen.response_bytes) == (sha256_hex(b"got body"), 8)
    assert (seen.method, seen.host, seen.path) == ("POST", "host.test", "/path?x=1")
    assert wire.account() == "unknown"  # nobody said that every byte has left


async def test_there_is_no_account_before_a_byte_could_leave() -> None:
    wire = WatchedWire()
    transport = ObservingTransport(wire, Bare(wire))
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.post("http://nobody.test/path", content=b"body")
    assert transport.observation() is None
