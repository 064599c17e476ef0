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

    init = commands.add_parser("init", help="write a commented example that runs")
    init.add_argument("folder", metavar="DIR", help="where to; made if absent")
    init.set_defaults(module="init")

    demo = commands.add_parser("demo", help="run the scene of three reviewers and one paragraph")
    demo.add_argument("folder", metavar="DIR", help="where the ledger and the texts go")
    demo.set_defaults(module="demo")

    for command in (run, init, demo):
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


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
