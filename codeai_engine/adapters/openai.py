"""Anything that speaks the OpenAI chat-completions protocol, over HTTP.

The canonical text of the prepared body is itself the body that is sent. The key is read from the
environment by name at the time of sending and goes into one header; where a provider echoes it, it
is replaced before the answer is kept.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from codeai_engine.adapters import chat
from codeai_engine.adapters.redaction import Credential, redaction_mark, without_key
from codeai_engine.adapters.settings import AdapterSettings, RetrySettings, Seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.adapters.base import (
        CallInput,
        Interpretation,
        Observation,
        PreparedRequest,
        Wire,
    )


class Settings(AdapterSettings):
    """`kind = "openai"`.

    Args:
        base_url: Up to and with the version, such as `https://api.example.com/v1`.
        model: The model to ask for.
        api_key_env: The name of the variable that holds the key; absent, no key is sent.
        retry: How many attempts a call may have.
        timeout_s: Deadline of one attempt, on top of the fan-out's.
    """

    kind: Literal["openai"]
    base_url: str
    model: Annotated[str, Field(min_length=1)]
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    retry: RetrySettings = RetrySettings()
    timeout_s: Seconds | None = None

    @field_validator("base_url")
    @classmethod
    def _one_place(cls, value: str) -> str:
        import httpx2

        try:
            url = httpx2.URL(value)
        except httpx2.InvalidURL as error:
            # What the library says would quote it, and a password may stand in the wrong place.
            raise ValueError("is no URL, such as https://api.example.com/v1") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("must begin with http:// or https:// and name a host")
        if url.userinfo or url.query or url.fragment:
            raise ValueError("holds no credentials, query or fragment; name a key by api_key_env")
        return value.rstrip("/")


def from_settings(settings: Mapping[str, Any]) -> OpenAIAdapter:
    """Return the adapter that a table of a spec describes.

    Raises:
        pydantic.ValidationError: The table does not fit.
    """
    return OpenAIAdapter(Settings.model_validate(dict(settings)))


class OpenAIAdapter:
    """Sends one chat completion an attempt.

    Args:
        settings: Whom to ask, and for what.
        provider: Who answers, for the record; the host of the URL when absent.
    """

    protocol = chat.PROTOCOL

    def __init__(self, settings: Settings, *, provider: str | None = None) -> None:
        import httpx2

        url = httpx2.URL(settings.base_url)
        self._settings = settings
        self._endpoint = url.path.rstrip("/") + chat.ENDPOINT
        self.provider = provider or url.host
        self.requested_model: str | None = settings.model

    def prepare(self, call: CallInput) -> PreparedRequest:
        """Return a body with one user message, which carries the whole input.

        Raises:
            PrepareError: The input or a control cannot be sent.
        """
        return chat.prepare(call, model=self._settings.model, endpoint=self._endpoint)

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        """Send the body once and return the answer as it came.

        Raises:
            SendError: The key is missing, or the transport failed.
            ProviderError: The answer is past the limit.
        """
        from codeai_engine.adapters.exchange import Target, post

        settings = self._settings
        target = Target(settings.base_url, chat.ENDPOINT, settings.api_key_env, settings.timeout_s)
        return await post(target, request.body_text().encode("ascii"), wire)

    def interpret(self, observation: Observation) -> Interpretation:
        """Read a chat completion.

        An answer may hold the key in an escaped form, which only reading brings out: so the one
        other thing looked at here is the key, to keep it out.
        """
        name = self._settings.api_key_env
        read = chat.interpret(observation, redaction_mark=redaction_mark(name) if name else None)
        key = os.environ.get(name, "").strip() if name else ""
        return without_key(read, Credential(name, key)) if name and key else read
