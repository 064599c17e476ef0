"""`codeai-engine check` and the checks of `run`, as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.engine.cli.test_commands import engine
from tests.engine.runtime.doubles import payloads

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
spec = 1
task = { id = "t-1" }
base = [ { name = "patch", file = "patch.txt" } ]
[[claim]]
id = "done"
statement = "All tests pass."
[[check]]
id = "no-todo"
command = ["python", "look.py", "{artifact}"]
artifact = "patch"
state = { resolver = "file", path = "patch.txt" }
claims = ["done"]
"""
LOOK = """
import sys
print("read it")
sys.exit("TODO" in open(sys.argv[1]).read())
"""
RUN = """
spec = 1
[fanout]
prompt = "Is it done?"
[adapter.author]
kind = "command"
argv = ["python", "-c", "import json; print(json.dumps({'ok': True, 'text': 'TODO'}))"]
[[branch]]
name = "A"
adapter = "author"
[[claim]]
id = "a-ok"
branch = "A"
statement_pointer = "/ok"
[[check]]
id = "no-todo"
branch = "A"
artifact = "output"
claims = ["a-ok"]
command = ["python", "-c", "import sys; sys.exit('TODO' in open(sys.argv[1]).read())", "{artifact}"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checks.toml").write_text(FILE)
    (tmp_path / "look.py").write_text(LOOK)
    (tmp_path / "patch.txt").write_text("fixed")
    return tmp_path


def run_file(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    file, ledger = str(folder / "checks.toml"), str(folder / "l.db")
    return engine("check", file, "--ledger", ledger, *more, XDG_STATE_HOME=str(folder / "state"))


def by_flags(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    ledger = str(folder / "l.db")
    return engine("check", "--ledger", ledger, *flags, XDG_STATE_HOME=str(folder / "state"))


def command(code: str, *arguments: str) -> list[str]:
    return ["--command", "python", "-c", code, *arguments]


def test_a_file_of_checks_passes_with_0_and_says_what_it_was_bound_to(folder: Path) -> None:
    done = run_file(folder)
    assert done.returncode == 0, done.stderr
    header, row, adequacy = done.stdout.splitlines()
    assert header.split() == ["check", "verdict", "state", "artifact", "claims", "said"]
    assert row.split() == ["no-todo", "PASS", "BOUND", "BOUND", "done", "read", "it"]
    assert "adequacy not probed" in adequacy
    assert payloads(folder / "l.db", "check.completed")[0]["stdout"] == "read it\n"
    assert [one["claim_id"] for one in payloads(folder / "l.db", "claim.evidence")] == ["done"]


def test_a_check_that_fails_is_exit_code_1_and_can_be_run_again(folder: Path) -> None:
    (folder / "patch.txt").write_text("TODO")
    assert run_file(folder).returncode == 1
    (folder / "patch.txt").write_text("fixed")
    done = run_file(folder, "--json")
    assert done.returncode == 0
    (found,) = json.loads(done.stdout)["checks"]
    assert (found["check_id"], found["verdict"], found["invocations"]) == ("no-todo~2", "PASS", 1)
    first, second = payloads(folder / "l.db", "check.requested")
    assert first["target"] != second["target"]
    assert [one["claim_id"] for one in payloads(folder / "l.db", "claim.status")] == ["done"]
    assert [one["claim_id"] for one in payloads(folder / "l.db", "claim.evidence")] == ["done~2"]


@pytest.mark.parametrize(
    ("flags", "code", "verdict", "bound"),
    [
        (command("pass"), 0, "PASS", ("unbound", "unbound")),
        (command("import sys; sys.exit(5)"), 1, "FAIL", ("unbound", "unbound")),
        (
            ["--inconclusive", "5", *command("import sys; sys.exit(5)")],
            3,
            "INCONCLUSIVE",
            ("unbound", "unbound"),
        ),
        (
            ["--fail", "1", *command("import sys; sys.exit(5)")],
            3,
            "ERROR",
            ("unbound", "unbound"),
        ),
        (["--command"], 3, "ERROR", ("unbound", "unbound")),
        (
            ["--artifact", "a" * 64, *command("pass", "{artifact}")],
            3,
            "ERROR",
            ("unbound", "missing"),
        ),
        (["--file", "patch.txt", *command("pass", "{artifact}")], 0, "PASS", ("unbound", "bound")),
        (["--file", "patch.txt", *command("pass")], 3, "ERROR", ("unbound", "unconsumed")),
        (
            ["--state", "file:patch.txt", "--expect", "b" * 64, *command("pass")],
            3,
            "ERROR",
            ("mismatch", "unbound"),
        ),
        (["--state", "file:patch.txt", *command("pass")], 0, "PASS", ("bound", "unbound")),
        (
            ["--timeout", "0.2", *command("import time; time.sleep(600)")],
            3,
            "ERROR",
            ("unbound", "unbound"),
        ),
    ],
)
def test_one_check_by_flags(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    code: int,
    verdict: str,
    bound: tuple[str, str],
) -> None:
    monkeypatch.chdir(folder)
    done = by_flags(folder, "--json", *flags)
    assert done.returncode == code, done.stderr
    (found,) = json.loads(done.stdout)["checks"]
    assert found["verdict"] == verdict
    assert (found["binding_status"], found["artifact_binding_status"]) == bound


def test_flags_reach_the_record_as_they_are_written(folder: Path) -> None:
    flags = ["--id", "look", "--task", "t-9", "--claim", "good", "--statement", "It is good."]
    flags += ["--env", "LANG=C", "--env", "EMPTY=", "--env-from", "PATH"]
    assert by_flags(folder, *flags, *command("pass", "--id", "x")).returncode == 0
    (requested,) = payloads(folder / "l.db", "check.requested")
    assert (requested["check_id"], requested["task_id"]) == ("look", "t-9")
    assert requested["command"] == ["python", "-c", "pass", "--id", "x"]
    assert requested["environment"] == {"LANG": "C", "EMPTY": ""}
    assert list(requested["environment_from"]) == ["PATH"]
    assert os.environ["PATH"] not in json.dumps(requested)
    (claim,) = payloads(folder / "l.db", "claim.recorded")
    assert claim["statement"] == "It is good."


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ([], "needs a file of checks, or --command"),
        (["checks.toml", "--id", "x"], "--id: is for a check by flags"),
        (["checks.toml", "--command", "true"], "--command: is for a check by flags"),
        (["none.toml"], "there is no file"),
        (["--expect", "a" * 64, "--command", "true"], "--expect: needs --state"),
        (["--state", "file", "--command", "true"], "is KIND:PATH"),
        (["--state", "moon:x", "--command", "true"], "unknown kind 'moon'"),
        (["--state", "file:gone", "--command", "true"], "cannot be read at the start"),
        (["--artifact", "short", "--command", "true"], "no artifact 'short'"),
        (["--file", "gone", "--command", "true"], "there is no file"),
        (["--env", "LANG", "--command", "true"], "is NAME=VALUE"),
        (["--statement", "x", "--command", "true"], "needs exactly one --claim"),
        (["--timeout", "nan", "--command", "true"], "timeout_s"),
        (["--pass", "0", "--fail", "0", "--command", "true"], "in two ways"),
    ],
)
def test_bad_input_is_exit_code_2_and_makes_no_ledger(
    folder: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], word: str
) -> None:
    monkeypatch.chdir(folder)
    done = by_flags(folder, *flags)
    assert done.returncode == 2
    assert word in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
    assert not (folder / "l.db").exists()


def test_a_run_prints_its_checks_and_ends_with_their_code(tmp_path: Path) -> None:
    spec, ledger = tmp_path / "spec.toml", tmp_path / "l.db"
    spec.write_text(RUN)
    state = str(tmp_path / "state")
    done = engine("run", str(spec), "--ledger", str(ledger), XDG_STATE_HOME=state)
    assert done.returncode == 1
    assert "A: claim a-ok: recorded" in done.stderr
    assert "A: check no-todo: FAIL" in done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("no-todo"))
    assert row.split()[:5] == ["no-todo", "FAIL", "UNBOUND", "BOUND", "a-ok"]
    (claim,) = payloads(ledger, "claim.recorded")
    assert (claim["statement"], claim["source_call_id"] is not None) == ("true", True)
    spec.write_text(RUN.replace('command = ["python"', 'command = ["no-such-program"'))
    done = engine("run", str(spec), "--ledger", str(ledger), "--json", XDG_STATE_HOME=state)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert [branch["status"] for branch in result["branches"]] == ["succeeded"]
    assert [check["verdict"] for check in result["checks"]] == ["ERROR"]


def test_a_signal_ends_a_check_in_a_record(folder: Path) -> None:
    code = "import time; print('on', flush=True); open('started', 'w'); time.sleep(600)"
    arguments = ["check", "--ledger", str(folder / "l.db"), *command(code)]
    process = subprocess.Popen(
        [sys.executable, "-m", "codeai_engine.cli.main", *arguments],
        cwd=folder,
        env=os.environ | {"XDG_STATE_HOME": str(folder / "state")},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "started").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 143
    assert "Traceback" not in errors
    (completed,) = payloads(folder / "l.db", "check.completed")
    assert (completed["verdict"], completed["error"]) == ("ERROR", "cancelled: signal")
    assert payloads(folder / "l.db", "session.ended")[0]["reason"] == "interrupted"
