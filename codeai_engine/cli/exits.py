"""Standard error and exit codes: the one place where an error becomes a line for a person.

0 done and all well; 1 a branch or check failed; 2 usage or bad input; 3 ERROR or INCONCLUSIVE where
a verdict was needed; 4 integrity; 130 interrupted, 143 ended by SIGTERM (DESIGN 12).
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from codeai_engine.errors import CodeAIError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DONE = 0
FAILED = 1
BAD_INPUT = 2
UNDECIDED = 3
INTERRUPTED = 130
TERMINATED = 143


def exit_of_verdicts(verdicts: Iterable[str]) -> int:
    """Return 3 where a check has no verdict on its subject, else 1 where one failed, else 0."""
    found = set(verdicts)
    if found & {"ERROR", "INCONCLUSIVE"}:
        return UNDECIDED
    return FAILED if "FAIL" in found else DONE


def visible(text: str) -> str:
    """Return text that is safe on a terminal: what cannot be printed becomes a visible escape.

    Names and messages come from specs and providers, so they are hostile until they pass here.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def say(line: str) -> None:
    """Write one line to standard error, replacing what its encoding cannot write.

    Nobody may be reading it, or it may be closed: that changes nothing of what is being done.
    """
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):  # ValueError: it was closed
        write(f"{visible(line)}\n", sys.stderr.write)
        sys.stderr.flush()


def write(text: str, put: Callable[[str], object]) -> None:
    """Write text through `put`; on a console that is not UTF-8 characters are replaced."""
    try:
        put(text)
    except UnicodeEncodeError:
        put(text.encode("ascii", "backslashreplace").decode("ascii"))


def report(error: CodeAIError, *, program: str, as_json: bool) -> int:
    """Report an error and return its exit code."""
    if as_json:
        fields = {"code": error.code, "message": error.message, "hint": error.hint or None}
        write(json.dumps({"error": fields}) + "\n", sys.stdout.write)
    say(f"{program}: {error.code}: {error.message}")
    if error.hint:
        say(error.hint)
    return error.exit_code


def guarded(
    command: Callable[[], int], *, program: str, debug: bool = False, as_json: bool = False
) -> int:
    """Run a command and return its exit code; a person never sees a traceback unasked.

    Args:
        command: Returns an exit code, or raises.
        program: The name that messages begin with.
        debug: Let tracebacks through.
        as_json: Also report an error as one JSON object on standard output.
    """
    if debug:
        return command()
    try:
        return command()
    except CodeAIError as error:
        return report(error, program=program, as_json=as_json)
    except KeyboardInterrupt:
        say(f"{program}: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return DONE
    except Exception as error:  # noqa: BLE001 - the edge of the process
        say(f"{program}: INTERNAL: {type(error).__name__}: {error}")
        say("This is a defect of the program; --debug shows where. The ledger keeps what it has.")
        return FAILED
