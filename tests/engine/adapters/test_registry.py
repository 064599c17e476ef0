"""Kinds of adapter: ours, somebody else's by entry point, and a clear refusal of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from codeai_engine.adapters.base import Adapter
from codeai_engine.adapters.registry import adapter_kinds, make_adapter
from codeai_engine.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS: dict[str, dict[str, Any]] = {
    "command": {"argv": ["cat"]},
    "openai": {"base_url": "https://api.example.com/v1", "model": "model-1"},
    "local_model": {},
    "scripted": {"answer": "one"},
}
PLUGIN = """
from codeai_engine.adapters.scripted import ScriptedAdapter

def parrot(settings):
    return ScriptedAdapter(settings["say"])

def nothing(settings):
    return object()
"""
ENTRY_POINTS = """
[codeai_engine.adapters]
parrot = codeai_test_plugin:parrot
nothing = codeai_test_plugin:nothing
gone = codeai_no_such_module:make
openai = codeai_test_plugin:nothing
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution of somebody else's that names four kinds."""
    (tmp_path / "codeai_test_plugin.py").write_text(PLUGIN)
    metadata = tmp_path / "codeai_test_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: codeai-test-plugin\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("kind", SETTINGS)
def test_our_own_kinds_are_made_from_their_settings(kind: str) -> None:
    adapter = make_adapter(kind, {"kind": kind} | SETTINGS[kind])
    assert isinstance(adapter, Adapter)
    assert kind in adapter_kinds()


@pytest.mark.usefixtures("plugin")
def test_a_kind_of_an_installed_package_is_found_by_its_entry_point() -> None:
    adapter = make_adapter("parrot", {"kind": "parrot", "say": "hello"})
    assert adapter.provider == "scripted"


@pytest.mark.usefixtures("plugin")
def test_ours_win_over_a_namesake() -> None:
    adapter = make_adapter("openai", {"kind": "openai"} | SETTINGS["openai"])
    assert adapter.provider == "api.example.com"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [("nothing", "makes no adapter"), ("gone", "cannot be loaded: No module named")],
)
def test_an_entry_point_that_does_not_work_is_refused_by_name(kind: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason) as refused:
        make_adapter(kind, {"kind": kind})
    assert f"'{kind}'" in refused.value.reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("carrier-pigeon", "unknown kind 'carrier-pigeon'; allowed: "),
        ("anthropic", "'anthropic' is not in this release; allowed: "),
        ("gemini", "'gemini' is not in this release; allowed: "),
    ],
)
def test_a_kind_that_there_is_not_is_refused_with_what_is_allowed(kind: str, reason: str) -> None:
    with pytest.raises(SpecError) as refused:
        make_adapter(kind, {"kind": kind})
    assert refused.value.key == "kind"
    assert refused.value.reason.startswith(reason)
    for name in SETTINGS:
        assert name in refused.value.reason
