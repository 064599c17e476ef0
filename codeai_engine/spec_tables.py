"""The tables of the spec language, and how a file of them is read.

Unknown keys are refused with the file, the key and what is allowed.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.value import Table
from codeai_engine.errors import SpecError
from codeai_engine.rules.pointer import is_pointer
from codeai_engine.rules.statement import STATEMENT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OUTPUT = "output"  # names the output of the branch that a check is of
Name = Annotated[str, Field(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(gt=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class TaskTable(Table):
    """`task`: what the question is about."""

    id: Name | None = None
    objective: str | None = None


class LineageNone(Table):
    """`lineage_none`: somebody vouches that an item has no lineage."""

    by: Name
    why: Name


class BaseTable(Table):
    """One item of `base`: a file, or something that the ledger already holds."""

    name: Name | None = None
    file: str | None = None
    artifact: Digest | None = None
    event: Name | None = None
    claim: Name | None = None
    lineage: list[Name] | None = None
    lineage_none: LineageNone | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        named = [key for key in ("file", "artifact", "event", "claim") if getattr(self, key)]
        if len(named) != 1:
            raise ValueError("needs exactly one of: file, artifact, event, claim")
        if self.lineage and self.lineage_none:
            raise ValueError("lineage and lineage_none contradict each other")
        if self.event and (self.lineage is not None or self.lineage_none):
            raise ValueError("an event's lineage is derived from the event; leave it out")
        return self


class SealTable(Table):
    """`seal`: what is forbidden on top of the sibling rule."""

    events: list[Name] = Field(default_factory=list)
    calls: list[Name] = Field(default_factory=list)
    artifacts: list[Name] = Field(default_factory=list)
    lineage: list[Name] = Field(default_factory=list)


class FanoutTable(Table):
    """`[fanout]`: the question and how it is put."""

    instruction: str = ""
    prompt: str | None = None
    prompt_file: str | None = None
    context_render: bool = True
    provenance_policy: str = "admit_recorded"
    blind_until_collected: bool = True
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 8
    timeout_s: Seconds = 600.0
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    required: list[Name] | None = None
    seal: SealTable = SealTable()

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("needs exactly one of: prompt, prompt_file")
        return self


class ActorTable(Table):
    """`actor`: who a branch is by."""

    id: Name
    kind: Name = "model"
    version: str | None = None


class BranchTable(Table):
    """`[[branch]]`: one line of the fan-out."""

    name: Name
    adapter: Name
    actor: ActorTable | None = None
    call_id: Name | None = None
    instruction: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    context_render: bool | None = None
    timeout_s: Seconds | None = None
    variant: dict[str, Any] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    omit_lineage: list[Name] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt is not None and self.prompt_file is not None:
            raise ValueError("needs at most one of: prompt, prompt_file")
        return self


class ClaimTable(Table):
    """`[[claim]]`: what a branch says of its own work, or a sentence of the spec about it."""

    id: Name
    branch: Name | None = None
    statement: Annotated[str, Field(min_length=1, max_length=STATEMENT_CHARACTERS)] | None = None
    statement_pointer: str | None = None

    @model_validator(mode="after")
    def _one_statement(self) -> Self:
        if (self.statement is None) == (self.statement_pointer is None):
            raise ValueError("needs exactly one of: statement, statement_pointer")
        if self.statement_pointer is not None and not is_pointer(self.statement_pointer):
            raise ValueError(
                f"statement_pointer '{self.statement_pointer}' is no JSON pointer, such as /ok"
            )
        return self


class PolicyTable(Table):
    """`policy`: what each exit code means."""

    pass_codes: list[int] = Field(default=[0], alias="pass")
    fail: list[int] | None = None
    inconclusive: list[int] = Field(default_factory=list)


class CheckTable(Table):
    """`[[check]]`: a command, what it examines, and which claims it is about."""

    id: Name
    branch: Name | None = None
    command: list[str]
    artifact: Name | None = None
    state: dict[Name, Any] | None = None
    policy: PolicyTable | None = None
    claims: list[Name] = Field(default_factory=list)
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300.0
    environment: dict[Name, str] = Field(default_factory=dict)
    environment_from: list[Name] = Field(default_factory=list)


def _branches(
    claims: list[ClaimTable], checks: list[CheckTable]
) -> Iterator[tuple[str, str | None]]:
    """Give the branch of every claim and check, with its place in the file."""
    yield from ((f"claim[{index}]", claim.branch) for index, claim in enumerate(claims))
    yield from ((f"check[{index}]", check.branch) for index, check in enumerate(checks))


class SpecFile(Table):
    """The whole file."""

    spec: Literal[1]
    task: TaskTable = TaskTable()
    base: list[BaseTable] = Field(default_factory=list)
    fanout: FanoutTable
    adapter: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    branch: list[BranchTable] = Field(default_factory=list)
    claim: list[ClaimTable] = Field(default_factory=list)
    check: list[CheckTable] = Field(default_factory=list)

    @model_validator(mode="after")
    def _every_claim_and_check_has_a_branch(self) -> Self:
        for place, branch in _branches(self.claim, self.check):
            if branch is None:
                raise ValueError(f"{place} needs a branch: it waits for one to complete")
        return self


class TaskIdTable(Table):
    """`task` of a file of checks: which task they are about."""

    id: Name | None = None


class SubjectTable(Table):
    """One item of `base` in a file of checks: bytes that a check can name."""

    name: Name
    file: str | None = None
    artifact: Digest | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.artifact is None):
            raise ValueError("needs exactly one of: file, artifact")
        return self


class CheckFile(Table):
    """A file of `codeai-engine check`: claims and checks that wait for no branch."""

    ELSEWHERE: ClassVar[dict[str, str]] = dict.fromkeys(
        ("fanout", "adapter", "branch"), "a file of checks runs no branch: use codeai-engine run"
    )

    spec: Literal[1]
    task: TaskIdTable = TaskIdTable()
    base: list[SubjectTable] = Field(default_factory=list)
    claim: list[ClaimTable] = Field(default_factory=list)
    check: Annotated[list[CheckTable], Field(min_length=1)]

    @model_validator(mode="after")
    def _no_branches(self) -> Self:
        for place, branch in _branches(self.claim, self.check):
            if branch is not None:
                raise ValueError(f"{place}.branch: a file of checks runs no branch")
        for index, claim in enumerate(self.claim):
            if claim.statement is None:
                raise ValueError(f"claim[{index}] needs a statement: there is no output to read")
        for index, check in enumerate(self.check):
            if check.artifact == OUTPUT:
                raise ValueError(f"check[{index}].artifact: there is no output; name a base item")
        return self


File = TypeVar("File", SpecFile, CheckFile)


def read_tables(file: Path, kind: type[File]) -> tuple[File, str]:
    """Read a file as one of the two kinds; return it with the digest of its bytes.

    Raises:
        SpecError: It cannot be read or does not fit; names the file and the key.
    """
    content = read_file(file, str(file), "")
    try:
        tables = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SpecError(str(file), "", f"is not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(str(file), "", f"is not TOML: {error}") from error
    except RecursionError as error:
        raise SpecError(str(file), "", "is nested too deeply to be read") from error
    return fit_tables(tables, kind, str(file)), sha256_hex(content)


def fit_tables(tables: dict[str, Any], kind: type[File], source: str) -> File:
    """Return tables as one of the two kinds of file.

    Raises:
        SpecError: They do not fit; names the source and the key.
    """
    try:
        return kind.model_validate(tables)
    except ValidationError as error:
        raise refusal(source, error) from error


def refusal(source: str, error: ValidationError) -> SpecError:
    """Return the first problem as file, key and reason."""
    first = error.errors(include_url=False, include_input=False)[0]
    return SpecError(source, key_path(first["loc"]), first["msg"].removeprefix("Value error, "))


def key_path(location: tuple[int | str, ...]) -> str:
    """Return a place in a document as it is written: `branch[1].adapter`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_file(file: Path, source: str, key: str) -> bytes:
    """Read a file that a spec names.

    Raises:
        SpecError: It cannot be read.
    """
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise SpecError(source, key, f"there is no file {file}") from error
    except OSError as error:
        raise SpecError(source, key, f"cannot read {file}: {error.strerror}") from error
