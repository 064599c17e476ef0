"""Bytes of artifacts by digest and range: in the file, or in the peer's folder.

Nothing here checks that the bytes match their digest: that is a finding, not a condition.
"""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING, BinaryIO

from codeai_engine.errors import LedgerError
from codeai_engine.ledger.schema import select

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

ARTIFACT_LIMIT_BYTES = 64 * 2**20
FOLDER_NAME = "artifacts"
_DIGEST = re.compile("[0-9a-f]{64}")


def find_folder(ledger: Path, named: Path | None) -> Path | None:
    """Return the folder of a peer's artifact files: the one named, else the sibling, if any.

    Raises:
        LedgerError: A folder was named and is not one.
    """
    if named is not None and not named.is_dir():
        raise LedgerError(f"{named}: no such folder of artifacts", path=str(named))
    folder = named or ledger.parent / FOLDER_NAME
    return folder if folder.is_dir() else None


def read_stored(
    connection: sqlite3.Connection, artifact_id: str, start: int = 0, length: int | None = None
) -> bytes | None:
    """Return a range of an artifact's bytes in the file, or None where they are not there."""
    found = select(
        connection,
        "SELECT rowid FROM artifact_bytes"
        " WHERE artifact_id = ? AND typeof(bytes) IN ('blob', 'text')",
        (artifact_id,),
    )
    if not found:
        return None
    # Incremental: substr() would load all of it for every range.
    with connection.blobopen("artifact_bytes", "bytes", found[0][0], readonly=True) as blob:
        blob.seek(min(start, len(blob)))
        return blob.read(-1 if length is None else length)


def read_in_folder(
    folder: Path, artifact_id: str, start: int = 0, length: int | None = None
) -> bytes | None:
    """Return a range of an artifact's bytes from the peer's folder, or None where it has none.

    Raises:
        LedgerError: The file is there and cannot be read.
    """
    # Ids come from a ledger, so they are hostile: only a digest may become a path.
    if not _DIGEST.fullmatch(artifact_id):
        return None
    path = folder / artifact_id[:2] / artifact_id[2:]
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe in its place would block for ever
            return None
        with path.open("rb") as file:
            return _read_range(file, start, length)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LedgerError(
            f"{path}: the artifact cannot be read: {reason}", path=str(path)
        ) from error


def _read_range(file: BinaryIO, start: int, length: int | None) -> bytes:
    file.seek(start)
    return file.read(-1 if length is None else length)
