"""What a branch asks of a provider beside its text, and what became of each wish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codeai_engine.errors import PrepareError

if TYPE_CHECKING:
    from codeai_engine.adapters.base import CallInput

# What a variant says of itself; every other key of it asks for something.
DESCRIPTIVE = frozenset(
    {
        "model",
        "provider",
        "prompt_variant",
        "context_variant",
        "tool_variant",
        "evidence_partition",
        "experiment",
        "tags",
    }
)


def requested_controls(call: CallInput) -> dict[str, Any]:
    """Return every control that a branch asks for, by variant or by parameter.

    Raises:
        PrepareError: Variant and parameters ask for different values of one control.
    """
    asked = {key: value for key, value in call.variant.items() if key not in DESCRIPTIVE}
    for key, value in call.parameters.items():
        if key in asked and asked[key] != value:
            raise PrepareError(
                f"'{key}' is {asked[key]!r} in the variant and {value!r} in the parameters",
                error_kind="contradictory_control",
                wire="not_sent",
            )
        asked[key] = value
    return asked
