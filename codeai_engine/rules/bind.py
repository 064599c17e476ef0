"""Binding: compose the model input, and say whether a prepared body carries exactly it.

The composed text is the non-empty parts of instruction, rendered context and question, in that
order, joined by exactly two line feeds (PEER_FORMAT section 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.call import InputPart, ModelInput
from codeai_engine.errors import RenderBindingError
from codeai_engine.rules.pointer import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.domain.call import RenderedContext

_SEPARATOR = b"\n\n"
# Where a body carries the input if its manifest names no place: chat, responses, commands.
_DIALECTS = ("/messages/0/content", "/input", "/stdin")


def prompt_hash(instruction: str, prompt: str) -> str:
    """Return the digest of an instruction, a NUL, and the package's own prompt.

    Source: PEER_FORMAT section 3. The prompt is the question, not the composed input.
    """
    return sha256_hex(_utf8(f"{instruction}\0{prompt}"))


def compose_model_input(instruction: str, rendered: RenderedContext, prompt: str) -> ModelInput:
    """Compose the whole text that a provider is to receive, with the place of each part.

    Raises:
        UnicodeDecodeError: A part is not UTF-8 text.
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
    """Return the text that a body carries, None where there is none.

    Args:
        body: A prepared body.
        pointer: JSON pointer (RFC 6901) to the text; None tries the dialects we know.
    """
    for place in _DIALECTS if pointer is None else (pointer,):
        found = resolve(body, place)
        if isinstance(found, str):
            return found
    return None


def refuse_unless_carried(body: Mapping[str, Any], pointer: str, model_input: ModelInput) -> None:
    """Check that a body carries exactly the composed input where the adapter says it does.

    Raises:
        RenderBindingError: It does not; names both digests and the first differing byte.
    """
    found = carried_text(body, pointer)
    if found == model_input.text:
        return
    carried = b"" if found is None else _utf8(found)
    raise RenderBindingError(
        model_input.sha256,
        None if found is None else sha256_hex(carried),
        _first_difference(_utf8(model_input.text), carried),
    )


def _first_difference(expected: bytes, found: bytes) -> int:
    for offset, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return offset
    return min(len(expected), len(found))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # total: a record may hold a lone surrogate
