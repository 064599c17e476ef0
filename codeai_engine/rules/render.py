"""Rendering: selected items to the exact bytes of `CONTEXT_RENDER_V1` (PEER_FORMAT 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.call import RenderedContext, RenderedItem
from codeai_engine.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FOOTER = b"\n</context-item>\n"
_DIGEST_OF_ANY = "0" * 64


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why an item has no bytes, in the words of PEER_FORMAT section 5."""

    reason: str


def _header(kind: str, item_id: str, sha256: str, size_bytes: int) -> bytes:
    text = f"<context-item kind={kind} id={item_id} sha256={sha256} bytes={size_bytes}>\n"
    return text.encode("utf-8", "surrogatepass")


def rendered_item_bytes(kind: str, item_id: str, content: bytes) -> bytes:
    """Return one item as it is rendered: header, content as it is, footer. Nothing is escaped."""
    return _header(kind, item_id, sha256_hex(content), len(content)) + content + _FOOTER


def size_tokens(kind: str, item_id: str, content_bytes: int) -> int:
    """Return the size of a rendered item in tokens: its UTF-8 bytes divided by 4, rounded up."""
    around = len(_header(kind, item_id, _DIGEST_OF_ANY, content_bytes)) + len(_FOOTER)
    return -(-(around + content_bytes) // 4)


def render_context(
    items: Iterable[tuple[str, str]], contents: Mapping[tuple[str, str], bytes | Unresolved]
) -> RenderedContext:
    """Lay the selected items out, sorted by kind and id whatever order they come in.

    Args:
        items: `(kind, id)` pairs.
        contents: The bytes of each, or why it has none.

    Returns:
        The bytes, their digest, and where each content lies in them. No items are zero bytes.

    Raises:
        RenderError: One or more items cannot be resolved; it names every one.
    """
    ordered = sorted(items)
    resolved: list[tuple[str, str, bytes]] = []
    unresolved: list[tuple[str, str, str]] = []
    for kind, item_id in ordered:
        content = contents.get((kind, item_id), Unresolved(f"{kind} not found"))
        if isinstance(content, Unresolved):
            unresolved.append((kind, item_id, content.reason))
        else:
            resolved.append((kind, item_id, content))
    if unresolved:
        raise RenderError(tuple(unresolved))
    laid_out = bytearray()
    placed: list[RenderedItem] = []
    for kind, item_id, content in resolved:
        digest = sha256_hex(content)
        laid_out += _header(kind, item_id, digest, len(content))
        start = len(laid_out)
        laid_out += content
        placed.append(RenderedItem(kind, item_id, digest, start, len(laid_out)))
        laid_out += _FOOTER
    whole = bytes(laid_out)
    return RenderedContext(content=whole, items=tuple(placed), sha256=sha256_hex(whole))
