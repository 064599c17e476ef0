"""What goes wrong in one branch, or beside it, stays there: the record of the rest is whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from codeai_engine import open_engine
from codeai_engine.adapters.base import (
    CallInput,
    Interpretation,
    Observation,
    PreparedRequest,
    Wire,
)
from codeai_engine.errors import LedgerError, SendError, SpecError
from tests.engine.runtime.doubles import (
    FakeProvider,
    branch,
    completion,
    fanout,
    payloads,
    raising,
    rows_of,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path


async def test_whoever_follows_the_steps_cannot_fail_a_branch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def broken(_branch: str, _step: str) -> None:
        raise BrokenPipeError

    async with open_engine(path) as engine:
        outcome = await engine.run_fanout(fanout(branch("A"), branch("B")), on_step=broken)
    assert outcome.statuses == ["succeeded", "succeeded"]


async def test_a_manifest_that_cannot_be_stored_fails_the_branch_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    class Odd(FakeProvider):
        @override
        def prepare(self, call: CallInput) -> PreparedRequest:
            return replace(super().prepare(call), requested_controls={"x": float("nan")})

    path = tmp_path / "ledger.db"
    odd = Odd()
    (outcome,) = await run_on(path, fanout(branch("A", odd), branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]
    assert odd.seen == []
    (failed,) = payloads(path, "call.preparation_failed")
    assert "requested_controls" in failed["error"]
    known = {row.event_id for row in rows_of(path)}
    assert all(row.causation_id in known for row in rows_of(path) if row.causation_id)


class Speechless(Exception):  # noqa: N818 - says nothing
    @override
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [Speechless(), LedgerError("not the ledger's own")])
async def test_an_error_that_only_looks_like_more_is_its_branchs_own(
    tmp_path: Path, error: Exception
) -> None:
    path = tmp_path / "ledger.db"
    (outcome,) = await run_on(path, fanout(branch("A", FakeProvider(raising(error))), branch("B")))
    assert outcome.statuses == ["failed", "succeeded"]


async def test_a_total_is_unknown_when_one_attempts_usage_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    errors: list[Exception | None] = [SendError("late", error_kind="timeout"), None]

    async def late_once(_request: PreparedRequest, wire: Wire) -> bytes:
        await wire.sending()
        wire.sent()
        error = errors.pop(0)
        if error is not None:
            raise error
        return b"ok"

    def counted(_observation: Observation) -> Interpretation:
        return Interpretation("ok", "succeeded", input_tokens=50, output_tokens=5)

    provider = FakeProvider(late_once, read=counted)
    (outcome,) = await run_on(path, fanout(branch("A", provider, attempts=2)))
    assert outcome.statuses == ["succeeded"]
    done = completion(path, "A")
    assert (done["attempt_count"], done["input_tokens"]) == (2, 50)
    assert done["total_input_tokens"] is None


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ({"prompt": 5}, "prompt"),
        ({"prompt": "\ud800"}, "prompt"),
        ({"instruction": 7}, "instruction"),
    ],
)
async def test_a_text_that_no_payload_can_hold_is_refused_with_its_branch(
    tmp_path: Path, own: dict[str, Any], place: str
) -> None:
    with pytest.raises(SpecError, match=f"branch '.*'.{place}"):
        await run_on(tmp_path / "l.db", fanout(branch("A", **own)))
    assert not (tmp_path / "l.db").exists()


async def test_the_lineage_of_an_event_cannot_be_left_out(tmp_path: Path) -> None:
    odd = branch("A", omit_lineage=frozenset({("event", "ev-1")}))
    with pytest.raises(SpecError, match="omit_lineage"):
        await run_on(tmp_path / "l.db", fanout(odd))
