"""The spec language: a TOML file that describes one fan-out, read into a request.

Unknown keys are refused with the file, the key and what is allowed. Everything a file names is
read here, once, so that a run never depends on a file that changes under it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from codeai_engine.adapters.command import CommandAdapter
from codeai_engine.adapters.registry import make_adapter
from codeai_engine.domain.context import Actor, Seal
from codeai_engine.errors import SpecError
from codeai_engine.runtime.planned import ChecksRequest, refuse_unfit
from codeai_engine.runtime.request import BranchRequest, FanoutRequest, refuse_malformed
from codeai_engine.spec_reader import FileReader
from codeai_engine.spec_tables import (
    ActorTable,
    BaseTable,
    BranchTable,
    CheckFile,
    SpecFile,
    fit_tables,
    read_tables,
    refusal,
)

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Adapter
    from codeai_engine.ambient import IdSource
    from codeai_engine.runtime.request import ItemKey


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
    spec, digest = read_tables(file, SpecFile)
    request = _Reader(str(file), file.parent, ids).request(spec, digest)
    refuse_malformed(request)
    return request


def load_checks(path: str | Path, *, ids: IdSource | None = None) -> ChecksRequest:
    """Read a file of claims and checks that wait for no branch, and everything it names.

    Args:
        path: The TOML file; paths in it are relative to its folder, and its commands run there.
        ids: Makes the ids that the file leaves out.

    Raises:
        SpecError: As `load_spec`.
    """
    file = Path(path)
    tables, _ = read_tables(file, CheckFile)
    return _checks_request(tables, FileReader(str(file), file.parent, ids))


def make_checks(
    tables: dict[str, Any], *, source: str, folder: Path, ids: IdSource | None = None
) -> ChecksRequest:
    """Return what a file of checks with these tables asks for.

    Args:
        tables: As TOML gives them.
        source: Where they come from, for messages.
        folder: What their paths are relative to, and where their commands run.
        ids: Makes the ids that they leave out.

    Raises:
        SpecError: As `load_spec`.
    """
    return _checks_request(fit_tables(tables, CheckFile, source), FileReader(source, folder, ids))


def _checks_request(tables: CheckFile, reader: FileReader) -> ChecksRequest:
    base = reader.base_items(
        [BaseTable(name=one.name, file=one.file, artifact=one.artifact) for one in tables.base]
    )
    reader.keys_by_name(base)
    task_id = tables.task.id or reader.ids.new_id()
    request = ChecksRequest(
        task_id=task_id,
        claims=reader.claims(tables.claim),
        checks=reader.checks(tables.check, task_id, base),
        source=reader.source,
    )
    refuse_unfit(request.source, request.claims, request.checks, ())
    return request


class _Reader(FileReader):
    """Turns the tables of a fan-out into a request."""

    def request(self, spec: SpecFile, digest: str) -> FanoutRequest:
        """Return the request that the file describes."""
        base = self.base_items(spec.base)
        keys = self.keys_by_name(base)
        adapters = {name: self._adapter(name, table) for name, table in spec.adapter.items()}
        keys_of_others = frozenset(
            str(table["api_key_env"]) for table in spec.adapter.values() if "api_key_env" in table
        )
        for adapter in adapters.values():
            if isinstance(adapter, CommandAdapter):
                adapter.withhold(keys_of_others)
        fanout = spec.fanout
        task_id = spec.task.id or self.ids.new_id()
        required = None
        if fanout.required is not None:
            required = self.named(fanout.required, keys, "fanout.required")
        return FanoutRequest(
            task_id=task_id,
            objective=spec.task.objective,
            prompt=self.text(fanout.prompt, fanout.prompt_file, "fanout.prompt_file") or "",
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
            source=self.source,
            claims=self.claims(spec.claim),
            checks=tuple(
                replace(check, subject=None)  # stored with the fan-out's request
                for check in self.checks(spec.check, task_id, base)
            ),
        )

    def _adapter(self, name: str, table: dict[str, Any]) -> Adapter:
        place = f"adapter.{name}"
        kind = table.get("kind")
        if not isinstance(kind, str):
            raise SpecError(self.source, f"{place}.kind", "is missing; it names the adapter")
        try:
            return make_adapter(kind, table)
        except ValidationError as error:
            refused = refusal(self.source, error)
            key = f"{place}.{refused.key}" if refused.key else place
            raise SpecError(self.source, key, refused.reason) from error
        except SpecError as error:
            raise SpecError(self.source, f"{place}.{error.key}", error.reason) from error

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
            raise SpecError(self.source, f"{place}.adapter", reason)
        actor = table.actor or ActorTable(id=table.name)
        return BranchRequest(
            name=table.name,
            call_id=table.call_id or self.ids.new_id(),
            actor=Actor(
                actor_id=actor.id,
                kind=actor.kind,
                provider=adapter.provider,
                model=adapter.requested_model,
                version=actor.version,
            ),
            adapter=adapter,
            adapter_id=table.adapter,
            prompt=self.text(table.prompt, table.prompt_file, f"{place}.prompt_file"),
            instruction=table.instruction,
            variant=table.variant,
            parameters=table.parameters,
            context_render=table.context_render,
            timeout_s=table.timeout_s,
            attempts=_attempts(settings[table.adapter]),
            omit_lineage=self.named(table.omit_lineage, keys, f"{place}.omit_lineage"),
        )


def _attempts(settings: dict[str, Any]) -> int:
    """Return how many attempts an adapter's table allows; one that says nothing allows one."""
    retry = settings.get("retry")
    allowed = retry.get("attempts", 1) if isinstance(retry, dict) else 1
    return allowed if isinstance(allowed, int) else 1
