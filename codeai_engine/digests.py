"""Canonical JSON and digests: the one text that feeds every identity.

The form is the peer's (PEER_FORMAT section 2, DESIGN 3): keys sorted by code point, no spaces,
non-ASCII escaped, floats in shortest form, no NaN.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from typing import Any

from codeai_engine.errors import PayloadRefused

MAX_SAFE_INTEGER = 2**53 - 1
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = frozenset({str, bool, float, type(None)})  # a NaN fails in the encoder
_CONTAINERS = frozenset({dict, list, tuple})


def canonical_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the canonical text of a JSON value, pure ASCII.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: The value is not JSON.
    """
    return _ENCODER.encode(value)


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return sha256(data).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of the UTF-8 of `text`.

    Raises:
        UnicodeEncodeError: `text` holds a lone surrogate.
    """
    return sha256_hex(text.encode("utf-8"))


def canonical_digest(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the SHA-256 of the canonical text of a JSON value."""
    return sha256_hex(canonical_json(value).encode("ascii"))


def interoperable_json(value: Any) -> str:  # noqa: ANN401 - any value
    """Return the canonical text of a value that is I-JSON (RFC 7493).

    The same as `refuse_unless_interoperable` and then `canonical_json`, in about half the time:
    every append pays it.

    Raises:
        PayloadRefused: It is not; names the path of the value.
    """
    try:
        try:
            text = canonical_json(value)
        except (TypeError, ValueError):
            refuse_unless_interoperable(value)
            raise
        if "\\ud" in text or not _is_plain((value,)):
            refuse_unless_interoperable(value)
    except RecursionError:
        raise PayloadRefused("$", "it is nested too deeply") from None
    return text


def _is_plain(value: Any) -> bool:  # noqa: ANN401
    """Return whether nothing in a container needs a closer look, its encoded text aside."""
    if isinstance(value, dict):
        if not all(type(key) is str for key in value):
            return False
        value = value.values()
    for item in value:
        kind = type(item)
        if kind in _PLAIN:
            continue
        if kind is int:
            if abs(item) > MAX_SAFE_INTEGER:
                return False
        elif kind not in _CONTAINERS or not _is_plain(item):
            return False
    return True


def refuse_unless_interoperable(value: Any, path: str = "$") -> None:  # noqa: ANN401
    """Check that a JSON value is I-JSON (RFC 7493): what any strict reader takes.

    Raises:
        PayloadRefused: NaN or an infinity, an integer past 2^53 - 1, a lone surrogate, a key that
            is not text, or a value that is not JSON; it names the path of the value.
    """
    match value:
        case dict():
            for key, item in value.items():
                _refuse_key(key, path)
                refuse_unless_interoperable(item, f"{path}.{key}")
        case list() | tuple():
            for index, item in enumerate(value):
                refuse_unless_interoperable(item, f"{path}[{index}]")
        case _:
            reason = _scalar_problem(value)
            if reason is not None:
                raise PayloadRefused(path, reason)


def _refuse_key(key: object, path: str) -> None:
    if not isinstance(key, str):
        raise PayloadRefused(path, f"key {key!r} is not text")
    if _SURROGATE.search(key):
        raise PayloadRefused(path, f"lone surrogate in key {key!a}")


def _scalar_problem(value: object) -> str | None:
    match value:
        case None | bool():
            return None
        case str():
            return "lone surrogate in text" if _SURROGATE.search(value) else None
        case int():
            return f"integer {value} is past 2^53 - 1" if abs(value) > MAX_SAFE_INTEGER else None
        case float():
            return None if math.isfinite(value) else f"{value} is not a JSON number"
        case _:
            return f"a {type(value).__name__} is not JSON"
