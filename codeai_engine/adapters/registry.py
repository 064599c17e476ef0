"""Which kinds of adapter there are: ours, and those that installed packages name."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from codeai_engine.adapters.base import Adapter
from codeai_engine.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENTRY_POINTS = "codeai_engine.adapters"
# Ours stand here too, so that a source tree which is not installed finds them; ours win.
BUILT_IN = ("command", "openai", "local_model", "scripted")
LATER = ("anthropic", "gemini")


def adapter_kinds() -> Mapping[str, Callable[[Mapping[str, Any]], Adapter]]:
    """Return what makes an adapter of each kind from its settings; nothing is loaded yet."""
    found = {point.name: partial(_make, point) for point in entry_points(group=ENTRY_POINTS)}
    return found | {kind: partial(_make_built_in, kind) for kind in BUILT_IN}


def make_adapter(kind: str, settings: Mapping[str, Any]) -> Adapter:
    """Return an adapter of a kind.

    Args:
        kind: A name of `adapter_kinds`.
        settings: The adapter's table of a spec, `kind` included.

    Raises:
        SpecError: There is no such kind, or what makes it cannot be loaded; says what is allowed.
        pydantic.ValidationError: The settings do not fit the kind.
    """
    kinds = adapter_kinds()
    if kind not in kinds:
        allowed = ", ".join(sorted(kinds))
        what = f"'{kind}' is not in this release" if kind in LATER else f"unknown kind '{kind}'"
        raise SpecError("adapter", "kind", f"{what}; allowed: {allowed}")
    return kinds[kind](settings)


def _make_built_in(kind: str, settings: Mapping[str, Any]) -> Adapter:
    make = import_module(f"codeai_engine.adapters.{kind}").from_settings
    adapter: Adapter = make(settings)
    return adapter


def _make(point: EntryPoint, settings: Mapping[str, Any]) -> Adapter:
    """Make an adapter of somebody else's.

    Raises:
        SpecError: Its entry point cannot be loaded, or makes no adapter.
    """
    try:
        make = point.load()
    except (ImportError, AttributeError) as error:
        reason = f"'{point.name}' is named by {point.value}, which cannot be loaded: {error}"
        raise SpecError("adapter", "kind", reason) from error
    adapter = make(settings)
    if not isinstance(adapter, Adapter):
        reason = f"what {point.value} returns is no adapter: see codeai_engine.adapters.base"
        raise SpecError("adapter", "kind", reason)
    return adapter
