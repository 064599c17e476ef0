"""The real program on a real pseudo-terminal: what it writes, byte for byte."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import sys; from codeai_tui.cli import main; sys.exit(main())"
_TAKE_TERMINAL = "import os; os.close(os.open(os.ttyname(0), os.O_RDWR))"
PATIENCE_S = 30.0
# What Textual itself writes: cursor, colour, mode and pointer sequences, and nothing else.
OWN_SEQUENCES = re.compile(rb"\x1b\[[0-9;:?<>=$]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\]22;[a-z-]*\x07")
LEAVES_SCREEN = b"\x1b[?1049l"


def environment(**changes: str) -> dict[str, str]:
    """The variables of an ordinary terminal, some changed; an empty value takes one away."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLORTERM", "PYTHONIOENCODING"}
    }
    clean |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"} | changes
    return {name: value for name, value in clean.items() if value}


def run_piped(*arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program without a terminal."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(**changes),
        check=False,
        timeout=PATIENCE_S * 2,
    )


@dataclass
class Terminal:
    """A program on a pseudo-terminal; a context that leaves nothing behind."""

    arguments: Sequence[str]
    size: tuple[int, int] = (80, 24)
    changes: Mapping[str, str] = field(default_factory=dict)
    program: str = PROGRAM
    controlling: bool = True
    output: bytes = b""

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        columns, rows = self.size
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self._theirs = theirs
        self._typed_at = 0
        taken = f"{_TAKE_TERMINAL}\n" if self.controlling else ""
        self._process = subprocess.Popen(
            # Opening it once more makes it the controlling terminal of the new session; only
            # that one sends a signal when it goes away.
            [sys.executable, "-c", taken + self.program, *self.arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(**self.changes),
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def wait_for(self, text: str) -> None:
        """Read until `text` was drawn since something was last typed; fails when nothing comes."""
        wanted = text.encode()
        deadline = time.monotonic() + PATIENCE_S
        while wanted not in self.output[self._typed_at :]:
            going_on = self._read() and time.monotonic() < deadline
            assert going_on, f"{text!r} was not drawn: {self.output[-2000:]!r}"

    def type(self, keys: str) -> None:
        """Type, as a keyboard would."""
        self._typed_at = len(self.output)
        os.write(self._ours, keys.encode())

    def signal(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def ends(self) -> int:
        """Read until the program ended and return its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._process.poll() is None:
            self._read(patience_s=0.1)
            assert time.monotonic() < deadline, f"it does not end: {self.output[-2000:]!r}"
        while self._read(patience_s=0.1):
            pass
        return self._process.returncode

    def hang_up(self) -> int:
        """Take the terminal away and return the exit code of the program."""
        os.close(self._ours)
        self._ours = os.open(os.devnull, os.O_RDONLY)
        return self._process.wait(timeout=PATIENCE_S)

    def is_as_before(self) -> bool:
        """Whether the terminal's own settings are those from before."""
        return termios.tcgetattr(self._theirs) == self.before

    def _read(self, patience_s: float = PATIENCE_S) -> bool:
        ready, _, _ = select.select([self._ours], [], [], patience_s)
        if not ready:
            return False
        chunk = os.read(self._ours, 65_536)
        self.output += chunk
        return bool(chunk)


def raw_controls(output: bytes) -> bytes:
    """Return what is left of an output's control bytes once the program's own are taken out."""
    rest = OWN_SEQUENCES.sub(b"", output)
    text = rest.decode("utf-8", "surrogateescape")
    return "".join(char for char in text if not char.isprintable() and char not in "\r\n").encode(
        "utf-8", "surrogatepass"
    )
