"""Sessions: which process wrote, and how it ended."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from codeai_engine.ambient import timestamp
from codeai_engine.digests import text_digest

_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROC_STAT = Path("/proc/stat")
_OWN_STAT = Path("/proc/self/stat")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """What tells this process from every other: what is unknown here is None.

    Args:
        machine_sha256: Digest of the machine's id, never the id itself.
        boot_id: Id of the machine's present boot.
        process_started_at: When the process started, by the kernel's own count.
    """

    machine_sha256: str | None
    boot_id: str | None
    pid: int
    process_started_at: str | None


def read_process_identity() -> ProcessIdentity:
    """Read the identity of this process from the operating system."""
    return ProcessIdentity(
        machine_sha256=_machine_sha256(),
        boot_id=_first_line(_BOOT_ID),
        pid=os.getpid(),
        process_started_at=_process_started_at(),
    )


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


def _machine_sha256() -> str:
    for path in _MACHINE_IDS:
        machine_id = _first_line(path)
        if machine_id is not None:
            return text_digest(machine_id)
    return text_digest(platform.node())


def _process_started_at() -> str | None:
    """Return boot time plus this process's start ticks: field 22 of /proc/self/stat (proc(5))."""
    try:
        # The second field is the command in parentheses and may itself hold spaces.
        ticks = int(_OWN_STAT.read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in _PROC_STAT.read_text().splitlines() if line[:6] == "btime ")
        seconds = int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return timestamp(datetime.fromtimestamp(seconds, UTC))
