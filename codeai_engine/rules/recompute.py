"""Recompute every digest that a branch's record binds, each with one word for how it compares.

Package, trace, prompt, rendered context, each item and each part of the layout, request body. Our
bodies are stored; the peer's are rebuilt from the manifest (PEER_FORMAT section 5).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codeai_engine.digests import canonical_digest, sha256_hex, text_digest
from codeai_engine.domain.call import RenderedContext, RenderedItem
from codeai_engine.domain.view import BytesPart, Recomputed
from codeai_engine.errors import CodeAIError
from codeai_engine.rules.bind import (
    carried_text,
    compose_model_input,
    compose_selection_input,
    prompt_hash,
)
from codeai_engine.rules.fold_package import recompute_package, recompute_trace
from codeai_engine.rules.render import render_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codeai_engine.domain.call import CallManifest, ModelInput
    from codeai_engine.domain.view import EventRow
    from codeai_engine.rules.fold_branch import BranchFacts
    from codeai_engine.rules.fold_package import Sources

# Entries of the peer's effective parameters that are about the way, not in the body.
_NOT_CONTROLS = frozenset(
    {"gateway", "protocol", "endpoint", "model", "gateway_plan", "session_id"}
)
_PEER_MAX_TOKENS = 1024  # what its messages dialect adds where nothing is asked
STDIN_POINTER = "/stdin"


@dataclass(frozen=True, slots=True)
class Recomputation:
    """How each digest of a branch compares.

    Args:
        model_input_sha256: Digest of the composed input, None where it cannot be composed.
        sent_sha256: What a transport should have been given: the body, or a command's stdin.
        carries_input: The body carries exactly the composed input; None where unknown.
        problems: What is wrong with the rendering beyond its own digest, a sentence each.
    """

    package: Recomputed = "not recorded"
    trace: Recomputed = "not recorded"
    prompt: Recomputed = "not recorded"
    rendered: Recomputed = "not recorded"
    request: Recomputed = "not recorded"
    items: tuple[BytesPart, ...] = ()
    parts: tuple[BytesPart, ...] = ()
    model_input_sha256: str | None = None
    sent_sha256: str | None = None
    carries_input: bool | None = None
    problems: tuple[str, ...] = ()


def recompute_branch(facts: BranchFacts, sources: Sources) -> Recomputation:
    """Recompute what one branch binds; reads bytes by key, changes nothing."""
    compiled = facts.compiled.payload if facts.compiled else None
    package: Recomputed = recompute_package(facts.package) if compiled else "not recorded"
    trace: Recomputed = recompute_trace(compiled) if compiled else "not recorded"
    if facts.manifest is None:
        return Recomputation(package=package, trace=trace)
    manifest = facts.manifest.payload
    content = _rendered_bytes(manifest, sources)
    model_input = _compose(facts, manifest, content)
    request, carries_input = _recompute_body(manifest, model_input, sources)
    return Recomputation(
        package=package,
        trace=trace,
        prompt=_recompute_prompt(facts, manifest),
        rendered=_compare(manifest.rendered_context_sha256, content),
        request=request,
        items=_items(manifest, content),
        parts=_parts(manifest, model_input),
        model_input_sha256=model_input.sha256 if model_input else None,
        sent_sha256=sent_digest(manifest, sources),
        carries_input=carries_input,
        problems=_rendering_problems(facts, manifest, content, sources),
    )


def sent_digest(manifest: CallManifest, sources: Sources) -> str | None:
    """Return the digest of what a transport should have been given, None where unknown.

    That is the body; a command gets its standard input and not the body around it.
    """
    if manifest.input_pointer != STDIN_POINTER:
        return manifest.request_body_sha256
    stored = (manifest.request_body_artifact or {}).get("artifact_id")
    content = sources.artifact_bytes(stored) if isinstance(stored, str) else None
    if _compare(manifest.request_body_sha256, content) != "match":
        return None
    text = _carried(content or b"", STDIN_POINTER)
    return None if text is None else text_digest(text)


def _compare(recorded: str | None, content: bytes | None) -> Recomputed:
    if recorded is None:
        return "not recorded"
    if content is None:
        return "absent"
    return "match" if sha256_hex(content) == recorded else "mismatch"


def _rendered_bytes(manifest: CallManifest, sources: Sources) -> bytes | None:
    if manifest.rendered_context_sha256 is None:
        return None
    stored = (manifest.rendered_context_artifact or {}).get("artifact_id")
    return sources.artifact_bytes(
        stored if isinstance(stored, str) else manifest.rendered_context_sha256
    )


def _recompute_prompt(facts: BranchFacts, manifest: CallManifest) -> Recomputed:
    if manifest.prompt_hash is None:
        return "not recorded"
    if facts.instruction is None or facts.prompt is None:
        return "absent"
    found = prompt_hash(facts.instruction, facts.prompt)
    return "match" if found == manifest.prompt_hash else "mismatch"


def _compose(
    facts: BranchFacts, manifest: CallManifest, content: bytes | None
) -> ModelInput | None:
    """Compose the input again, from the stored rendering where there is one."""
    if facts.instruction is None or facts.prompt is None:
        return None
    if manifest.rendered_context_sha256 is None:
        return compose_selection_input(facts.instruction, facts.prompt)
    if content is None:
        return None
    rendered = RenderedContext(content=content, items=(), sha256=sha256_hex(content))
    try:
        return compose_model_input(facts.instruction, rendered, facts.prompt)
    except ValueError:  # bytes that are no text
        return None


def _items(manifest: CallManifest, content: bytes | None) -> tuple[BytesPart, ...]:
    return tuple(
        _part(item, str(item.get("kind")), item.get("item_id"), "content_sha256", content)
        for item in manifest.rendered_items or ()
    )


def _parts(manifest: CallManifest, model_input: ModelInput | None) -> tuple[BytesPart, ...]:
    text = model_input.text.encode("utf-8") if model_input else None
    return tuple(
        _part(part, str(part.get("part")), None, "sha256", text)
        for part in manifest.input_layout or ()
    )


def _part(
    entry: Mapping[str, Any], label: str, item_id: object, name: str, content: bytes | None
) -> BytesPart:
    start, end, recorded = _offset(entry, "start"), _offset(entry, "end"), entry.get(name)
    piece = content[start:end] if content is not None else None
    found = _compare(recorded if isinstance(recorded, str) else None, piece)
    if piece is not None and (start < 0 or len(piece) != end - start):
        found = "mismatch"  # a range that is none, or goes past the bytes
    return BytesPart(
        label=label,
        item_id=item_id if isinstance(item_id, str) else None,
        start=start,
        end=end,
        recorded_sha256=str(recorded),
        recomputed=found,
    )


def _offset(entry: Mapping[str, Any], name: str) -> int:
    """Return an offset, -1 where there is none: no slice of that length exists."""
    found = entry.get(name)
    return found if isinstance(found, int) and found >= 0 else -1


def _recompute_body(
    manifest: CallManifest, model_input: ModelInput | None, sources: Sources
) -> tuple[Recomputed, bool | None]:
    """Return how the body compares, and whether it carries exactly the composed input."""
    recorded = manifest.request_body_sha256
    if recorded is None:
        return "not recorded", None
    stored = (manifest.request_body_artifact or {}).get("artifact_id")
    if isinstance(stored, str):
        content = sources.artifact_bytes(stored)
        compared = _compare(recorded, content)
        if content is None or compared != "match" or model_input is None:
            return compared, None
        return compared, _carried(content, manifest.input_pointer) == model_input.text
    rebuilt = _peer_body(manifest, model_input.text) if model_input else None
    if rebuilt is None:
        return "absent", None
    # Equal digests show more than a body: one that was rebuilt around the composed input.
    return ("match", True) if canonical_digest(rebuilt) == recorded else ("mismatch", None)


def _carried(content: bytes, pointer: str | None) -> str | None:
    try:
        body = json.loads(content)
    except ValueError:
        return None
    return carried_text(body, pointer) if isinstance(body, dict) else None


def _peer_body(manifest: CallManifest, text: str) -> dict[str, Any] | None:
    """Rebuild the peer's body, None for a dialect that this engine does not know."""
    effective = manifest.effective_parameters or {}
    controls = {key: value for key, value in effective.items() if key not in _NOT_CONTROLS}
    if "max_output_tokens" in controls:
        controls["max_tokens"] = controls.pop("max_output_tokens")
    messages = [{"role": "user", "content": text}]
    match effective.get("protocol"):
        case "chat_completions":
            fields: dict[str, Any] = {"messages": messages}
        case "responses":
            fields = {"input": text}
        case "messages":
            fields = {"messages": messages, "max_tokens": _PEER_MAX_TOKENS}
        case _:
            return None
    return {"model": manifest.resolved_model_id} | fields | controls


