"""The style's stops, which ruff does not measure: lines of a module and of a function."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
MODULE_LINES = 500
FUNCTION_LINES = 70
MODULES = sorted(
    path
    for name in ("codeai_engine", "codeai_tui", "tests")
    for path in (ROOT / name).rglob("*.py")
)


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the lines of every function, its decorators and docstring included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            yield node.name, (node.end_lineno or node.lineno) - first + 1


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_and_its_functions_are_no_longer_than_the_stop(path: Path) -> None:
    source = path.read_text("utf-8")
    assert len(source.splitlines()) <= MODULE_LINES
    assert [found for found in functions(source) if found[1] > FUNCTION_LINES] == []


def test_a_function_is_measured_with_its_decorators_wherever_it_stands() -> None:
    source = (
        "class A:\n    @one\n    @two\n    async def b(self):\n        '''c'''\n\n        d()\n"
    )
    assert list(functions(source)) == [("b", 6)]
    assert MODULES
