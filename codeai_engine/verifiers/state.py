"""Readings of a subject's state: the bytes of a file, or the names and bytes in a folder."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from codeai_engine.digests import canonical_digest, sha256_hex
from codeai_engine.domain.value import Value
from codeai_engine.errors import VerifierError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHUNK_BYTES = 1 << 20


class Settings(Value):
    """Of each of these resolvers: the file or folder, as the process sees it."""

    path: str


def file_from_settings(settings: Mapping[str, Any]) -> FileDigest:
    """Return the resolver of `{path = "…"}`.

    Raises:
        pydantic.ValidationError: The settings do not fit.
    """
    return FileDigest(Path(Settings.model_validate(dict(settings)).path))


def folder_from_settings(settings: Mapping[str, Any]) -> FolderDigest:
    """Return the resolver of `{path = "…"}`.

    Raises:
        pydantic.ValidationError: The settings do not fit.
    """
    return FolderDigest(Path(Settings.model_validate(dict(settings)).path))


class FileDigest:
    """The SHA-256 of a file's bytes; its name, times and permissions do not count."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> str:
        """Return the digest of the file now.

        Raises:
            VerifierError: It is not there, is no regular file, or cannot be read.
        """
        return await anyio.to_thread.run_sync(_readable, file_digest, self._path)


class FolderDigest:
    """A digest over everything in a folder: names, kinds, bytes, and where links point.

    It is the canonical digest of `[kind, path, digest]` of every entry, sorted by path, where kind
    is `file`, `folder` or `link` and a link's digest is that of its target's text: links are not
    followed. Times and permissions do not count.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> str:
        """Return the digest of the folder now.

        Raises:
            VerifierError: It is not there, holds something that is none of the three, or cannot
                be read whole.
        """
        return await anyio.to_thread.run_sync(_readable, _folder_digest, self._path)


def _readable(digest: Any, path: Path) -> str:  # noqa: ANN401 - one of the two below
    try:
        return str(digest(path))
    except OSError as error:
        raise VerifierError(f"the state of {path} cannot be read: {error.strerror}") from error


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; reads it here and now.

    Raises:
        OSError: It cannot be read.
        VerifierError: It is no regular file.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a named pipe would wait for a writer
        raise VerifierError(f"the state of {path} cannot be read: it is no regular file")
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _folder_digest(root: Path) -> str:
    entries = [(path.relative_to(root).as_posix(), *_entry(path)) for path in _paths(root)]
    return canonical_digest([[kind, name, digest] for name, kind, digest in sorted(entries)])


def _paths(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error  # os.walk would leave the folder out in silence

    for folder, names, files in os.walk(root, onerror=refuse):
        yield from (Path(folder, name) for name in (*names, *files))


def _entry(path: Path) -> tuple[str, str]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "link", sha256_hex(os.fsencode(path.readlink()))
    if stat.S_ISDIR(mode):
        return "folder", ""
    if stat.S_ISREG(mode):
        return "file", file_digest(path)
    raise VerifierError(f"the state of {path} cannot be read: it is no file, folder or link")
