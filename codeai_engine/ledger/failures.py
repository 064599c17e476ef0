"""What SQLite raises, as errors of ours that name the file and what can be done."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from codeai_engine.errors import LedgerBusy, LedgerError, LedgerUnwritable, NotALedger

_PRIMARY = 0xFF  # the low byte of an extended result code
_WRITE_LOCK_BYTE = 120  # of the -shm file: WAL_WRITE_LOCK, SQLite's WAL-index format
_LOCKS = Path("/proc/locks")
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def reading_failed(error: sqlite3.Error, path: Path) -> LedgerError:
    """Return why a file cannot be read."""
    if _code(error) == sqlite3.SQLITE_NOTADB:
        return NotALedger(f"{path}: not a ledger: not an SQLite file", path=str(path))
    if _code(error) in _HELD:
        return LedgerBusy(f"{path}: locked by another process", path=str(path))
    return LedgerError(f"{path}: cannot be read: {error}", path=str(path))


def writing_failed(error: sqlite3.Error, path: Path) -> LedgerError:
    """Return why nothing was written; for a lock, with the process that holds it if known."""
    code = _code(error)
    if code in _HELD:
        holder = lock_holder(path)
        who = f"process {holder}" if holder else "another process"
        return LedgerBusy(
            f"{path}: {who} has been writing for longer than the wait allows; nothing was written",
            path=str(path),
            hint="end that process, or try again when it is done",
        )
    if code in _UNWRITABLE:
        return LedgerUnwritable(
            f"{path}: cannot be written: {error}; nothing was written", path=str(path)
        )
    if code == sqlite3.SQLITE_FULL:
        return LedgerError(
            f"{path}: the disk is full; nothing was written",
            path=str(path),
            hint="the ledger is as it was before; free some space and try again",
        )
    return LedgerError(f"{path}: nothing was written: {error}", path=str(path))


def lock_holder(path: Path) -> str | None:
    """Return number and name of the process that holds the write lock, where that is knowable.

    Read from the kernel's list. Asking through a descriptor of the file would not do: closing any
    descriptor of a file drops all POSIX locks that this process has on it.
    """
    try:
        status = path.with_name(f"{path.name}-shm").stat()
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    major, minor = os.major(status.st_dev), os.minor(status.st_dev)
    wanted = ("WRITE", f"{major:02x}:{minor:02x}:{status.st_ino}", *[str(_WRITE_LOCK_BYTE)] * 2)
    for line in lines:
        # "1: POSIX  ADVISORY  WRITE 4711 fe:00:2173249 120 120", see proc_locks(5)
        match line.split():
            case [_, "POSIX", _, access, pid, device, first, last] if wanted == (
                access,
                device,
                first,
                last,
            ):
                return f"{pid} ({_process_name(pid)})"
    return None


def _process_name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "name not known"


def _code(error: sqlite3.Error) -> int | None:
    # The module raises some errors of its own, such as for a closed connection: those have no code.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY
