"""The demo with its real reviewers: what its ledger must hold, and what it must not say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from codeai_engine import (
    open_engine,
    open_ledger,
    read_check,
    read_claim,
    read_fanout,
    read_fanouts,
)
from codeai_engine.adapters.local_model import LocalModelAdapter, fetch_model
from codeai_engine.ambient import TimeOrderedIds
from codeai_engine.errors import AdapterError
from codeai_engine.studies.demo import COPIED, model_reviewer, run_scene, tool_reviewers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from codeai_engine import CheckView, ClaimView, FanoutView, LedgerReader

SENTINEL = b"SENTINEL-7f3a"
APP = "import sys; from codeai_tui.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerReader]:
    """Play the scene once, without the model, and read what is left."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    reviewers, missing = tool_reviewers()
    assert not missing, "the dev extra brings the reviewers"

    async def play() -> None:
        async with open_engine(path) as engine:
            await run_scene(engine, reviewers, TimeOrderedIds(), lambda _branch, _step: None)

    anyio.run(play)
    with open_ledger(path) as reader:
        yield reader


def fanouts(ledger: LedgerReader) -> list[FanoutView]:
    newest_first = read_fanouts(ledger).items
    return [read_fanout(ledger, one.fanout_id) for one in reversed(newest_first)]


def test_the_reviewers_answer_and_are_wire_observed(ledger: LedgerReader) -> None:
    first = fanouts(ledger)[0]
    grammar, spelling = first.branches
    assert first.level == "wire-observed"
    assert grammar.output is not None
    assert "article" in grammar.output.text
    assert spelling.output is not None
    assert "recieve ==> receive" in spelling.output.text
    assert grammar.rendered_sha256 == spelling.rendered_sha256
    assert grammar.model_input_sha256 == spelling.model_input_sha256


def test_the_declared_note_is_excluded_and_the_same_note_undeclared_is_admitted(
    ledger: LedgerReader,
) -> None:
    sealed, undeclared, author, _ = fanouts(ledger)[1].branches
    (note,) = [entry for entry in sealed.trace if entry.decision == "excluded"]
    assert note.exclusion_class == "call"
    assert note.blocking_ids == (author.call_id,)
    admitted = {
        entry.candidate_id: entry.decision
        for branch in (undeclared, author)
        for entry in branch.trace
    }
    assert admitted[note.candidate_id] == "included"
    assert undeclared.level == "none"  # the record itself declares what this branch left out


def test_the_excluded_sentinel_is_in_nothing_that_the_sealed_branch_was_shown(
    ledger: LedgerReader,
) -> None:
    sealed, undeclared, *_ = fanouts(ledger)[1].branches
    for branch, is_shown in ((sealed, False), (undeclared, True)):
        for digest in (branch.rendered_sha256, branch.request_sha256):
            assert digest is not None
            content = ledger.artifact_bytes(digest)
            assert content is not None
            assert (SENTINEL in content) is is_shown


def test_the_copied_sentence_passes_every_seal(ledger: LedgerReader) -> None:
    for branch in fanouts(ledger)[1].branches:
        assert branch.prompt is not None
        assert COPIED in branch.prompt
        assert branch.request_sha256 is not None
        body = ledger.artifact_bytes(branch.request_sha256)
        assert body is not None
        assert json.dumps(COPIED)[1:-1].encode() in body


def test_the_branch_that_lost_its_line_is_an_orphan_and_its_siblings_are_whole(
    ledger: LedgerReader,
) -> None:
    second = fanouts(ledger)[1]
    assert second.summary.statuses == ("succeeded", "succeeded", "succeeded", "failed")
    (attempt,) = second.branches[3].attempts
    assert attempt.orphan
    assert attempt.wire == "sent"
    assert [attempt_id for attempt_id, _ in ledger.open_attempts()] == [attempt.attempt_id]


def test_the_forbidden_base_item_is_refused_loudly_and_nothing_is_sent(
    ledger: LedgerReader,
) -> None:
    third = fanouts(ledger)[2]
    assert third.summary.statuses == ("failed", "failed")
    for branch in third.branches:
        assert branch.refused is not None
        assert branch.refused.startswith("REQUIRED_CONTEXT_MISSING: ")
        assert branch.name in ("grammar", "spelling")
        assert branch.attempts == ()
        assert branch.request_sha256 is None


