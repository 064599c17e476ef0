"""Readings of real files and folders: what counts as a change, and what cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from codeai_engine.digests import canonical_digest, sha256_hex
from codeai_engine.errors import VerifierError
from codeai_engine.verifiers.contract import check_resolver
from codeai_engine.verifiers.state import FileDigest, FolderDigest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "b.txt").write_bytes(b"b")
    (root / "sub" / "a.txt").write_bytes(b"a")
    (root / "link").symlink_to("b.txt")
    return root


async def test_a_file_reads_as_the_digest_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x00bytes")
    assert await FileDigest(path).read() == sha256_hex(b"\x00bytes")


async def test_a_folder_reads_as_the_digest_of_its_entries(folder: Path) -> None:
    entries = [
        ["file", "b.txt", sha256_hex(b"b")],
        ["link", "link", sha256_hex(b"b.txt")],
        ["folder", "sub", ""],
        ["file", "sub/a.txt", sha256_hex(b"a")],
    ]
    assert await FolderDigest(folder).read() == canonical_digest(entries)


def renamed(root: Path) -> None:
    (root / "b.txt").rename(root / "c.txt")


def moved(root: Path) -> None:
    (root / "sub" / "a.txt").rename(root / "a.txt")


def added_empty(root: Path) -> None:
    (root / "empty").mkdir()


def repointed(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("sub/a.txt")


def replaced_by_its_link(root: Path) -> None:
    (root / "b.txt").rename(root.parent / "b.txt")
    (root / "b.txt").symlink_to(root.parent / "b.txt")


@pytest.mark.parametrize("change", [renamed, moved, added_empty, repointed, replaced_by_its_link])
async def test_a_change_of_the_folder_changes_its_digest(
    folder: Path, change: Callable[[Path], None]
) -> None:
    resolver = FolderDigest(folder)
    before = await resolver.read()
    change(folder)
    assert await resolver.read() != before


def aged_and_moved(root: Path) -> Path:
    os.utime(root / "b.txt", (1, 1))
    (root / "b.txt").chmod(0o600)
    return root.rename(root.with_name("elsewhere"))


async def test_times_permissions_and_the_folders_own_place_do_not_count(folder: Path) -> None:
    before = await FolderDigest(folder).read()
    assert await FolderDigest(aged_and_moved(folder)).read() == before


async def test_a_name_that_is_no_text_counts_as_it_is(tmp_path: Path) -> None:
    name = os.fsdecode(b"odd-\xff")
    try:
        (tmp_path / name).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes only names that are text")
    first = await FolderDigest(tmp_path).read()
    (tmp_path / name).rename(tmp_path / os.fsdecode(b"odd-\xfe"))
    assert await FolderDigest(tmp_path).read() != first


async def test_what_is_no_file_cannot_be_read_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VerifierError, match="it is no regular file"):
        await FileDigest(tmp_path / "pipe").read()
    with pytest.raises(VerifierError, match="it is no file, folder or link"):
        await FolderDigest(tmp_path).read()
    with pytest.raises(VerifierError, match="it is no regular file"):
        await FileDigest(tmp_path).read()


async def test_a_folder_that_is_a_file_cannot_be_read(folder: Path) -> None:
    with pytest.raises(VerifierError, match="Not a directory"):
        await FolderDigest(folder / "b.txt").read()


async def test_the_file_resolver_keeps_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    async def change() -> None:
        path.write_text("after")

    async def remove() -> None:
        path.unlink()

    await check_resolver(FileDigest(path), change=change, remove=remove)


async def test_the_folder_resolver_keeps_the_contract(folder: Path) -> None:
    async def change() -> None:
        (folder / "sub" / "a.txt").write_text("after")

    async def remove() -> None:
        aged_and_moved(folder)

    await check_resolver(FolderDigest(folder), change=change, remove=remove)
