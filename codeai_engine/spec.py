"""The spec language: a TOML file that describes one fan-out, read into a request.

Unknown keys are refused with the file, the key and what is allowed. Everything a file names is
read here, once, so that a run never depends on a file that changes under it.
"""

from __future__ import annotations

import mimetypes
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from codeai_engine.adapters.registry import make_adapter
from codeai_engine.ambient import TimeOrderedIds
from codeai_engine.digests import sha256_hex
from codeai_engine.domain.context import Actor, Seal
from codeai_engine.domain.events import ArtifactDraft
from codeai_engine.domain.value import Value
from codeai_engine.errors import ArtifactTooLarge, SpecError
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES
from codeai_engine.runtime.request import BaseItem, BranchRequest, FanoutRequest, refuse_malformed

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Adapter
    from codeai_engine.ambient import IdSource
    from codeai_engine.runtime.request import ItemKey

Name = Annotated[str, Field(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(gt=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class SpecValue(Value):
    """A table of the spec: closed, and its refusal says what it would have allowed."""

    LATER: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:  # noqa: ANN401 - whatever TOML holds
        if not isinstance(data, dict):
            return data
        for key in data:
            if key in cls.LATER:
                raise ValueError(f"'{key}' is not in this release: {cls.LATER[key]}")
            if key not in cls.model_fields:
                raise ValueError(f"unknown key '{key}'; allowed: {', '.join(cls.model_fields)}")
        return data


class TaskTable(SpecValue):
    """`task`: what the question is about."""

    id: Name | None = None
    objective: str | None = None


class LineageNone(SpecValue):
    """`lineage_none`: somebody vouches that an item has no lineage."""

    by: Name
    why: Name


class BaseTable(SpecValue):
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


class SealTable(SpecValue):
    """`seal`: what is forbidden on top of the sibling rule."""

    events: list[Name] = Field(default_factory=list)
    calls: list[Name] = Field(default_factory=list)
    artifacts: list[Name] = Field(default_factory=list)
    lineage: list[Name] = Field(default_factory=list)


class FanoutTable(SpecValue):
    """`[fanout]`: the question and how it is put."""

    instruction: str = ""
    prompt: str | None = None
    prompt_file: str | None = None
    context_render: bool = True
    provenance_policy: str = "admit_recorded"
    blind_until_collected: bool = True
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 8
    timeout_s: Seconds | None = None
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    required: list[Name] | None = None
    seal: SealTable = SealTable()

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("needs exactly one of: prompt, prompt_file")
        return self


class ActorTable(SpecValue):
    """`actor`: who a branch is by."""

    id: Name
    kind: Name = "model"
    version: str | None = None


class BranchTable(SpecValue):
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


class SpecFile(SpecValue):
    """The whole file."""

    LATER: ClassVar[dict[str, str]] = {
        "claim": "claims come with checks",
        "check": "checks come later; run the branch and check its output yourself",
    }

    spec: Literal[1]
    task: TaskTable = TaskTable()
    base: list[BaseTable] = Field(default_factory=list)
    fanout: FanoutTable
    adapter: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    branch: list[BranchTable] = Field(default_factory=list)


def load_spec(path: str | Path, *, ids: IdSource | None = None) -> FanoutRequest:
    """Read a spec file and everything it names.

    Args:
        path: The TOML file; paths in it are relative to its folder.
        ids: Makes the ids that the spec leaves out.

    Raises:
        SpecError: The file cannot be read, does not fit the language, or names something that is
            not there. It names the file and the key.
    """
    file = Path(path)
    content = _read(file, str(file), "")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SpecError(str(file), "", f"is not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(str(file), "", f"is not TOML: {error}") from error
    try:
        spec = SpecFile.model_validate(document)
    except ValidationError as error:
        raise _refusal(str(file), error) from error
    request = _Reader(file, ids or TimeOrderedIds()).request(spec, sha256_hex(content))
    refuse_malformed(request)
    return request


def _refusal(source: str, error: ValidationError) -> SpecError:
    """Return the first problem as file, key and reason."""
    first = error.errors(include_url=False, include_input=False)[0]
    return SpecError(source, key_path(first["loc"]), first["msg"].removeprefix("Value error, "))


def key_path(location: tuple[int | str, ...]) -> str:
    """Return a place in a document as it is written: `branch[1].adapter`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _read(file: Path, source: str, key: str) -> bytes:
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


class _Reader:
    """Turns the tables of one file into values, reading what they name."""

    def __init__(self, file: Path, ids: IdSource) -> None:
        self._source = str(file)
        self._folder = file.parent
        self._ids = ids

    def request(self, spec: SpecFile, digest: str) -> FanoutRequest:
        """Return the request that the file describes."""
        base = tuple(self._base_item(index, item) for index, item in enumerate(spec.base))
        keys = self._keys_by_name(base)
        adapters = {name: self._adapter(name, table) for name, table in spec.adapter.items()}
        fanout = spec.fanout
        required = None
        if fanout.required is not None:
            required = self._named(fanout.required, keys, "fanout.required")
        return FanoutRequest(
            task_id=spec.task.id or self._ids.new_id(),
            objective=spec.task.objective,
            prompt=self._text(fanout.prompt, fanout.prompt_file, "fanout.prompt_file") or "",
            instruction=fanout.instruction,
            branches=tuple(
                self._branch(index, branch, adapters, spec.adapter, keys)
                for index, branch in enumerate(spec.branch)
            ),
            base=base,
            context_render=fanout.context_render,
            seal=Seal(
                forbidden_event_ids=frozenset(fanout.seal.events),
                forbidden_call_ids=frozenset(fanout.seal.calls),
                forbidden_artifact_ids=frozenset(fanout.seal.artifacts),
                forbidden_lineage_ids=frozenset(fanout.seal.lineage),
            ),
            budget_tokens=fanout.budget_tokens,
            required=required,
            concurrency=fanout.concurrency,
            timeout_s=fanout.timeout_s,
            provenance_policy=fanout.provenance_policy,
            blind_until_collected=fanout.blind_until_collected,
            spec_sha256=digest,
            source=self._source,
        )

    def _base_item(self, index: int, table: BaseTable) -> BaseItem:
        none = table.lineage_none
        draft = None
        key: ItemKey
        if table.file is not None:
            draft = self._source_artifact(table.file, f"base[{index}].file")
            key = ("artifact", draft.artifact_id)
        elif table.artifact is not None:
            key = ("artifact", table.artifact)
        elif table.event is not None:
            key = ("event", table.event)
        else:
            key = ("claim", str(table.claim))
        return BaseItem(
            kind=key[0],
            item_id=key[1],
            name=table.name,
            draft=draft,
            lineage=tuple(table.lineage) if table.lineage is not None else None,
            declared_none=(none.by, none.why) if none else None,
        )

    def _source_artifact(self, name: str, key: str) -> ArtifactDraft:
        content = _read(self._folder / name, self._source, key)
        if len(content) > ARTIFACT_LIMIT_BYTES:
            too_large = ArtifactTooLarge(len(content), ARTIFACT_LIMIT_BYTES)
            raise SpecError(self._source, key, too_large.message) from too_large
        media_type = mimetypes.guess_type(name)[0] or "text/plain"
        return ArtifactDraft(content, "source", media_type)

    def _keys_by_name(self, base: tuple[BaseItem, ...]) -> dict[str, ItemKey]:
        keys: dict[str, ItemKey] = {}
        for index, item in enumerate(base):
            if item.name in keys:
                raise SpecError(
                    self._source, f"base[{index}].name", f"'{item.name}' is used more than once"
                )
            if item.name is not None:
                keys[item.name] = item.key
        return keys

    def _named(self, names: list[str], keys: dict[str, ItemKey], key: str) -> frozenset[ItemKey]:
        for name in names:
            if name not in keys:
                allowed = ", ".join(keys) or "none, since no base item has a name"
                raise SpecError(self._source, key, f"no base item '{name}'; allowed: {allowed}")
        return frozenset(keys[name] for name in names)

    def _text(self, text: str | None, file: str | None, key: str) -> str | None:
        if file is None:
            return text
        content = _read(self._folder / file, self._source, key)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"{file} is not UTF-8 at byte {error.start}"
            raise SpecError(self._source, key, reason) from error

    def _adapter(self, name: str, table: dict[str, Any]) -> Adapter:
        place = f"adapter.{name}"
        kind = table.get("kind")
        if not isinstance(kind, str):
            raise SpecError(self._source, f"{place}.kind", "is missing; it names the adapter")
        try:
            return make_adapter(kind, table)
        except ValidationError as error:
            refusal = _refusal(self._source, error)
            key = f"{place}.{refusal.key}" if refusal.key else place
            raise SpecError(self._source, key, refusal.reason) from error
        except SpecError as error:
            raise SpecError(self._source, f"{place}.{error.key}", error.reason) from error

    def _branch(
        self,
        index: int,
        table: BranchTable,
        adapters: dict[str, Adapter],
        settings: dict[str, dict[str, Any]],
        keys: dict[str, ItemKey],
    ) -> BranchRequest:
        place = f"branch[{index}]"
        adapter = adapters.get(table.adapter)
        if adapter is None:
            allowed = ", ".join(adapters) or "none, since [adapter] is empty"
            reason = f"unknown adapter '{table.adapter}'; allowed: {allowed}"
            raise SpecError(self._source, f"{place}.adapter", reason)
        actor = table.actor or ActorTable(id=table.name)
        return BranchRequest(
            name=table.name,
            call_id=table.call_id or self._ids.new_id(),
            actor=Actor(
                actor_id=actor.id,
                kind=actor.kind,
                provider=adapter.provider,
                model=adapter.requested_model,
                version=actor.version,
            ),
            adapter=adapter,
            adapter_id=table.adapter,
            prompt=self._text(table.prompt, table.prompt_file, f"{place}.prompt_file"),
            instruction=table.instruction,
            variant=table.variant,
            parameters=table.parameters,
            context_render=table.context_render,
            timeout_s=table.timeout_s,
            attempts=settings[table.adapter].get("retry", {}).get("attempts", 1),
            omit_lineage=self._named(table.omit_lineage, keys, f"{place}.omit_lineage"),
        )
