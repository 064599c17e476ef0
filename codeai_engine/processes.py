"""One program in a process group of its own: bytes in, bytes out, and nothing of it left behind.

The three pipes are ours and not the event loop's. A descendant that outlives the program may hold
them open: with pipes of its own, asyncio then keeps us waiting for a program that has ended
(python/cpython#76116), and it does not say how much of the input was really written.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Self

import anyio

from codeai_engine.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from anyio.abc import Process

LINGER_S = 0.5  # how long what a program started may go on writing after the program has ended
GRACE_S = 1.0  # from SIGTERM to SIGKILL
CHUNK_BYTES = 65_536  # what a pipe holds


def find_program(name: str, path: str | None = None) -> str | None:
    """Return where a program is, None where it is not.

    A bare name is looked for beside the running interpreter first, then on PATH, so that a virtual
    environment need not be activated. A name with a folder in it is that file and no other.

    Args:
        name: As a command names it.
        path: What to take for PATH; this process's when absent.
    """
    if PurePath(name).name != name:
        return shutil.which(name)
    beside = (str(Path(sys.executable).parent), sysconfig.get_path("scripts"))
    return shutil.which(name, path=os.pathsep.join(beside)) or shutil.which(name, path=path)


def signal_name(number: int) -> str:
    """Return a signal as `signal 9 (SIGKILL)`."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


@dataclass(slots=True)
class Traffic:
    """What a program is given on standard input, and who takes what it writes.

    Args:
        stdin: The input, whole.
        on_fed: Told when every byte of it is in the pipe.
        on_stdout: Takes chunks as they come; may raise to end the program.
        on_stderr: Likewise.
        written_bytes: How much of the input is in the pipe so far.
    """

    stdin: bytes
    on_fed: Callable[[], None]
    on_stdout: Callable[[bytes], None]
    on_stderr: Callable[[bytes], None]
    written_bytes: int = 0


class ProcessGroup:
    """A program and all that it starts, ended together. POSIX only.

    Leaving the block ends the whole group: SIGTERM where the program still runs, then SIGKILL for
    whatever is left of the group.

    Raises:
        OSError: Entering: no pipe can be had.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._stack = ExitStack()
        self._process: Process | None = None

    @property
    def has_started(self) -> bool:
        """Whether there is, or was, a program."""
        return self._process is not None

    async def __aenter__(self) -> Self:
        with ExitStack() as stack:
            self._child_stdin, self._stdin = _pipe(stack)
            self._stdout, self._child_stdout = _pipe(stack)
            self._stderr, self._child_stderr = _pipe(stack)
            for end in (self._stdin, self._stdout, self._stderr):
                os.set_blocking(end.fileno(), False)
            self._stack = stack.pop_all()
        return self

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program with the pipes.

        Args:
            argv: The program and its arguments; no shell is involved.
            cwd: Where it runs; this process's folder when absent.
            environment: All of its variables; this process's when absent.

        Raises:
            OSError: The system refuses; no instruction of the program ran.
        """
        # Not cancelled half-way: a program that runs and that nobody knows of would be left.
        with anyio.CancelScope(shield=True):
            self._process = await anyio.open_process(
                argv,
                stdin=self._child_stdin.fileno(),
                stdout=self._child_stdout.fileno(),
                stderr=self._child_stderr.fileno(),
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        # Without this the end of its output would never be seen.
        for end in (self._child_stdin, self._child_stdout, self._child_stderr):
            end.close()

    async def converse(self) -> int:
        """Feed the input and take the output until the program has ended; return its exit code.

        The output is what came until its end, or until the program itself had ended and what it
        started wrote nothing for a moment longer: a descendant that holds the pipes is not waited
        for (USER_REPORTS U54).

        Raises:
            ProviderError: What `on_stdout` or `on_stderr` raised.
        """
        process = self._started()
        try:
            async with anyio.create_task_group() as feeding:
                feeding.start_soon(self._feed)
                async with anyio.create_task_group() as reading:
                    reading.start_soon(_pump, self._stdout, self._traffic.on_stdout)
                    reading.start_soon(_pump, self._stderr, self._traffic.on_stderr)
                    exit_code = await process.wait()
                    reading.cancel_scope.deadline = anyio.current_time() + LINGER_S
                feeding.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise _first(group) from None
        return exit_code

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._process is not None:
                with anyio.CancelScope(shield=True):
                    await _end(self._process)
                _take_rest(self._stdout, self._traffic.on_stdout)
                _take_rest(self._stderr, self._traffic.on_stderr)
        finally:
            self._stack.close()

    def _started(self) -> Process:
        if self._process is None:
            msg = "the program was not started"
            raise RuntimeError(msg)
        return self._process

    async def _feed(self) -> None:
        """Write the input; a program that ends, or closes its input, need not have read it."""
        traffic = self._traffic
        with self._stdin as pipe:
            while traffic.written_bytes < len(traffic.stdin):
                await anyio.wait_writable(pipe)
                start = traffic.written_bytes
                try:
                    written = pipe.write(traffic.stdin[start : start + CHUNK_BYTES])
                except BrokenPipeError:
                    return
                traffic.written_bytes += written or 0  # None: the pipe is full after all
            traffic.on_fed()


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """Return the read end and the write end of a new pipe, closed with the stack."""
    read, write = os.pipe()
    return stack.enter_context(FileIO(read, "r")), stack.enter_context(FileIO(write, "w"))


async def _pump(pipe: FileIO, take: Callable[[bytes], None]) -> None:
    """Hand over what comes until the last writer has closed the pipe."""
    while True:
        await anyio.wait_readable(pipe)
        chunk = pipe.read(CHUNK_BYTES)
        if chunk == b"":
            return
        if chunk:
            take(chunk)


def _take_rest(pipe: FileIO, take: Callable[[bytes], None]) -> None:
    """Hand over what is in the pipe already; never waits, since somebody may hold it for ever."""
    chunk = pipe.read(CHUNK_BYTES)
    if chunk:
        with suppress(ProviderError):  # past the limit: what fitted is kept, and that is enough
            take(chunk)


async def _end(process: Process) -> None:
    """End a group and reap its leader."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with anyio.move_on_after(GRACE_S):
            await process.wait()
    _signal(process, signal.SIGKILL)
    with anyio.move_on_after(GRACE_S):  # one in an uninterruptible wait cannot be ended at all
        await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says EPERM then
        os.killpg(process.pid, number)


def _first(error: BaseException) -> BaseException:
    """Return the first real exception of a group: a failure of one pipe ends the others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
