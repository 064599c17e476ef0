"""Bytes of an answer as text that any record can hold: what is no text is escaped, and said so."""

from __future__ import annotations

LONE_SURROGATES = "lone surrogates stand escaped, as \\udXXX"


def read_text(content: bytes) -> tuple[str, str | None]:
    r"""Return bytes as text, and a note where some are not UTF-8: each stands as `\xNN`."""
    try:
        return content.decode("utf-8"), None
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "backslashreplace")
        return text, f"not UTF-8 at byte {error.start}; such bytes stand escaped, as \\xNN"


def escape_surrogates(text: str) -> tuple[str, str | None]:
    r"""Return text in which each lone surrogate is a visible escape such as `\udc00`."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8"), LONE_SURROGATES
    return text, None
