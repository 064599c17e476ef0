"""One fan-out folded from its events: what it says, what it never hides, and in which order."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeai_engine.rules.fold import Circumstances, fold_events, summarise_fanout, view_fanout
from tests.engine.fanout_script import (
    PARAGRAPH,
    FanoutScript,
    HeldSources,
    Item,
    rows_of,
    sources_of,
    with_payload,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codeai_engine.domain.events import EventDraft
    from codeai_engine.domain.view import BranchView, EventRow, FanoutView


def fold(
    script: FanoutScript, drafts: Iterable[EventDraft], *, is_closed: bool = False
) -> FanoutView:
    rows = rows_of(drafts)
    return view(rows, sources_of(script, rows), is_closed=is_closed)


def view(
    rows: Iterable[EventRow], sources: HeldSources | None = None, *, is_closed: bool = False
) -> FanoutView:
    circumstances = Circumstances(ledger="pilot.db", is_closed=is_closed)
    return view_fanout(fold_events(rows), sources or HeldSources(), circumstances)


def branch_of(fanout: FanoutView, name: str) -> BranchView:
    return next(branch for branch in fanout.branches if branch.call_id.endswith(f"call-{name}"))


def test_a_whole_fanout_says_who_was_asked_what_and_how_it_ended() -> None:
    script = FanoutScript()
    fanout = fold(script, script.whole())
    branch = branch_of(fanout, "B")
    assert fanout.summary.statuses == ("succeeded",) * 3
    assert (branch.name, branch.actor_id, branch.model) == ("B", "actor-B", "tiny")
    assert (branch.prompt, branch.instruction) == ("What is wrong?", "Be brief.")
    assert branch.output is not None
    assert branch.output.text == "answer of B"
    assert branch.attempts[0].latency_ms == 12
    assert branch.seal is not None
    assert branch.seal.call_ids == (script.call_id("A"), script.call_id("C"))
    assert (fanout.unread, fanout.unattached, fanout.notes) == ((), (), ())


def test_every_digest_of_a_whole_fanout_recomputes() -> None:
    script = FanoutScript()
    branch = branch_of(fold(script, script.whole()), "A")
    assert branch.package_recomputed == branch.trace_recomputed == "match"
    assert branch.prompt_recomputed == branch.rendered_recomputed == "match"
    assert branch.request_recomputed == "match"
    assert [part.label for part in branch.parts] == ["instruction", "context", "query"]
    assert {part.recomputed for part in (*branch.items, *branch.parts)} == {"match"}
    assert branch.items[0].item_id == PARAGRAPH.item_id


def test_a_whole_fanout_is_wire_observed_and_a_command_by_its_standard_input() -> None:
    script = FanoutScript()
    assert fold(script, script.whole()).level == "wire-observed"
    command = FanoutScript(is_command=True)
    assert fold(command, command.whole()).level == "wire-observed"


@given(data=st.data())
def test_folding_in_two_parts_is_folding_at_once(data: st.DataObject) -> None:
    rows = rows_of(FanoutScript().whole())
    shuffled = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    again = data.draw(st.integers(0, cut))  # some arrive twice
    state = fold_events(shuffled[again:], fold_events(shuffled[:cut]))
    assert state == fold_events(rows)


def test_completion_order_leaves_one_state_for_each_order() -> None:
    seen = set()
    for order in permutations("ABC"):
        script = FanoutScript()
        drafts = script.begin()
        for name in "ABC":
            drafts += script.prepared(name)
        for name in order:
            drafts += script.answered(name)
        fanout = fold(script, [*drafts, script.ended()])
        assert fold(script, [*drafts, script.ended()]) == fanout
        seen.add(repr(replace(fanout, branches=tuple(map(_timeless, fanout.branches)))))
    assert len(seen) == 1


def _timeless(branch: BranchView) -> BranchView:
    attempts = tuple(
        replace(
            attempt,
            started=None,
            sending=None,
            wire_observed=None,
            observed=None,
            interpreted=None,
            completed=None,
        )
        for attempt in branch.attempts
    )
    return replace(
        branch, attempts=attempts, completed_at=None, requested_at=None, manifest_at=None
    )


def test_equal_inputs_are_marked_by_their_whole_digests() -> None:
    script = FanoutScript(prompts={"C": "What else is wrong?"})
    fanout = fold(script, script.whole())
    a, c = branch_of(fanout, "A"), branch_of(fanout, "C")
    assert a.same_rendered_as == (script.call_id("B"), script.call_id("C"))
    assert a.same_request_as == (script.call_id("B"),)
    assert c.same_request_as == ()


def test_what_branches_share_is_listed_and_who_shares_a_part_of_it() -> None:
    script = FanoutScript(prompts={"C": "What else is wrong?"})
    shared = fold(script, script.whole()).shared
    assert ("task", "task-1") in shared
    assert ("prompt", "What is wrong? (A, B)") in shared
    assert ("base items", "1 artifact") in shared
    assert ("model", "tiny") in shared
    assert ("ledger", "pilot.db") in shared


def test_branches_compiled_before_anything_was_sent_say_so() -> None:
    script = FanoutScript()
    fanout = fold(script, script.whole())
    assert all(branch.compiled_before_any_answer for branch in fanout.branches)


def test_a_branch_compiled_after_an_attempt_began_does_not_say_so() -> None:
    script = FanoutScript(names=("A", "B"))
    begun = script.begin()
    late = begun.pop()
    drafts = [*begun, *script.succeeded("A"), late, *script.succeeded("B"), script.ended()]
    fanout = fold(script, drafts)
    assert branch_of(fanout, "A").compiled_before_any_answer is True
    assert branch_of(fanout, "B").compiled_before_any_answer is False


def test_a_refused_branch_keeps_its_seal_and_its_trace_and_lowers_nothing() -> None:
    script = FanoutScript(
        base=(PARAGRAPH, Item("B said so.\n", "earlier", lineage=("fanout-1:call-B",)))
    )
    drafts = script.begin()
    drafts += [*script.succeeded("B"), script.ended(["failed", "succeeded", "failed"])]
    fanout = fold(script, drafts)
    refused = branch_of(fanout, "A")
    assert refused.refused is not None
    assert "REQUIRED_CONTEXT_MISSING" in refused.refused
    assert refused.seal is not None
    assert refused.seal_names_every_sibling is True
    assert {entry.decision for entry in refused.trace} == {"included", "excluded"}
    assert (refused.nothing_sent, refused.synthesized_completion) == (True, False)
    assert (fanout.level, fanout.mixed) == ("wire-observed", False)
    assert f"{script.call_id('A')}, {script.call_id('C')}" in fanout.notes[0]


def test_a_fanout_of_refused_branches_establishes_nothing_and_says_why() -> None:
    script = FanoutScript(
        names=("A", "B"),
        base=(Item("both said so.\n", lineage=("fanout-1:call-A", "fanout-1:call-B")),),
    )
    fanout = fold(script, [*script.begin(), script.ended(["failed", "failed"])])
    assert fanout.level == "none"
    assert "no branch was sent anything" in fanout.notes[-1]


def test_an_excluded_candidate_names_its_class_its_lineage_and_its_name() -> None:
    earlier = Item("B said so.\n", "earlier", lineage=("fanout-1:call-B",))
    script = FanoutScript(base=(PARAGRAPH, earlier), required=False)
    fanout = fold(script, script.whole())
    by_id = {entry.candidate_id: entry for entry in branch_of(fanout, "A").trace}
    excluded = by_id[earlier.item_id]
    assert (excluded.exclusion_class, excluded.blocking_ids) == ("call", (script.call_id("B"),))
    assert (excluded.provenance, excluded.lineage) == ("declared", (script.call_id("B"),))
    assert (excluded.kind, excluded.name) == ("artifact", "earlier")
    vouched = by_id[PARAGRAPH.item_id]
    assert (vouched.provenance, vouched.vouched) == ("declared_none", "editor: by hand")


def test_items_of_unknown_origin_are_named_and_counted() -> None:
    note = Item("found somewhere\n", "note")
    script = FanoutScript(base=(PARAGRAPH, note))
    fanout = fold(script, script.whole())
    assert fanout.unknown_provenance == (note.item_id,)
    assert fanout.unknown_provenance_count == 1


def test_a_declared_sibling_item_admitted_without_its_lineage_is_a_violation() -> None:
    earlier = Item("B said so.\n", "earlier", lineage=("fanout-1:call-B",))
    script = FanoutScript(
        names=("A", "B"), base=(PARAGRAPH, earlier), required=False, omitted={"A": (earlier,)}
    )
    fanout = fold(script, script.whole())
    a = branch_of(fanout, "A")
    entry = next(entry for entry in a.trace if entry.candidate_id == earlier.item_id)
    assert (entry.decision, entry.provenance) == ("included", "unknown")
    assert fanout.unknown_provenance == (earlier.item_id,)
    assert a.level == "none"
    assert "as if its lineage had not been declared" in a.missing[0]
    assert branch_of(fanout, "B").level == "wire-observed"
    assert (fanout.level, fanout.mixed) == ("none", True)


def test_a_call_id_that_occurs_twice_unseals_its_twins() -> None:
    script = FanoutScript(names=("A", "A", "B"))
    drafts = script.begin()
    drafts += [*script.succeeded("A"), *script.succeeded("B"), script.ended()]
    fanout = fold(script, drafts)
    first, second, other = fanout.branches
    assert first.seal_names_every_sibling is second.seal_names_every_sibling is False
    assert other.seal_names_every_sibling is True
    assert first.attempts == second.attempts
    assert fanout.level == "none"


def test_an_attempt_without_an_end_runs_until_something_ended_it() -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), *script.prepared("A"), *script.prepared("B")]
    open_attempt = branch_of(fold(script, drafts), "A").attempts[0]
    assert (open_attempt.orphan, open_attempt.running, open_attempt.unfinished) == (True,) * 3
    ends: list[list[EventDraft]] = [
        [script.abandoned("A")],
        [script.completed("A", status="failed", raw_output=None)],
        [script.ended(["failed", "failed"])],
        [script.session_ended()],
    ]
    for end in ends:
        ended = branch_of(fold(script, [*drafts, *end]), "A").attempts[0]
        assert (ended.orphan, ended.running) == (True, False), end[0].kind
    assert branch_of(fold(script, drafts, is_closed=True), "A").attempts[0].running is False


def test_an_orphan_stays_visible_under_its_failed_call_and_is_counted() -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), *script.prepared("A"), script.abandoned("A")]
    drafts.append(
        script.completed("A", status="failed", call_status="failed", error="reset", raw_output=None)
    )
    drafts += [*script.succeeded("B"), script.ended(["failed", "succeeded"])]
    fanout = fold(script, drafts)
    a = branch_of(fanout, "A")
    attempt = a.attempts[0]
    assert (attempt.orphan, attempt.wire, attempt.call_has_completion) == (True, "unknown", True)
    assert attempt.error_kind == "transport"
    assert (fanout.summary.orphans, fanout.summary.running) == (1, 0)
    assert a.output is None
    # What was sent is unknown, so the branch is not wire-observed; its sibling is.
    assert a.level == "final-input blind"
    assert branch_of(fanout, "B").level == "wire-observed"


def test_a_retry_is_an_attempt_of_its_own_and_the_branches_stay_four() -> None:
    script = FanoutScript(names=("A", "B", "C", "D"))
    drafts = [*script.begin(), *script.prepared("A"), script.wire("A"), script.observed("A")]
    drafts += [
        script.attempt_completed("A", status="failed", error_kind="rate_limited"),
        script.started("A", 2, cause="retry:rate_limited", wait_s=1.5),
        script.sending("A", 2),
        script.wire("A", 2),
        script.observed("A", 2),
        script.attempt_completed("A", 2),
        script.completed("A"),
    ]
    for name in "BCD":
        drafts += script.succeeded(name)
    fanout = fold(script, [*drafts, script.ended()])
    a = branch_of(fanout, "A")
    assert len(fanout.branches) == 4
    assert sum(len(branch.attempts) for branch in fanout.branches) == 5
    assert [attempt.cause for attempt in a.attempts] == ["first", "retry:rate_limited"]
    assert a.attempts[1].wait_s == 1.5
    assert (a.attempts_started, a.attempts_completed) == (2, 2)


def test_a_cancelled_branch_keeps_its_cause_beside_whole_siblings() -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), *script.succeeded("A"), *script.cancelled("B")]
    fanout = fold(script, [*drafts, script.ended(["succeeded", "cancelled"])])
    b = branch_of(fanout, "B")
    assert (b.status, b.cancelled_cause, b.nothing_sent) == ("cancelled", "signal", True)
    assert branch_of(fanout, "A").status == "succeeded"
    assert "nothing was sent" in fanout.notes[0]


def test_a_branch_whose_bytes_never_left_lowers_nothing() -> None:
    script = FanoutScript(names=("A", "B"))
    drafts = [*script.begin(), script.requested("A"), script.manifest("A"), script.started("A")]
    drafts.append(script.attempt_completed("A", status="failed", wire="not_sent"))
    drafts.append(script.completed("A", status="failed", raw_output=None))
    drafts += [*script.succeeded("B"), script.ended(["failed", "succeeded"])]
    fanout = fold(script, drafts)
    a = branch_of(fanout, "A")
    assert (a.level, a.nothing_sent, a.attempts[0].orphan) == ("final-input blind", True, False)
    assert fanout.level == "wire-observed"
    assert "nothing was sent, so the level leaves out: A" in fanout.notes


def test_a_fanout_of_no_branches_and_one_of_one_branch_say_what_that_means() -> None:
    none = FanoutScript(names=())
    empty = fold(none, [*none.begin(), none.ended([])])
    assert (empty.summary.completed, empty.summary.statuses, empty.level) == (True, (), "none")
    assert "nothing was asked" in empty.notes[0]
    one = FanoutScript(names=("A",))
    single = fold(one, one.whole())
    assert "no sibling" in single.notes[0]
    assert single.shared == ()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, (None, None)),
        ({"input_tokens": 5, "output_tokens": 0, "usage_source": "reported"}, (5, 0)),
        ({"input_tokens": 0, "output_tokens": 0}, (None, None)),
        (
            {"total_input_tokens": None, "input_tokens": 7, "usage_source": "reported"},
            (None, None),
        ),
        ({"total_input_tokens": 12, "input_tokens": 7}, (12, None)),
    ],
)
def test_unknown_usage_is_none_and_never_zero(
    changed: dict[str, Any], expected: tuple[int | None, int | None]
) -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A"), script.completed("A", **changed)]
    rows = rows_of(drafts)
    # Stored without the fields that were not named, as writers of all ages leave them out.
    unset = script.completed("A", **changed).payload
    assert not isinstance(unset, dict)
    text = unset.model_dump_json(exclude_unset=True)
    branch = view([*rows[:-1], with_payload(rows[-1], text)]).branches[0]
    assert (branch.input_tokens, branch.output_tokens) == expected


def test_a_made_up_completion_is_recognised_and_its_zeros_are_unknown() -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A")]
    made_up = script.completed("A", status="failed", call_status=None, error="boom", raw_output="")
    text = made_up.payload_json().replace('"input_tokens":null', '"input_tokens":0')
    row = replace(rows_of([made_up], 90)[0], causation_id=None)
    branch = view([*rows_of(drafts), with_payload(row, text)]).branches[0]
    assert branch.synthesized_completion is True
    assert (branch.input_tokens, branch.error, branch.output) == (None, "boom", None)
    assert branch.attempts[0].orphan is True


def test_an_empty_answer_is_an_answer_of_no_bytes() -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A"), script.completed("A", raw_output="")]
    output = fold(script, drafts).branches[0].output
    assert output is not None
    assert (output.text, output.byte_length) == ("", 0)


def test_a_stored_nan_is_an_unknown_number_and_is_marked() -> None:
    script = FanoutScript(names=("A",))
    rows = list(rows_of(script.whole()))
    at = next(i for i, row in enumerate(rows) if row.kind == "attempt.completed")
    text = rows[at].payload_json.replace('"latency_ms":12', '"latency_ms":NaN')
    rows[at] = with_payload(rows[at], text)
    fanout = view(rows, sources_of(script))
    assert fanout.branches[0].attempts[0].latency_ms is None
    assert fanout.unread == ((rows[at].sequence, "NaN is not a JSON number"),)


def test_a_long_answer_is_cut_for_the_view_and_says_so() -> None:
    script = FanoutScript(names=("A",))
    long = "ä" * 70_000
    drafts = [*script.begin(), *script.prepared("A"), script.completed("A", raw_output=long)]
    output = fold(script, drafts).branches[0].output
    assert output is not None
    assert (len(output.text), output.truncated, output.byte_length) == (65_536, True, 140_000)


def test_a_payload_that_does_not_fit_its_kind_hides_nothing_else() -> None:
    script = FanoutScript(names=("A", "B"))
    rows = list(rows_of(script.whole()))
    at = next(i for i, row in enumerate(rows) if row.kind == "attempt.observed")
    rows[at] = with_payload(rows[at], '{"attempt_id": 7}')
    fanout = view(rows, sources_of(script))
    assert [sequence for sequence, _ in fanout.unread] == [rows[at].sequence]
    attempt = fanout.branches[0].attempts[0]
    assert (attempt.observed, attempt.orphan) == (rows[at].sequence, False)
    assert fanout.branches[1].level == "wire-observed"


def test_an_unreadable_request_is_a_fanout_with_its_problem() -> None:
    script = FanoutScript(names=("A",))
    rows = list(rows_of(script.whole()))
    rows[0] = with_payload(rows[0], "{not json")
    fanout = view(rows)
    assert fanout.branches == ()
    assert fanout.summary.unread is not None
    assert fanout.summary.completed is True


def test_a_lone_surrogate_is_shown_as_its_escape_and_marked() -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A"), script.completed("A", raw_output="ok END x")]
    rows = list(rows_of(drafts))
    rows[-1] = with_payload(rows[-1], rows[-1].payload_json.replace("END", "\\ud83d\\udc00"))
    assert view(rows).unread == ()  # a pair is a character
    rows[-1] = with_payload(rows[-1], rows_of(drafts)[-1].payload_json.replace("END", "\\udc00"))
    fanout = view(rows)
    output = fanout.branches[0].output
    assert output is not None
    assert (output.text, output.escaped) == ("ok \\udc00 x", True)
    assert "lone surrogate" in fanout.unread[0][1]


def test_events_of_unknown_kinds_on_a_call_are_kept_out_of_nothing() -> None:
    script = FanoutScript(names=("A",))
    rows = list(rows_of(script.whole()))
    stranger = replace(rows[-2], sequence=99, event_id="x", kind="future.kind", payload_json="[1]")
    assert view([*rows, stranger], sources_of(script)).level == "wire-observed"


def test_an_event_whose_cause_is_not_in_the_ledger_is_listed_as_unattached() -> None:
    script = FanoutScript(names=("A",))
    rows = list(rows_of(script.whole()))
    rows[-2] = replace(rows[-2], causation_id="no-such-event")
    fanout = view(rows, sources_of(script))
    assert fanout.unattached == (rows[-2].sequence,)
    assert fanout.branches[0].completions == 1


def test_a_cause_outside_the_fanout_is_looked_up_before_it_is_called_missing() -> None:
    script = FanoutScript(names=("A",))
    rows = list(rows_of(script.whole()))
    elsewhere = replace(rows[0], event_id="elsewhere", stream_id="other", kind="note")
    rows[-2] = replace(rows[-2], causation_id="elsewhere")
    assert view(rows, replace(sources_of(script), rows=(elsewhere,))).unattached == ()


def test_a_later_completion_counts_and_the_earlier_stays_counted() -> None:
    script = FanoutScript(names=("A",))
    drafts = [*script.begin(), *script.prepared("A")]
    drafts += [script.completed("A", status="failed", error="first"), script.ended(["failed"])]
    drafts += [script.started("A", 2), script.attempt_completed("A", 2)]
    drafts += [script.completed("A", raw_output="second"), script.ended(["succeeded"])]
    branch = fold(script, drafts).branches[0]
    assert (branch.status, branch.completions, branch.error) == ("succeeded", 2, None)


def test_a_fold_needs_the_request() -> None:
    with pytest.raises(ValueError, match="from its request"):
        view(rows_of(FanoutScript().whole())[1:])


def test_a_summary_is_made_of_the_two_events_alone() -> None:
    rows = rows_of(FanoutScript().whole())
    summary = summarise_fanout(rows[0], rows[-1], orphans=2)
    assert (summary.fanout_id, summary.completed, summary.orphans) == ("fanout-1", True, 2)
    assert summary.base_offered == {"artifacts": 1, "claims": 0, "events": 0}
    assert summarise_fanout(rows[0], None).statuses is None