def claim(ledger: LedgerReader, claim_id: str) -> ClaimView:
    found, _ = read_claim(ledger, claim_id)
    assert found is not None
    return found


def check(ledger: LedgerReader, check_id: str) -> CheckView:
    (found,) = read_check(ledger, check_id)
    return found


def test_the_author_says_it_is_corrected_and_the_command_that_looks_refutes_it(
    ledger: LedgerReader,
) -> None:
    said, found = claim(ledger, "hasty-corrected"), check(ledger, "spelling-of-hasty")
    assert said.statement == "Every misspelled word is corrected."
    assert (said.actor_id, said.status, said.standing) == ("hasty-author", "refuted", "refuted")
    assert (found.verdict, found.exit_code, found.artifact_binding_status) == ("FAIL", 65, "bound")
    assert found.stdout is not None
    assert "recieve ==> receive" in found.stdout.text


def test_the_same_command_on_other_bytes_supports_the_same_sentence(ledger: LedgerReader) -> None:
    hasty, careful = (check(ledger, f"spelling-of-{one}") for one in ("hasty", "careful"))
    assert careful.command == hasty.command
    assert careful.target != hasty.target
    assert careful.verdict == "PASS"
    said = claim(ledger, "careful-corrected")
    assert said.statement == claim(ledger, "hasty-corrected").statement
    assert (said.evidence_class, said.standing) == ("E3_REPRODUCED", "supported")


def test_an_artifact_that_was_never_stored_is_an_attempt_and_no_evidence(
    ledger: LedgerReader,
) -> None:
    found, said = check(ledger, "quota-sheet"), claim(ledger, "careful-quota")
    assert (found.verdict, found.artifact_binding_status) == ("ERROR", "missing")
    assert found.invocations == 0
    assert said.attempted == ("quota-sheet",)
    assert (said.status, said.evidence_class) == ("asserted", "E0_ASSERTED")
    assert said.standing == "unresolved"


def test_what_the_sources_do_not_settle_is_inconclusive_with_its_reason(
    ledger: LedgerReader,
) -> None:
    found = check(ledger, "sources-say-when")
    assert found.verdict == "INCONCLUSIVE"
    assert "does not say when the cache was introduced" in (found.inconclusive_reason or "")
    assert claim(ledger, "careful-introduced").standing == "unresolved"


def test_a_command_that_never_opens_its_artifact_is_bound_and_passes_all_the_same(
    ledger: LedgerReader,
) -> None:
    found = check(ledger, "not-opened")
    assert (found.verdict, found.artifact_binding_status) == ("PASS", "bound")
    assert found.invocations == 1
    assert found.consumption is None  # supplied, not observed
    # Named, adequacy not shown: the source pack says that eleven artifacts were lost.
    assert claim(ledger, "hasty-nothing-lost").evidence_class == "E3_REPRODUCED"


def test_the_command_plays_the_scene_and_names_the_ledger_last(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1"}
    environment["PIP_FIND_LINKS"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", APP, "demo", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert "the local model is missing" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout.splitlines()[-1] == str(tmp_path / "demo" / "demo.db")
    for words in (
        "Not established here",
        "REQUIRED_CONTEXT_MISSING",
        "orphan",
        "wire-observed",
        "hasty-author",
    ):
        assert words in done.stdout


@pytest.mark.local_model
def test_the_local_model_is_a_reviewer_too(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    try:
        model = fetch_model()
    except AdapterError as error:
        pytest.skip(f"the local model cannot be had: {error.message}")

    async def play() -> None:
        tools, _ = tool_reviewers()
        reviewers = [model_reviewer(LocalModelAdapter(model)), *tools]
        async with open_engine(tmp_path / "demo.db") as engine:
            await run_scene(engine, reviewers, TimeOrderedIds(), lambda _branch, _step: None)

    anyio.run(play)
    with open_ledger(tmp_path / "demo.db") as ledger:
        review = fanouts(ledger)[0]
    assert [branch.status for branch in review.branches] == ["succeeded"] * 3
    assert review.level == "wire-observed"
    assert (review.branches[0].model or "").startswith("SmolLM2-135M-Instruct")
