"""The chat-completions dialect, pure: a body out of an input, an interpretation out of bytes.

The status of an answer decides what it is, never the shape of its body (USER_REPORTS U12).
"""

from __future__ import annotations

import json
import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from codeai_engine.adapters.base import Interpretation, PreparedRequest, refuse_unsendable
from codeai_engine.adapters.controls import requested_controls
from codeai_engine.adapters.text import escape_surrogates
from codeai_engine.digests import MAX_SAFE_INTEGER

if TYPE_CHECKING:
    from codeai_engine.adapters.base import CallInput, GenerationState, Observation

PROTOCOL = "chat_completions"
ENDPOINT = "/chat/completions"
# What a branch calls a control, and what the protocol does.
CONTROLS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
    "max_output_tokens": "max_tokens",
    "response_format": "response_format",
}
FINISH: dict[str | None, GenerationState] = {
    "stop": "complete",
    "length": "truncated",
    "content_filter": "filtered",
}
MESSAGE_CHARACTERS = 300


def prepare(call: CallInput, *, model: str, endpoint: str) -> PreparedRequest:
    """Return the body of a chat completion; a control that cannot be sent is named, not dropped.

    Args:
        call: The input and what the branch asks for.
        model: The model to ask for.
        endpoint: The path that the body goes to, for the record.

    Raises:
        PrepareError: The body would not be what a strict reader takes.
    """
    asked = requested_controls(call)
    sent = {CONTROLS[key]: value for key, value in asked.items() if key in CONTROLS}
    body = {"model": model, "messages": [{"role": "user", "content": call.text}]} | sent
    return refuse_unsendable(
        PreparedRequest(
            body=body,
            input_pointer="/messages/0/content",
            resolved_model_id=model,
            effective_parameters={"protocol": PROTOCOL, "endpoint": endpoint, "model": model}
            | sent,
            requested_controls=asked,
            omitted_unsupported=tuple(sorted(asked.keys() - CONTROLS.keys())),
        )
    )


def interpret(observation: Observation, *, redaction_mark: str | None = None) -> Interpretation:
    """Read an answer; any bytes and any status give an interpretation.

    Args:
        observation: What came back.
        redaction_mark: What stands where the key stood; its presence is noted.
    """
    status = observation.http_status or 0
    if not 200 <= status < 300:  # noqa: PLR2004 - the classes of RFC 9110
        return _refusal(observation, status)
    document, note = _document(observation.body)
    if not isinstance(document, dict):
        return _malformed("the answer is no JSON object", note)
    choice = _at(document, "choices", 0)
    message = _at(choice, "message")
    if not isinstance(message, dict):
        return _malformed("the answer has no choices[0].message", note)
    text, shape = _content(message)
    if text is None:
        return _malformed("the content of the answer is neither text nor parts", note)
    text, escapes = escape_surrogates(text)
    is_redacted = redaction_mark is not None and redaction_mark.encode() in observation.body
    redacted = "the key stood in the answer and was replaced" if is_redacted else None
    reason = _text(_at(choice, "finish_reason"))
    return Interpretation(
        output=text,
        status="succeeded",
        generation_state=_state(text, reason),
        provider_reason=reason,
        provider_reason_source="choices[0].finish_reason" if reason else None,
        provider_request_id=observation.headers.get("x-request-id") or _text(document.get("id")),
        provider_model=_text(document.get("model")),
        fingerprint=_text(document.get("system_fingerprint")),
        input_tokens=_count(document, "prompt_tokens"),
        output_tokens=_count(document, "completion_tokens"),
        note=_joined(note, shape, escapes, redacted),
    )


def _refusal(observation: Observation, status: int) -> Interpretation:
    document, _ = _document(observation.body)
    error = _at(document, "error")
    message = _text(error) or _text(_at(error, "message")) or _text(_at(document, "message"))
    reason = _text(_at(error, "type")) or _text(_at(error, "code"))
    if status:
        said = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    else:
        said = "there is no HTTP status"
    return Interpretation(
        output=None,
        status="failed",
        error=said,
        error_kind=_kind_of(status),
        classification_basis="http_status",
        provider_reason=reason,
        provider_reason_source="error" if reason else None,
        provider_request_id=observation.headers.get("x-request-id"),
        retry_after_s=_retry_after_s(observation.headers),
    )


def _kind_of(status: int) -> str:
    match status:
        case 429:
            return "rate_limited"
        case 408:
            return "timeout"
        case _ if 300 <= status < 400:  # noqa: PLR2004
            return "redirect"
        case _ if 400 <= status < 500:  # noqa: PLR2004
            return "client_error"
        case _ if 500 <= status < 600:  # noqa: PLR2004
            return "server_error"
        case _:
            return "malformed_response"


def _malformed(problem: str, note: str | None) -> Interpretation:
    return Interpretation(
        output=None,
        status="failed",
        error=problem,
        error_kind="malformed_response",
        classification_basis="body",
        note=note,
    )


def _document(body: bytes) -> tuple[object, str | None]:
    """Return a body as JSON, None where it is none, and a note where it is not all UTF-8.

    JSON is UTF-8 whatever a header declares (RFC 8259). A byte that is not becomes a lone
    surrogate, which is escaped with all others later on.
    """
    text = body.decode("utf-8-sig", "surrogateescape")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None, None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return document, f"not UTF-8 at byte {error.start}; such bytes stand as \\udcNN"
    return document, None


def _content(message: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the text of a message, None where its content is neither text nor parts; and a note.

    No content is an empty answer, unless the provider says why it refuses: then that is the text.
    """
    match message.get("content"):
        case str() as text:
            return text, None
        case list() as parts:
            texts = [
                part for part in (_at(part, "text") for part in parts) if isinstance(part, str)
            ]
            left_out = len(parts) - len(texts)
            note = f"{left_out} parts without text are left out" if left_out else None
            return "".join(texts), note
        case None:
            refusal = message.get("refusal")
            if isinstance(refusal, str):
                return refusal, "the text is what the provider says of its refusal"
            return "", None
        case _:
            return None, None


def _state(text: str, reason: str | None) -> GenerationState:
    state = FINISH.get(reason, "unknown")
    return "empty" if not text and state != "filtered" else state


def _retry_after_s(headers: dict[str, str]) -> float | None:
    """Return what `Retry-After` asks to wait: seconds, or a date less the answer's own date."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
            seconds = (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _at(value: object, *path: str | int) -> object:
    """Return what lies at a path of keys and indexes, None where nothing does."""
    for step in path:
        match value, step:
            case dict(), str():
                value = value.get(step)
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return None
    return value


def _text(value: object) -> str | None:
    """Return a short text of the provider's as one a record can hold; None where it is no text."""
    if not isinstance(value, str) or not value:
        return None
    return escape_surrogates(value[:MESSAGE_CHARACTERS])[0]


def _count(document: dict[str, Any], key: str) -> int | None:
    """Return a number of tokens; what is missing or odd is unknown, never 0 (U43)."""
    value = _at(document, "usage", key)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MAX_SAFE_INTEGER else None


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
