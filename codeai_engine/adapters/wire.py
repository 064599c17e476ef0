"""What really went over the wire: a transport that takes digests of the bytes it moves.

A request is *wire-observed* only where the digest of what the transport was given to send equals
that of the prepared body (DESIGN 6). Header names are kept, values never.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import httpx2
from typing_extensions import override

from codeai_engine.adapters.base import WireObservation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from codeai_engine.adapters.base import Wire


class _Tap(httpx2.AsyncByteStream):
    """Passes chunks on and takes their digest.

    Args:
        source: The stream of httpx2's own that is passed on.
        before: Awaited before the first chunk.
    """

    def __init__(self, source: object, before: Callable[[], Awaitable[None]]) -> None:
        if not isinstance(source, httpx2.AsyncByteStream):
            raise TypeError("only asynchronous streams can be observed")
        self._source = source
        self._before = before
        self._digest = sha256()
        self.size_bytes = 0

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        await self._before()
        async for chunk in self._source:
            self._digest.update(chunk)
            self.size_bytes += len(chunk)
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._source.aclose()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class ObservingTransport(httpx2.AsyncBaseTransport):
    """Carries one request, and follows its bytes both ways.

    Args:
        wire: Told that bytes may leave, just before the first does, and that all have left.
        inner: Does the sending.
    """

    def __init__(self, wire: Wire, inner: httpx2.AsyncBaseTransport) -> None:
        self._wire = wire
        self._inner = inner
        self._request: httpx2.Request | None = None
        self._response: httpx2.Response | None = None
        self._sent: _Tap | None = None
        self._received: _Tap | None = None

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and return the response, both under observation."""
        self._request = request
        self._sent = request.stream = _Tap(request.stream, self._sending)
        request.extensions = {**request.extensions, "trace": self._trace}
        response = await self._inner.handle_async_request(request)
        self._received = response.stream = _Tap(response.stream, _nothing)
        self._response = response
        return response

    @override
    async def aclose(self) -> None:
        """Close what does the sending."""
        await self._inner.aclose()

    @property
    def has_response(self) -> bool:
        """Whether the head of a response has come."""
        return self._response is not None

    def observation(self) -> WireObservation | None:
        """Return the account so far; None where no byte could leave."""
        if self._request is None or self._sent is None or self._wire.state == "not_sent":
            return None
        request, response, received = self._request, self._response, self._received
        return WireObservation(
            method=request.method,
            host=request.url.netloc.decode("ascii"),
            path=request.url.raw_path.decode("ascii"),
            request_sha256=self._sent.sha256,
            request_bytes=self._sent.size_bytes,
            response_sha256=received.sha256 if received else None,
            response_bytes=received.size_bytes if received else None,
            request_header_names=_names(request.headers),
            response_header_names=_names(response.headers) if response else (),
        )

    async def _trace(self, event: str, _info: dict[str, Any]) -> None:
        """Follow the transport's own account of its steps (the `trace` extension of httpcore).

        Connecting, TLS included, comes before these and may fail without a byte having left.
        """
        if event.endswith("send_request_headers.started"):
            await self._sending()
        elif event.endswith("send_request_body.complete"):
            self._wire.sent()

    async def _sending(self) -> None:
        # Asked again before the body: a transport that gives no account must not slip past.
        if self._wire.state == "not_sent":
            await self._wire.sending()


async def _nothing() -> None:
    """Do nothing before the first chunk of a response."""


def _names(headers: httpx2.Headers) -> tuple[str, ...]:
    return tuple(sorted({name.lower() for name in headers}))
