"""The table of a fan-out stays a table, however many branches had the same input."""

from __future__ import annotations

from codeai_engine.cli.result import _input
from codeai_engine.domain.view import BranchView


def test_of_many_branches_with_the_same_input_two_are_named() -> None:
    names = {f"call-{number}": f"branch-{number}" for number in range(500)}
    same = tuple(f"call-{number}" for number in range(1, 500))
    branch = BranchView("call-0", 0, request_sha256="ab" * 32, same_request_as=same)
    assert _input(branch, names) == "abababab identical to branch-1, branch-2 and 497 more"


def test_an_input_of_its_own_is_its_digest_and_none_is_said() -> None:
    assert _input(BranchView("c", 0, request_sha256="cd" * 32), {}) == "cdcdcdcd"
    assert _input(BranchView("c", 0), {}) == "nothing was sent"
