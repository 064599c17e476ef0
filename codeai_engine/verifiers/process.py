"""A command as a verifier: it runs in a process group of its own, and its exit code is read.

Its environment is this process's with the request's overrides, its folder the request's, and its
standard input is empty: no isolation, and the record says so. What it writes is kept up to a limit
on each stream; what is past it is read and counted, not kept, so that the command still ends by
itself and memory stays bounded. A process that leaves the group (`setsid`) is not followed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from pydantic import Field

from codeai_engine.domain.check import CapturedOutput, CheckResult
from codeai_engine.domain.value import Value
from codeai_engine.processes import ProcessGroup, Traffic, find_program, signal_name
from codeai_engine.rules.verdict import error_result, read_exit_code, timed_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.domain.check import CheckRequest, Verdict

OUTPUT_LIMIT_BYTES = 8 * 2**20  # of each stream
OUTPUT_MOST_BYTES = 64 * 2**20  # one artifact
TEXT_BYTES = 2**20  # of each stream, as the text of a result: the bytes themselves are beside it
NO_COMMAND = "verification command is required"
REASON_CHARACTERS = 200


@dataclass(slots=True)
class _Kept:
    """What came on one stream, up to a limit."""

    limit_bytes: int
    content: bytearray = field(default_factory=bytearray)
    written_bytes: int = 0

    def take(self, chunk: bytes) -> None:
        self.written_bytes += len(chunk)
        self.content += chunk[: max(0, self.limit_bytes - len(self.content))]

    def captured(self) -> CapturedOutput:
        return CapturedOutput(bytes(self.content), self.written_bytes)

    def text(self) -> str:
        return self.content[:TEXT_BYTES].decode("utf-8", "backslashreplace")


class Settings(Value):
    """`kind = "command"`: how much of each stream is kept."""

    output_limit_bytes: Annotated[int, Field(ge=1, le=OUTPUT_MOST_BYTES)] = OUTPUT_LIMIT_BYTES


def from_settings(settings: Mapping[str, Any]) -> LocalCommandVerifier:
    """Return the verifier that settings describe.

    Raises:
        pydantic.ValidationError: They do not fit.
    """
    limit_bytes = Settings.model_validate(dict(settings)).output_limit_bytes
    return LocalCommandVerifier(output_limit_bytes=limit_bytes)


class LocalCommandVerifier:
    """Runs the request's command on this machine and reads its exit code by the policy.

    Args:
        output_limit_bytes: How much of each stream is kept.
    """

    name = "LocalCommandVerifier"
    version = "codeai-tui-local-command-v1"

    def __init__(self, *, output_limit_bytes: int = OUTPUT_LIMIT_BYTES) -> None:
        self._limit_bytes = output_limit_bytes

    def problem(self, request: CheckRequest) -> str | None:
        """Return why the command cannot be started at all, None where it can be tried."""
        if not request.command:
            return NO_COMMAND
        if not hasattr(os, "killpg"):
            return "a command needs process groups, which this system does not have"
        if any("\0" in part for part in request.command):
            return "no program can be given a NUL"
        if not Path(request.cwd).is_dir():
            return f"there is no folder {request.cwd!r} to run the command in"
        if _program(request) is None and not _is_relative(request):
            return f"there is no program {request.command[0]!r} beside the interpreter or on PATH"
        return None

    async def verify(self, request: CheckRequest) -> CheckResult:
        """Run the command until it ends or its time is over; never raises for what it does."""
        problem = self.problem(request)
        if problem is not None:
            return error_result(request.check_id, problem)
        stdout, stderr = _Kept(self._limit_bytes), _Kept(self._limit_bytes)
        traffic = Traffic(b"", lambda: None, stdout.take, stderr.take)
        exit_code: int | None = None
        error: str | None = None
        try:
            with anyio.fail_after(request.timeout_s):
                exit_code = await _run(request, traffic)
        except TimeoutError:
            error = timed_out(request.timeout_s)
        except (OSError, ValueError) as failed:
            reason = getattr(failed, "strerror", None) or failed
            return error_result(
                request.check_id, f"{request.command[0]} cannot be started: {reason}"
            )
        return _result(request, exit_code, error, (stdout, stderr))


def _program(request: CheckRequest) -> str | None:
    return find_program(request.command[0], request.environment.get("PATH"))


def _is_relative(request: CheckRequest) -> bool:
    """Return whether the program is a file that the system will look for from the folder."""
    return (Path(request.cwd) / request.command[0]).is_file() and "/" in request.command[0]


async def _run(request: CheckRequest, traffic: Traffic) -> int:
    program, *arguments = request.command
    async with ProcessGroup(traffic) as group:
        await group.start(
            [_program(request) or program, *arguments],
            cwd=request.cwd,
            environment=os.environ | dict(request.environment),
        )
        return await group.converse()


def _result(
    request: CheckRequest, exit_code: int | None, error: str | None, kept: tuple[_Kept, _Kept]
) -> CheckResult:
    policy = request.policy()
    verdict: Verdict = "ERROR"
    reason: str | None = None
    if exit_code is not None:
        verdict, reason = read_exit_code(policy, exit_code)
    stdout, stderr = kept
    said = stderr.text()[:REASON_CHARACTERS].strip()
    found: dict[str, Any] = {}
    if verdict == "INCONCLUSIVE":
        found["inconclusive_reason"] = f"{reason}: {said}" if said else reason
    elif verdict == "ERROR":
        found["error"] = error or _with_name(reason, exit_code)
    return CheckResult(
        check_id=request.check_id,
        verdict=verdict,
        exit_code=exit_code,
        stdout=stdout.text(),
        stderr=stderr.text(),
        details="command completed" if exit_code is not None else None,
        verdict_policy_id=policy.policy_id,
        captured_stdout=stdout.captured(),
        captured_stderr=stderr.captured(),
        **found,
    )


def _with_name(reason: str | None, exit_code: int | None) -> str | None:
    """Return the reason with the name of the signal, which only the system knows."""
    if reason and exit_code is not None and exit_code < 0:
        return reason.replace(f"signal {-exit_code}", signal_name(-exit_code), 1)
    return reason
