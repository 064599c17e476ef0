"""Every identity of the peer's own ledgers, recomputed with our rules from its own files.

The ledgers are read with plain SQLite, so that nothing here depends on our reader.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.digests import canonical_digest, sha256_hex
from codeai_engine.domain.context import Actor, Candidate, CandidateKind, Package, Seal, TraceEntry
from codeai_engine.domain.view import EventRow
from codeai_engine.errors import RequiredContextMissing
from codeai_engine.rules.bind import (
    carried_text,
    compose_model_input,
    compose_selection_input,
    prompt_hash,
    refuse_unless_carried,
)
from codeai_engine.rules.compile import (
    CompileRequest,
    compile_as_peer,
    compile_package,
    exclusion_class,
    package_id,
    peer_required_ids,
    peer_size_tokens,
    trace_id,
)
from codeai_engine.rules.lineage import event_lineage, peer_event_lineage
from codeai_engine.rules.render import Unresolved, render_context
from tests.peers import PEER_NAMES, expected_facts, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from codeai_engine.domain.call import ModelInput, RenderedContext

pytestmark = needs_peer_ledgers
NOT_CONTROLS = {"gateway", "protocol", "endpoint", "model", "gateway_plan", "session_id"}


@dataclass(frozen=True)
class Stored:
    """A peer's ledger: its events, and where its bytes are."""

    rows: tuple[EventRow, ...]
    folder: Path

    def of_kind(self, kind: str) -> Iterator[tuple[EventRow, dict[str, Any]]]:
        return ((row, json.loads(row.payload_json)) for row in self.rows if row.kind == kind)

    def event(self, event_id: str | None) -> EventRow | None:
        return next((row for row in self.rows if row.event_id == event_id), None)

    def content(self, kind: str, item_id: str) -> bytes | Unresolved:
        """Resolve an item as PEER_FORMAT 5.2 says."""
        if kind == "artifact":
            path = self.folder / item_id[:2] / item_id[2:]
            content = path.read_bytes() if path.is_file() else b""
            return content if sha256_hex(content) == item_id else Unresolved("artifact not found")
        if kind == "event":
            row = self.event(item_id)
            return row.payload_json.encode() if row else Unresolved("event not found in ledger")
        found = [
            row for row, claim in self.of_kind("claim.recorded") if claim["claim_id"] == item_id
        ]
        return found[0].payload_json.encode() if len(found) == 1 else Unresolved("not one claim")


def read_ledger(name: str, tmp_path: Path) -> Stored:
    path = peer_ledger(name)
    uri = f"{path.as_uri()}?immutable=1"
    if path.with_name("ledger.sqlite-wal").exists():  # immutable would hide what is only in it
        for part in path.parent.glob("ledger.sqlite*"):
            shutil.copy(part, tmp_path)
        uri = (tmp_path / "ledger.sqlite").as_uri()
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        rows = connection.execute(
            "SELECT sequence, event_id, stream_id, kind, actor_id, payload_json, created_at,"
            " causation_id, correlation_id FROM events ORDER BY sequence"
        )
        return Stored(tuple(EventRow(*row) for row in rows), path.parent / "artifacts")


