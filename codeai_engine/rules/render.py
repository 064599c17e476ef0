"""Rendering: selected items to the exact bytes of `CONTEXT_RENDER_V1` (PEER_FORMAT section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.call import RenderedContext, RenderedItem
from codeai_engine.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Kind = TypeVar("Kind", bound=str)
_FOOTER = b"\n</context-item>\n"
_DIGEST_OF_ANY = "0" * 64  # a digest is always that long
_NOT_THERE = {
    "artifact": "artifact not found",
    "claim": "no claim.recorded event",
    "event": "event not found in ledger",
}


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why an item has no bytes, in the words of PEER_FORMAT section 5."""

    reason: str


def rendered_item_bytes(kind: str, item_id: str, content: bytes) -> bytes:
    """Return one item as it is rendered: header, content as it is, footer. Nothing is escaped."""
    return _header(kind, item_id, sha256_hex(content), len(content)) + content + _FOOTER


def size_tokens(kind: str, item_id: str, content_bytes: int) -> int:
    """Return the size of an item in tokens, without its content.

    Source: DESIGN section 5: the UTF-8 bytes of the rendered item divided by 4, rounded up.
    """
    around = len(_header(kind, item_id, _DIGEST_OF_ANY, content_bytes)) + len(_FOOTER)
    return -(-(around + content_bytes) // 4)


def render_context(
    items: Iterable[tuple[Kind, str]], contents: Mapping[tuple[Kind, str], bytes | Unresolved]
) -> RenderedContext:
    """Lay the selected items out, sorted by kind and id in whatever order they come.

    Args:
        items: `(kind, id)` pairs.
        contents: The bytes of each item, or why it has none.

    Returns:
        The bytes, their digest, and where each content lies in them. No items are zero bytes.

    Raises:
        RenderError: Items have no bytes, or bytes that are no text; it names every such item.
    """
    ordered = sorted(items)
    resolved: list[tuple[str, str, bytes]] = []
    unresolved: list[tuple[str, str, str]] = []
    for kind, item_id in ordered:
        content = _resolve(kind, contents.get((kind, item_id)))
        if isinstance(content, Unresolved):
            unresolved.append((kind, item_id, content.reason))
        else:
            resolved.append((kind, item_id, content))
    if unresolved:
        raise RenderError(tuple(unresolved))
    return _lay_out(resolved)


def _resolve(kind: str, content: bytes | Unresolved | None) -> bytes | Unresolved:
    if content is None:
        return Unresolved(_NOT_THERE.get(kind, f"{kind} not found"))
    if isinstance(content, bytes):
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return Unresolved(f"{kind} is not UTF-8 text")
    return content


def _lay_out(resolved: list[tuple[str, str, bytes]]) -> RenderedContext:
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


def _header(kind: str, item_id: str, sha256: str, size_bytes: int) -> bytes:
    text = f"<context-item kind={kind} id={item_id} sha256={sha256} bytes={size_bytes}>\n"
    return text.encode("utf-8", "surrogatepass")  # a foreign id may hold what UTF-8 refuses
