"""Checks folded from their events: starts, contradictions, and what compares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from codeai_engine.digests import canonical_json
from codeai_engine.domain.check_view import BindingView, CheckView, PolicyView
from codeai_engine.domain.view import EventRow
from codeai_engine.rules.fold_check import HEAD_CHARACTERS, comparable, fold_checks

BOUND = CheckView(
    check_id="k",
    sequence=3,
    verdict="PASS",
    command=("true",),
    cwd=".",
    state=BindingView("bound", "a", "a"),
    artifact=BindingView("unbound"),
    policy=PolicyView("exit-code-v1", (0,)),
    subject="file notes.md",
)


def row(sequence: int, kind: str, cause: int | None = None, **payload: Any) -> EventRow:
    text = canonical_json({"check_id": "k"} | payload)
    return EventRow(
        sequence,
        f"e{sequence}",
        "k",
        f"check.{kind}",
        "x",
        text,
        "",
        f"e{cause}" if cause else None,
        None,
    )


def check_of(*rows: EventRow, counts_starts: bool = True) -> CheckView:
    (only,) = fold_checks(rows, counts_starts=counts_starts).items
    return only


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, ()),
        ({"state": BindingView("bound", "b", "b")}, ()),  # the state moved: that is a repair
        ({"verdict": "FAIL", "check_id": "other"}, ()),
        ({"command": ("false",)}, ("command",)),
        ({"cwd": "elsewhere"}, ("command",)),
        ({"policy": PolicyView("exit-code-v1", (0, 1))}, ("policy",)),
        ({"policy": None}, ("policy",)),
        ({"environment": (("LANG", "C"),)}, ("environment",)),
        ({"subject": "file other.md"}, ("bound subject",)),
        ({"artifact": BindingView("bound", "x", "x")}, ("bound subject",)),
        ({"state": BindingView("unbound")}, ("bound subject (one of them bound none)",)),
    ],
)
def test_before_and_after_need_command_policy_and_bound_subject(
    changes: dict[str, Any], differs: tuple[str, ...]
) -> None:
    assert comparable(BOUND, replace(BOUND, **changes)) == differs
    assert comparable(replace(BOUND, **changes), BOUND) == differs


def test_two_checks_of_nothing_in_particular_are_no_before_and_after() -> None:
    loose = replace(BOUND, state=BindingView("unbound"))
    assert comparable(loose, loose) == ("bound subject (each bound none)",)


def test_the_bytes_of_an_artifact_are_its_subject() -> None:
    first = replace(BOUND, state=BindingView("unbound"), artifact=BindingView("bound", "x", "x"))
    second = replace(first, artifact=BindingView("bound", "y", "y"))
    assert comparable(first, first) == ()
    assert comparable(first, second) == ("bound subject",)


def test_without_a_recorded_resolver_the_label_names_the_subject() -> None:
    first = replace(BOUND, subject=None, target="patch.txt")
    moved = replace(first, state=BindingView("bound", "b", "b"))
    assert comparable(first, moved) == ()
    nameless = replace(first, target=None)
    assert comparable(nameless, replace(moved, target=None)) == ("bound subject",)


def test_starts_belong_to_the_request_that_caused_them() -> None:
    rows = [
        row(1, "requested", command=["true"]),
        row(2, "started", 1),
        row(3, "completed", 1, verdict="PASS"),
        row(4, "requested", command=["true"]),
        row(5, "completed", 4, verdict="ERROR"),
    ]
    first, second = fold_checks(rows, counts_starts=True).items
    assert (first.invocations, second.invocations) == (1, 0)


def test_a_writer_that_counts_no_starts_leaves_their_number_unknown() -> None:
    rows = (row(1, "requested"), row(2, "completed", 1, verdict="PASS"))
    assert check_of(*rows, counts_starts=False).invocations is None
    assert check_of(*rows, counts_starts=False).contradictions == ()


@pytest.mark.parametrize(
    ("completed", "starts", "said"),
    [
        ({"verdict": "PASS", "binding_status": "mismatch"}, 1, "PASS with state MISMATCH"),
        ({"verdict": "FAIL", "artifact_binding_status": "missing"}, 1, "FAIL with artifact MISS"),
        ({"verdict": "PASS", "binding_status": "bound"}, 0, "PASS without an invocation"),
        ({"verdict": "PASS", "binding_status": "bound"}, 2, "2 invocations of one check"),
    ],
)
def test_what_no_runtime_can_have_come_to_is_a_contradiction(
    completed: dict[str, Any], starts: int, said: str
) -> None:
    started = [row(2 + at, "started", 1) for at in range(starts)]
    (found,) = check_of(
        row(1, "requested"), *started, row(9, "completed", 1, **completed)
    ).contradictions
    assert found.startswith(said)


@pytest.mark.parametrize("status", ["mismatch", "unavailable"])
def test_an_error_on_a_failed_binding_contradicts_nothing(status: str) -> None:
    check = check_of(
        row(1, "requested"), row(2, "completed", 1, verdict="ERROR", binding_status=status)
    )
    assert check.contradictions == ()


def test_output_is_kept_by_its_head_with_where_the_rest_is() -> None:
    reference = {"artifact_id": "abc", "artifact_type": "command_stdout"}
    text = "x" * (HEAD_CHARACTERS + 1)
    check = check_of(
        row(1, "requested"),
        row(2, "completed", 1, stdout=text, stderr="", artifacts=[reference], stdout_bytes=9000),
    )
    assert check.stdout is not None
    assert check.stderr is not None
    assert (len(check.stdout.text), check.stdout.truncated) == (HEAD_CHARACTERS, True)
    assert (check.stdout.artifact_id, check.stdout.byte_length) == ("abc", 9000)
    assert (check.stderr.truncated, check.stderr.byte_length) == (False, None)


def test_consumption_and_probes_are_read_where_they_are_recorded() -> None:
    check = check_of(
        row(1, "requested"),
        row(
            2,
            "completed",
            1,
            consumption={"status": "READ", "bytes": 1024},
            probes={"seeded": 4, "detected": 3},
        ),
    )
    assert (check.consumption, check.probes) == ("READ 1,024 bytes", (4, 3))


def test_a_payload_that_does_not_fit_is_listed_and_its_neighbours_are_read() -> None:
    odd = EventRow(1, "e1", "k", "check.completed", "x", '{"check_id":7}', "", None, None)
    view = fold_checks([odd, row(2, "completed", verdict="PASS")])
    assert [check.sequence for check in view.items] == [2]
    assert [sequence for sequence, _ in view.unread] == [1]
