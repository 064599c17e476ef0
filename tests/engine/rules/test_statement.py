"""What a branch says at a place in its output is taken as it is, or not at all."""

from __future__ import annotations

import pytest

from codeai_engine.rules.statement import STATEMENT_CHARACTERS, NoStatement, read_statement


@pytest.mark.parametrize(
    ("output", "pointer", "statement"),
    [
        ('{"note": "  All tests pass.\\n"}', "/note", "  All tests pass.\n"),
        ('{"ok": true}', "/ok", "true"),
        ('{"ok": false}', "/ok", "false"),
        ('{"errors": []}', "/errors", "[]"),
        ('{"a/b": {"~": 7}}', "/a~1b/~0", "7"),
        ('["first", "second"]', "/1", "second"),
        ('"whole"', "", "whole"),
        ('{"note": "\\ud800"}', "/note", "\\ud800"),
    ],
)
def test_a_statement_is_what_stands_there(output: str, pointer: str, statement: str) -> None:
    assert read_statement(output, pointer) == statement


@pytest.mark.parametrize(
    ("output", "pointer", "reason"),
    [
        (None, "/ok", "output_missing"),
        ("", "/ok", "output_not_json"),
        ("All tests pass.", "/ok", "output_not_json"),
        ('```json\n{"ok": true}\n```', "/ok", "output_not_json"),
        ('{"ok": NaN}', "/ok", "output_not_json"),
        ('{"ok": true, "ok": false}', "/ok", "output_not_json"),
        ("[" * 100_000, "/ok", "output_not_json"),
        ('{"ok": true}', "/done", "nothing_at_pointer"),
        ('{"ok": null}', "/ok", "nothing_at_pointer"),
        ('{"ok": ""}', "/ok", "nothing_at_pointer"),
        ("[1]", "/1", "nothing_at_pointer"),
        (f'"{"x" * (STATEMENT_CHARACTERS + 1)}"', "", "statement_too_long"),
    ],
)
def test_what_is_not_said_is_not_made_up(output: str | None, pointer: str, reason: str) -> None:
    found = read_statement(output, pointer)
    assert isinstance(found, NoStatement)
    assert found.reason == reason
    assert found.problem
