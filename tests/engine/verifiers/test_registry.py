"""Resolvers of ours by name, somebody else's by entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from codeai_engine.digests import sha256_hex
from codeai_engine.errors import SpecError
from codeai_engine.verifiers.base import StateResolver, Verifier
from codeai_engine.verifiers.registry import (
    make_resolver,
    make_verifier,
    resolver_kinds,
    verifier_kinds,
)

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
class Fixed:
    name, version = "fixed", "1"
    def __init__(self, settings):
        self.settings = settings
    async def read(self):
        return "0" * 64
    async def verify(self, request):
        raise NotImplementedError
"""
ENTRY_POINTS = """
[codeai_engine.resolvers]
fixed = codeai_test_checks:Fixed
odd = builtins:dict
[codeai_engine.verifiers]
fixed = codeai_test_checks:Fixed
odd = builtins:dict
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "codeai_test_checks.py").write_text(PLUGIN)
    metadata = tmp_path / "codeai_test_checks-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: codeai-test-checks\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


async def test_a_file_and_a_folder_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    resolver = make_resolver("file", {"path": str(tmp_path / "file")})
    assert await resolver.read() == sha256_hex(b"bytes")
    assert len(await make_resolver("folder", {"path": str(tmp_path)}).read()) == 64
    with pytest.raises(ValidationError):
        make_resolver("file", {"folder": "."})


@pytest.mark.usefixtures("plugin")
def test_kinds_of_an_installed_package_are_found_by_entry_point() -> None:
    assert isinstance(make_resolver("fixed", {}), StateResolver)
    assert isinstance(make_verifier("fixed", {}), Verifier)
    assert {"file", "folder", "fixed"} <= resolver_kinds().keys()
    assert "fixed" in verifier_kinds()


@pytest.mark.usefixtures("plugin")
def test_what_makes_something_else_is_refused() -> None:
    with pytest.raises(SpecError, match="'odd' makes no resolver"):
        make_resolver("odd", {})
    with pytest.raises(SpecError, match="'odd' makes no verifier"):
        make_verifier("odd", {})


def test_a_kind_that_there_is_not_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(SpecError, match="unknown kind 'svn'; allowed: "):
        make_resolver("svn", {})
