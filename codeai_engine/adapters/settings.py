"""The base of every adapter's settings: the table `[adapter.NAME]` of a spec, read."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from codeai_engine.domain.value import Table, Value

Seconds = Annotated[float, Field(gt=0)]


class RetrySettings(Value):
    """`retry`: how many attempts a call may have; one never sends again."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 1


class AdapterSettings(Table):
    """Settings of one adapter: closed, and a refusal says what would have been allowed."""

    model_config = ConfigDict(hide_input_in_errors=True)  # somebody may write a key in a URL
