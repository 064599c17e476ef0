"""Which resolvers and verifiers there are: ours, and those that installed packages name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.errors import SpecError
from codeai_engine.plugins import factories, make
from codeai_engine.verifiers.base import StateResolver, Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Kinds = Mapping[str, Callable[[Mapping[str, Any]], object]]

RESOLVERS = "codeai_engine.resolvers"
VERIFIERS = "codeai_engine.verifiers"
BUILT_IN_RESOLVERS = {
    "file": "codeai_engine.verifiers.state:file_from_settings",
    "folder": "codeai_engine.verifiers.state:folder_from_settings",
    "git": "codeai_engine.verifiers.command_state:git_from_settings",
    "command": "codeai_engine.verifiers.command_state:command_from_settings",
}
BUILT_IN_VERIFIERS = {"command": "codeai_engine.verifiers.process:from_settings"}


def resolver_kinds() -> Kinds:
    """Return what makes a resolver of each kind from its settings; nothing is loaded yet."""
    return factories(RESOLVERS, BUILT_IN_RESOLVERS)


def verifier_kinds() -> Kinds:
    """Return what makes a verifier of each kind from its settings."""
    return factories(VERIFIERS, BUILT_IN_VERIFIERS)


def make_resolver(kind: str, settings: Mapping[str, Any]) -> StateResolver:
    """Return a resolver of a kind.

    Raises:
        SpecError: There is no such kind, or what makes it makes no resolver.
        pydantic.ValidationError: The settings do not fit the kind.
    """
    resolver = make(resolver_kinds(), kind, settings, what="resolver")
    if not isinstance(resolver, StateResolver):
        raise SpecError("resolver", "kind", f"'{kind}' makes no resolver")
    return resolver


def make_verifier(kind: str, settings: Mapping[str, Any]) -> Verifier:
    """Return a verifier of a kind.

    Raises:
        SpecError: There is no such kind, or what makes it makes no verifier.
    """
    verifier = make(verifier_kinds(), kind, settings, what="verifier")
    if not isinstance(verifier, Verifier):
        raise SpecError("verifier", "kind", f"'{kind}' makes no verifier")
    return verifier