def _rendering_problems(
    facts: BranchFacts, manifest: CallManifest, content: bytes | None, sources: Sources
) -> tuple[str, ...]:
    """Return what its own digest cannot show: that the bytes are those of the package's items."""
    if manifest.rendered_context_sha256 is None or content is None:
        return ()
    package = facts.package
    items = _rendered_items(manifest)
    found: list[str] = []
    if package is None or manifest.context_package_id != package.package_id:
        found.append("the manifest does not name the branch's package")
    elif tuple((item.kind, item.item_id) for item in items) != package.items():
        found.append("the rendered items are not the package's selected items, in order")
    if not _is_canonical(items, content):
        found.append("the rendered bytes are not the canonical layout of their items")
    found += [
        f"the rendered content of {item.kind} {item.item_id} is not what the ledger holds"
        for item in items
        if _source_sha256(item, sources) not in {item.content_sha256, None}
    ]
    return tuple(found)


def _rendered_items(manifest: CallManifest) -> tuple[RenderedItem, ...]:
    return tuple(
        RenderedItem(
            kind=str(item.get("kind")),
            item_id=str(item.get("item_id")),
            content_sha256=str(item.get("content_sha256")),
            start=_offset(item, "start"),
            end=_offset(item, "end"),
        )
        for item in manifest.rendered_items or ()
    )


def _is_canonical(items: Sequence[RenderedItem], content: bytes) -> bool:
    """Render the pieces of the stored bytes again: headers, separators and offsets must return."""
    pieces = {(item.kind, item.item_id): content[item.start : item.end] for item in items}
    try:
        again = render_context(pieces, pieces)
    except CodeAIError:
        return False
    return again.content == content and again.items == tuple(items)


def _source_sha256(item: RenderedItem, sources: Sources) -> str | None:
    """Return the digest of what an item stands for, None where the ledger cannot tell."""
    if item.kind == "artifact":
        return item.item_id  # an artifact's id is the digest of its bytes
    if item.kind == "event":
        row = sources.event(item.item_id)
        return None if row is None else _payload_sha256(row)
    records = sources.claim_records(item.item_id)
    return _payload_sha256(records[0]) if len(records) == 1 else None


def _payload_sha256(row: EventRow) -> str:
    return sha256_hex(row.payload_json.encode("utf-8", "surrogatepass"))
