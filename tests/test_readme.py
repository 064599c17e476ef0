"""What the README says works as it is written there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_lines_of_python_run_a_fanout_and_read_its_view(tmp_path: Path) -> None:
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    run(tmp_path, "-m", "codeai_engine.cli.main", "init", "review")
    (tmp_path / "ask.py").write_text(code, "utf-8")
    printed = run(tmp_path, "-I", "ask.py").splitlines()
    assert [line.split()[:2] for line in printed if line][:1] == [["A", "succeeded"]]
    assert "words in all" in printed[0]


def test_the_two_set_up_commands_stand_first() -> None:
    first, second = blocks("sh")[:2]
    assert first.splitlines()[1:] == ["pip install '.[demo]'", "codeai-tui demo"]
    assert second.splitlines()[1:] == ["pip install -e '.[dev]'", "pytest"]


def test_the_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README.read_text("utf-8"))
    assert pictures
    for picture in pictures:
        assert (README.parent / picture).read_text("utf-8").startswith("<svg")
