"""The three teaching fragments of the seeds: what a seal excludes, and what it cannot.

Each uses a sentinel that stands for a sibling's content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeai_engine.digests import canonical_json, sha256_hex
from codeai_engine.domain.context import Candidate, Seal
from codeai_engine.rules.bind import compose_model_input
from codeai_engine.rules.compile import compile_package, sibling_seal
from codeai_engine.rules.lineage import event_lineage
from codeai_engine.rules.render import render_context, size_tokens
from tests.builders import compile_request, event_row

if TYPE_CHECKING:
    from codeai_engine.domain.context import Compilation
    from codeai_engine.domain.view import EventRow

SENTINEL = "SENTINEL-of-branch-B"
INSTRUCTION = "Review."
CALLS = frozenset({"call-A", "call-B", "call-C"})
SIBLINGS_FORBIDDEN = sibling_seal(Seal(), CALLS, "call-A")
BASE = event_row("task.created", {"objective": "review the paragraph"}, event_id="ev-base")
SIBLING = event_row(
    "call.completed",
    {"call_id": "call-B", "raw_output": SENTINEL},
    event_id="ev-sib-B",
    stream_id="call-B",
)
NOTE = f"Branch B wrote: {SENTINEL}".encode()
NOTE_ID = sha256_hex(NOTE)
CONTENTS = {
    ("event", "ev-base"): BASE.payload_json.encode(),
    ("event", "ev-sib-B"): SIBLING.payload_json.encode(),
    ("artifact", NOTE_ID): NOTE,
}


def event(row: EventRow) -> Candidate:
    item_id, content = row.event_id, row.payload_json.encode()
    return Candidate(
        "event",
        item_id,
        lineage=event_lineage(row),
        provenance="declared",
        size_tokens=size_tokens("event", item_id, len(content)),
    )


def note(*lineage: str) -> Candidate:
    return Candidate(
        "artifact",
        NOTE_ID,
        lineage=frozenset(lineage),
        provenance="declared" if lineage else "unknown",
        size_tokens=size_tokens("artifact", NOTE_ID, len(NOTE)),
    )


def what_a_provider_would_get(compilation: Compilation) -> str:
    package = compilation.package
    rendered = render_context(package.items(), CONTENTS)
    return compose_model_input(INSTRUCTION, rendered, package.prompt).text


def test_declared_sibling_content_is_excluded_by_name_and_reaches_nothing() -> None:
    compilation = compile_package(
        compile_request(
            event(BASE), event(SIBLING), note("call-B"), prompt="review", seal=SIBLINGS_FORBIDDEN
        )
    )
    reason = "excluded because seal forbids call lineage ['call-B']"
    decisions = {one.candidate_id: (one.decision, one.reason) for one in compilation.trace}
    assert decisions == {
        "ev-base": ("included", "included, no budget"),
        "ev-sib-B": ("excluded", reason),
        NOTE_ID: ("excluded", reason),
    }
    assert SENTINEL not in canonical_json(compilation.package.identity())
    assert NOTE_ID not in canonical_json(compilation.package.identity())
    assert SENTINEL not in what_a_provider_would_get(compilation)


def test_the_same_artifact_with_its_lineage_omitted_is_included() -> None:
    compilation = compile_package(
        compile_request(event(BASE), note(), prompt="review", seal=SIBLINGS_FORBIDDEN)
    )
    decisions = {one.candidate_id: (one.decision, one.reason) for one in compilation.trace}
    assert decisions[NOTE_ID] == ("included", "included, no budget")
    assert SENTINEL not in compilation.package.prompt  # it comes by reference
    assert SENTINEL in what_a_provider_would_get(compilation)


def test_sibling_text_that_was_copied_into_the_prompt_passes() -> None:
    prompt = f"review. A sibling once wrote: {SENTINEL}"
    compilation = compile_package(
        compile_request(event(BASE), prompt=prompt, seal=SIBLINGS_FORBIDDEN)
    )
    assert compilation.package.prompt == prompt
    assert SENTINEL in canonical_json(compilation.package.identity())
    assert SENTINEL in what_a_provider_would_get(compilation)
