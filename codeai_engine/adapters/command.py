"""A program as an adapter: it gets exactly the composed text on standard input, nothing else.

Its answer is its standard output; standard error is kept beside it. Which exit codes are an answer
is declared (DESIGN 8). It runs in a process group of its own, with this process's environment but
for the keys that a spec names for others, in its working directory: no isolation, and the session
says so.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from pydantic import Field

from codeai_engine.adapters.base import (
    OUTPUT_LIMIT_BYTES,
    Interpretation,
    Observation,
    PreparedRequest,
    WireObservation,
    refuse_unsendable,
)
from codeai_engine.adapters.controls import requested_controls
from codeai_engine.adapters.settings import AdapterSettings, RetrySettings, Seconds
from codeai_engine.adapters.text import read_text
from codeai_engine.digests import sha256_hex
from codeai_engine.errors import PrepareError, SendError
from codeai_engine.processes import ProcessGroup, Traffic, find_program, signal_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.adapters.base import CallInput, Wire

DEFAULT_OUTPUT_LIMIT_BYTES = 1024 * 1024
Argument = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # no program can be given a NUL


class Settings(AdapterSettings):
    """`kind = "command"`.

    Args:
        argv: The program and its arguments; no shell is involved.
        success_codes: Exit codes that are an answer; any other is a failure with its output kept.
        output_limit_bytes: Past this, on either stream, the attempt fails.
        timeout_s: Deadline of one attempt, on top of the fan-out's.
    """

    kind: Literal["command"]
    argv: Annotated[list[Argument], Field(min_length=1)]
    success_codes: Annotated[list[int], Field(min_length=1)] = Field(default_factory=lambda: [0])
    output_limit_bytes: Annotated[int, Field(ge=1, le=OUTPUT_LIMIT_BYTES)] = (
        DEFAULT_OUTPUT_LIMIT_BYTES
    )
    timeout_s: Seconds | None = None
    retry: RetrySettings = RetrySettings()


def from_settings(settings: Mapping[str, Any]) -> CommandAdapter:
    """Return the adapter that a table of a spec describes.

    Raises:
        pydantic.ValidationError: The table does not fit.
    """
    return CommandAdapter(Settings.model_validate(dict(settings)))


class CommandAdapter:
    """Runs a program once an attempt."""

    protocol = "command"
    requested_model = None

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._withheld: frozenset[str] = frozenset()

    def withhold(self, names: frozenset[str]) -> None:
        """Leave these variables out of the program's environment, such as another's key."""
        self._withheld = names

    @property
    def provider(self) -> str:
        """The program's name without its folder."""
        return PurePath(self._settings.argv[0]).name

    def prepare(self, call: CallInput) -> PreparedRequest:
        """Return `{"argv": […], "stdin": TEXT}`; a program honours no control, and we say so.

        Raises:
            PrepareError: The text is not Unicode text, or this system has no process groups.
        """
        if not hasattr(os, "killpg"):
            raise PrepareError(
                "a command needs process groups, which this system does not have",
                error_kind="unsupported_system",
                wire="not_sent",
            )
        asked = requested_controls(call)
        return refuse_unsendable(
            PreparedRequest(
                body={"argv": list(self._settings.argv), "stdin": call.text},
                input_pointer="/stdin",
                effective_parameters={"protocol": self.protocol},
                requested_controls=asked,
                omitted_unsupported=tuple(sorted(asked)),
            )
        )

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        """Run the program on the body's text and return what it wrote.

        Raises:
            SendError: It cannot be started, or did not end in time.
            ProviderError: It wrote more than the limit.
        """
        argv: list[str] = request.body["argv"]
        wire.limit_bytes = min(wire.limit_bytes, self._settings.output_limit_bytes)
        program = find_program(argv[0])
        if program is None:
            raise SendError(
                f"there is no program {argv[0]!r} beside the interpreter or on PATH",
                error_kind="launch_failed",
                wire=wire.account(),
                hint="Install it, or write its path in argv.",
            )
        stdin = request.body["stdin"].encode("utf-8")
        traffic = Traffic(stdin, wire.sent, wire.receive, wire.receive_stderr)
        try:
            with anyio.fail_after(self._settings.timeout_s):
                exit_code = await self._run([program, *argv[1:]], traffic, wire)
        except TimeoutError as error:
            raise SendError(
                f"{self.provider} did not end within {self._settings.timeout_s:g} s",
                error_kind="timeout",
                wire=wire.account(),
            ) from error
        return Observation(
            body=bytes(wire.received),
            media_type="text/plain",
            artifact_type="command_stdout",
            exit_code=exit_code,
            stderr=bytes(wire.stderr),
        )

    async def _run(self, argv: list[str], traffic: Traffic, wire: Wire) -> int:
        group = ProcessGroup(traffic)
        try:
            async with group:
                await wire.sending()
                await self._start(group, argv, wire)
                return await group.converse()
        finally:
            if group.has_started:
                wire.observe(_observed(traffic, wire))

    async def _start(self, group: ProcessGroup, argv: list[str], wire: Wire) -> None:
        """Start the program; from `wire.sending` on the record cannot say `not_sent` (DESIGN 4).

        Where the system refuses, no byte reached anything: the message says that much.
        """
        kept = {name: value for name, value in os.environ.items() if name not in self._withheld}
        try:
            await group.start(argv, environment=kept if self._withheld else None)
        except OSError as error:
            raise SendError(
                f"{self.provider} cannot be started, so nothing reached it: {error.strerror}",
                error_kind="launch_failed",
                wire=wire.account(),
            ) from error

    def interpret(self, observation: Observation) -> Interpretation:
        """Read the output as text, and the exit code as declared."""
        output, note = read_text(observation.body)
        problem = self._problem(observation.exit_code)
        if problem is None:
            return Interpretation(
                output=output,
                status="succeeded",
                generation_state="complete" if output else "empty",
                note=note,
            )
        return Interpretation(
            output=output,
            status="failed",
            error=problem,
            error_kind="exit_code",
            classification_basis="exit_code",
            note=note,
        )

    def _problem(self, exit_code: int | None) -> str | None:
        declared = self._settings.success_codes
        if exit_code is None:
            return "there is no exit code"
        if exit_code in declared:
            return None
        if exit_code < 0:
            return f"ended by {signal_name(-exit_code)}"
        return f"exit code {exit_code} is not one of {', '.join(map(str, declared))}"


def _observed(traffic: Traffic, wire: Wire) -> WireObservation:
    """Return the account of the pipes: what is in them counts as given, read or not."""
    given = traffic.stdin[: traffic.written_bytes]
    return WireObservation(
        method=None,
        host=None,
        path=None,
        request_sha256=sha256_hex(given),
        request_bytes=len(given),
        response_sha256=sha256_hex(bytes(wire.received)),
        response_bytes=len(wire.received),
    )
