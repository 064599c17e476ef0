"""Making a ledger, and what is refused before one is opened for writing."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from codeai_engine.errors import LedgerUnwritable
from codeai_engine.ledger.failures import reading_failed, writing_failed
from codeai_engine.ledger.reader import open_ledger
from codeai_engine.ledger.schema import CREATE_LEDGER, is_ours
from codeai_engine.ledger.source import refuse_unless_file


def make_ready(path: Path) -> Path:
    """Make sure that `path` is a ledger of ours that can be written; make it where there is none.

    Returns:
        The real file, with symbolic links followed: SQLite's other files stand beside that one.

    Raises:
        LedgerError: It cannot be made or written, or is something else; nothing was changed.
    """
    file = Path(os.path.realpath(path))
    try:
        if not file.exists():
            _create(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LedgerUnwritable(
            f"{file}: a ledger cannot be made there: {reason}", path=str(file)
        ) from error
    refuse_unless_file(file)
    _refuse_unless_ours(file)
    for place in (file, file.parent):
        if not os.access(place, os.W_OK):
            raise LedgerUnwritable(f"{place}: no permission to write there", path=str(file))
    return file


def _create(file: Path) -> None:
    """Make an empty ledger: whole under its name, or not at all.

    It is built beside its place and then linked there, which refuses to replace what another
    process has put there meanwhile; then the other's counts.
    """
    try:
        with TemporaryDirectory(prefix=".new-ledger-", dir=file.parent) as folder:
            new = Path(folder) / "ledger"
            with closing(sqlite3.connect(new, isolation_level=None)) as connection:
                connection.executescript(CREATE_LEDGER)
            file.hardlink_to(new)
            _sync_folder(file.parent)
    except FileExistsError:
        return
    except sqlite3.Error as error:
        raise writing_failed(error, file) from error


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_unless_ours(file: Path) -> None:
    # Immutable: another tool's -wal must not be touched, and ours never changes what is read here.
    uri = f"{file.as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            if is_ours(connection, file):
                return
    except sqlite3.Error as error:
        raise reading_failed(error, file) from error
    with open_ledger(file):  # refuses what is no ledger at all by its own name
        raise LedgerUnwritable(
            f"{file}: this ledger was made by another tool and is only read",
            path=str(file),
            hint="choose another file for the new record",
        )
