"""`codeai-engine run`: a fan-out from a spec, a line per step, and a table of what came of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from codeai_engine.cli.exits import DONE, FAILED, exit_of_verdicts, say, write
from codeai_engine.cli.result import print_result
from codeai_engine.cli.signals import StopCause, until_signal
from codeai_engine.engine import open_engine
from codeai_engine.spec import load_spec

if TYPE_CHECKING:
    from argparse import Namespace

    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.request import FanoutOutcome, FanoutRequest


def execute(options: Namespace) -> int:
    """Run the spec and return the exit code.

    0 when every branch succeeded and every check passed; 3 when a check ended in ERROR or
    INCONCLUSIVE; else 1.
    """
    request = load_spec(options.spec)
    ledger = Path(options.ledger)
    code, outcome = anyio.run(_run, request, ledger)
    if outcome is None:
        say(f"interrupted; what was recorded is in {ledger}")
        return code
    if options.json:
        write(json.dumps(_as_json(outcome, ledger)) + "\n", sys.stdout.write)
    else:
        print_result(ledger, outcome)
    return code


async def _run(request: FanoutRequest, ledger: Path) -> tuple[int, FanoutOutcome | None]:
    outcome: FanoutOutcome | None = None

    async def body(stop_cause: StopCause) -> int:
        nonlocal outcome
        async with open_engine(ledger, stop_cause=stop_cause) as engine:
            outcome = await engine.run_fanout(request, on_step=say_step)
        code = DONE if set(outcome.statuses) <= {"succeeded"} else FAILED
        return max(code, exit_of_verdicts(check.verdict for check in outcome.checks))

    return await until_signal(body), outcome


def say_step(branch: str, step: str) -> None:
    """Write one progress line."""
    say(f"{branch}: {step}")


def _as_json(outcome: FanoutOutcome, ledger: Path) -> dict[str, object]:
    return {
        "format": 1,
        "ledger": str(ledger),
        "fanout_id": outcome.fanout_id,
        "branches": [
            {
                "name": branch.name,
                "call_id": branch.call_id,
                "status": branch.status,
                "error": branch.error,
                "error_kind": branch.error_kind,
            }
            for branch in outcome.branches
        ],
        "checks": [check_as_json(check) for check in outcome.checks],
    }


def check_as_json(check: CheckOutcome) -> dict[str, object]:
    """Return how a check ended, in the words of the record."""
    return {
        "check_id": check.check_id,
        "verdict": check.verdict,
        "binding_status": check.binding.status,
        "artifact_binding_status": check.artifact_binding.status,
        "invocations": check.invocations,
        "exit_code": check.result.exit_code,
        "error": check.error,
        "inconclusive_reason": check.result.inconclusive_reason,
        "state_after": check.state_after,
    }
