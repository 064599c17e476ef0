"""The chat dialect as a pure function: what any answer is read as."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.adapters.base import CallInput, Observation
from codeai_engine.adapters.chat import interpret, prepare
from codeai_engine.digests import refuse_unless_interoperable
from tests.http_server import chat


def observed(
    body: bytes | str, *, status: int | None = 200, headers: dict[str, str] | None = None
) -> Observation:
    content = body.encode("utf-8") if isinstance(body, str) else body
    return Observation(
        content,
        "application/json",
        "provider_response_body",
        http_status=status,
        headers=headers or {},
    )


def test_an_answer_is_read_with_what_the_provider_says_of_it() -> None:
    body = chat("Zürich", system_fingerprint="fp-1")
    read = interpret(observed(body, headers={"x-request-id": "req-1"}))
    assert (read.output, read.status, read.generation_state) == ("Zürich", "succeeded", "complete")
    assert (read.input_tokens, read.output_tokens) == (11, 7)
    assert (read.provider_request_id, read.provider_model) == ("req-1", "model-1")
    assert (read.fingerprint, read.provider_reason) == ("fp-1", "stop")
    assert read.note is None
    assert interpret(observed(body)).provider_request_id == "chatcmpl-1"


@pytest.mark.parametrize(
    ("content", "reason", "state"),
    [
        ("text", "stop", "complete"),
        ("text", "length", "truncated"),
        ("text", "content_filter", "filtered"),
        ("text", "some_new_reason", "unknown"),
        ("", "stop", "empty"),
        ("", "length", "empty"),
        (None, "stop", "empty"),
        (None, "content_filter", "filtered"),
    ],
)
def test_what_a_generation_ended_as(content: str | None, reason: str, state: str) -> None:
    read = interpret(observed(chat(content, finish_reason=reason)))
    assert (read.status, read.output, read.generation_state) == (
        "succeeded",
        content or "",
        state,
    )


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], "many", {"prompt_tokens": None}, {"prompt_tokens": "11"}, {"prompt_tokens": -1}]
    + [{"prompt_tokens": value} for value in (True, 1.5, 2**53, 10**400)],
)
def test_usage_that_is_missing_or_odd_is_unknown(usage: Any) -> None:
    read = interpret(observed(chat("text", usage=usage)))
    assert (read.status, read.input_tokens, read.output_tokens) == ("succeeded", None, None)


def test_a_lone_surrogate_is_a_visible_escape_with_a_note() -> None:
    read = interpret(observed(chat("ok \udc00 end")))
    assert read.output == "ok \\udc00 end"
    assert read.note == "lone surrogates stand escaped, as \\udXXX"


def test_bytes_that_are_not_utf_8_are_visible_escapes_with_a_note() -> None:
    body = chat("ok ? end").replace(b"?", b"\xff")
    read = interpret(observed(body))
    assert read.output == "ok \\udcff end"
    assert f"not UTF-8 at byte {body.index(0xFF)}" in (read.note or "")


def test_a_nul_is_kept() -> None:
    read = interpret(observed(chat("a\x00b")))
    assert (read.output, read.note) == ("a\x00b", None)


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    assert interpret(observed(b"\xef\xbb\xbf" + chat("text"))).output == "text"


def test_parts_are_joined_and_what_is_left_out_is_noted() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "image_url"}, {"text": "two"}, None]
    read = interpret(observed(chat(parts)))
    assert (read.output, read.note) == ("one two", "2 parts without text are left out")


def test_a_refusal_is_the_text_where_there_is_no_other() -> None:
    message = {"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}
    read = interpret(observed(chat("", choices=[message])))
    assert (read.output, read.generation_state) == ("I will not.", "complete")
    assert read.note == "the text is what the provider says of its refusal"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain text",
        b"\x89PNG\x00\xff",
        b"null",
        b"[1, 2]",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": "text"}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"error": {"message": "with status 200"}}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        '{"choices": [{"message": {"content": "text"}}]}'.encode("utf-16"),
    ],
)
def test_a_200_that_is_no_chat_completion_is_malformed(body: bytes) -> None:
    read = interpret(observed(body))
    assert (read.status, read.output, read.error_kind) == ("failed", None, "malformed_response")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, "redirect"),
        (400, "client_error"),
        (401, "client_error"),
        (408, "timeout"),
        (429, "rate_limited"),
        (500, "server_error"),
        (502, "server_error"),
        (504, "server_error"),
        (700, "malformed_response"),
        (None, "malformed_response"),
    ],
)
@pytest.mark.parametrize("body", [chat("looks like an answer"), b'{"error": null}', b"<html>"])
def test_the_status_decides_never_the_shape_of_the_body(
    status: int | None, kind: str, body: bytes
) -> None:
    read = interpret(observed(body, status=status))
    assert (read.status, read.output, read.error_kind) == ("failed", None, kind)


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        ({"error": {"message": "too long", "type": "bad"}}, "HTTP 400: too long", "bad"),
        ({"error": {"message": "too long", "code": "c-1"}}, "HTTP 400: too long", "c-1"),
        ({"error": "too long"}, "HTTP 400: too long", None),
        ({"message": "too long"}, "HTTP 400: too long", None),
        ({"error": {"message": ["no", "text"]}}, "HTTP 400", None),
        ({"error": {"message": "x" * 1000}}, "HTTP 400: " + "x" * 300, None),
        ({"error": {"message": "\udc00"}}, "HTTP 400: \\udc00", None),
        ([], "HTTP 400", None),
    ],
)
def test_the_providers_message_is_taken_where_it_is_text(
    body: Any, error: str, reason: str | None
) -> None:
    read = interpret(observed(json.dumps(body), status=400))
    assert (read.error, read.provider_reason) == (error, reason)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("120", 120.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Tue, 01 Dec 2026 00:01:30 GMT", 90.0),
        ("Mon, 30 Nov 2026 00:00:00 GMT", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("", None),
    ],
)
def test_the_wait_is_in_seconds_or_a_date_less_the_answers_own(
    asked: str, seconds: float | None
) -> None:
    headers = {"retry-after": asked, "date": "Tue, 01 Dec 2026 00:00:00 GMT"}
    assert interpret(observed(b"", status=429, headers=headers)).retry_after_s == seconds


def test_a_date_to_wait_for_without_the_answers_own_date_is_unknown() -> None:
    headers = {"retry-after": "Tue, 01 Dec 2026 00:01:30 GMT"}
    assert interpret(observed(b"", status=429, headers=headers)).retry_after_s is None


@given(st.binary(), st.one_of(st.none(), st.integers(0, 999)))
def test_any_bytes_give_an_interpretation(body: bytes, status: int | None) -> None:
    read = interpret(observed(body, status=status))
    refuse_unless_interoperable([read.output, read.error, read.note])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, JSON, JSON)
def test_any_content_gives_an_interpretation(content: Any, usage: Any, reason: Any) -> None:
    read = interpret(observed(chat(content, usage=usage, finish_reason=reason)))
    refuse_unless_interoperable([read.output, read.error, read.note, read.input_tokens])


def test_controls_are_sent_under_the_protocols_names_and_unknown_ones_are_named() -> None:
    call = CallInput(
        "text",
        {"max_output_tokens": 300, "response_format": {"type": "json_object"}, "beam": 4},
        {"temperature": 0.0, "seed": 7, "prompt_variant": "v1", "tags": {"a": "b"}, "mood": "calm"},
    )
    request = prepare(call, model="model-1", endpoint="/v1/chat/completions")
    sent = {
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 300,
        "response_format": {"type": "json_object"},
    }
    assert (
        request.body
        == {
            "model": "model-1",
            "messages": [{"role": "user", "content": "text"}],
        }
        | sent
    )
    assert request.input_pointer == "/messages/0/content"
    assert request.omitted_unsupported == ("beam", "mood")
    assert request.requested_controls == {
        "temperature": 0.0,
        "seed": 7,
        "max_output_tokens": 300,
        "response_format": {"type": "json_object"},
        "beam": 4,
        "mood": "calm",
    }
    assert (
        request.effective_parameters
        == {
            "protocol": "chat_completions",
            "endpoint": "/v1/chat/completions",
            "model": "model-1",
        }
        | sent
    )
