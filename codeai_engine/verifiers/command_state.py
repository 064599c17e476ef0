"""Readings of a state by a program: a git work tree, or what any command writes."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import anyio.to_thread
from pydantic import Field

from codeai_engine.digests import canonical_digest, sha256_hex
from codeai_engine.domain.value import Value
from codeai_engine.errors import VerifierError
from codeai_engine.processes import ProcessGroup, Traffic, find_program
from codeai_engine.verifiers.state import Settings, file_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TIMEOUT_S = 60.0
LISTING_LIMIT_BYTES = 64 * 2**20  # of git's list of changed paths
SAID_BYTES = 400  # of what a program says about its failure
# Neither a hook nor a lock of the repository's, whose configuration is not ours to trust.
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_CHANGES = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")


class CommandSettings(Value):
    """`resolver = "command"`: the command, and the folder that it runs in."""

    command: Annotated[list[str], Field(min_length=1)]
    path: str = "."
    timeout_s: Annotated[float, Field(gt=0)] = TIMEOUT_S


def git_from_settings(settings: Mapping[str, Any]) -> GitDigest:
    """Return the resolver of `{path = "…"}`.

    Raises:
        pydantic.ValidationError: The settings do not fit.
    """
    return GitDigest(Path(Settings.model_validate(dict(settings)).path))


def command_from_settings(settings: Mapping[str, Any]) -> CommandDigest:
    """Return the resolver of `{command = […], path = "…", timeout_s = 60}`.

    Raises:
        pydantic.ValidationError: The settings do not fit.
    """
    found = CommandSettings.model_validate(dict(settings))
    return CommandDigest(found.command, Path(found.path), timeout_s=found.timeout_s)


class CommandDigest:
    """The SHA-256 of what a command writes on standard output.

    Its exit code must be 0: a command that failed says nothing about the state.
    """

    def __init__(
        self, command: Sequence[str], folder: Path = Path(), *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._command = tuple(command)
        self._folder = folder
        self._timeout_s = timeout_s

    async def read(self) -> str:
        """Run the command and return the digest of its output.

        Raises:
            VerifierError: It cannot be started, fails, or does not end in time.
        """
        digest = sha256()
        program = _Program(self._command, self._folder, timeout_s=self._timeout_s)
        await _run(program, digest.update)
        return digest.hexdigest()


class GitDigest:
    """A digest over a git work tree: the commit of HEAD, and everything that is not committed.

    It is the canonical digest of `{head, changes}`, where `changes` holds `[path, kind, digest]` of
    every path that git lists as changed or untracked, ignored files left out; kind is `file`,
    `executable`, `link`, `folder`, `absent` or `repository`, whose digest is that of its own work
    tree. What is staged and what is not is no difference, and a path inside the tree reads all of
    it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> str:
        """Return the digest of the work tree now.

        Raises:
            VerifierError: There is no git, no work tree, or something in it cannot be read.
        """
        return await _tree_digest(self._path)


async def _tree_digest(path: Path) -> str:
    top = Path(os.fsdecode((await _git(path, "rev-parse", "--show-toplevel")).removesuffix(b"\n")))
    head = await _git(top, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1))
    listed = await _git(top, *_CHANGES)
    changes = []
    for record in filter(None, listed.split(b"\0")):
        name = record[3:].rstrip(b"/")  # two letters of state and a space come first
        changed = top / os.fsdecode(name)
        if (changed / ".git").exists() and not changed.is_symlink():
            kind, digest = "repository", await _tree_digest(changed)
        else:
            kind, digest = await anyio.to_thread.run_sync(_change, changed)
        changes.append([name.decode("utf-8", "backslashreplace"), kind, digest])
    return canonical_digest({"head": head.decode("ascii").strip(), "changes": sorted(changes)})


def _change(path: Path) -> tuple[str, str]:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):  # in the place of a tracked file; what is in it is listed itself
            return "folder", ""
        if stat.S_ISLNK(mode):
            return "link", sha256_hex(os.fsencode(path.readlink()))
        return "executable" if mode & stat.S_IXUSR else "file", file_digest(path)
    except FileNotFoundError:
        return "absent", ""
    except OSError as error:
        raise VerifierError(f"the state of {path} cannot be read: {error.strerror}") from error


async def _git(folder: Path, *arguments: str, accept: tuple[int, ...] = (0,)) -> bytes:
    written = bytearray()

    def take(chunk: bytes) -> None:
        written.extend(chunk)
        if len(written) > LISTING_LIMIT_BYTES:
            raise VerifierError(f"git lists more than {LISTING_LIMIT_BYTES} bytes of changes")

    await _run(_Program((*_GIT, *arguments), folder, accept=accept, is_git=True), take)
    return bytes(written)


@dataclass(frozen=True, slots=True)
class _Program:
    """What is run for a reading, and which exit codes say that it went well."""

    argv: tuple[str, ...]
    folder: Path
    timeout_s: float = TIMEOUT_S
    accept: tuple[int, ...] = (0,)
    is_git: bool = False

    def environment(self) -> dict[str, str]:
        # A variable such as GIT_DIR, set for a hook that we may run in, would show another tree.
        hidden = "GIT_" if self.is_git else "\0"
        return {name: text for name, text in os.environ.items() if not name.startswith(hidden)}


async def _run(program: _Program, take: Callable[[bytes], None]) -> None:
    """Run a program to its end; what it writes is taken.

    Raises:
        VerifierError: It cannot be started, ends with another code, or does not end in time.
    """
    name, *arguments = program.argv
    said = bytearray()
    traffic = Traffic(
        b"", lambda: None, take, lambda chunk: said.extend(chunk[: max(0, SAID_BYTES - len(said))])
    )
    try:
        with anyio.fail_after(program.timeout_s):
            async with ProcessGroup(traffic) as group:
                await group.start(
                    [find_program(name) or name, *arguments],
                    cwd=str(program.folder),
                    environment=program.environment(),
                )
                exit_code = await group.converse()
    except TimeoutError as error:
        raise VerifierError(f"{name} did not end within {program.timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise VerifierError(f"{name} cannot be started in {program.folder}: {reason}") from error
    if exit_code not in program.accept:
        text = bytes(said).decode("utf-8", "backslashreplace").strip()
        raise VerifierError(f"{name} ended with exit code {exit_code}: {text}")
