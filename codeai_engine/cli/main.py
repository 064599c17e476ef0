"""`codeai-engine`: reads the arguments, hands over to the module of the command.

Each command's module is imported only when that command is asked for, so that `--help` and
`--version` stay quick.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import codeai_engine
from codeai_engine.cli.exits import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "codeai-engine"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each names its module in `module`."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Runs sealed fan-outs and writes every step to an append-only ledger.",
    )
    parser.add_argument("--version", action="version", version=codeai_engine.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the fan-out that a spec describes")
    run.add_argument("spec", metavar="SPEC.toml", help="the spec; `init` writes one with comments")
    run.add_argument("--ledger", required=True, metavar="L", help="the ledger; made if absent")
    run.add_argument("--json", action="store_true", help="print the result as one JSON object")
    run.set_defaults(module="run")

    check = commands.add_parser("check", help="run checks: a file of them, or one by its flags")
    _add_check_flags(check)
    check.set_defaults(module="check")

    init = commands.add_parser("init", help="write a commented example that runs")
    init.add_argument("folder", metavar="DIR", help="where to; made if absent")
    init.set_defaults(module="init")

    demo = commands.add_parser("demo", help="run the scene of three reviewers and one paragraph")
    demo.add_argument("folder", metavar="DIR", help="where the ledger and the texts go")
    demo.set_defaults(module="demo")

    for command in (run, check, init, demo):
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _add_check_flags(check: argparse.ArgumentParser) -> None:
    """Add what one check can be asked by; each flag is a key of a `[[check]]` table."""
    flag = check.add_argument
    flag("spec", nargs="?", metavar="SPEC.toml", help="a file with [[check]] tables")
    flag("--ledger", required=True, metavar="L", help="the ledger; made if absent")
    flag("--json", action="store_true", help="print the result as one JSON object")
    flag("--id", metavar="ID", help="the check's id; made if absent")
    flag("--task", metavar="ID", help="the task that it is about; made if absent")
    flag("--claim", action="append", default=[], metavar="ID", help="a claim it is about; repeat")
    flag("--statement", metavar="TEXT", help="record this sentence as the claim first")
    subject = check.add_mutually_exclusive_group()
    subject.add_argument("--artifact", metavar="HEX", help="an artifact of the ledger, by digest")
    subject.add_argument("--file", metavar="F", help="a file, stored as an artifact")
    flag("--state", metavar="KIND:PATH", help="file, folder or git, and where it is")
    flag("--expect", metavar="HEX", help="the digest the state must have; else that at the start")
    for name in ("pass", "fail", "inconclusive"):
        text = f"an exit code that is {name.upper()}; repeat"
        flag(f"--{name}", action="append", type=int, metavar="N", dest=f"{name}_codes", help=text)
    flag("--timeout", type=float, metavar="S", help="its deadline in seconds")
    flag("--env", action="append", default=[], metavar="NAME=VALUE", help="recorded as written")
    flag("--env-from", action="append", default=[], metavar="NAME", help="recorded by name only")
    flag(
        "--command",
        nargs=argparse.REMAINDER,
        dest="argv",
        metavar="ARG",
        help="last: program and arguments; {artifact} is the path of the bytes",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process (DESIGN 12)."""
    options = build_parser().parse_args(arguments)
    return guarded(
        lambda: int(import_module(f"codeai_engine.cli.{options.module}").execute(options)),
        program=PROGRAM,
        debug=options.debug,
        as_json=getattr(options, "json", False),
    )


if __name__ == "__main__":
    sys.exit(main())
