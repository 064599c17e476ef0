"""The command: text for pipes, errors in one line, exit codes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from codeai_engine import __version__
from codeai_tui.cli import main, split_ledger
from tests.tui.ledgers import HOSTILE, peer_like_ledger
from tests.tui.terminals import PROGRAM, ROOT, environment, run_piped

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def test_without_a_terminal_the_whole_record_is_printed(
    pilot_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "\n".join(lines_of(capsys, "open", str(pilot_db)))
    for part in (
        "pilot.db  RO  176 events",
        "3 of 3 fan-outs",
        "answers independent or diverse: a record of inputs cannot show either",
        "Fan-out fanout-1  event 1",
        "Branch A careful  ✓ succeeded  fanout-1:call-careful",
        "excluded because seal forbids call lineage",
        "1 ○ ORPHAN, bytes sent",
        "answer of plain",
        "✗ refused",
        "Branch L r12",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ("overview", "Events by kind"),
        ("fanouts", "fanout-2"),
        ("fanout/fanout-2", "Branch A left"),
        ("events?filter=kind%3Afanout.*", "fanout.completed"),
        ("event/1", "base_prompt"),
    ],
)
def test_a_place_prints_that_place_alone(
    pilot_db: Path, capsys: pytest.CaptureFixture[str], place: str, part: str
) -> None:
    by_option = lines_of(capsys, "open", str(pilot_db), "--at", place)
    by_name = lines_of(capsys, "open", f"{pilot_db}#{place}")
    assert by_option == by_name
    assert any(part in entry for entry in by_name)
    assert not any("Branch A r1" in entry for entry in by_name)


def test_every_event_of_a_filter_is_printed_past_one_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = peer_like_ledger(tmp_path / "x.db", [("a.b", "s", "{}")] * 450)
    assert len(lines_of(capsys, "open", str(path), "--at", "events")) == 450


def test_a_hash_in_the_name_of_a_file_is_part_of_it(tmp_path: Path) -> None:
    odd = tmp_path / "a#b.db"
    odd.touch()
    assert split_ledger(str(odd)) == (str(odd), "")
    assert split_ledger(f"{odd}#fanouts") == (str(odd), "fanouts")
    assert split_ledger("plain.db") == ("plain.db", "")


def test_nothing_of_a_hostile_ledger_is_printed_raw(
    hostile_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("overview", "fanouts", "events", *(f"event/{at}" for at in range(1, 32))):
        for entry in lines_of(capsys, "open", str(hostile_db), "--at", place):
            assert entry.isprintable()
    whole = lines_of(capsys, "open", str(hostile_db))
    assert all(entry.isprintable() for entry in whole)
    assert any(HOSTILE["markup"] in entry for entry in whole)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["open", "{missing}"], "NOT_A_LEDGER", "missing.db"),
        (["open", "{text}"], "NOT_A_LEDGER", "text.db"),
        (["open", "{other}"], "NOT_A_LEDGER", "other.db"),
        (["open", "{newer}"], "UNSUPPORTED_VERSION", "newer.db"),
        (["open", "{folder}"], "NOT_A_LEDGER", ""),
        (["open", "{pilot}#nowhere"], "PLACE", "'nowhere' names no place"),
        (["open", "{pilot}", "--at", "fanout/none"], "LEDGER", "none"),
        (["open", "{pilot}", "--at", "fanout/fanout-"], "LEDGER", "fanout-"),
        (["open", "{pilot}", "--at", "event/999999"], "LEDGER", "999999"),
        (["open", "{pilot}", "--at", "events?filter=x"], "FILTER", "'x' is no filter"),
    ],
)
def test_bad_input_is_one_line_with_its_code_and_exit_2(
    pilot_db: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
    sentence: str,
) -> None:
    files = bad_files(tmp_path) | {"pilot": pilot_db, "folder": tmp_path}
    assert main([entry.format(**files) for entry in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    first = captured.err.splitlines()[0]
    assert first.startswith(f"codeai-tui: {code}: ")
    assert sentence in first
    assert "Traceback" not in captured.err


def test_debug_shows_the_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open", str(tmp_path / "missing.db"), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["open"], ["opn", "x"], ["open", "x", "--frobnicate"]])
def test_a_wrong_usage_is_said_like_every_other_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("codeai-tui: USAGE: ")
    assert "--help" in error


def test_a_hostile_file_name_is_said_without_its_escapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", str(tmp_path / "a\x1b[31m.db")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, part in ((["--version"], __version__), (["open", "--help"], "fanout/ID")):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert part in capsys.readouterr().out


def test_a_console_that_is_not_unicode_gets_replacements_and_the_ledger_is_untouched(
    pilot_db: Path, hostile_db: Path
) -> None:
    for path in (pilot_db, hostile_db):
        before = path.read_bytes()
        for changes in (
            {"PYTHONIOENCODING": "ascii"},
            {"LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        ):
            done = run_piped("open", str(path), **changes)
            assert done.returncode == 0, done.stderr
            assert done.stdout.isascii()
            assert done.stderr == b""
        assert path.read_bytes() == before


def test_a_closed_pipe_is_no_traceback(pilot_db: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "open", str(pilot_db)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_help_and_version_load_neither_the_screen_nor_what_checks_payloads() -> None:
    probe = (
        "import sys; from codeai_tui.cli import main\n"
        "try: main([sys.argv[1]])\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    for option in ("--help", "--version"):
        loaded = loaded_by(probe, option)
        assert not loaded & {"textual", "rich", "pydantic", "asyncio", "aiosqlite", "httpx2"}


def test_the_counts_are_painted_before_what_checks_payloads_is_loaded(pilot_db: Path) -> None:
    probe = (
        "import asyncio, sys\n"
        "from codeai_tui.app import LedgerApp\n"
        "from codeai_tui.gateway import Gateway\n"
        "from codeai_tui.places import parse_place\n"
        "from codeai_tui.screens.overview import OverviewScreen\n"
        "at_first_paint = []\n"
        "seen = OverviewScreen._glanced\n"
        "gateway = Gateway(sys.argv[1])\n"
        "app = LedgerApp(gateway, parse_place('overview'))\n"
        "async def overview():\n"
        "    at_first_paint.extend({name.partition('.')[0] for name in sys.modules})\n"
        "    return await type(gateway).overview(gateway)\n"
        "gateway.overview = overview\n"
        "async def drive():\n"
        "    async with app.run_test() as pilot:\n"
        "        while not at_first_paint: await pilot.pause()\n"
        "        assert app.screen.query_one('#kinds').rows is not None\n"
        "        await app.workers.wait_for_complete()\n"
        "asyncio.run(drive()); gateway.close()\n"
        "print(sorted(at_first_paint), file=sys.stderr)"
    )
    loaded = loaded_by(probe, str(pilot_db))
    assert "textual" in loaded
    assert not loaded & {"pydantic", "aiosqlite", "httpx2"}


def loaded_by(probe: str, argument: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", probe, argument],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    names: set[str] = set(eval(done.stderr.splitlines()[-1]))  # noqa: S307 - our own list
    return names


def bad_files(folder: Path) -> dict[str, Path]:
    text, other, newer = folder / "text.db", folder / "other.db", folder / "newer.db"
    text.write_text("not a database, and long enough to be looked at\n" * 30)
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE unrelated (x)")
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("PRAGMA application_id = 0x434F4149")
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE events (sequence INTEGER PRIMARY KEY)")
    return {"missing": folder / "missing.db", "text": text, "other": other, "newer": newer}
