"""What users add: kinds of things found by entry point, and whether they keep their contract."""

from __future__ import annotations

from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from codeai_engine.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Factory = Callable[[Mapping[str, Any]], object]


class ContractBroken(AssertionError):  # noqa: N818 - a fixed name
    """An object does not keep the contract of its protocol; the message is the rule it breaks."""


def require(holds: object, rule: str) -> None:
    """Check one rule of a contract.

    Raises:
        ContractBroken: It does not hold.
    """
    if not holds:
        raise ContractBroken(rule)


def factories(group: str, built_in: Mapping[str, str]) -> dict[str, Factory]:
    """Return what makes a thing of each kind from its settings; nothing is loaded until it is used.

    Args:
        group: The entry-point group.
        built_in: Our own kinds, as `module:function`. They stand here too, so that a source tree
            which is not installed finds them, and they win over a namesake.
    """
    found = {point.name: point for point in entry_points(group=group)}
    ours = {kind: EntryPoint(kind, place, group) for kind, place in built_in.items()}
    return {kind: partial(_make, point) for kind, point in (found | ours).items()}


def make(
    kinds: Mapping[str, Factory],
    kind: str,
    settings: Mapping[str, Any],
    *,
    what: str,
    later: tuple[str, ...] = (),
) -> object:
    """Return a thing of one kind.

    Args:
        kinds: What `factories` returned.
        kind: The name of one of them.
        settings: What its factory is given.
        what: What it is called in a message, such as `adapter`.
        later: Kinds that are known and not in this release.

    Raises:
        SpecError: There is no such kind, or what makes it cannot be loaded; says what is allowed.
    """
    if kind not in kinds:
        allowed = ", ".join(sorted(kinds)) or "none"
        problem = f"'{kind}' is not in this release" if kind in later else f"unknown kind '{kind}'"
        raise SpecError(what, "kind", f"{problem}; allowed: {allowed}")
    return kinds[kind](settings)


def _make(point: EntryPoint, settings: Mapping[str, Any]) -> object:
    try:
        factory = point.load()
    except (ImportError, AttributeError) as error:
        reason = f"'{point.name}' is made by {point.value}, which cannot be loaded: {error}"
        raise SpecError(point.group, "kind", reason) from error
    return factory(settings)
