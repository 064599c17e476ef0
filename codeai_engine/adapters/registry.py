"""Which kinds of adapter there are: ours, and those that installed packages name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.adapters.base import Adapter
from codeai_engine.errors import SpecError
from codeai_engine.plugins import factories, make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENTRY_POINTS = "codeai_engine.adapters"
BUILT_IN = {
    kind: f"codeai_engine.adapters.{kind}:from_settings"
    for kind in ("command", "openai", "local_model", "scripted")
}
LATER = ("anthropic", "gemini")


def adapter_kinds() -> Mapping[str, Callable[[Mapping[str, Any]], object]]:
    """Return what makes an adapter of each kind from its settings; nothing is loaded yet."""
    return factories(ENTRY_POINTS, BUILT_IN)


def make_adapter(kind: str, settings: Mapping[str, Any]) -> Adapter:
    """Return an adapter of a kind.

    Args:
        kind: A name of `adapter_kinds`.
        settings: The adapter's table of a spec, `kind` included.

    Raises:
        SpecError: There is no such kind, or what makes it makes no adapter.
        pydantic.ValidationError: The settings do not fit the kind.
    """
    adapter = make(adapter_kinds(), kind, settings, what="adapter", later=LATER)
    if not isinstance(adapter, Adapter):
        reason = f"'{kind}' makes no adapter, see codeai_engine.adapters.base"
        raise SpecError("adapter", "kind", reason)
    return adapter
