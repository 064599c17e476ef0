"""One HTTP exchange: a body out, byte for byte, and an answer back, unread.

Each exchange has a connection of its own. One that was kept alive may be closed by the other side
just as a request leaves, and then nobody can say whether it arrived. Nothing is ever sent again
here, redirects are not followed (a key never goes to another host), and the environment's proxies
are not used: where bytes go is what the spec says.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import anyio
import httpx2

from codeai_engine.adapters.base import Observation
from codeai_engine.adapters.redaction import Redactor, read_credential
from codeai_engine.adapters.wire import ObservingTransport
from codeai_engine.errors import ProviderError, SendError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from codeai_engine.adapters.base import Wire

CONNECT_S = 30.0
DECODED_BYTES = 1 << 20  # at most this much comes out of a content coding at once
KEPT_HEADERS = ("content-type", "content-encoding", "date", "retry-after", "x-request-id")
SUCCESS, REDIRECT = 200, 300


@dataclass(frozen=True, slots=True)
class Target:
    """Where a body goes.

    Args:
        base_url: Up to and with the version, such as `https://api.example.com/v1`.
        path: What follows it, such as `/chat/completions`.
        api_key_env: The variable that holds the key, None for none.
        timeout_s: Deadline of the whole exchange, in seconds.
    """

    base_url: str
    path: str
    api_key_env: str | None = None
    timeout_s: float | None = None


async def post(target: Target, content: bytes, wire: Wire) -> Observation:
    """Post a JSON body and return what came back.

    The observation holds the content after content coding, which is not asked for; the digests in
    `wire` are over the bytes as they came.

    Raises:
        SendError: The key is missing, the transport failed, or the answer ended early; what had
            come is in `wire.received`.
        ProviderError: The answer is past the limit.
    """
    credential = read_credential(target.api_key_env) if target.api_key_env else None
    redactor = Redactor(credential)
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "codeai-tui",
    }
    if credential:
        headers["authorization"] = f"Bearer {credential.value}"
    transport = ObservingTransport(wire, httpx2.AsyncHTTPTransport(verify=_tls(), retries=0))
    try:
        with anyio.fail_after(target.timeout_s):
            async with (
                httpx2.AsyncClient(
                    transport=transport,
                    timeout=httpx2.Timeout(None, connect=CONNECT_S),
                    follow_redirects=False,
                    trust_env=False,
                ) as client,
                client.stream(
                    "POST", target.base_url + target.path, content=content, headers=headers
                ) as response,
            ):
                await _receive(response, redactor, wire)
                return _observation(response, redactor, wire)
    except TimeoutError as error:
        text = f"no whole answer within {target.timeout_s:g} s"
        raise SendError(text, error_kind="timeout", wire=wire.account()) from error
    except httpx2.HTTPError as error:
        raise _send_error(error, redactor, wire, has_begun=transport.has_response) from error
    finally:
        observed = transport.observation()
        if observed is not None:
            wire.observe(observed)


@cache
def _tls() -> ssl.SSLContext:
    """Return what this system trusts, `SSL_CERT_FILE` included; reading it takes tens of ms."""
    return httpx2.create_ssl_context()


async def _receive(response: httpx2.Response, redactor: Redactor, wire: Wire) -> None:
    """Keep the answer as it comes, without the key; what came before a failure is kept too."""
    decoder = _decoder(response.headers.get("content-encoding", ""), wire)
    try:
        async for chunk in response.aiter_raw():
            for piece in decoder.decode(chunk):
                wire.receive(redactor.feed(piece))
        decoder.refuse_unless_whole()
    except BaseException:
        with suppress(ProviderError):  # already past the limit
            wire.receive(redactor.finish())
        raise
    wire.receive(redactor.finish())


def _observation(response: httpx2.Response, redactor: Redactor, wire: Wire) -> Observation:
    kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    headers = {name: redactor.text(value) for name, value in kept.items()}
    is_answer = SUCCESS <= response.status_code < REDIRECT
    return Observation(
        body=bytes(wire.received),
        media_type=headers.get("content-type", "application/octet-stream"),
        artifact_type="provider_response_body",
        transport_outcome="response_received" if is_answer else "http_error",
        endpoint=response.url.path,
        http_status=response.status_code,
        headers=headers,
    )


def _send_error(
    error: httpx2.HTTPError, redactor: Redactor, wire: Wire, *, has_begun: bool
) -> SendError:
    """Return a transport failure in our words; how far the bytes got decides what it is."""
    reason = redactor.text(str(error)) or type(error).__name__
    if wire.state == "not_sent":
        kind, text = "connect", f"cannot connect: {reason}"
    elif has_begun:
        size = len(wire.received)
        kind, text = "incomplete_response", f"the answer ended early, after {size} bytes: {reason}"
    else:
        kind, text = "transport", f"the connection broke before an answer: {reason}"
    return SendError(text, error_kind=kind, wire=wire.account())


class _Identity:
    """Content that is not coded."""

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Return the chunk."""
        yield chunk

    def refuse_unless_whole(self) -> None:
        """Accept: that a body is whole is the transport's business."""


class _Inflater:
    """Takes gzip or deflate off, a bounded piece at a time, and knows whether it was whole."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either header
        self._is_empty = True

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Return what a chunk holds.

        Raises:
            SendError: It cannot be inflated.
        """
        self._is_empty = False
        piece = b""
        try:
            # With all of the chunk taken in, a full piece may have left more behind it.
            while chunk or len(piece) == DECODED_BYTES:
                piece = self._inflate.decompress(chunk, DECODED_BYTES)
                yield piece
                chunk = self._inflate.unconsumed_tail
        except zlib.error as error:
            text = f"the answer's content coding cannot be read: {error}"
            raise SendError(
                text, error_kind="unreadable_coding", wire=self._wire.account()
            ) from error

    def refuse_unless_whole(self) -> None:
        """Check that the coding came to its end.

        Raises:
            SendError: It was cut short.
        """
        if not (self._inflate.eof or self._is_empty):
            raise SendError(
                "the answer's content coding is cut short",
                error_kind="incomplete_response",
                wire=self._wire.account(),
            )


def _decoder(coding: str, wire: Wire) -> _Identity | _Inflater:
    """Return what takes a content coding off.

    Raises:
        SendError: A coding that cannot be read; none was asked for.
    """
    match coding.strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "x-gzip" | "deflate":
            return _Inflater(wire)
        case other:
            text = f"the answer came in the content coding {other!a}, which was not asked for"
            raise SendError(text, error_kind="unreadable_coding", wire=wire.account())
