"""What importing loads, looked at in a process of its own: start-up is paid by every command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has after a statement."""
    program = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("codeai_engine", {"httpx2", "textual", "pydantic", "aiosqlite", "anyio", "rich"}),
        ("codeai_engine.queries", {"pydantic", "aiosqlite", "httpx2", "textual", "rich"}),
        ("codeai_engine.queries.views", {"pydantic", "aiosqlite", "httpx2", "textual", "rich"}),
        ("codeai_engine.ledger.reader", {"pydantic", "aiosqlite", "httpx2", "textual", "rich"}),
        ("codeai_engine.domain.view", {"pydantic", "aiosqlite", "httpx2", "textual", "rich"}),
        ("codeai_engine.rules.compile", {"httpx2", "textual", "aiosqlite", "anyio", "rich"}),
    ],
)
def test_a_module_loads_nothing_that_it_does_not_need(module: str, heavy: set[str]) -> None:
    assert loaded_by(f"import {module}") & heavy == set()


def test_what_is_looked_for_would_be_found() -> None:
    assert {"pydantic", "codeai_engine"} <= loaded_by("import codeai_engine.domain.value")
