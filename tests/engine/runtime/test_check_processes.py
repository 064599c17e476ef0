"""Checks that behave badly, and several processes at one check. All of them are real."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_ledger
from codeai_engine.errors import AppendConflict
from codeai_engine.runtime.check import run_check
from tests.engine.adapters.wires import Holders
from tests.engine.ledger.ledgers import environment
from tests.engine.runtime.checks import (
    FakeVerifier,
    check,
    claim,
    completed,
    kinds,
    payloads,
    run_on,
)

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.domain.check import CheckRequest

HOLD = 'exec 9<>"$0"'
RUNNER = """
import sys
from pathlib import Path
import anyio
from codeai_engine.domain.check import CheckRequest
from codeai_engine.errors import AppendConflict
from codeai_engine.runtime.check import run_check
from tests.engine.runtime.checks import run_on

async def main(path, *command):
    async with run_on(Path(path)) as run:
        print("ready", flush=True)
        sys.stdin.readline()
        asked = CheckRequest("check-1", "task-1", ("claim-1", "claim-2"), command)
        try:
            print((await run_check(asked, run)).verdict, flush=True)
        except AppendConflict as conflict:
            print(conflict, flush=True)

anyio.run(main, *sys.argv[1:])
"""
COMPLETER = """
import sys
from pathlib import Path
import anyio
from codeai_engine.domain.check import CheckRequest, CheckResult
from codeai_engine.runtime.check_record import CheckRecord
from tests.engine.runtime.checks import run_on

async def main(path):
    async with run_on(Path(path)) as run:
        record = CheckRecord(CheckRequest("check-1", "task-1", ("claim-1",)), run, None)
        orphaned = CheckResult("check-1", "ERROR", error="orphaned: gone")
        await record.completed(orphaned, None, None, None)

anyio.run(main, sys.argv[1])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path)


def child(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    )


async def test_two_processes_at_one_check_leave_one_completion_and_one_attempt_for_each_claim(
    path: Path,
) -> None:
    async with run_on(path) as run:
        await claim(run, "claim-1")
        await claim(run, "claim-2")
    found = []
    processes = [child(RUNNER, str(path), "true") for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # both are there: now at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        with process:
            assert process.stdout is not None
            found.append(process.stdout.read().strip())
    assert sorted(found) == ["PASS", "stream check-1 already has an event check.requested"]
    assert kinds(path)[2:] == [
        "check.requested",
        "check.started",
        "check.completed",
        "claim.verification_attempted",
        "claim.verification_attempted",
        "claim.evidence",
        "claim.evidence",
    ]


async def test_a_check_that_another_process_completed_meanwhile_ends_once(path: Path) -> None:
    def complete_it(_request: CheckRequest) -> None:
        with child(COMPLETER, str(path)) as process:
            assert process.wait() == 0

    async with run_on(path) as run:
        await claim(run)
        with pytest.raises(AppendConflict, match=r"check\.completed"):
            await run_check(
                check(claim_ids=("claim-1", "nobody")),
                run,
                verifier=FakeVerifier({"verdict": "FAIL"}, look=complete_it),
            )
    assert completed(path)["error"] == "orphaned: gone"
    assert kinds(path).count("claim.verification_attempted") == 1
    assert "claim.status" not in kinds(path)


async def test_a_process_that_is_killed_leaves_a_check_that_was_started_and_never_completed(
    path: Path,
) -> None:
    with child(RUNNER, str(path), "sh", "-c", "kill -9 $PPID; exit 0") as process:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait() == -9
    assert kinds(path) == ["check.requested", "check.started"]


@pytest.mark.parametrize(
    ("script", "verdict", "error"),
    [
        ("sleep 600 & sleep 600", "ERROR", "verification timed out after 0.5 seconds"),
        ("exec >&-; sleep 600", "ERROR", "verification timed out after 0.5 seconds"),
        ("exec >&- 2>&-; exit 1", "FAIL", None),
        ("kill -KILL $$", "ERROR", "ended by signal 9 (SIGKILL)"),
        ("printf '\\377\\376'; printf '\\300' >&2; exit 1", "FAIL", None),
        ("cat /dev/zero", "ERROR", "verification timed out after 0.5 seconds"),
    ],
)
async def test_a_command_that_behaves_badly_ends_in_time_with_a_verdict_and_leaves_nobody(
    path: Path, holders: Holders, script: str, verdict: str, error: str | None
) -> None:
    async with run_on(path) as run:
        asked = check("check-1", "sh", "-c", f"{HOLD}; {script}", str(holders.path), timeout_s=0.5)
        await run_check(asked, run)
    await holders.gone()
    found = completed(path)
    assert found["verdict"] == verdict
    assert found["error"] is None if error is None else error in found["error"]


async def test_bytes_that_are_no_text_are_kept_as_they_are(path: Path) -> None:
    async with run_on(path) as run:
        await run_check(check("check-1", "printf", "\\377ok"), run)
    found = completed(path)
    assert (found["verdict"], found["stdout"]) == ("PASS", "\\xffok")
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(found["artifacts"][0]["artifact_id"]) == b"\xffok"


async def test_a_gibibyte_of_output_is_recorded_as_its_head_and_its_size(path: Path) -> None:
    async with run_on(path) as run:
        await run_check(check("check-1", "head", "-c", str(2**30), "/dev/zero"), run)
    found = completed(path)
    assert (found["verdict"], found["stdout_bytes"]) == ("PASS", 2**30)
    assert found["stdout_truncated"]
    assert found["artifacts"][0]["byte_length"] == 8 * 2**20
    assert os.path.getsize(path) < 32 * 2**20  # noqa: ASYNC240, PTH202 - a file of the test
    assert len(payloads(path, "check.started")) == 1
