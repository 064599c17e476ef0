"""The adapter protocol: a pure `prepare`, an effectful `send`, a pure `interpret`.

`prepare` turns a composed model input into a JSON body. The engine refuses a body that does not
carry exactly that input at `input_pointer`, stores it, and binds its digest, all before `send`.
`send` calls `await wire.sending()` just before the first byte can leave, hands every byte that
comes back to `wire.receive`, and returns a raw `Observation`. `interpret` reads it. An adapter of
your own is any object with these members, passed in or found by the entry point group
`codeai_engine.adapters`; `adapters/contract.py` is the suite that ours pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from codeai_engine.digests import canonical_json, refuse_unless_interoperable, sha256_hex
from codeai_engine.errors import PayloadRefused, PrepareError, ProviderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

WireState = Literal["not_sent", "sending", "sent"]
GenerationState = Literal["complete", "truncated", "filtered", "empty", "unknown"]
OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024  # one artifact; a larger answer is a failed attempt


@dataclass(frozen=True, slots=True)
class CallInput:
    """What `prepare` gets.

    Args:
        text: The composed model input; the body must carry exactly this.
        parameters: The branch's parameters, as the spec wrote them.
        variant: The branch's variant (`temperature`, `seed`, `prompt_variant`, …).
    """

    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """What `prepare` returns: the body, and what became of each parameter.

    Args:
        body: A JSON object. Its canonical text is what an HTTP adapter sends, byte for byte.
        input_pointer: JSON pointer (RFC 6901) to the composed input within `body`.
        resolved_model_id: The model asked for, None for a tool.
        effective_parameters: What takes effect, including `protocol` and `endpoint`.
        requested_controls: The controls that the branch asked for.
        omitted_unsupported: Controls that this adapter cannot send.
        defaulted_parameters: What the adapter added of its own accord.
    """

    body: dict[str, Any]
    input_pointer: str
    resolved_model_id: str | None = None
    effective_parameters: dict[str, Any] = field(default_factory=dict)
    requested_controls: dict[str, Any] = field(default_factory=dict)
    omitted_unsupported: tuple[str, ...] = ()
    defaulted_parameters: dict[str, Any] = field(default_factory=dict)

    def body_text(self) -> str:
        """Return the canonical text of the body."""
        return canonical_json(self.body)

    def body_sha256(self) -> str:
        """Return the digest of the canonical text of the body."""
        return sha256_hex(self.body_text().encode("ascii"))


@dataclass(frozen=True, slots=True)
class WireObservation:
    """Digests of what a transport was given to send and of what it received; names, no values."""

    method: str | None
    host: str | None
    path: str | None
    request_sha256: str
    request_bytes: int
    response_sha256: str | None
    response_bytes: int | None
    request_header_names: tuple[str, ...] = ()
    response_header_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back, unread.

    Args:
        body: The raw bytes of the answer; for a command, its standard output.
        artifact_type: `provider_response_body`, `command_stdout`, or an adapter's own.
        transport_outcome: `response_received`, `http_error` or `no_response`.
        headers: A small allow-list of response headers, lower-case names.
        stderr: A command's standard error, else None.
    """

    body: bytes
    media_type: str
    artifact_type: str
    transport_outcome: str = "response_received"
    endpoint: str | None = None
    http_status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    stderr: bytes | None = None


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What was read out of an observation.

    Args:
        output: The answer as text (any bytes escaped that are not), or None where there is none.
        status: `succeeded` or `failed`.
        error_kind: Stable word where it failed: `rate_limited`, `server_error`, `client_error`,
            `malformed_response`, `exit_code`, …
        retry_after_s: What the provider asked to wait, in seconds.
        input_tokens: As the provider says; None is unknown.
        note: Why the output is not the bytes as they came, such as bytes that are not UTF-8.
    """

    output: str | None
    status: Literal["succeeded", "failed"]
    generation_state: GenerationState = "unknown"
    error: str | None = None
    error_kind: str | None = None
    classification_basis: str | None = None
    provider_reason: str | None = None
    provider_reason_source: str | None = None
    provider_request_id: str | None = None
    provider_model: str | None = None
    fingerprint: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retry_after_s: float | None = None
    note: str | None = None


class Wire:
    """Follows the bytes of one attempt, so that the record stays true however it ends.

    Args:
        on_sending: Makes `attempt.sending` durable; awaited before the first byte can leave.
        limit_bytes: Past this many received bytes the attempt fails; an adapter may lower it.

    Attributes:
        state: How far the request's bytes got.
        received: What has come back so far.
        stderr: What a command has said beside it so far.
        observation: The transport's own account, None where there was none.
    """

    def __init__(
        self,
        on_sending: Callable[[], Awaitable[None]],
        *,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> None:
        self._on_sending = on_sending
        self.limit_bytes = limit_bytes
        self.state: WireState = "not_sent"
        self.received = bytearray()
        self.stderr = bytearray()
        self.observation: WireObservation | None = None

    async def sending(self) -> None:
        """Record that bytes may leave from now on; returns when that is durable."""
        await self._on_sending()
        self.state = "sending"

    def sent(self) -> None:
        """Note that the transport says every byte has left."""
        self.state = "sent"

    def receive(self, chunk: bytes) -> None:
        """Keep a chunk of the answer.

        Raises:
            ProviderError: The answer is past `limit_bytes`; what fitted is kept.
        """
        self._keep(chunk, self.received, "the answer")

    def receive_stderr(self, chunk: bytes) -> None:
        """Keep a chunk of what a command says beside its answer.

        Raises:
            ProviderError: It is past `limit_bytes`; what fitted is kept.
        """
        self._keep(chunk, self.stderr, "standard error")

    def _keep(self, chunk: bytes, kept: bytearray, what: str) -> None:
        size = len(kept) + len(chunk)
        kept += chunk[: max(0, self.limit_bytes - len(kept))]
        if size > self.limit_bytes:
            raise ProviderError(
                f"{what} is past the limit of {self.limit_bytes} bytes: {size} bytes came",
                error_kind="output_too_large",
                wire=self.account(),
            )

    def observe(self, observation: WireObservation) -> None:
        """Keep the transport's own account of the exchange."""
        self.observation = observation

    def account(self) -> Literal["not_sent", "sent", "unknown"]:
        """Return what is known of the request's bytes, in the words of the ledger."""
        return "unknown" if self.state == "sending" else self.state


