"""Readings of a state: a file, a folder, a git work tree, what a command writes."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from codeai_engine.digests import sha256_hex
from codeai_engine.errors import SpecError, VerifierError
from codeai_engine.verifiers.command_state import CommandDigest, GitDigest
from codeai_engine.verifiers.contract import check_resolver
from codeai_engine.verifiers.registry import make_resolver
from codeai_engine.verifiers.state import FileDigest, FolderDigest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from codeai_engine.verifiers.base import StateResolver

NAMES = {"NAME": "nobody", "EMAIL": "nobody@example.invalid"}


def git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_{name}": value for name, value in NAMES.items()}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)  # noqa: S607 - whichever git there is


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree with one committed file, `kept`, and an ignored name."""
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "kept").write_text("one\n")
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


async def check(resolver: StateResolver, change: Callable[[], object], path: Path) -> None:
    async def changed() -> None:
        change()

    async def removed() -> None:
        os.rename(path, f"{path}-elsewhere")  # noqa: PTH104 - no task waits for it

    await check_resolver(resolver, change=changed, remove=removed)


async def test_a_file_keeps_the_contract_of_resolvers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    assert await FileDigest(path).read() == sha256_hex(b"one")
    await check(FileDigest(path), lambda: path.write_text("two"), path)


async def test_a_folder_keeps_the_contract_of_resolvers(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    await check(FolderDigest(path), (path / "new").touch, path)


async def test_a_work_tree_keeps_the_contract_of_resolvers(tree: Path) -> None:
    await check(GitDigest(tree), lambda: (tree / "kept").write_text("two\n"), tree)


async def test_the_output_of_a_command_keeps_the_contract_of_resolvers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    resolver = CommandDigest(["cat", str(path)])
    assert await resolver.read() == sha256_hex(b"one")
    await check(resolver, lambda: path.write_text("two"), path)


@pytest.mark.parametrize("name", ["link", "pipe", "folder"])
async def test_only_a_regular_file_has_the_state_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    match name:
        case "link":
            path.symlink_to("nowhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    with pytest.raises(VerifierError, match="cannot be read"):
        await FileDigest(path).read()


async def test_a_folder_is_its_names_kinds_bytes_and_links_and_no_times(tmp_path: Path) -> None:
    resolver = FolderDigest(tmp_path)
    (tmp_path / "a").write_text("x")
    seen = [await resolver.read()]
    os.utime(tmp_path / "a", (0, 0))
    assert await resolver.read() == seen[0]
    for change in (
        (tmp_path / "a").unlink,
        (tmp_path / "a").mkdir,
        lambda: (tmp_path / "b").symlink_to("a"),
        lambda: (tmp_path / "b").rename(tmp_path / "c"),
        lambda: (tmp_path / "a" / "deep").write_text("x"),
    ):
        change()
        seen.append(await resolver.read())
    assert len(set(seen)) == len(seen)


async def test_a_work_tree_is_its_commit_and_all_that_is_not_committed(tree: Path) -> None:
    resolver = GitDigest(tree)
    clean = await resolver.read()
    seen = [clean]
    for change in (
        lambda: (tree / "kept").write_text("two\n"),
        lambda: (tree / "kept").chmod(0o755),
        lambda: (tree / "new n\u00e4me").write_text("untracked"),
        lambda: (tree / "new n\u00e4me").write_text("changed"),
        (tree / "kept").unlink,
        lambda: (tree / "kept").symlink_to("nowhere"),
    ):
        change()
        seen.append(await resolver.read())
    assert len(set(seen)) == len(seen)
    git(tree, "add", ".")
    assert await resolver.read() == seen[-1]  # staged or not is no difference
    git(tree, "commit", "-q", "-m", "second")
    seen.append(await resolver.read())
    assert len(set(seen)) == len(seen)
    git(tree, "reset", "-q", "--hard", "HEAD~1")
    assert await resolver.read() == clean


async def test_times_and_ignored_files_are_no_state_of_a_work_tree(tree: Path) -> None:
    resolver = GitDigest(tree)
    before = await resolver.read()
    os.utime(tree / "kept", (0, 0))
    (tree / "ignored").write_text("x")
    assert await resolver.read() == before


async def test_a_path_inside_a_work_tree_reads_all_of_it(tree: Path) -> None:
    (tree / "inside").mkdir()
    resolver = GitDigest(tree / "inside")
    before = await resolver.read()
    assert before == await GitDigest(tree).read()
    (tree / "kept").write_text("two\n")
    assert await resolver.read() != before


async def test_a_folder_in_the_place_of_a_tracked_file_is_read(tree: Path) -> None:
    (tree / "kept").unlink()
    (tree / "kept").mkdir()
    (tree / "kept" / "deep").write_text("x")
    before = await GitDigest(tree).read()
    (tree / "kept" / "deep").write_text("y")
    assert await GitDigest(tree).read() != before


async def test_a_repository_inside_a_work_tree_is_part_of_its_state(tree: Path) -> None:
    inner = tree / "inner"
    inner.mkdir()
    git(inner, "init", "-q")  # without a commit
    before = await GitDigest(tree).read()
    (inner / "file").write_text("x")
    assert await GitDigest(tree).read() != before


async def test_a_variable_of_a_git_hook_shows_no_other_tree(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await GitDigest(tree).read()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    assert await GitDigest(tree).read() == before


async def test_reading_a_work_tree_writes_nothing_into_it(tree: Path) -> None:
    os.utime(tree / "kept", (0, 0))  # git would refresh its index
    index = tree / ".git" / "index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    await GitDigest(tree).read()
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


async def test_what_is_no_work_tree_has_no_state(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="git ended with exit code 128"):
        await GitDigest(tmp_path).read()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["sh", "-c", "echo why >&2; exit 3"], "exit code 3: why"),
        (["/nonexistent/tool"], "cannot be started"),
        (["sh", "-c", "sleep 600"], "did not end within"),
    ],
)
async def test_a_command_that_fails_says_nothing_about_a_state(
    command: list[str], problem: str
) -> None:
    with pytest.raises(VerifierError, match=problem):
        await CommandDigest(command, timeout_s=0.5).read()


async def test_each_kind_is_made_from_settings(tree: Path) -> None:
    for kind, settings in (
        ("file", {"path": str(tree / "kept")}),
        ("folder", {"path": str(tree)}),
        ("git", {"path": str(tree)}),
        ("command", {"command": ["cat", "kept"], "path": str(tree)}),
    ):
        assert len(await make_resolver(kind, settings).read()) == 64
    with pytest.raises(SpecError, match="command, file, folder, git"):
        make_resolver("moon", {})
    with pytest.raises(ValidationError):
        make_resolver("command", {"command": []})
