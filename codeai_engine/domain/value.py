"""The bases of everything that crosses a boundary."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from codeai_engine.digests import interoperable_json


class Value(BaseModel):
    """What a user or we write: frozen, strict, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Table(Value):
    """A table that a user writes: closed, and its refusal says what it would have allowed.

    `ELSEWHERE` names keys that belong to another kind of file, with what to do instead.
    """

    ELSEWHERE: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:  # noqa: ANN401 - whatever TOML holds
        if not isinstance(data, dict):
            return data
        for key in data:
            if key in cls.ELSEWHERE:
                raise ValueError(f"'{key}' does not belong here: {cls.ELSEWHERE[key]}")
            allowed = [field.alias or name for name, field in cls.model_fields.items()]
            if key not in allowed:
                raise ValueError(f"unknown key '{key}'; allowed: {', '.join(allowed)}")
        return data


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
