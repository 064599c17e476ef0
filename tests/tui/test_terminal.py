"""On a real terminal: nothing of a ledger drives it, and it is left as it was."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.tui.terminals import LEAVES_SCREEN, Terminal, raw_controls, run_piped

if TYPE_CHECKING:
    from pathlib import Path

COLOUR = re.compile(rb"\x1b\[(?:[0-9;:]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m")


def test_no_byte_of_a_hostile_ledger_drives_the_terminal(hostile_db: Path) -> None:
    with Terminal(["open", str(hostile_db)], size=(160, 48)) as terminal:
        terminal.wait_for("payloads not read")
        terminal.type("gf")
        terminal.wait_for("payload not read")  # its row, not the frame alone: Enter opens it
        terminal.type("\r")
        terminal.wait_for("Branches")
        terminal.wait_for("equal inputs")
        terminal.type("llll\x1b[F\r")
        terminal.wait_for("Esc closes")
        terminal.type("q/[/bad]\r")
        terminal.wait_for("hits in all branches")
        terminal.type("ge")
        terminal.wait_for("fanout.")
        terminal.type("\x1b[F\x1b[A")
        terminal.wait_for("nested too deeply")
        terminal.type("\x1b[A")
        terminal.wait_for("976.6 KiB")
        terminal.type("q")
        assert terminal.ends() == 0
        assert raw_controls(terminal.output) == b""
        assert b"]52;" not in terminal.output.replace(rb"\x1b]52;", b"")
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize(("keys", "code"), [("q", 0), ("\x03", 130)])
def test_q_and_ctrl_c_leave_a_clean_terminal(pilot_db: Path, keys: str, code: int) -> None:
    with Terminal(["open", str(pilot_db)]) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        terminal.type(keys)
        assert terminal.ends() == code
        assert terminal.is_as_before()
        assert terminal.output.rstrip().endswith(b"l") or LEAVES_SCREEN in terminal.output
        for mode in (b"1000", b"1003", b"2004", b"1049"):
            assert terminal.output.rfind(b"\x1b[?" + mode + b"l") > terminal.output.rfind(
                b"\x1b[?" + mode + b"h"
            )
        assert terminal.output.rfind(b"\x1b[?25h") > terminal.output.rfind(b"\x1b[?25l")
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_a_clean_terminal(pilot_db: Path, number: int, code: int) -> None:
    with Terminal(["open", str(pilot_db)]) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        terminal.signal(number)
        assert terminal.ends() == code
        assert terminal.is_as_before()
        assert LEAVES_SCREEN in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("controlling", [True, False], ids=["with a signal", "without a signal"])
def test_the_program_ends_when_its_terminal_goes_away(
    pilot_db: Path,
    controlling: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    with Terminal(["open", str(pilot_db)], controlling=controlling) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        assert terminal.hang_up() == 129


def test_without_colour_no_colour_is_written(pilot_db: Path) -> None:
    with Terminal(["open", str(pilot_db)], changes={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        terminal.type("gb")
        terminal.wait_for("equal inputs")
        terminal.type("q")
        assert terminal.ends() == 0
        assert COLOUR.findall(terminal.output) == []


def test_with_colour_colour_is_written(pilot_db: Path) -> None:
    with Terminal(["open", str(pilot_db)]) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        terminal.type("q")
        assert terminal.ends() == 0
        assert COLOUR.search(terminal.output)


def test_ascii_is_ascii_to_the_last_byte(pilot_db: Path) -> None:
    with Terminal(["open", f"{pilot_db}#fanout/fanout-1", "--ascii"], size=(160, 48)) as terminal:
        terminal.wait_for("equal inputs")
        terminal.type("?")
        terminal.wait_for("Esc closes")
        terminal.type("q:")
        terminal.wait_for("Branch left")
        terminal.type("\x03")
        assert terminal.ends() == 130
        assert terminal.output.isascii()


def test_without_a_mouse_none_is_asked_for(pilot_db: Path) -> None:
    with Terminal(["open", str(pilot_db), "--no-mouse"]) as terminal:
        terminal.wait_for("fan-outs of this ledger")
        terminal.type("q")
        assert terminal.ends() == 0
        assert b"\x1b[?1000h" not in terminal.output


def test_a_dumb_terminal_gets_text_without_an_escape(pilot_db: Path) -> None:
    with Terminal(["open", str(pilot_db)], changes={"TERM": "dumb"}) as terminal:
        assert terminal.ends() == 0
        assert b"\x1b" not in terminal.output
        assert b"Established by this record" in terminal.output


@pytest.mark.parametrize("changes", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_pipe_gets_text_without_an_escape(pilot_db: Path, changes: dict[str, str]) -> None:
    done = run_piped("open", str(pilot_db), **changes)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def test_a_crash_is_one_line_and_shows_nothing_of_the_ledger(pilot_db: Path) -> None:
    program = (
        "import sys; from codeai_tui import app, cli; secret = 'local-secret'\n"
        "def broken(self, event): secret_local = secret; raise RuntimeError('it broke')\n"
        "app.LedgerApp.action_next_theme = lambda self: broken(self, None)\n"
        "sys.exit(cli.main())"
    )
    for debug in ([], ["--debug"]):
        with Terminal(["open", str(pilot_db), *debug], program=program) as terminal:
            terminal.wait_for("fan-outs of this ledger")
            terminal.type("t")
            assert terminal.ends() == 1
            after = terminal.output.rsplit(LEAVES_SCREEN, 1)[1]
            assert b"codeai-tui: UNEXPECTED: RuntimeError: it broke" in after
            assert b"local-secret" not in after
            assert (b"Traceback" in after) is bool(debug)
            assert terminal.is_as_before()
