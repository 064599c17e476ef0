"""The command `codeai-tui`: arguments, terminal or not, exit code.

One function a command. What is heavy is imported by the command that needs it, so that `--help`
and `--version` cost next to nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from codeai_engine import CodeAIError, __version__
from codeai_tui.display import ascii_glyphs, safe
from codeai_tui.places import OVERVIEW, PATHS, Place, parse_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codeai_engine import FanoutSummary, LedgerReader
    from codeai_tui.present.line import Line

PROGRAM = "codeai-tui"
USAGE_EXIT = 2
UNEXPECTED_EXIT = 1
INTERRUPTED_EXIT = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except CodeAIError as error:
        _say_error(error.code, error.message, error.hint)
        _trace(arguments)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read has read enough. The interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
    except Exception as error:  # noqa: BLE001 - the edge of the process
        _say_error("UNEXPECTED", f"{type(error).__name__}: {error}", _debug_hint(arguments))
        _trace(arguments)
        return UNEXPECTED_EXIT


def build_parser() -> _Parser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog=PROGRAM,
        description="Read what a ledger of sealed fan-outs establishes, and what it does not.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_open(commands)
    _add_demo(commands)
    return parser


def _add_open(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "open",
        help="open a ledger, never changing it; without a terminal print the same facts as text",
        description="Open a ledger to read it. Nothing in the ledger or its folder is changed.",
    )
    command.add_argument("ledger", metavar="LEDGER[#PLACE]", help="the file, and a place in it")
    command.add_argument("--at", metavar="PLACE", help=f"where to begin: {PATHS}")
    command.add_argument("--snapshot", action="store_true", help="read a private copy")
    command.add_argument(
        "--artifacts",
        metavar="DIR",
        type=Path,
        help="where the ledger's artifact files are, when they are not beside it",
    )
    command.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    command.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command.set_defaults(run=run_open)


def _add_demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "demo",
        help="run three real reviewers on one paragraph, and open what was recorded",
        description="Run the demo in a process of its own and open its ledger; without a terminal "
        "print the same facts as text, and the ledger's path last.",
    )
    command.add_argument(
        "folder", metavar="DIR", nargs="?", default="codeai-demo", help="where the ledger goes"
    )
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Have the engine play the demo's scene, then open its ledger."""
    import subprocess

    engine = [sys.executable, "-m", "codeai_engine.cli.main", "demo", arguments.folder]
    done = subprocess.run(engine, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own
    if done.returncode != 0:
        return done.returncode
    ledger = done.stdout.decode(errors="surrogateescape").splitlines()[-1]
    code = main(["open", ledger])
    if not _has_terminal():
        print(ledger)
    return code


def run_open(arguments: argparse.Namespace) -> int:
    """Open a ledger on the screen, or print it where there is no terminal."""
    path, named = split_ledger(arguments.ledger)
    text = arguments.at if arguments.at is not None else named
    place = parse_place(text) if text else None
    ascii_only = arguments.ascii or not _speaks_unicode()
    if _has_terminal():
        return _show(arguments, path, place or OVERVIEW, ascii_only=ascii_only)
    from codeai_tui.gateway import open_reading

    with open_reading(path, snapshot=arguments.snapshot, artifacts=arguments.artifacts) as ledger:
        print_lines(_report(ledger, place), ascii_only=ascii_only)
    return 0


def split_ledger(text: str) -> tuple[str, str]:
    """Return the file and the place that `LEDGER[#PLACE]` names; a `#` may be part of a name."""
    if "#" not in text or Path(text).exists():
        return text, ""
    path, _, place = text.rpartition("#")
    return path, place


def print_lines(lines: Iterable[Line], *, ascii_only: bool) -> None:
    """Print lines as text; what the console cannot encode is replaced, never an error."""
    from codeai_tui.present.line import plain

    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    for content in lines:
        text = plain(content).rstrip()
        print(ascii_glyphs(text) if ascii_only else text)
    sys.stdout.flush()


def _show(arguments: argparse.Namespace, path: str, place: Place, *, ascii_only: bool) -> int:
    import gc

    from codeai_tui.gateway import Gateway

    gateway = Gateway(path, snapshot=arguments.snapshot, artifacts=arguments.artifacts)
    try:
        gateway.refuse_unless_there(place)
        gc.disable()  # until something is shown: importing makes much and frees nothing
        from codeai_tui.app import LedgerApp

        app = LedgerApp(gateway, place, ascii_only=ascii_only)
        app.run(mouse=not arguments.no_mouse)
    finally:
        gc.enable()
        gateway.close()
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0


def _report(ledger: LedgerReader, place: Place | None) -> Iterator[Line]:
    """Yield a ledger as text: the place that was named, or or the ledger whole."""
    if place is not None:
        yield from _place_text(ledger, place)
        return
    from codeai_tui.present.line import BLANK

    yield from _place_text(ledger, OVERVIEW)
    yield BLANK
    yield from _fanouts_text(ledger)
    for summary in _summaries(ledger):
        yield BLANK
        yield from _place_text(ledger, Place("fanout", summary.fanout_id))
    for kept in (Place("claims"), Place("checks")):
        yield BLANK
        yield from _place_text(ledger, kept)


def _place_text(ledger: LedgerReader, place: Place) -> Iterable[Line]:
    from codeai_engine import read_event, read_fanout, read_overview
    from codeai_tui.present.branches import fanout_text
    from codeai_tui.present.events import event_lines
    from codeai_tui.present.overview import overview_text

    match place.kind:
        case "overview":
            return overview_text(read_overview(ledger))
        case "fanouts":
            return _fanouts_text(ledger)
        case "fanout":
            return fanout_text(read_fanout(ledger, place.id))
        case "events":
            return _events_text(ledger, place)
        case "event":
            return event_lines(read_event(ledger, int(place.id)))
        case "checks" | "check" | "claims" | "claim":
            return _subject_text(ledger, place)


def _subject_text(ledger: LedgerReader, place: Place) -> Iterable[Line]:
    """Return checks or claims as text: all of them, or the one that was named."""
    from codeai_engine import read_check, read_checks, read_claim, read_claims
    from codeai_tui.present import checks, claims

    match place.kind:
        case "check":
            return checks.check_text(read_check(ledger, place.id))
        case "claims":
            return claims.claims_text(read_claims(ledger))
        case "claim":
            return claims.claim_text_of(*read_claim(ledger, place.id))
        case _:
            return checks.checks_text(read_checks(ledger))


def _fanouts_text(ledger: LedgerReader) -> Iterator[Line]:
    from codeai_tui.present.fanouts import COLUMNS, EMPTY, fanout_rows
    from codeai_tui.present.table import text_table

    rows = fanout_rows(tuple(_summaries(ledger)))
    yield from text_table(COLUMNS, rows) if rows else EMPTY[:1]


def _summaries(ledger: LedgerReader) -> Iterator[FanoutSummary]:
    from codeai_engine import read_fanouts

    before: int | None = None
    while True:
        page = read_fanouts(ledger, before=before)
        yield from page.items
        if page.next_cursor is None:
            return
        before = page.next_cursor


def _events_text(ledger: LedgerReader, place: Place) -> Iterator[Line]:
    from codeai_engine import read_events
    from codeai_tui.present.events import COLUMNS, event_rows, parse_filter
    from codeai_tui.present.table import lay_out, row_line

    chosen = parse_filter(place.key("filter"))
    layout = lay_out(COLUMNS, 160)
    after: int | None = 0
    while after is not None:
        page = read_events(ledger, after=after, kind=chosen.kind, stream_id=chosen.stream)
        for row in event_rows(page.items):
            yield row_line(COLUMNS, row, layout, colour=False)
        after = page.next_cursor


def _has_terminal() -> bool:
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and sys.stdin.isatty() and not dumb


def _speaks_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().startswith("utf")


def _say_error(code: str, sentence: str, hint: str) -> None:
    print(f"{PROGRAM}: {safe(code)}: {safe(sentence)}", file=sys.stderr)
    if hint:
        print(f"  {safe(hint)}", file=sys.stderr)


def _trace(arguments: argparse.Namespace) -> None:
    if getattr(arguments, "debug", False):
        traceback.print_exc()


def _debug_hint(arguments: argparse.Namespace) -> str:
    return "" if getattr(arguments, "debug", False) else "--debug shows the traceback"


class _Parser(argparse.ArgumentParser):
    """Says a wrong usage as every other error is said."""

    # The backport of `override` costs 18 ms at every start.
    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        _say_error("USAGE", message, f"{self.prog} --help shows what is allowed")
        raise SystemExit(USAGE_EXIT)
