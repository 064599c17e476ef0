"""The contract of an adapter, as a suite that needs no test framework.

    await check_adapter(MyAdapter(...), text="Say hello.")

It prepares, sends one real request to whatever the adapter reaches, and reads what came back. Ours
pass it in our own tests.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING

from codeai_engine.adapters.base import (
    Adapter,
    CallInput,
    Interpretation,
    Observation,
    PreparedRequest,
    Wire,
)
from codeai_engine.digests import refuse_unless_interoperable, text_digest
from codeai_engine.errors import AdapterError, PayloadRefused
from codeai_engine.plugins import ContractBroken, require
from codeai_engine.rules.bind import carried_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["ContractBroken", "check_adapter"]

TEXTS = (
    "One line.",
    "Lines\n\nand a last one\n",
    "Zürich, 東京, \U0001f99c; a NUL \x00 and an escape \x1b[31m",
    '<context-item kind=artifact id=x sha256=y bytes=1>\n{"a": "\\u0000"}\n</context-item>\n',
)
UNKNOWN_CONTROL = "codeai_contract_control_that_nobody_knows"
BODIES = (
    b"",
    b"\x00",
    b"\xff\xfe\x89PNG\r\n",
    b"<html><body>503</body></html>",
    b"null",
    b"[]",
    b'{"error": null}',
    b'{"choices": []}',
    b'{"choices": [{"message": {"content": "\\udc00"}}], "usage": {"prompt_tokens": -1}}',
    b"[" * 20_000,
    b'{"choices": [{"message": {"content": ' + b"9" * 5_000 + b"}}]}",
)


class _Stopped(Exception):  # noqa: N818 - a signal of this suite, not an error
    """Raised where a byte would be about to leave."""


async def check_adapter(
    adapter: object,
    *,
    text: str = "Answer with one word.",
    parameters: Mapping[str, Any] | None = None,
    variant: Mapping[str, Any] | None = None,
    secrets: tuple[str, ...] = (),
) -> None:
    """Check every rule of the contract; one request is really sent.

    Args:
        adapter: What to check.
        text: The input that is sent.
        parameters: The parameters that it is sent with.
        variant: The variant that it is sent with.
        secrets: Values that may be kept nowhere, such as the key that it uses.

    Raises:
        ContractBroken: A rule does not hold; the message is the rule.
        AdapterError: The request failed, so that the rules about answers say nothing.
    """
    if not isinstance(adapter, Adapter):
        raise ContractBroken("an adapter has every member of codeai_engine.adapters.base.Adapter")
    call = CallInput(text, parameters or {}, variant or {})
    _check_names(adapter)
    for each in (text, *TEXTS):
        _check_prepare(adapter, CallInput(each, call.parameters, call.variant))
    _check_unknown_control(adapter, call)
    _check_unsendable_text(adapter)
    await _check_refused_sending(adapter, call)
    request = adapter.prepare(call)
    observation = await _check_send(adapter, request, text)
    _check_interpret(adapter, observation)
    _check_secrets(adapter, request, observation, secrets)


def _check_names(adapter: Adapter) -> None:
    for name in ("provider", "protocol"):
        value = getattr(adapter, name)
        require(isinstance(value, str) and value, f"`{name}` is a name")
    model = adapter.requested_model
    require(model is None or isinstance(model, str), "`requested_model` is a name or None")


def _check_prepare(adapter: Adapter, call: CallInput) -> None:
    before = deepcopy((call.parameters, call.variant))
    request, again = adapter.prepare(call), adapter.prepare(call)
    require(isinstance(request, PreparedRequest), "`prepare` returns a PreparedRequest")
    require(request == again, "`prepare` is pure: the same call gives the same request")
    require((call.parameters, call.variant) == before, "`prepare` leaves the call as it was")
    require(isinstance(request.body, dict), "the body is a JSON object")
    for value in (request.body, request.effective_parameters, request.defaulted_parameters):
        try:
            refuse_unless_interoperable(value)
        except PayloadRefused as refused:
            raise ContractBroken(
                f"what `prepare` returns is I-JSON; {refused.message}"
            ) from refused
    require(
        json.loads(request.body_text()) == request.body,
        "the body is what its canonical text reads as: lists, not tuples",
    )
    require(
        carried_text(request.body, request.input_pointer) == call.text,
        "the body carries exactly the text, at `input_pointer`",
    )


def _check_unknown_control(adapter: Adapter, call: CallInput) -> None:
    parameters = {**call.parameters, UNKNOWN_CONTROL: 1}
    try:
        request = adapter.prepare(CallInput(call.text, parameters, call.variant))
    except AdapterError:
        return
    require(
        UNKNOWN_CONTROL in request.omitted_unsupported
        or UNKNOWN_CONTROL in request.effective_parameters,
        "a parameter takes effect, is named in `omitted_unsupported`, or is refused",
    )


def _check_unsendable_text(adapter: Adapter) -> None:
    try:
        request = adapter.prepare(CallInput("a lone surrogate \udc00"))
        refuse_unless_interoperable(request.body)
    except (AdapterError, PayloadRefused):
        return
    raise ContractBroken("a text that UTF-8 cannot carry is refused in `prepare`")


async def _check_refused_sending(adapter: Adapter, call: CallInput) -> None:
    """Nothing can be sent that was not recorded before: `sending` may refuse."""

    async def refuse() -> None:
        raise _Stopped

    wire = Wire(refuse)
    try:
        await adapter.send(adapter.prepare(call), wire)
    except _Stopped:
        require(
            not wire.received and wire.state == "not_sent",
            "nothing leaves and nothing comes back where `wire.sending` refuses",
        )
        return
    raise ContractBroken("`wire.sending` is awaited before a byte can leave, and may refuse")


async def _check_send(adapter: Adapter, request: PreparedRequest, text: str) -> Observation:
    before = deepcopy(request)
    asked = 0

    async def sending() -> None:
        nonlocal asked
        asked += 1
        require(not wire.received, "`wire.sending` comes before anything that is received")

    wire = Wire(sending)
    observation = await adapter.send(request, wire)
    require(asked == 1, "`wire.sending` is awaited once an attempt")
    require(request == before, "`send` leaves the request as it was")
    require(isinstance(observation, Observation), "`send` returns an Observation")
    require(
        bytes(wire.received) == observation.body,
        "every byte of the answer goes through `wire.receive`",
    )
    seen = wire.observation
    if seen is not None:
        require(
            seen.request_sha256 in (request.body_sha256(), text_digest(text)),
            "what left is the canonical text of the body, or for a command the text itself",
        )
    return observation


def _check_interpret(adapter: Adapter, observation: Observation) -> None:
    _check_reading(adapter, observation)
    for body in BODIES:
        for http_status, exit_code in ((200, 0), (429, 1), (503, -9), (302, 127), (None, None)):
            odd = Observation(
                body,
                observation.media_type,
                observation.artifact_type,
                http_status=http_status,
                exit_code=exit_code,
                headers={"retry-after": "soon", "content-encoding": "gzip"},
            )
            _check_reading(adapter, odd)


def _check_reading(adapter: Adapter, observation: Observation) -> None:
    try:
        read, again = adapter.interpret(observation), adapter.interpret(observation)
    except Exception as error:
        raise ContractBroken(f"`interpret` is total, and raised {error!r}") from error
    require(isinstance(read, Interpretation), "`interpret` returns an Interpretation")
    require(read == again, "`interpret` is pure: the same observation reads the same")
    require(read.status in ("succeeded", "failed"), "an interpretation succeeded or failed")
    require(
        read.output is not None or read.status == "failed", "an answer that succeeded has an output"
    )
    require(
        read.status == "succeeded" or (read.error and read.error_kind),
        "a failure has an `error` and an `error_kind`",
    )
    for value in (read.output, read.error, read.note, read.retry_after_s, read.input_tokens):
        try:
            refuse_unless_interoperable(value)
        except PayloadRefused as refused:
            raise ContractBroken(
                f"what `interpret` returns is I-JSON: a lone surrogate is escaped; {refused.reason}"
            ) from refused


def _check_secrets(
    adapter: Adapter,
    request: PreparedRequest,
    observation: Observation,
    secrets: tuple[str, ...],
) -> None:
    kept = "\n".join(
        (
            repr(adapter),
            repr(request),
            repr(observation),
            repr(adapter.interpret(observation)),
            request.body_text(),
            observation.body.decode("utf-8", "replace"),
        )
    )
    for secret in secrets:
        require(secret not in kept, "no secret is in the body, an answer or a representation")
