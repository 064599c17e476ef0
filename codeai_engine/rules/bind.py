"""Binding: compose the model input, and say whether a prepared body carries exactly it.

The composed text is the non-empty parts of instruction, rendered context and question, in that
order, joined by exactly two line feeds (PEER_FORMAT section 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.call import InputPart, ModelInput
from codeai_engine.errors import RenderBindingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.domain.call import RenderedContext

_SEPARATOR = b"\n\n"
# Where the dialects that a record may hold carry the input, for bodies whose manifest names none.
_DIALECTS = ("/messages/0/content", "/input", "/stdin", "/contents/0/parts/0/text")


def prompt_hash(instruction: str, prompt: str) -> str:
    r"""Return the digest of `instruction`, a NUL, and the package's prompt."""
    return sha256_hex(_utf8(f"{instruction}\0{prompt}"))


def compose_model_input(instruction: str, rendered: RenderedContext, prompt: str) -> ModelInput:
    """Compose the whole text that a provider is to receive, with the place of each part.

    Raises:
        UnicodeDecodeError: The rendered bytes are not UTF-8.
    """
    parts = (
        ("instruction", _utf8(instruction)),
        ("context", rendered.content),
        ("query", _utf8(prompt)),
    )
    composed = bytearray()
    layout: list[InputPart] = []
    for name, content in parts:
        if not content:
            continue
        if composed:
            composed += _SEPARATOR
        start = len(composed)
        composed += content
        layout.append(InputPart(name, sha256_hex(content), start, len(composed)))
    whole = bytes(composed)
    return ModelInput(whole.decode("utf-8"), sha256_hex(whole), tuple(layout))


def compose_selection_input(instruction: str, prompt: str) -> ModelInput:
    """Compose the input of a selection record: no context, no layout, white space stripped."""
    text = f"{instruction}\n\n{prompt}".strip()
    return ModelInput(text, sha256_hex(_utf8(text)), ())


def carried_text(body: Mapping[str, Any], pointer: str | None) -> str | None:
    """Return the text that a body carries.

    Args:
        body: A prepared body.
        pointer: JSON pointer (RFC 6901) to it; None tries the dialects we know.

    Returns:
        The text, or None where there is no text.
    """
    for place in _DIALECTS if pointer is None else (pointer,):
        found = _resolve(body, place)
        if isinstance(found, str):
            return found
    return None


def refuse_unless_carried(body: Mapping[str, Any], pointer: str, model_input: ModelInput) -> None:
    """Check that a body carries exactly the composed input.

    Raises:
        RenderBindingError: It does not; names both digests and the first differing byte.
    """
    found = carried_text(body, pointer)
    if found == model_input.text:
        return
    expected = _utf8(model_input.text)
    actual = _utf8(found) if found is not None else b""
    difference = next(
        (
            index
            for index, pair in enumerate(zip(expected, actual, strict=False))
            if len({*pair}) > 1
        ),
        min(len(expected), len(actual)),
    )
    digest = sha256_hex(actual) if found is not None else None
    raise RenderBindingError(model_input.sha256, digest, difference)


def _resolve(document: object, pointer: str) -> object:
    """Return what a JSON pointer points to, None where nothing is there."""
    if pointer and not pointer.startswith("/"):
        return None
    found = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
