"""Every sample ledger of the peer reads as `expected.json` says, fact by fact."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.domain.events import read_payload
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.queries.overview import branch_digests
from codeai_engine.queries.views import (
    read_artifact_facts,
    read_attempts,
    read_checks,
    read_claims,
    read_event,
    read_events,
    read_fanout,
    read_fanouts,
    read_kinds,
    read_overview,
    read_packages,
    read_unattached,
    read_unfinished_calls,
)
from tests.peers import PEER_NAMES, expected_facts, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codeai_engine.domain.view import BranchView, EventRow, FanoutView
    from codeai_engine.ledger.reader import LedgerReader

pytestmark = needs_peer_ledgers
every_ledger = pytest.mark.parametrize("name", PEER_NAMES)


@contextmanager
def opened(name: str) -> Iterator[tuple[LedgerReader, dict[str, Any]]]:
    with open_ledger(peer_ledger(name)) as ledger:
        yield ledger, expected_facts(name)


def fanouts_of(ledger: LedgerReader) -> list[FanoutView]:
    summaries = reversed(read_fanouts(ledger, limit=100).items)
    return [read_fanout(ledger, summary.fanout_id) for summary in summaries]


def rows_of(ledger: LedgerReader) -> list[EventRow]:
    found: list[EventRow] = []
    while page := ledger.rows(after=found[-1].sequence if found else 0, limit=100):
        found += page
    return found


@every_ledger
def test_events_are_counted_and_read_as_they_are_stored(name: str) -> None:
    with opened(name) as (ledger, expected):
        rows = rows_of(ledger)
        info = ledger.info()
        assert dict(read_kinds(ledger)) == expected["kinds"]
    assert (info.event_count, info.origin) == (expected["event_count"], "peer")
    assert (info.first_sequence, info.last_sequence) == (
        expected["first_sequence"],
        expected["last_sequence"],
    )
    lines = [
        f"{r.sequence} {r.event_id} {r.kind} {sha256(r.payload_json.encode()).hexdigest()}"
        for r in rows
    ]
    assert sha256("\n".join(lines).encode()).hexdigest() == expected["events_digest"]
    assert len({row.stream_id for row in rows}) == expected["streams"]
    assert Counter(str(row.correlation_id) for row in rows) == expected["correlations"]


@every_ledger
def test_fanouts_are_listed_newest_first_with_their_own_facts(name: str) -> None:
    with opened(name) as (ledger, expected):
        found = read_fanouts(ledger, limit=100).items
    facts = expected["fanouts"]
    assert [summary.fanout_id for summary in found] == [f["fanout_id"] for f in reversed(facts)]
    for summary, fact in zip(reversed(found), facts, strict=True):
        for field in (
            "sequence",
            "task_id",
            "completed",
            "input_provenance",
            "context_render",
            "base_offered",
            "base_lineage_declared",
        ):
            assert getattr(summary, field) == fact[field], (fact["fanout_id"], field)
        assert list(summary.call_ids) == fact["call_ids"]
        assert (None if summary.statuses is None else list(summary.statuses)) == fact["statuses"]


@every_ledger
def test_every_field_of_every_branch_is_as_expected(name: str) -> None:
    with opened(name) as (ledger, expected):
        for fanout, fact in zip(fanouts_of(ledger), expected["fanouts"], strict=True):
            for branch, facts in zip(fanout.branches, fact["branches"], strict=True):
                found = {field: getattr(branch, field) for field in facts}
                assert found == facts


@every_ledger
def test_listed_and_opened_fanouts_have_the_same_summary(name: str) -> None:
    with opened(name) as (ledger, _):
        listed = reversed(read_fanouts(ledger, limit=100).items)
        assert [fanout.summary for fanout in fanouts_of(ledger)] == list(listed)


@every_ledger
def test_packages_traces_and_exclusions_recompute(name: str) -> None:
    with opened(name) as (ledger, expected):
        packages = read_packages(ledger, limit=500).items
        refused = [
            branch.call_id
            for fanout in fanouts_of(ledger)
            for branch in fanout.branches
            if branch.refused is not None
        ]
        failed = ledger.of_kind("context.compilation_failed")
    facts = expected["context"]
    assert len(packages) == facts["compiled"]
    assert (
        sum(package.package_recomputed == "match" for package in packages)
        == facts["package_id_recomputed_equal"]
    )
    assert (
        sum(package.trace_recomputed == "match" for package in packages)
        == facts["trace_id_recomputed_equal"]
    )
    excluding = [
        {
            "sequence": package.sequence,
            "package_id": package.package_id,
            "included": package.included,
            "excluded": [
                {"id": e.candidate_id, "class": e.exclusion_class, "reason": e.reason}
                for e in package.excluded
            ],
        }
        for package in packages
        if package.excluded
    ]
    assert excluding == facts["exclusions"]
    classes = Counter(e.exclusion_class for package in packages for e in package.excluded)
    assert classes == facts["excluded_by_class"]
    assert refused == facts["refused_branches"]
    assert len(failed) == len(facts["compilation_failed"])


@every_ledger
def test_rendered_calls_recompute_to_the_byte(name: str) -> None:
    with opened(name) as (ledger, expected):
        found = [b for f in fanouts_of(ledger) for b in f.branches if b.rendered]
    assert [_rendered_facts(branch) for branch in found] == [
        {key: fact[key] for key in _rendered_facts(found[0])} for fact in expected["rendered_calls"]
    ]


def _rendered_facts(branch: BranchView) -> dict[str, Any]:
    return {
        "call_id": branch.call_id,
        "rendered_context_sha256": branch.rendered_sha256,
        "rendered_equal": branch.rendered_recomputed == "match",
        "request_body_sha256": branch.request_sha256,
        "body_equal": branch.request_recomputed == "match",
        "model_input_sha256": branch.model_input_sha256,
        "items": len(branch.items),
        "items_equal": {item.recomputed for item in branch.items} <= {"match"},
    }


@every_ledger
def test_claims_fold_as_the_peer_folds_them(name: str) -> None:
    with opened(name) as (ledger, expected):
        claims = read_claims(ledger)
    facts = expected["claims"]
    items: dict[str, dict[str, Any]] = {}
    for claim in claims.items:
        items[claim.claim_id] = {
            "recordings": claim.recordings,
            "attempted": list(claim.attempted),
            "refused": list(claim.refused),
        }
        if claim.recordings:
            items[claim.claim_id] |= {
                "statement": claim.statement,
                "status": claim.status,
                "evidence_class": claim.evidence_class,
            }
    assert items == facts["items"]
    dangling = [
        {"sequence": d.sequence, "kind": d.kind, "claim_id": d.claim_id, "check_id": d.check_id}
        for d in claims.dangling
    ]
    assert dangling == facts["dangling"]
    counted = {
        "recorded": "claim.recorded",
        "links": "claim.linked",
        "attempts": "claim.verification_attempted",
        "refused_attempts": "claim.verification_attempt_refused",
        "evidence_events": "claim.evidence",
        "status_events": "claim.status",
    }
    assert {field: claims.counts.get(kind, 0) for field, kind in counted.items()} == {
        field: facts[field] for field in counted
    }
    assert claims.unread == ()


@every_ledger
def test_extracted_claims_stand_on_recorded_evidence_alone(name: str) -> None:
    with opened(name) as (ledger, expected):
        claims = read_claims(ledger)
    assert {
        standing.claim_id: {
            "status": standing.status,
            "evidence_class": standing.evidence_class,
            "supporting": list(standing.supporting),
            "refuting": list(standing.refuting),
        }
        for standing in claims.standings
    } == expected["strict_claims"]
    refusals = [
        {"id": refusal.subject_id, "kind": refusal.kind, "reasons": list(refusal.reasons)}
        for refusal in claims.refusals
    ]
    assert sorted(refusals, key=str) == sorted(expected["strict_refusals"], key=str)


@every_ledger
def test_checks_have_their_verdict_and_both_bindings(name: str) -> None:
    with opened(name) as (ledger, expected):
        checks = read_checks(ledger)
    facts = expected["checks"]
    assert checks.requested == facts["requested"]
    items = [
        {field: getattr(check, field) for field in fact} for check, fact in _pairs(checks, facts)
    ]
    assert items == facts["items"]
    for field, table in (
        ("verdict", "by_verdict"),
        ("binding_status", "by_state_binding"),
        ("artifact_binding_status", "by_artifact_binding"),
    ):
        assert Counter(str(getattr(check, field)) for check in checks.items) == facts[table]


def _pairs(checks: Any, facts: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    yield from zip(checks.items, facts["items"], strict=True)


@every_ledger
def test_orphans_and_unfinished_attempts_are_found_whatever_their_call_says(name: str) -> None:
    with opened(name) as (ledger, expected):
        attempts = read_attempts(ledger, limit=500).items
        orphans = read_attempts(ledger, orphans_only=True, limit=500).items
        overview = read_overview(ledger)
        open_calls = read_unfinished_calls(ledger).items
    assert (
        sum(attempt.started is not None for attempt in attempts)
        == (expected["attempts"]["started"])
    )
    for table, found in (
        ("orphan_attempts", [attempt for attempt in attempts if attempt.orphan]),
        ("orphan_attempts", list(orphans)),
        ("unfinished_attempts", [attempt for attempt in attempts if attempt.unfinished]),
    ):
        facts = [
            {
                "attempt_id": attempt.attempt_id,
                "attempt_index": attempt.index,
                "call_has_completion": attempt.call_has_completion,
                "call_id": attempt.call_id,
                "sequence": attempt.started,
                "has": [
                    step
                    for step in ("interpreted", "observed")
                    if getattr(attempt, step) is not None
                ],
            }
            for attempt in reversed(found)
        ]
        assert facts == expected[table]["items"]
    assert overview.orphans + overview.running == expected["orphan_attempts"]["count"]
    assert [row.stream_id for row in open_calls] == expected["calls_without_completion"]
    statuses = Counter(attempt.status for attempt in attempts if attempt.status is not None)
    if name == "odd_payloads":
        statuses["succeeded"] += 1  # completed, and never started: an event, not an attempt
    assert statuses == expected["attempts"]["by_status"]


@every_ledger
def test_artifacts_are_registered_missing_or_corrupt(name: str) -> None:
    with opened(name) as (ledger, expected):
        facts = read_artifact_facts(ledger)
    wanted = expected["artifacts"]
    assert (facts.examined, facts.intact) == (wanted["registered"], wanted["blobs_ok"])
    assert list(facts.missing) == wanted["missing"]
    assert list(facts.corrupt) == wanted["corrupt"]
    assert dict(facts.by_type) == wanted["by_type"]
    assert facts.declared_bytes == wanted["total_declared_bytes"]


@every_ledger
def test_the_overview_counts_what_its_fanouts_establish(name: str) -> None:
    with opened(name) as (ledger, expected):
        overview = read_overview(ledger)
        branches = [b for fanout in fanouts_of(ledger) for b in fanout.branches]
    facts = [b for fanout in expected["fanouts"] for b in fanout["branches"]]
    assert overview.total_fanouts == overview.fanouts == len(expected["fanouts"])
    assert overview.branches == len(facts)
    assert overview.refused_branches == len(expected["context"]["refused_branches"])
    assert overview.digests_matched == sum(
        word == "match" for branch in branches for word in branch_digests(branch)
    )
    assert (overview.digests_mismatched, overview.digests_absent) == (0, 0)
    assert overview.unread_events == 0
    assert overview.levels["wire-observed"] == 0  # the peer does not observe its transport


@every_ledger
def test_every_payload_of_a_known_kind_is_read_and_keeps_no_unknown_field(name: str) -> None:
    with opened(name) as (ledger, _):
        for row in rows_of(ledger):
            payload = read_payload(row.kind, row.payload_json)
            extra = getattr(payload, "model_extra", None)
            assert not extra, (row.sequence, row.kind)
            assert getattr(payload, "problem", None) is None, (row.sequence, row.kind)


def test_a_mixed_fanout_has_the_level_of_its_lowest_branch() -> None:
    with opened("mixed_render") as (ledger, _):
        first = fanouts_of(ledger)[0]
    assert [branch.level for branch in first.branches] == [
        "final-input blind",
        "selection blind",
        "selection blind",
    ]
    assert (first.level, first.mixed) == ("selection blind", True)


def test_a_branch_the_peer_compiled_but_never_asked_is_found_by_the_sibling_rule() -> None:
    with opened("fanout_failures") as (ledger, _):
        first = fanouts_of(ledger)[0]
    branch = next(b for b in first.branches if b.call_id == "f1-badmax")
    assert (branch.requested, branch.compiled_at is not None) == (0, True)
    assert branch.seal_names_every_sibling is True


def test_odd_payloads_are_shown_as_they_are_and_a_missing_cause_is_listed() -> None:
    with opened("odd_payloads") as (ledger, _):
        texts = [read_event(ledger, sequence).payload_json for sequence in (35, 36, 44)]
        unattached = read_unattached(ledger).items
    assert texts[0] == '{"inf":Infinity,"nan":NaN}'
    assert texts[1] == '{"lone":"\\ud800 surrogate"}'
    assert '"int":1180591620717411303424' in texts[2]  # past 2^64, digit for digit
    assert [row.sequence for row in unattached] == [38]


def test_what_a_killed_writer_left_is_an_orphan_once_the_next_fanout_begins() -> None:
    with opened("orphan_kills") as (ledger, _):
        overview = read_overview(ledger)
        attempts = read_attempts(ledger, orphans_only=True).items
    assert (overview.orphans, overview.running) == (2, 0)
    assert [attempt.running for attempt in attempts] == [False, False]


def test_events_that_are_only_in_the_wal_are_read() -> None:
    with opened("wal_live") as (ledger, expected):
        page = read_events(ledger)
        fanout = fanouts_of(ledger)[0]
    assert page.items[-1].sequence == expected["last_sequence"]
    assert page.previous_cursor is None
    assert fanout.summary.completed is False
    assert [attempt.unfinished for b in fanout.branches for attempt in b.attempts] == [False, True]
