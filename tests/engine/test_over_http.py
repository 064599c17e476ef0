"""Whole fan-outs against a real server: what reached it is what the record says, no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from codeai_engine import open_ledger, read_fanout
from codeai_engine.adapters.openai import OpenAIAdapter, from_settings
from codeai_engine.digests import sha256_hex
from tests.engine.runtime.doubles import branch, fanout, payloads, run_on
from tests.http_server import answer, chat, cut_off, http_server, stall

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.adapters.base import CallInput, PreparedRequest

KEY = "sk/very-secret-0123456789"


def provider(base_url: str, **own: Any) -> OpenAIAdapter:
    return from_settings({"kind": "openai", "base_url": base_url, "model": "m"} | own)


async def test_the_bytes_that_arrive_are_those_that_were_bound(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with http_server(answer(chat("fine"))) as server:
        (outcome,) = await run_on(
            path,
            fanout(
                branch("A", provider(server.base_url)),
                branch("B", provider(server.base_url), prompt="Else — naïvely?"),
            ),
        )
    manifests = payloads(path, "call.manifest")
    assert sorted(map(sha256_hex, server.bodies)) == sorted(
        manifest["request_body_sha256"] for manifest in manifests
    )
    with open_ledger(path) as ledger:
        view = read_fanout(ledger, outcome.fanout_id)
    assert view.level == "wire-observed"


async def test_a_body_that_lacks_one_byte_never_reaches_the_server(tmp_path: Path) -> None:
    class Careless:
        """Drops the last character of the input; in everything else the real adapter."""

        def __init__(self, real: OpenAIAdapter) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def prepare(self, call: CallInput) -> PreparedRequest:
            prepared = self._real.prepare(call)
            prepared.body["messages"][0]["content"] = call.text[:-1]
            return prepared

    path = tmp_path / "l.db"
    async with http_server(answer(chat("fine"))) as server:
        (outcome,) = await run_on(
            path,
            fanout(
                branch("A", Careless(provider(server.base_url))),
                branch("B", provider(server.base_url)),
            ),
        )
        assert len(server.requests) == 1
    assert outcome.statuses == ["failed", "succeeded"]
    (failed,) = payloads(path, "call.preparation_failed")
    assert failed["stage"] == "render_binding"
    assert failed["error"].count("sha256") == 1
    assert "first difference at byte" in failed["error"]
    assert [manifest["call_id"] for manifest in payloads(path, "call.manifest")] == ["call-B"]


async def test_a_key_is_in_no_byte_of_the_ledger_even_when_it_is_echoed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    path = tmp_path / "l.db"
    echo = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    async with http_server(answer(echo, status=401)) as server:
        (outcome,) = await run_on(
            path, fanout(branch("A", provider(server.base_url, api_key_env="TEST_KEY")))
        )
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert outcome.statuses == ["failed"]
    assert KEY.encode() not in path.read_bytes()
    (seen,) = payloads(path, "attempt.wire_observed")
    assert "authorization" in seen["request_header_names"]


@pytest.mark.parametrize("echoed", [KEY.replace("/", r"\/"), KEY.replace("s", r"\u0073")])
async def test_a_key_that_is_echoed_in_an_escaped_form_is_in_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echoed: str
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    path = tmp_path / "l.db"
    body = chat("PLACE").replace(b"PLACE", f"your key is {echoed}".encode())
    async with http_server(answer(body)) as server:
        await run_on(path, fanout(branch("A", provider(server.base_url, api_key_env="TEST_KEY"))))
    (done,) = payloads(path, "call.completed")
    assert done["raw_output"] == "your key is [redacted: TEST_KEY]"
    assert KEY.encode() not in path.read_bytes()


async def test_429_is_one_attempt_by_default_whatever_its_body(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    busy = answer(b'{"error": null}', status=429, headers={"Retry-After": "86400"})
    async with http_server(busy) as server:
        (outcome,) = await run_on(path, fanout(branch("A", provider(server.base_url))))
        assert len(server.requests) == 1
    assert outcome.branches[0].error_kind == "rate_limited"
    (observed,) = payloads(path, "attempt.observed")
    assert (observed["http_status"], observed["transport_outcome"]) == (429, "http_error")
    assert observed["headers"]["retry-after"] == "86400"
    with open_ledger(path) as ledger:
        body = ledger.artifact_bytes(observed["response_body_artifact"]["sha256"])
    assert body == b'{"error": null}'


async def test_a_server_that_never_answers_was_asked_once_and_leaves_an_orphan(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.db"
    async with http_server(stall) as server:
        with anyio.fail_after(60):
            (outcome,) = await run_on(
                path, fanout(branch("A", provider(server.base_url), timeout_s=0.5))
            )
        assert len(server.requests) == 1
    assert outcome.branches[0].error_kind == "timeout"
    (abandoned,) = payloads(path, "attempt.abandoned")
    assert (abandoned["wire"], abandoned["cause"]) == ("sent", "timeout")
    assert payloads(path, "call.completed")[0]["input_tokens"] is None


async def test_a_body_that_is_cut_off_is_kept_as_an_incomplete_observation(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with http_server(cut_off(b'{"choices": [')) as server:
        (outcome,) = await run_on(path, fanout(branch("A", provider(server.base_url))))
    assert outcome.statuses == ["failed"]
    (observed,) = payloads(path, "attempt.observed")
    assert observed["incomplete"] is True
    with open_ledger(path) as ledger:
        kept = ledger.artifact_bytes(observed["response_body_artifact"]["sha256"])
    assert kept == b'{"choices": ['
    assert not payloads(path, "attempt.interpreted")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\xff", "text/plain"),
        ("déjà".encode("latin-1"), "application/json; charset=utf-8"),
        (b"<html>busy</html>", "text/html"),
    ],
)
async def test_an_answer_that_is_no_completion_fails_its_branch_and_is_kept_whole(
    tmp_path: Path, body: bytes, media_type: str
) -> None:
    path = tmp_path / "l.db"
    async with http_server(answer(body, headers={"Content-Type": media_type})) as server:
        (outcome,) = await run_on(path, fanout(branch("A", provider(server.base_url))))
    assert outcome.branches[0].error_kind == "malformed_response"
    (observed,) = payloads(path, "attempt.observed")
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(observed["response_body_artifact"]["sha256"]) == body
