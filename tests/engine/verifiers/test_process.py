"""Real commands as checks: what is kept of them, when they end, and that nothing is left."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from pydantic import ValidationError

from codeai_engine.domain.check import CheckRequest, CheckResult, ExitCodePolicy
from codeai_engine.verifiers.contract import check_verifier
from codeai_engine.verifiers.process import LocalCommandVerifier, from_settings
from codeai_engine.verifiers.registry import make_verifier
from tests.engine.adapters.wires import Holders

if TYPE_CHECKING:
    from pathlib import Path

HOLD = 'exec 9<>"$0"'
POLICY = ExitCodePolicy((0,), (1,), (2,))


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path)


def request(*command: str, **own: Any) -> CheckRequest:
    return CheckRequest("check-1", "task-1", command=command, **own)


async def verify(*command: str, limit: int = 1_000_000, **own: Any) -> CheckResult:
    verifier = LocalCommandVerifier(output_limit_bytes=limit)
    return await verifier.verify(request(*command, **own))


async def shell(script: str, *arguments: str, **own: Any) -> CheckResult:
    return await verify("sh", "-c", script, *arguments, **own)


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def test_it_keeps_the_contract_of_verifiers() -> None:
    await check_verifier(
        LocalCommandVerifier(),
        passing=request("true"),
        failing=request("false"),
        impossible=request(),
    )


@pytest.mark.parametrize(
    ("script", "verdict", "exit_code"),
    [
        ("exit 0", "PASS", 0),
        ("exit 1", "FAIL", 1),
        ("exit 2", "INCONCLUSIVE", 2),
        ("exit 7", "ERROR", 7),
        ("kill -9 $$", "ERROR", -9),
    ],
)
async def test_a_verdict_is_the_exit_code_read_by_the_declared_policy(
    script: str, verdict: str, exit_code: int
) -> None:
    found = await shell(f"echo out; {script}", verdict_policy=POLICY)
    assert (found.verdict, found.exit_code) == (verdict, exit_code)
    assert (found.stdout, found.verdict_policy_id) == ("out\n", "exit-code-v1")


async def test_without_a_policy_zero_passes_and_other_codes_fail() -> None:
    assert [(await shell(f"exit {code}")).verdict for code in (0, 1, 42)] == [
        "PASS",
        "FAIL",
        "FAIL",
    ]


async def test_a_command_that_a_signal_ended_is_an_error_that_names_it() -> None:
    found = await shell("kill -SEGV $$")
    assert (found.verdict, found.exit_code) == ("ERROR", -11)
    assert "signal 11 (SIGSEGV)" in (found.error or "")


async def test_inconclusive_says_code_policy_and_what_the_command_said() -> None:
    found = await shell("echo cannot tell >&2; exit 2", verdict_policy=POLICY)
    assert found.inconclusive_reason == (
        "exit code 2 is declared inconclusive by exit-code-v1: cannot tell"
    )


async def test_both_streams_are_kept_apart_and_as_the_bytes_they_are() -> None:
    code = r"import os; os.write(1, b'\xff\x00out'); os.write(2, 'gr\u00fcn'.encode())"
    found = await verify("python", "-c", code)
    assert found.captured_stdout is not None
    assert found.captured_stdout.content == b"\xff\x00out"
    assert (found.stdout, found.stderr, found.verdict) == ("\\xff\x00out", "gr\u00fcn", "PASS")


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ({"command": ()}, "verification command is required"),
        ({"command": ("/nonexistent/tool",)}, "there is no program '/nonexistent/tool'"),
        ({"command": ("no-such-program-of-ours",)}, "there is no program"),
        ({"command": ("true", "a\0b")}, "NUL"),
        ({"command": ("true",), "cwd": "/nonexistent"}, "there is no folder '/nonexistent'"),
    ],
)
async def test_what_cannot_be_begun_with_is_foreseen_and_an_error(
    own: dict[str, Any], error: str
) -> None:
    asked = CheckRequest("check-1", "task-1", **own)
    verifier = LocalCommandVerifier()
    found = await verifier.verify(asked)
    assert found.verdict == "ERROR"
    assert error in (found.error or "")
    assert verifier.problem(asked) == found.error
    assert (found.stdout, found.exit_code) == (None, None)


async def test_a_file_that_the_system_will_not_run_is_a_launch_failure(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o700)
    found = await verify(str(broken))
    assert found.verdict == "ERROR"
    assert "cannot be started" in (found.error or "")


async def test_it_runs_in_the_folder_and_with_the_overrides_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\npwd; echo "$INHERITED $OWN"\n')
    tool.chmod(0o700)
    found = await verify("./tool", cwd=str(tmp_path), environment={"OWN": "mine"})
    assert found.stdout == f"{os.path.realpath(tmp_path)}\nyes mine\n"  # noqa: ASYNC240 - a temporary folder


async def test_a_program_is_found_on_the_path_of_the_request(tmp_path: Path) -> None:
    tool = tmp_path / "tool-of-the-request"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o700)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert (await verify(tool.name, environment={"PATH": path})).verdict == "FAIL"
    assert (await verify(tool.name)).verdict == "ERROR"


async def test_standard_input_is_empty() -> None:
    assert (await verify("cat")).verdict == "PASS"


async def test_a_grandchild_that_holds_the_pipe_does_not_outlive_the_deadline(
    holders: Holders,
) -> None:
    found = await shell(f"{HOLD}; echo part; sleep 600 & wait", str(holders.path), timeout_s=1)
    assert found.verdict == "ERROR"
    assert found.error == "verification timed out after 1 seconds"
    assert found.stdout == "part\n"
    await holders.gone()


async def test_one_that_ignores_the_polite_signal_is_killed(holders: Holders) -> None:
    found = await shell(
        f"trap '' TERM; {HOLD}; (sleep 600; sleep 600) & sleep 600; sleep 600",
        str(holders.path),
        timeout_s=0.5,
    )
    assert found.verdict == "ERROR"
    await holders.gone()


async def test_what_a_command_leaves_behind_is_ended_and_its_verdict_stands(
    holders: Holders,
) -> None:
    found = await shell(f"{HOLD}; sleep 600 & exit 0", str(holders.path))
    assert found.verdict == "PASS"
    await holders.gone()


async def test_one_that_closes_its_output_and_hangs_ends_at_its_deadline(holders: Holders) -> None:
    found = await shell(
        f"{HOLD}; echo before; exec >&- 2>&-; sleep 600", str(holders.path), timeout_s=0.5
    )
    assert (found.verdict, found.stdout) == ("ERROR", "before\n")
    await holders.gone()


async def test_one_that_closes_its_output_and_ends_has_its_verdict() -> None:
    found = await shell("echo before; exec >&- 2>&-; exit 1")
    assert (found.verdict, found.stdout) == ("FAIL", "before\n")


async def test_a_gibibyte_of_output_is_cut_counted_and_still_judged() -> None:
    before = peak_kib()
    found = await shell("head -c 1073741824 /dev/zero; exit 1", limit=65_536, timeout_s=120)
    assert found.verdict == "FAIL"
    assert found.captured_stdout is not None
    assert found.captured_stdout.written_bytes == 2**30
    assert len(found.captured_stdout.content) == 65_536
    assert peak_kib() - before < 64 * 1024


async def test_output_without_end_or_newline_stops_at_the_deadline() -> None:
    found = await shell("cat /dev/zero", limit=1000, timeout_s=0.5)
    assert found.verdict == "ERROR"
    assert found.captured_stdout is not None
    assert len(found.captured_stdout.content) == 1000 < found.captured_stdout.written_bytes


async def test_a_cancellation_ends_the_whole_group(holders: Holders) -> None:
    reader = os.open(holders.path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shell, f"{HOLD}; echo >&9; sleep 600 & wait", str(holders.path))
            await anyio.wait_readable(reader)  # it runs
            tasks.cancel_scope.cancel()
    finally:
        os.close(reader)
    await holders.gone()


async def test_it_is_made_from_settings_that_bound_what_is_kept() -> None:
    made = make_verifier("command", {"output_limit_bytes": 3})
    found = await made.verify(request("echo", "long"))
    assert found.captured_stdout is not None
    assert found.captured_stdout.content == b"lon"
    with pytest.raises(ValidationError):
        from_settings({"output_limit_bytes": 0})
