"""How a ledger is opened to read: in place, live, or as a private copy. Source: DESIGN 3.

`mode=ro` on a WAL file makes `-wal` and `-shm`, and fails in a read-only folder; `immutable=1`
ignores a `-wal`. So there are three modes, and none changes what it reads.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from codeai_engine.errors import LedgerBusy, LedgerError, NotALedger
from codeai_engine.ledger.failures import reading_failed
from codeai_engine.ledger.schema import READER_PRAGMAS

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from codeai_engine.domain.view import Mode

Stamp: TypeAlias = tuple[int, int, int, int]  # device, inode, size, time of change
Look: TypeAlias = tuple[Stamp | None, Stamp | None, Stamp | None]
_COPY_ATTEMPTS = 10
_BUSY_SECONDS = 5.0
# In a child: closing any descriptor of a file drops all POSIX locks that this process has on it,
# and the same process may be writing the ledger, or reading it live.
_COPY = """
import shutil, sys
for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
    shutil.copyfile(source, target)
"""


@dataclass(frozen=True, slots=True)
class Source:
    """An open file.

    Args:
        file: The real file.
        seen: It and its side files as they were just before it was opened.
        note: How it is read, where that is not as it stands.
        folder: Where the private copy is.
    """

    mode: Mode
    connection: sqlite3.Connection
    file: Path
    seen: Look
    note: str | None = None
    folder: TemporaryDirectory[str] | None = None

    def is_stale(self) -> bool:
        """Return whether the connection may no longer read what the file holds.

        Read in place, SQLite looks for no change and takes no lock: any change makes it stale.
        Live, it follows all but another file under the same name. A copy never changes.
        """
        match self.mode:
            case "RO":
                return look(self.file) != self.seen
            case "LIVE":
                return _identity(look(self.file)) != _identity(self.seen)
            case "SNAP":
                return False

    def is_behind(self) -> bool:
        """Return whether opening anew would read something newer than the connection can."""
        return look(self.file) != self.seen if self.mode == "SNAP" else self.is_stale()

    def close(self) -> None:
        """Close the file, and remove the copy."""
        self.connection.close()
        if self.folder is not None:
            self.folder.cleanup()


def look(file: Path) -> Look:
    """Return a stamp of a file, of its `-wal` and of its `-journal`; None for what is not there."""
    return _stamp(file), _stamp(Path(f"{file}-wal")), _stamp(Path(f"{file}-journal"))


def refuse_unless_file(file: Path) -> None:
    """Refuse what cannot be a ledger before SQLite opens it.

    Raises:
        NotALedger: Nothing there, a folder, a device, or an empty file.
        LedgerError: The system does not let us look.
    """
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise NotALedger(f"{file}: there is no such file", path=str(file)) from None
    except OSError as error:
        raise LedgerError(f"{file}: cannot be read: {error.strerror}", path=str(file)) from error
    if stat.S_ISDIR(status.st_mode):
        raise NotALedger(f"{file}: not a ledger: it is a folder", path=str(file))
    if not stat.S_ISREG(status.st_mode):  # a pipe would block for ever
        raise NotALedger(f"{file}: not a ledger: it is not a regular file", path=str(file))
    if status.st_size == 0:
        raise NotALedger(f"{file}: not a ledger: the file is empty", path=str(file))


def open_source(file: Path, *, snapshot: bool) -> Source:
    """Open a file in the mode that fits what stands beside it.

    Raises:
        NotALedger: It cannot be a ledger.
        LedgerBusy: It moved during every attempt to copy it.
        LedgerError: It cannot be opened.
    """
    refuse_unless_file(file)
    seen = look(file)
    _, wal, journal = seen
    if snapshot:
        return _open_copy(file, "a private copy, as asked")
    if journal is not None and journal[2] > 0:  # of an interrupted writer that uses no WAL
        return _open_copy(file, "a private copy: it has a -journal that is not rolled back")
    if wal is None:
        return Source("RO", _connect(file, "mode=ro&immutable=1"), file, seen)
    if os.access(f"{file}-wal", os.W_OK) and os.access(f"{file}-shm", os.W_OK):
        return Source("LIVE", _connect(file, "mode=ro"), file, seen)
    return _open_copy(file, "a private copy: its -wal is not merged and cannot be shared in place")


def _open_copy(file: Path, note: str) -> Source:
    from tempfile import TemporaryDirectory  # with `subprocess`, a sixth of what a start costs

    for _ in range(_COPY_ATTEMPTS):
        with ExitStack() as stack:
            seen = look(file)
            folder = TemporaryDirectory(prefix="codeai-ledger-")
            stack.callback(folder.cleanup)
            problem = _copy(file, seen, Path(folder.name))
            if look(file) != seen:
                continue
            if problem:
                raise LedgerError(f"{file}: cannot be copied: {problem}", path=str(file))
            # For writing: what is unfinished in the copy is merged or rolled back there.
            connection = _connect(Path(folder.name) / file.name, "mode=rw")
            stack.pop_all()
            return Source("SNAP", connection, file, seen, note, folder)
    raise LedgerBusy(
        f"{file}: it was written to during each of {_COPY_ATTEMPTS} attempts to copy it",
        path=str(file),
        hint="open it without a snapshot, or when its writer is done",
    )


def _copy(file: Path, seen: Look, folder: Path) -> str | None:
    """Copy a file and what of its side files is there; return the problem, if any."""
    import subprocess

    names = [
        name
        for name, stamp in zip(("", "-wal", "-journal"), seen, strict=True)
        if stamp is not None
    ]
    pairs = [part for name in names for part in (f"{file}{name}", f"{folder / file.name}{name}")]
    command = [sys.executable, "-I", "-S", "-c", _COPY, *pairs]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)  # noqa: S603 - our own interpreter
    return (done.stderr.splitlines() or ["no reason given"])[-1] if done.returncode else None


def _connect(file: Path, options: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{file.as_uri()}?{options}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # whoever reads owns the threads, one question at a time
        )
    except sqlite3.Error as error:
        raise reading_failed(error, file) from error
    connection.executescript(READER_PRAGMAS)
    return connection


def _identity(seen: Look) -> tuple[int, ...] | None:
    return None if seen[0] is None else seen[0][:2]


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
