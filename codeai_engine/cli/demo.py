"""`codeai-engine demo`: runs the demo's scene and says what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from codeai_engine.adapters.local_model import LocalModelAdapter, fetch_model
from codeai_engine.ambient import TimeOrderedIds
from codeai_engine.cli.exits import DONE, say, write
from codeai_engine.cli.result import print_result
from codeai_engine.cli.run import say_step
from codeai_engine.cli.signals import StopCause, until_signal
from codeai_engine.engine import open_engine
from codeai_engine.errors import AdapterError, SpecError
from codeai_engine.studies.demo import ledger_path, model_reviewer, run_scene, tool_reviewers

if TYPE_CHECKING:
    from argparse import Namespace

    from codeai_engine.runtime.request import FanoutOutcome
    from codeai_engine.studies.demo import Reviewer

HINT = "Install the reviewers: pip install 'codeai-tui[demo]'"


def execute(options: Namespace) -> int:
    """Run the scene into a new ledger in the folder; the path is the last line on stdout.

    Failed branches and checks are part of the scene: the exit code is 0 when it was played whole.

    Raises:
        SpecError: No reviewer is installed, or the folder cannot be written.
    """
    folder = Path(options.folder)
    reviewers, missing = tool_reviewers()
    if not reviewers:
        raise SpecError("demo", "", f"none of {', '.join(missing)} is installed", hint=HINT)
    for program in missing:
        say(f"{program} is not installed; going on without it. {HINT}")
    reviewers = [*_model(), *reviewers]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(str(folder), "", f"cannot be made: {error.strerror}") from error
    ledger = ledger_path(folder)
    code, outcomes = anyio.run(_run, ledger, reviewers)
    for outcome in outcomes:
        print_result(ledger, outcome)
    write(f"{ledger}\n", sys.stdout.write)
    return code


def _model() -> list[Reviewer]:
    """Return the local model as a reviewer; where it cannot be had, say so and go on."""
    try:
        path = fetch_model(_Progress(), say=say)
        return [model_reviewer(LocalModelAdapter(path))]
    except AdapterError as error:
        say(f"the local model is missing: {error.message}; going on without it")
        if error.hint:
            say(error.hint)
        return []


class _Progress:
    """Says every tenth of the way how far the model is."""

    def __init__(self) -> None:
        self._next_bytes = 0

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        if done_bytes >= self._next_bytes or done_bytes == total_bytes:
            say(f"local model: {done_bytes:,} of {total_bytes:,} bytes")
            self._next_bytes = done_bytes + total_bytes // 10


async def _run(ledger: Path, reviewers: list[Reviewer]) -> tuple[int, tuple[FanoutOutcome, ...]]:
    outcomes: tuple[FanoutOutcome, ...] = ()

    async def body(stop_cause: StopCause) -> int:
        nonlocal outcomes
        async with open_engine(ledger, stop_cause=stop_cause) as engine:
            outcomes = await run_scene(engine, reviewers, TimeOrderedIds(), say_step)
        return DONE

    return await until_signal(body), outcomes
