"""`codeai-engine check`: checks without a run, from a file of them or from flags."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from codeai_engine.cli.exits import exit_of_verdicts, say, write
from codeai_engine.cli.result import print_checks
from codeai_engine.cli.run import check_as_json
from codeai_engine.cli.signals import StopCause, until_signal
from codeai_engine.engine import open_engine
from codeai_engine.errors import SpecError
from codeai_engine.spec import load_checks, make_checks

if TYPE_CHECKING:
    from argparse import Namespace

    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.planned import ChecksRequest

SOURCE = "check"
SUBJECT = "subject"  # the name of the one base item that flags make
_FLAGS = (
    ("id", "id"),
    ("task", "task"),
    ("claim", "claim"),
    ("statement", "statement"),
    ("artifact", "artifact"),
    ("file", "file"),
    ("state", "state"),
    ("expect", "expect"),
    ("pass", "pass_codes"),
    ("fail", "fail_codes"),
    ("inconclusive", "inconclusive_codes"),
    ("timeout", "timeout"),
    ("env", "env"),
    ("env-from", "env_from"),
    ("command", "argv"),
)


def execute(options: Namespace) -> int:
    """Carry out the checks and return the exit code.

    0 when every check passed; 3 when one ended in ERROR or INCONCLUSIVE; else 1.

    Raises:
        SpecError: Neither a file nor a command is given, or both, or what is given does not fit.
    """
    request = _request(options)
    ledger = Path(options.ledger)
    code, outcomes = anyio.run(_run, request, ledger)
    if outcomes is None:
        say(f"interrupted; what was recorded is in {ledger}")
        return code
    if options.json:
        checks = [check_as_json(outcome) for outcome in outcomes]
        found = {"format": 1, "ledger": str(ledger), "checks": checks}
        write(json.dumps(found) + "\n", sys.stdout.write)
    else:
        print_checks(ledger, [outcome.check_id for outcome in outcomes])
    return code


async def _run(request: ChecksRequest, ledger: Path) -> tuple[int, tuple[CheckOutcome, ...] | None]:
    outcomes: tuple[CheckOutcome, ...] | None = None

    async def body(stop_cause: StopCause) -> int:
        nonlocal outcomes
        async with open_engine(ledger, stop_cause=stop_cause) as engine:
            outcomes = await engine.run_checks(
                request, on_step=lambda one, how: say(f"{one}: {how}")
            )
        return exit_of_verdicts(outcome.verdict for outcome in outcomes)

    return await until_signal(body), outcomes


def _request(options: Namespace) -> ChecksRequest:
    given = [flag for flag, name in _FLAGS if getattr(options, name)]
    if options.spec is not None:
        if given:
            raise SpecError(
                SOURCE, f"--{given[0]}", "is for a check by flags; the file has its own"
            )
        return load_checks(options.spec)
    if options.argv is None:
        raise SpecError(SOURCE, "", "needs a file of checks, or --command and what to run")
    tables: dict[str, Any] = {"spec": 1, "check": [_check_table(options)]}
    if options.task is not None:
        tables["task"] = {"id": options.task}
    if options.file is not None:
        tables["base"] = [{"name": SUBJECT, "file": options.file}]
    if options.statement is not None:
        if len(options.claim) != 1:
            raise SpecError(
                SOURCE, "--statement", "needs exactly one --claim, whose sentence it is"
            )
        tables["claim"] = [{"id": options.claim[0], "statement": options.statement}]
    return make_checks(tables, source=SOURCE, folder=Path())


def _check_table(options: Namespace) -> dict[str, Any]:
    """Return the `[[check]]` table that the flags stand for; what is not given is left out."""
    table = {
        "id": options.id or "check",
        "command": options.argv,
        "claims": options.claim,
        "artifact": SUBJECT if options.file is not None else options.artifact,
        "state": _state(options),
        "policy": _policy(options),
        "timeout_s": options.timeout,
        "environment": dict(_pair(text) for text in options.env),
        "environment_from": options.env_from,
    }
    return {key: value for key, value in table.items() if value is not None}


def _state(options: Namespace) -> dict[str, str] | None:
    if options.state is None:
        if options.expect is not None:
            raise SpecError(SOURCE, "--expect", "needs --state, whose digest it is")
        return None
    kind, colon, path = options.state.partition(":")
    if not colon or not path:
        raise SpecError(
            SOURCE, "--state", f"is KIND:PATH, such as file:a.md, not {options.state!r}"
        )
    return {"resolver": kind, "path": path} | (
        {"expect": options.expect} if options.expect is not None else {}
    )


def _policy(options: Namespace) -> dict[str, list[int]] | None:
    codes = {
        "pass": options.pass_codes,
        "fail": options.fail_codes,
        "inconclusive": options.inconclusive_codes,
    }
    return {name: given for name, given in codes.items() if given is not None} or None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SpecError(SOURCE, "--env", f"is NAME=VALUE, not {text!r}")
    return name, value
