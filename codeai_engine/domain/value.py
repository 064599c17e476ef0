"""The two bases of everything that crosses a boundary."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from codeai_engine.digests import interoperable_json


class Value(BaseModel):
    """What a user or we write: frozen, strict, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Payload(BaseModel):
    """What a ledger holds: frozen, strict, and unknown keys are kept.

    Every field but those that identify the subject may be missing, since older writers left them
    out; missing means unknown, never empty. A payload that we write names every field of its kind,
    an absent value as null (DESIGN 3).
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    KIND: ClassVar[str]

    def to_json(self) -> str:
        """Return the canonical text that is stored.

        Raises:
            PayloadRefused: A value is not I-JSON; names its path.
        """
        return interoperable_json(self.model_dump(mode="python"))
