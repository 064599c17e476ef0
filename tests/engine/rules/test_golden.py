"""One branch of a fixed fan-out, to the byte: changing a golden file changes the format.

The files were made from the written rules by a program that shares no code with ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeai_engine.domain.context import Actor, Candidate, Seal
from codeai_engine.rules.bind import compose_model_input, prompt_hash
from codeai_engine.rules.compile import CompileRequest, compile_package, sibling_seal
from codeai_engine.rules.render import render_context, size_tokens

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "golden"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / "branch.json").read_text("ascii"))
    return found


@pytest.fixture(scope="module")
def request_of_branch(golden: dict[str, Any]) -> CompileRequest:
    given = golden["given"]
    base = Seal(**{name: frozenset(ids) for name, ids in given["base_seal"].items()})
    return CompileRequest(
        task_id=given["task_id"],
        actor=Actor(**given["actor"]),
        prompt=given["prompt"],
        prompt_version=given["prompt_version"],
        objective=given["objective"],
        budget_tokens=given["budget_tokens"],
        seal=sibling_seal(base, frozenset(given["calls"]), given["own_call"]),
        candidates=tuple(
            Candidate(
                kind=one["kind"],
                candidate_id=one["id"],
                lineage=frozenset(one["lineage"]),
                required=one["required"],
                size_tokens=size_tokens(one["kind"], one["id"], len(one["content"].encode())),
            )
            for one in given["candidates"]
        ),
    )


def test_the_package_and_its_trace_are_as_they_were(
    golden: dict[str, Any], request_of_branch: CompileRequest
) -> None:
    compilation = compile_package(request_of_branch)
    expected = golden["expected"]
    assert [one.size_tokens for one in request_of_branch.candidates] == expected["sizes"]
    assert request_of_branch.seal.to_payload() == expected["seal"]
    assert [entry.to_payload() for entry in compilation.trace] == expected["trace"]
    assert compilation.package.package_id == expected["package_id"]
    assert compilation.trace_id == expected["trace_id"]


def test_the_rendered_bytes_and_the_composed_input_are_as_they_were(
    golden: dict[str, Any], request_of_branch: CompileRequest
) -> None:
    given, expected = golden["given"], golden["expected"]
    contents = {(one["kind"], one["id"]): one["content"].encode() for one in given["candidates"]}
    rendered = render_context(compile_package(request_of_branch).package.items(), contents)
    assert rendered.content == (GOLDEN / "branch.rendered").read_bytes()
    assert rendered.sha256 == expected["rendered_context_sha256"]
    assert [item.to_payload() for item in rendered.items] == expected["rendered_items"]
    composed = compose_model_input(given["instruction"], rendered, given["prompt"])
    assert composed.text.encode() == (GOLDEN / "branch.input").read_bytes()
    assert composed.sha256 == expected["model_input_sha256"]
    assert [part.to_payload() for part in composed.layout] == expected["input_layout"]
    assert prompt_hash(given["instruction"], given["prompt"]) == expected["prompt_hash"]
