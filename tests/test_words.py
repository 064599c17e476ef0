"""One word per concept: the style's word list, held against the public names of both packages.

Not every word of that list can be looked for, since some have another meaning that is right here:
`batch`, `check`, `chunk`, `error`, `fact`, `file`, `filter`, `offset`, `payload`, `prompt`,
`request`, `response`, `result`, `retry`, `run` and `url` are words of ours, of HTTP or of plain
English for something else; `bundle`, `proof` and `snapshot` will be. What a stored payload calls
its fields is the peer's, not ours to choose.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("codeai_engine", "codeai_tui")
USE_INSTEAD = {
    "ledger": ("log", "journal"),
    "stream": ("topic", "aggregate"),
    "actor or principal": ("agent", "user"),
    "fanout": ("job",),
    "branch or variant": ("arm",),
    "seal": ("mask",),
    "lineage": ("tag", "parents"),
    "candidate": ("document",),
    "manifest or settings": ("config", "configuration"),
    "verdict": ("validation", "validator", "score"),
    "verify or check": ("validate",),
    "artifact": ("blob",),
    "digest": ("hash", "checksum"),
    "sign-off": ("approval",),
    "view": ("dto",),
    "a name for what it owns": ("util", "helper", "common", "misc", "manager"),
    "the whole word": ("ctx", "cfg", "evt", "idx", "impl", "mgr", "msg", "req", "resp", "tmp"),
}
FORBIDDEN = {
    form: use for use, words in USE_INSTEAD.items() for word in words for form in (word, f"{word}s")
}
ALLOWED = {
    "model_config": "pydantic's",
    "prompt_hash": "the manifest's field, which the peer named",
    "target_state_hash": "a check's field, which the seed named",
    "environment_hash": "likewise",
    "observed_target_state_hash": "likewise",
}


def words_of(name: str) -> list[str]:
    """Split `a_name`, `AName` and `A_NAME`."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def public_names(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Yield what a module or class lets others name: definitions, constants and fields."""
    for part in node.body:
        match part:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
                if not name.startswith("_") and not is_stored_payload(part):
                    yield from public_names(part)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case _:
                pass


def is_stored_payload(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id.endswith("Payload") for base in node.bases)


def forbidden_words(name: str) -> list[str]:
    if name in ALLOWED or name.startswith("_"):
        return []
    return [f"{name}: say {FORBIDDEN[word]}" for word in words_of(name) if word in FORBIDDEN]


MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_public_name_says_the_word_of_its_concept(path: Path) -> None:
    names = [path.stem, path.parent.name, *public_names(ast.parse(path.read_text("utf-8")))]
    assert [problem for name in names for problem in forbidden_words(name)] == []


@pytest.mark.parametrize(
    "source",
    [
        "def read_blobs(): ...",
        "class AgentView: ...",
        "class View:\n    tags: str",
        "class View:\n    def check_hash(self): ...",
        "CONFIG = 1",
        "class HTTPLog: ...",
    ],
)
def test_a_forbidden_word_is_found_wherever_a_name_stands(source: str) -> None:
    assert [one for name in public_names(ast.parse(source)) for one in forbidden_words(name)]


@pytest.mark.parametrize(
    "source",
    [
        "def _read_blobs(): ...",
        "class Dialogue: ...",
        "class CallManifest(Payload):\n    prompt_hash: str\n    target_state_hash: str",
        "class View:\n    model_config = 1",
        "def urlsplit(): ...",
    ],
)
def test_a_word_that_only_looks_like_one_is_not_found(source: str) -> None:
    assert not [one for name in public_names(ast.parse(source)) for one in forbidden_words(name)]
