"""A scripted adapter, for tests and examples: it says what it was told to, and reaches nobody.

It takes the steps of a real one: `wire.sending` before anything, the answer through
`wire.receive`, and an account of the bytes, as if the script were a transport.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import anyio
from pydantic import Field, model_validator

from codeai_engine.adapters.base import (
    Interpretation,
    Observation,
    PreparedRequest,
    WireObservation,
    refuse_unsendable,
)
from codeai_engine.adapters.controls import requested_controls
from codeai_engine.adapters.settings import AdapterSettings
from codeai_engine.adapters.text import read_text
from codeai_engine.digests import sha256_hex
from codeai_engine.errors import PrepareError, SendError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.adapters.base import CallInput, Wire

Failure = Literal["prepare", "before_sending", "transport", "mid_body"]
Answer = str | bytes | BaseException | Callable[[str], str | bytes]


class Settings(AdapterSettings):
    """`kind = "scripted"`.

    Args:
        answer: The answer to every call, `scripted answer` where neither is given.
        answers: One answer a call, in the order of the calls; a call past the last fails.
        delay_s: How long each answer takes.
        fail: Where it fails instead: in `prepare`, `before_sending`, in `transport` after the
            bytes left, or `mid_body`, with half of the answer there.
    """

    kind: Literal["scripted"]
    answer: str | None = None
    answers: list[str] | None = None
    delay_s: Annotated[float, Field(ge=0)] = 0.0
    fail: Failure | None = None

    @model_validator(mode="after")
    def _one_script(self) -> Self:
        if self.answer is not None and self.answers is not None:
            raise ValueError("needs at most one of: answer, answers")
        return self


def from_settings(settings: Mapping[str, Any]) -> ScriptedAdapter:
    """Return the adapter that a table of a spec describes.

    Raises:
        pydantic.ValidationError: The table does not fit.
    """
    table = Settings.model_validate(dict(settings))
    if table.answers is not None:
        return ScriptedAdapter(*table.answers, repeat=False, delay_s=table.delay_s, fail=table.fail)
    answer = "scripted answer" if table.answer is None else table.answer
    return ScriptedAdapter(answer, delay_s=table.delay_s, fail=table.fail)


class ScriptedAdapter:
    """Answers by a script.

    Args:
        answers: What each call gets, in the order of the calls. Text and bytes are an answer as
            they are, a function is given the input and returns one, an exception of any kind is
            raised at the place that `fail` names.
        repeat: The last answer serves all further calls; else a call past it fails.
        delay_s: How long each takes, in seconds; `math.inf` never answers.
        fail: Where to fail; an exception without it is raised after the bytes left.
    """

    provider = "scripted"
    protocol = "scripted"
    requested_model: str | None = None

    def __init__(
        self,
        *answers: Answer,
        repeat: bool = True,
        delay_s: float = 0.0,
        fail: Failure | None = None,
    ) -> None:
        self._answers = answers
        self._repeat = repeat
        self._delay_s = delay_s
        self._fail = fail
        self._sent_count = 0

    def prepare(self, call: CallInput) -> PreparedRequest:
        """Return the input as the body `{"input": TEXT}`; a script honours no control.

        Raises:
            PrepareError: The script says so, or the input cannot be sent.
        """
        if self._fail == "prepare":
            raise self._raised(PrepareError("the script refuses", error_kind="scripted"))
        asked = requested_controls(call)
        return refuse_unsendable(
            PreparedRequest(
                body={"input": call.text},
                input_pointer="/input",
                effective_parameters={"protocol": self.protocol},
                requested_controls=asked,
                omitted_unsupported=tuple(sorted(asked)),
            )
        )

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        """Take the steps of a real send and answer.

        Raises:
            SendError: The script says so, or is over.
        """
        answer = self._next()
        if self._fail == "before_sending":
            raise self._failure(answer, "the script does not connect", "connect")
        await wire.sending()
        content = request.body_text().encode("ascii")
        wire.sent()
        try:
            await anyio.sleep(self._delay_s)
            if self._fail == "transport" or (isinstance(answer, BaseException) and not self._fail):
                raise self._failure(answer, "the script breaks the connection", "transport")
            said = _said(answer, request.body["input"])
            half = len(said) // 2
            wire.receive(said[:half])
            if self._fail == "mid_body":
                text = "the script ends the answer early"
                raise self._failure(answer, text, "incomplete_response")
            wire.receive(said[half:])
        finally:
            wire.observe(_observed(content, bytes(wire.received)))
        return Observation(bytes(wire.received), "text/plain", "scripted_answer")

    def interpret(self, observation: Observation) -> Interpretation:
        """Read the answer as text."""
        text, note = read_text(observation.body)
        return Interpretation(
            output=text,
            status="succeeded",
            generation_state="complete" if text else "empty",
            note=note,
        )

    def _next(self) -> Answer:
        index, self._sent_count = self._sent_count, self._sent_count + 1
        if self._repeat and self._answers:
            return self._answers[min(index, len(self._answers) - 1)]
        if index < len(self._answers):
            return self._answers[index]
        raise SendError("the script is over", error_kind="scripted", wire="not_sent")

    def _raised(self, otherwise: BaseException) -> BaseException:
        first = self._answers[0] if self._answers else None
        return first if isinstance(first, BaseException) else otherwise

    def _failure(self, answer: Answer, text: str, kind: str) -> BaseException:
        return answer if isinstance(answer, BaseException) else SendError(text, error_kind=kind)


def _said(answer: Answer, text: str) -> bytes:
    """Return the bytes of an answer; an exception that comes mid-body has half of nothing."""
    if isinstance(answer, BaseException):
        return b"the beginning of an answer"
    said = answer(text) if callable(answer) else answer
    return said.encode("utf-8") if isinstance(said, str) else said


def _observed(content: bytes, received: bytes) -> WireObservation:
    return WireObservation(
        method=None,
        host=None,
        path=None,
        request_sha256=sha256_hex(content),
        request_bytes=len(content),
        response_sha256=sha256_hex(received),
        response_bytes=len(received),
    )