@pytest.fixture(params=PEER_NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(name: str, tmp_path: Path) -> Stored:
    return read_ledger(name, tmp_path)


def stored_seal(payload: dict[str, Any] | None) -> Seal:
    return Seal(**{field: frozenset(ids) for field, ids in (payload or {}).items()})


def stored_package(compiled: dict[str, Any]) -> Package:
    return Package(
        task_id=compiled["task_id"],
        actor=Actor(**compiled["actor"]),
        prompt=compiled["prompt"],
        prompt_version=compiled["prompt_version"],
        objective=compiled["objective"],
        event_ids=tuple(compiled["event_ids"]),
        artifact_ids=tuple(compiled["artifact_ids"]),
        claim_ids=tuple(compiled["claim_ids"]),
        budget_tokens=compiled["budget_tokens"],
        seal=stored_seal(compiled["seal"]),
    )


def stored_trace(compiled: dict[str, Any]) -> tuple[TraceEntry, ...]:
    return tuple(TraceEntry(**entry) for entry in compiled["trace"])


def composed_input(ledger: Stored, requested: dict[str, Any]) -> tuple[RenderedContext, ModelInput]:
    context = requested["context"]
    items = [
        (kind, item_id)
        for kind in ("artifact", "claim", "event")
        for item_id in context[f"{kind}_ids"]
    ]
    rendered = render_context(items, {item: ledger.content(*item) for item in items})
    return rendered, compose_model_input(requested["instruction"], rendered, context["prompt"])


def peer_body(manifest: dict[str, Any], text: str) -> dict[str, Any]:
    """Rebuild a chat body as PEER_FORMAT 5.7 says."""
    effective = manifest["effective_parameters"]
    controls = {key: value for key, value in effective.items() if key not in NOT_CONTROLS}
    messages = [{"role": "user", "content": text}]
    return {"model": manifest["resolved_model_id"], "messages": messages} | controls


def manifests(ledger: Stored) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each manifest with the request that caused it."""
    for row, manifest in ledger.of_kind("call.manifest"):
        cause = ledger.event(row.causation_id)
        assert cause is not None
        yield manifest, json.loads(cause.payload_json)


def every_manifest(tmp_path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for name in PEER_NAMES:
        yield from manifests(read_ledger(name, tmp_path))


def test_every_package_and_trace_id_that_should_recompute_does(name: str, ledger: Stored) -> None:
    facts = expected_facts(name)["context"]
    compiled = [payload for _, payload in ledger.of_kind("context.compiled")]
    equal = [one for one in compiled if package_id(stored_package(one)) == one["package_id"]]
    traced = [
        one for one in compiled if trace_id(one["package_id"], stored_trace(one)) == one["trace_id"]
    ]
    assert len(compiled) == facts["compiled"]
    assert len(equal) == facts["package_id_recomputed_equal"]
    assert len(traced) == facts["trace_id_recomputed_equal"]


def test_a_changed_field_no_longer_recomputes(tmp_path: Path) -> None:
    ((_, compiled), *_) = read_ledger("rendered_fanout", tmp_path).of_kind("context.compiled")
    package = stored_package(compiled)
    for changed in (
        replace(package, task_id="another"),
        replace(package, actor=replace(package.actor, actor_id="another")),
        replace(package, prompt=package.prompt + " "),
        replace(package, prompt_version="another"),
        replace(package, objective="another"),
        replace(package, event_ids=(*package.event_ids, "another")),
        replace(package, artifact_ids=package.artifact_ids[1:]),
        replace(package, claim_ids=(*package.claim_ids, "another")),
        replace(package, budget_tokens=1),
        replace(package, seal=replace(package.seal, forbidden_event_ids=frozenset({"another"}))),
        replace(package, seal=replace(package.seal, forbidden_call_ids=frozenset())),
        replace(package, seal=replace(package.seal, forbidden_artifact_ids=frozenset({"another"}))),
        replace(package, seal=replace(package.seal, forbidden_lineage_ids=frozenset())),
    ):
        assert package_id(package) == compiled["package_id"] != package_id(changed)


def test_every_exclusion_has_the_class_that_is_stated(name: str, ledger: Stored) -> None:
    found = [
        {
            "sequence": row.sequence,
            "package_id": compiled["package_id"],
            "included": len(compiled["included_ids"]),
            "excluded": [
                {
                    "id": entry.candidate_id,
                    "class": exclusion_class(entry.reason)[0],
                    "reason": entry.reason,
                }
                for entry in stored_trace(compiled)
                if entry.decision == "excluded"
            ],
        }
        for row, compiled in ledger.of_kind("context.compiled")
    ]
    assert [one for one in found if one["excluded"]] == expected_facts(name)["context"][
        "exclusions"
    ]


def test_the_prompt_hash_of_every_manifest_recomputes(tmp_path: Path) -> None:
    recomputed = 0
    for manifest, requested in every_manifest(tmp_path):
        found = prompt_hash(requested["instruction"], requested["context"]["prompt"])
        assert found == manifest["prompt_hash"]
        recomputed += 1
    assert recomputed == 95


def test_every_rendered_call_recomputes_to_the_byte(name: str, ledger: Stored) -> None:
    stated = {one["call_id"]: one for one in expected_facts(name)["rendered_calls"]}
    recomputed = 0
    for manifest, requested in manifests(ledger):
        if not manifest.get("context_render_version"):
            continue
        facts = stated[manifest["call_id"]]
        rendered, model_input = composed_input(ledger, requested)
        body = peer_body(manifest, model_input.text)
        assert rendered.version == manifest["context_render_version"]
        assert rendered.sha256 == manifest["rendered_context_sha256"]
        assert rendered.sha256 == facts["rendered_context_sha256"]
        assert rendered.content == ledger.content("artifact", rendered.sha256)  # as stored
        assert [item.to_payload() for item in rendered.items] == manifest["rendered_items"]
        assert [part.to_payload() for part in model_input.layout] == manifest["input_layout"]
        assert model_input.sha256 == facts["model_input_sha256"]
        assert canonical_digest(body) == manifest["request_body_sha256"]
        assert carried_text(body, None) == model_input.text
        refuse_unless_carried(body, "/messages/0/content", model_input)
        recomputed += 1
    assert recomputed == len(expected_facts(name)["rendered_calls"])


def test_every_body_of_a_selection_record_recomputes(tmp_path: Path) -> None:
    recomputed = 0
    for manifest, requested in every_manifest(tmp_path):
        if manifest.get("context_render_version") or not manifest.get("request_body_sha256"):
            continue
        composed = compose_selection_input(requested["instruction"], requested["context"]["prompt"])
        body = peer_body(manifest, composed.text)
        assert canonical_digest(body) == manifest["request_body_sha256"]
        recomputed += 1
    assert recomputed == 18


def recorded_request(asked: dict[str, Any]) -> CompileRequest:
    """What the peer's explicit compile call records of its candidates: everything."""
    return CompileRequest(
        task_id=asked["task_id"],
        actor=Actor(**asked["actor"]),
        prompt=asked["prompt"],
        prompt_version=asked["prompt_version"],
        objective=asked["objective"],
        budget_tokens=asked["budget_tokens"],
        seal=stored_seal(asked["seal"]),
        candidates=tuple(
            Candidate(
                kind=one["kind"],
                candidate_id=one["candidate_id"],
                lineage=frozenset(one["lineage_ids"]),
                size_tokens=one["size_tokens"],
            )
            for one in asked["candidates"]
        ),
        required_ids=frozenset(
            [one["candidate_id"] for one in asked["candidates"] if one["required"]]
            + asked["required_ids"]
        ),
    )


def explicit_compilations(ledger: Stored) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each recorded request to compile with what became of it."""
    for row, asked in ledger.of_kind("context.compilation_requested"):
        became = next(one for one in ledger.rows if one.causation_id == row.event_id)
        yield asked, json.loads(became.payload_json) | {"kind": became.kind}


def test_the_peers_decisions_recompute_by_its_own_rules(tmp_path: Path) -> None:
    compiled = refused = 0
    for asked, became in explicit_compilations(read_ledger("seal_exclusions", tmp_path)):
        request = recorded_request(asked)
        if became["kind"] == "context.compilation_failed":
            with pytest.raises(RequiredContextMissing) as error:
                compile_as_peer(request)
            assert error.value.message == became["message"]
            refused += 1
            continue
        found = compile_as_peer(request)
        assert found.trace == stored_trace(became)
        assert found.trace_id == became["trace_id"]
        assert found.package.package_id == became["package_id"]
        assert list(found.included_ids) == became["included_ids"]
        assert list(found.excluded_ids) == became["excluded_ids"]
        compiled += 1
    assert (compiled, refused) == (6, 3)


def test_ours_gives_the_same_selection_and_says_more(tmp_path: Path) -> None:
    for asked, became in explicit_compilations(read_ledger("seal_exclusions", tmp_path)):
        if became["kind"] != "context.compiled":
            continue
        found = compile_package(recorded_request(asked))
        assert found.package.package_id == became["package_id"]
        for ours, theirs in zip(found.trace, stored_trace(became), strict=True):
            assert ours.decision == theirs.decision
            assert (
                ours.reason == theirs.reason
                or ours.reason.startswith(f"{theirs.reason}: needs ")
                or (ours.reason, theirs.reason) == ("included, no budget", "included within budget")
            )


def test_sizes_and_lineage_of_events_are_what_the_peer_recorded(tmp_path: Path) -> None:
    ledger = read_ledger("seal_exclusions", tmp_path)
    looked_at = 0
    for asked, _ in explicit_compilations(ledger):
        for one in asked["candidates"]:
            row = ledger.event(one["candidate_id"])
            assert (row is not None) == (one["kind"] == "event")
            if row is None:
                assert peer_size_tokens(one["kind"]) == one["size_tokens"] == 0
                continue
            assert peer_event_lineage(row) == frozenset(one["lineage_ids"])
            assert peer_event_lineage(row) <= event_lineage(row)
            if asked["budget_tokens"] != 150:  # there the peer's caller declared sizes
                assert peer_size_tokens("event", row.payload_json) == one["size_tokens"]
                looked_at += 1
    assert looked_at == 8 * 6


def test_fanouts_whose_base_is_known_recompute_by_the_peers_rules(tmp_path: Path) -> None:
    sizes: list[int] = []
    for name in PEER_NAMES:
        ledger = read_ledger(name, tmp_path)
        packages = {
            (requested["metadata"].get("fanout_id"), requested["context"]["package_id"])
            for _, requested in ledger.of_kind("call.requested")
        }
        for _, asked in ledger.of_kind("fanout.requested"):
            if has_declared_lineage(asked):
                continue
            for _, compiled in ledger.of_kind("context.compiled"):
                if (asked["fanout_id"], compiled["package_id"]) not in packages:
                    continue
                found = compile_as_peer(base_request(ledger, asked, compiled))
                assert found.trace == stored_trace(compiled), name
                assert found.package.package_id == compiled["package_id"]
                sizes.append(len(found.trace))
    assert (len(sizes), sum(size > 0 for size in sizes)) == (85, 68)


def has_declared_lineage(asked: dict[str, Any]) -> bool:
    """Only its counts are recorded; without any, the trace itself names every candidate."""
    return any((asked.get("base_lineage_declared") or {"unknown": 1}).values())


def base_request(ledger: Stored, asked: dict[str, Any], compiled: dict[str, Any]) -> CompileRequest:
    candidates = tuple(
        base_candidate(ledger, compiled, entry.candidate_id) for entry in stored_trace(compiled)
    )
    package = stored_package(compiled)
    return CompileRequest(
        task_id=package.task_id,
        actor=package.actor,
        prompt=package.prompt,
        prompt_version=package.prompt_version,
        objective=package.objective,
        budget_tokens=package.budget_tokens,
        seal=package.seal,
        candidates=candidates,
        required_ids=peer_required_ids(
            candidates, artifacts=frozenset(asked["base_required_artifacts"] or ())
        ),
    )


def base_candidate(ledger: Stored, compiled: dict[str, Any], candidate_id: str) -> Candidate:
    row = ledger.event(candidate_id)
    kind: CandidateKind = "claim" if candidate_id in compiled["claim_ids"] else "artifact"
    if row is None:
        return Candidate(kind, candidate_id)
    size = peer_size_tokens("event", row.payload_json)
    return Candidate("event", candidate_id, peer_event_lineage(row), size_tokens=size)


@pytest.mark.parametrize(
    ("named", "required"),
    [
        ({}, {"art", "ev"}),
        ({"artifacts": {"art"}}, {"art", "ev"}),
        ({"artifacts": {"other"}}, {"other", "ev"}),
        ({"claims": {"cl"}}, {"cl", "ev"}),
        ({"events": {"other"}}, {"other"}),
        ({"events": set(), "artifacts": set(), "claims": set()}, {"art", "ev"}),
    ],
)
def test_the_peers_required_sets(named: dict[str, set[str]], required: set[str]) -> None:
    offered = [Candidate("artifact", "art"), Candidate("claim", "cl"), Candidate("event", "ev")]
    sets = {kind: frozenset(ids) for kind, ids in named.items()}
    assert peer_required_ids(offered, **sets) == required
