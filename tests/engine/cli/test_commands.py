"""The commands as a person runs them: real processes, real files, exit codes and one clear line."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from codeai_engine import open_ledger, read_fanouts

SLEEPER = """
spec = 1
[fanout]
prompt = "Wait."
[adapter.sleep]
kind = "command"
argv = ["python", "-c", "import time; time.sleep(600)"]
[adapter.quick]
kind = "command"
argv = ["python", "-c", "print('quick')"]
[[branch]]
name = "Q"
adapter = "quick"
[[branch]]
name = "S"
adapter = "sleep"
"""


def engine(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codeai_engine.cli.main", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def example(tmp_path: Path) -> Path:
    done = engine("init", str(tmp_path / "example"))
    assert done.returncode == 0, done.stderr
    return tmp_path / "example"


def test_the_example_that_init_writes_runs(example: Path) -> None:
    ledger = example / "ledger.db"
    done = engine("run", str(example / "spec.toml"), "--ledger", str(ledger))
    assert done.returncode == 0, done.stderr
    assert "A: compiled" in done.stderr
    assert "B: succeeded" in done.stderr
    assert "words in all" in done.stdout
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in example.iterdir()) == [
        "ledger.db",
        "paragraph.md",
        "sources.md",
        "spec.toml",
    ]


def test_the_result_as_json_is_one_object(example: Path) -> None:
    ledger = example / "ledger.db"
    done = engine("run", str(example / "spec.toml"), "--ledger", str(ledger), "--json")
    result = json.loads(done.stdout)
    assert [branch["status"] for branch in result["branches"]] == ["succeeded", "succeeded"]
    with open_ledger(ledger) as reader:
        (summary,) = read_fanouts(reader).items
    assert summary.fanout_id == result["fanout_id"]


def test_init_touches_nothing_that_is_there(example: Path) -> None:
    done = engine("init", str(example))
    assert done.returncode == 2
    assert "is already there" in done.stderr


def test_a_failed_branch_is_exit_code_1(example: Path) -> None:
    spec = example / "spec.toml"
    spec.write_text(spec.read_text().replace('"import sys; [print(', '"import sys; exit(3); ['))
    done = engine("run", str(spec), "--ledger", str(example / "ledger.db"))
    assert done.returncode == 1
    assert "B: failed" in done.stderr
    assert "A: check is-a-count: PASS" in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_console_that_is_not_utf8_gets_replacements(example: Path, encoding: str) -> None:
    spec = example / "spec.toml"
    spec.write_text(spec.read_text().replace('= "A"', '= "\U0001f600"'))
    done = engine(
        "run", str(spec), "--ledger", str(example / "l.db"), PYTHONIOENCODING=encoding, LANG="C"
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def bad_inputs(folder: Path) -> dict[str, tuple[str, str]]:
    """Return spec and ledger of every case of bad input, by the word its message must have."""
    good = str(folder / "spec.toml")
    (folder / "text.db").write_text("not a ledger")
    with sqlite3.connect(folder / "newer.db") as database:
        database.execute("PRAGMA application_id = 0x434F4149")
        database.execute("PRAGMA user_version = 99")
        database.execute("CREATE TABLE events (sequence INTEGER)")
    database.close()
    return {
        "there is no file": (str(folder / "none.toml"), str(folder / "l.db")),
        "NOT_A_LEDGER": (good, str(folder / "text.db")),
        "UNSUPPORTED_VERSION": (good, str(folder / "newer.db")),
        "LEDGER_UNWRITABLE": (good, str(folder / "no" / "such" / "folder" / "l.db")),
    }


@pytest.mark.parametrize(
    "word", ["there is no file", "NOT_A_LEDGER", "UNSUPPORTED_VERSION", "LEDGER_UNWRITABLE"]
)
def test_bad_input_is_one_clear_line_and_nothing_is_written(example: Path, word: str) -> None:
    spec, ledger = bad_inputs(example)[word]
    before = Path(ledger).read_bytes() if Path(ledger).exists() else None
    done = engine("run", spec, "--ledger", ledger)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert word in lines[0]
    assert lines[0].startswith("codeai-engine: ")
    assert "Traceback" not in done.stderr
    assert (Path(ledger).read_bytes() if Path(ledger).exists() else None) == before


def test_a_call_id_that_the_ledger_has_is_refused_and_nothing_is_added(example: Path) -> None:
    spec, ledger = example / "spec.toml", example / "ledger.db"
    spec.write_text(spec.read_text().replace('name = "A"', 'name = "A"\ncall_id = "call-1"'))
    assert engine("run", str(spec), "--ledger", str(ledger)).returncode == 0
    before = ledger.read_bytes()
    done = engine("run", str(spec), "--ledger", str(ledger))
    assert done.returncode == 2
    assert "call id 'call-1' is already in the ledger" in done.stderr
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_in_recorded_cancellations(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    spec, ledger = tmp_path / "spec.toml", tmp_path / "ledger.db"
    spec.write_text(SLEEPER)
    process = subprocess.Popen(
        [sys.executable, "-m", "codeai_engine.cli.main", "run", str(spec), "--ledger", str(ledger)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    seen = set()
    for line in process.stderr:
        seen.add(line.strip())
        if {"Q: succeeded", "S: sending"} <= seen:
            break
    process.send_signal(number)
    rest = process.stderr.read()
    assert process.wait() == code
    process.stderr.close()
    assert "Traceback" not in rest
    with open_ledger(ledger) as reader:
        (summary,) = read_fanouts(reader).items
        ended = json.loads(reader.of_kind("session.ended")[0].payload_json)
    assert summary.statuses == ("succeeded", "cancelled")
    assert ended["reason"] == "interrupted"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("ledger")] == [
        "ledger.db"
    ]


def test_a_killed_run_leaves_a_ledger_that_opens_with_its_orphan(tmp_path: Path) -> None:
    spec, ledger = tmp_path / "spec.toml", tmp_path / "ledger.db"
    spec.write_text(SLEEPER)
    process = subprocess.Popen(
        [sys.executable, "-m", "codeai_engine.cli.main", "run", str(spec), "--ledger", str(ledger)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.strip() == "S: sending":
            break
    process.kill()
    process.wait()
    process.stderr.close()
    with open_ledger(ledger) as reader:
        (summary,) = read_fanouts(reader).items
        open_attempts = reader.open_attempts()
    assert summary.completed is False
    assert len(open_attempts) >= 1


def test_help_and_version_load_neither_pydantic_nor_asyncio() -> None:
    for argument in ("--help", "--version"):
        code = (
            "import sys\nfrom codeai_engine.cli.main import main\n"
            f"try:\n    main([{argument!r}])\nexcept SystemExit:\n    pass\n"
            "print([m for m in ('pydantic', 'asyncio', 'rich', 'textual') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]"
