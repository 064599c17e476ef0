"""A key that must not be kept: where it comes from, and how it is taken out of what comes back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from codeai_engine.errors import SendError

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Interpretation


@dataclass(frozen=True, slots=True)
class Credential:
    """A key and the variable it stands in. Only the name is ever shown.

    Args:
        name: The environment variable.
        value: The key.
    """

    name: str
    value: str = field(repr=False)


def redaction_mark(name: str) -> str:
    """Return what stands in an answer where the value of a variable stood."""
    return f"[redacted: {name}]"


def read_credential(name: str) -> Credential:
    """Return the key that an environment variable holds now, without white space around it.

    Raises:
        SendError: There is none, or it cannot stand in a header.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise SendError(
            f"the environment variable {name} is not set, and the provider's key is read from it",
            error_kind="missing_credentials",
            wire="not_sent",
            hint=f"Set {name} and run again.",
        )
    if not (value.isascii() and value.isprintable()):
        raise SendError(
            f"the value of the environment variable {name} cannot stand in a header",
            error_kind="bad_credentials",
            wire="not_sent",
        )
    return Credential(name, value)


def without_key(read: Interpretation, credential: Credential) -> Interpretation:
    """Return an interpretation in whose texts the key is replaced, and noted."""
    mark = redaction_mark(credential.name)
    changed: dict[str, Any] = {
        one.name: value.replace(credential.value, mark)
        for one in fields(read)
        if isinstance(value := getattr(read, one.name), str) and credential.value in value
    }
    if not changed:
        return read
    notes = [note for note in (read.note, "the key stood in the answer and was replaced") if note]
    return replace(read, **(changed | {"note": "; ".join(notes)}))


class Redactor:
    """Replaces a key in a stream of bytes, also where it lies across chunks.

    The value as it stands is found, not an encoding of it. With no credential nothing changes.
    """

    def __init__(self, credential: Credential | None) -> None:
        self._credential = credential
        self._key = credential.value.encode("ascii") if credential else b""
        self._mark = redaction_mark(credential.name).encode() if credential else b""
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk and return what can be kept by now: all but what may begin the key."""
        if not self._key:
            return chunk
        *whole, rest = (self._held + chunk).split(self._key)
        held = self._possible_start(rest)
        self._held = rest[len(rest) - held :]
        kept = [*whole, rest[: len(rest) - held]]
        return self._mark.join(kept)

    def finish(self) -> bytes:
        """Return what is held back, at the end: half a key and more counts as the key."""
        held, self._held = self._held, b""
        return self._mark if held and 2 * len(held) >= len(self._key) else held

    def text(self, value: str) -> str:
        """Return a short text, such as a header's value, without the key."""
        if self._credential is None:
            return value
        return value.replace(self._credential.value, self._mark.decode())

    def _possible_start(self, content: bytes) -> int:
        """Return how many bytes at the end of `content` are a beginning of the key."""
        longest = min(len(self._key) - 1, len(content))
        lengths = range(longest, 0, -1)
        return next((n for n in lengths if content.endswith(self._key[:n])), 0)
