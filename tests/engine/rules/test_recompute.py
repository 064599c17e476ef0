"""Recomputing what a branch binds: each change of one thing is found, and named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.digests import canonical_digest, canonical_json, text_digest
from codeai_engine.rules.fold import Circumstances, fold_events, view_fanout
from tests.engine.fanout_script import PARAGRAPH, FanoutScript, Item, rows_of, sources_of

if TYPE_CHECKING:
    from codeai_engine.domain.events import EventDraft
    from codeai_engine.domain.view import BranchView
    from tests.engine.fanout_script import HeldSources


def branch(drafts: list[EventDraft], held: HeldSources) -> BranchView:
    return view_fanout(fold_events(rows_of(drafts)), held, Circumstances()).branches[0]


def recomputed(script: FanoutScript, **changed: Any) -> BranchView:
    """Branch A of a fan-out whose manifest has some fields changed."""
    drafts = [*script.begin(), script.requested("A"), script.manifest("A", **changed)]
    return branch(drafts, sources_of(script))


def without(script: FanoutScript, artifact_type: str, content: bytes | None = None) -> BranchView:
    """Branch A where the bytes of one type are gone, or others."""
    drafts = [*script.begin(), script.requested("A"), script.manifest("A")]
    held = sources_of(script)
    changed = {k for k, draft in script.artifacts.items() if draft.artifact_type == artifact_type}
    kept = {key: value for key, value in held.artifacts.items() if key not in changed}
    if content is not None:
        kept |= dict.fromkeys(changed, content)
    return branch(drafts, replace(held, artifacts=kept))


def test_rendered_bytes_that_are_gone_are_absent_and_nothing_of_them_matches() -> None:
    found = without(FanoutScript(), "rendered_context")
    assert found.rendered_recomputed == "absent"
    assert {part.recomputed for part in (*found.items, *found.parts)} == {"absent"}
    assert found.level == "selection blind"


def test_rendered_bytes_that_were_changed_are_a_mismatch() -> None:
    found = without(FanoutScript(), "rendered_context", b"something else")
    assert found.rendered_recomputed == "mismatch"
    assert found.items[0].recomputed == "mismatch"
    assert found.level == "selection blind"


def test_a_body_that_is_gone_or_changed_does_not_match() -> None:
    assert without(FanoutScript(), "prepared_body").request_recomputed == "absent"
    assert without(FanoutScript(), "prepared_body", b"{}").request_recomputed == "mismatch"


def test_a_body_with_one_more_sentence_does_not_carry_the_composed_input() -> None:
    script = FanoutScript()
    drafts = [*script.begin(), script.requested("A"), script.manifest("A")]
    body = script.body("A")
    body["messages"][0]["content"] += "\nThe other reviewer says: wrong."
    smuggled = script.keep_body(body)
    drafts[-1] = script.manifest(
        "A", request_body_artifact=smuggled, request_body_sha256=smuggled["sha256"]
    )
    found = branch(drafts, sources_of(script))
    assert found.request_recomputed == "match"
    assert found.level == "selection blind"
    assert "does not carry exactly the composed input" in found.missing[0]


@pytest.mark.parametrize(
    ("changed", "field", "word"),
    [
        ({"prompt_hash": "0" * 64}, "prompt_recomputed", "mismatch"),
        ({"prompt_hash": None}, "prompt_recomputed", "not recorded"),
        ({"rendered_context_sha256": "0" * 64}, "rendered_recomputed", "mismatch"),
        ({"request_body_sha256": "0" * 64}, "request_recomputed", "mismatch"),
        ({"request_body_sha256": None}, "request_recomputed", "not recorded"),
    ],
)
def test_each_digest_of_a_manifest_is_compared(
    changed: dict[str, Any], field: str, word: str
) -> None:
    assert getattr(recomputed(FanoutScript(), **changed), field) == word


@pytest.mark.parametrize(
    "item",
    [
        {"start": 0, "end": 3},
        {"start": 170, "end": 9_999_999},
        {"start": None, "end": None},
        {"start": 5, "end": 2},
    ],
)
def test_an_item_whose_offsets_are_wrong_is_a_mismatch(item: dict[str, Any]) -> None:
    script = FanoutScript()
    script.begin()
    right = {"kind": "artifact", "item_id": PARAGRAPH.item_id}
    right["content_sha256"] = text_digest("The" if item["end"] == 3 else PARAGRAPH.text)
    found = recomputed(script, rendered_items=[right | item])
    assert found.items[0].recomputed == "mismatch"
    assert found.level == "selection blind"


def test_a_rendering_of_other_items_than_the_package_selected_is_named() -> None:
    script = FanoutScript()
    drafts = [*script.begin(), script.requested("A"), script.manifest("A", rendered_items=[])]
    found = branch(drafts, sources_of(script))
    assert found.rendered_recomputed == "match"
    assert found.level == "selection blind"
    assert "not the package's selected items" in "; ".join(found.missing)


def test_a_manifest_of_another_package_is_named() -> None:
    found = recomputed(FanoutScript(), context_package_id="0" * 64)
    assert "does not name the branch's package" in "; ".join(found.missing)


def test_a_layout_whose_part_digest_is_wrong_is_named_beside_a_whole_that_matches() -> None:
    wrong = [{"part": "query", "sha256": "0" * 64, "start": 0, "end": 3}]
    found = recomputed(FanoutScript(), input_layout=wrong)
    assert found.rendered_recomputed == "match"
    assert found.parts[0].recomputed == "mismatch"
    assert "part query" in "; ".join(found.missing)


@pytest.mark.parametrize(
    ("effective", "body"),
    [
        (
            {"protocol": "chat_completions", "endpoint": "/v1", "temperature": 0.5},
            {"messages": [{"role": "user", "content": "TEXT"}], "temperature": 0.5},
        ),
        (
            {"protocol": "chat_completions", "max_output_tokens": 9},
            {"messages": [{"role": "user", "content": "TEXT"}], "max_tokens": 9},
        ),
        ({"protocol": "responses", "gateway": "g"}, {"input": "TEXT"}),
        (
            {"protocol": "messages", "session_id": "s"},
            {"messages": [{"role": "user", "content": "TEXT"}], "max_tokens": 1024},
        ),
    ],
)
def test_a_body_that_is_not_stored_is_rebuilt_as_the_peer_sends_it(
    effective: dict[str, Any], body: dict[str, Any]
) -> None:
    script = FanoutScript()
    drafts = [*script.begin(), script.requested("A"), script.manifest("A")]
    composed = json.dumps(script.body("A")["messages"][0]["content"])
    whole = json.loads(json.dumps(body).replace('"TEXT"', composed)) | {"model": "tiny"}
    changed = {"request_body_artifact": None, "effective_parameters": effective}
    drafts[-1] = script.manifest("A", request_body_sha256=canonical_digest(whole), **changed)
    found = branch(drafts, sources_of(script))
    assert (found.request_recomputed, found.level) == ("match", "final-input blind")
    drafts[-1] = script.manifest("A", request_body_sha256="0" * 64, **changed)
    assert branch(drafts, sources_of(script)).request_recomputed == "mismatch"


def test_a_body_of_a_dialect_that_is_not_known_is_absent_and_not_wrong() -> None:
    found = recomputed(
        FanoutScript(), request_body_artifact=None, effective_parameters={"protocol": "telegraph"}
    )
    assert found.request_recomputed == "absent"


def test_a_selection_record_binds_its_body_and_nothing_rendered() -> None:
    found = recomputed(FanoutScript(rendered=False))
    assert (found.rendered, found.rendered_recomputed) == (False, "not recorded")
    assert found.request_recomputed == "match"
    assert found.level == "selection blind"


def test_no_selected_items_render_to_no_bytes_and_still_bind() -> None:
    script = FanoutScript(base=())
    found = branch(script.whole(), sources_of(script))
    assert found.rendered_sha256 == text_digest("")
    assert [part.label for part in found.parts] == ["instruction", "query"]
    assert found.level == "wire-observed"


def test_a_changed_package_or_trace_does_not_recompute() -> None:
    script = FanoutScript()
    rows = list(rows_of(script.whole()))
    at = next(i for i, row in enumerate(rows) if row.kind == "context.compiled")
    for old, new, field in (
        ('"prompt":"What is wrong?"', '"prompt":"What is right?"', "package_recomputed"),
        ("included because required", "included, no budget", "trace_recomputed"),
    ):
        changed = list(rows)
        changed[at] = replace(rows[at], payload_json=rows[at].payload_json.replace(old, new))
        assert changed[at] != rows[at]
        fanout = view_fanout(fold_events(changed), sources_of(script), Circumstances())
        assert getattr(fanout.branches[0], field) == "mismatch"
        assert fanout.branches[0].level == "none"
        assert fanout.branches[1].level == "wire-observed"


def test_a_seal_that_was_stored_as_text_is_unreadable_and_crashes_nothing() -> None:
    script = FanoutScript()
    rows = list(rows_of(script.whole()))
    at = next(i for i, row in enumerate(rows) if row.kind == "context.compiled")
    text = rows[at].payload_json
    old = text[text.index('"forbidden_call_ids":[') : text.index(',"forbidden_event_ids"')]
    rows[at] = replace(
        rows[at], payload_json=text.replace(old, '"forbidden_call_ids":"frozenset({\'call-B\'})"')
    )
    found = view_fanout(fold_events(rows), sources_of(script), Circumstances()).branches[0]
    assert found.seal is not None
    assert "frozenset({'call-B'})" in (found.seal.unreadable or "")
    assert found.seal_names_every_sibling is None
    assert (found.package_recomputed, found.level) == ("absent", "none")


def test_the_transport_must_have_been_given_the_prepared_body() -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A")]
    drafts += [script.wire("A", sha256="0" * 64), script.observed("A"), script.completed("A")]
    found = branch(drafts, sources_of(script))
    assert found.attempts[0].wire_matches is False
    assert found.level == "final-input blind"


def test_a_command_is_given_its_standard_input_and_not_the_body_around_it() -> None:
    script = FanoutScript(names=("A",), is_command=True)
    drafts = [*script.begin(), *script.prepared("A")]
    whole = text_digest(canonical_json(script.body("A")))
    drafts += [script.wire("A", sha256=whole), script.observed("A"), script.completed("A")]
    assert branch(drafts, sources_of(script)).attempts[0].wire_matches is False


def test_an_excluded_item_is_in_no_rendering_and_its_digests_still_recompute() -> None:
    earlier = Item("B said: wrong.\n", "earlier", lineage=("fanout-1:call-B",))
    script = FanoutScript(base=(PARAGRAPH, earlier), required=False)
    found = branch(script.whole(), sources_of(script))
    assert [item.item_id for item in found.items] == [PARAGRAPH.item_id]
    assert found.level == "wire-observed"
