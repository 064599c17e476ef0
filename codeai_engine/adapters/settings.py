"""The base of every adapter's settings: the table `[adapter.NAME]` of a spec, read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from codeai_engine.domain.value import Value

Seconds = Annotated[float, Field(gt=0)]


class RetrySettings(Value):
    """`retry`: how many attempts a call may have; one never sends again."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 1


class AdapterSettings(Value):
    """Settings of one adapter: closed, and a refusal says what would have been allowed."""

    model_config = ConfigDict(hide_input_in_errors=True)  # somebody may write a key in a URL

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:  # noqa: ANN401 - whatever a spec holds
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                allowed = ", ".join(cls.model_fields)
                raise ValueError(f"unknown key '{key}'; allowed: {allowed}")
        return data