@runtime_checkable
class Adapter(Protocol):
    """A way to ask something: a provider, a tool, a script."""

    @property
    def provider(self) -> str:
        """Who answers, such as `openai`, `local`, or the name of a program."""
        ...

    @property
    def protocol(self) -> str:
        """How it is spoken to, such as `chat_completions` or `command`."""
        ...

    @property
    def requested_model(self) -> str | None:
        """The model named in the settings, None for a tool."""
        ...

    def prepare(self, call: CallInput) -> PreparedRequest:
        """Return the body of the request. Pure: no clock, disk or network.

        Raises:
            PrepareError: This adapter cannot carry the input or a parameter.
        """
        ...

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        """Send the body and return what came back, unread.

        Raises:
            SendError: The transport failed; `wire` knows how far it got.
        """
        ...

    def interpret(self, observation: Observation) -> Interpretation:
        """Read an observation. Pure, and total: any bytes give an interpretation."""
        ...


def refuse_unsendable(request: PreparedRequest) -> PreparedRequest:
    """Return a request whose body is a JSON object that any strict reader takes.

    Raises:
        PrepareError: It holds what I-JSON does not allow; names the place.
    """
    try:
        refuse_unless_interoperable(request.body)
    except PayloadRefused as refused:
        raise PrepareError(
            f"the request cannot carry {refused.json_path}: {refused.reason}",
            error_kind="unsendable",
            wire="not_sent",
        ) from refused
    return request


async def close_adapter(adapter: object) -> None:
    """Let go of what an adapter holds open; one without `aclose` holds nothing."""
    close = getattr(adapter, "aclose", None)
    if close is not None:
        await close()
