"""Reads what the tables of a spec name: files, base items, claims and checks."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from codeai_engine.ambient import TimeOrderedIds
from codeai_engine.domain.check import ARTIFACT_TARGET, CheckRequest, ExitCodePolicy
from codeai_engine.domain.events import ArtifactDraft
from codeai_engine.errors import ArtifactTooLarge, SpecError
from codeai_engine.ledger.artifacts import ARTIFACT_LIMIT_BYTES
from codeai_engine.rules.verdict import policy_problem
from codeai_engine.runtime.planned import PlannedCheck, PlannedClaim
from codeai_engine.runtime.request import BaseItem
from codeai_engine.spec_tables import OUTPUT, read_file, refusal
from codeai_engine.verifiers.registry import make_resolver

if TYPE_CHECKING:
    from pathlib import Path

    from codeai_engine.ambient import IdSource
    from codeai_engine.runtime.request import ItemKey
    from codeai_engine.spec_tables import BaseTable, CheckTable, ClaimTable, PolicyTable
    from codeai_engine.verifiers.base import StateResolver

AT_START = "at_start"
_DIGEST = re.compile("[0-9a-f]{64}")
_OF_THE_FOLDER = ("git", "command")  # resolvers whose path is the spec's folder when left out


class FileReader:
    """Turns tables of one file into values, reading what they name.

    Attributes:
        source: The file, as messages name it.
        folder: Its folder, which its paths are relative to, and in which its checks run.
        ids: Makes the ids that the file leaves out.
    """

    def __init__(self, source: str, folder: Path, ids: IdSource | None) -> None:
        self.source = source
        self.folder = folder
        self.ids = ids or TimeOrderedIds()

    def base_items(self, tables: list[BaseTable]) -> tuple[BaseItem, ...]:
        """Return the base, files read."""
        return tuple(self._base_item(index, table) for index, table in enumerate(tables))

    def claims(self, tables: list[ClaimTable]) -> tuple[PlannedClaim, ...]:
        """Return the claims."""
        return tuple(
            PlannedClaim(table.id, table.branch, table.statement, table.statement_pointer)
            for table in tables
        )

    def checks(
        self, tables: list[CheckTable], task_id: str, base: tuple[BaseItem, ...]
    ) -> tuple[PlannedCheck, ...]:
        """Return the checks.

        Args:
            tables: Their tables.
            task_id: The task that they are about.
            base: What their `artifact` may name.
        """
        return tuple(
            self._check(f"check[{index}]", table, task_id, base)
            for index, table in enumerate(tables)
        )

    def _check(
        self, place: str, table: CheckTable, task_id: str, base: tuple[BaseItem, ...]
    ) -> PlannedCheck:
        artifact, draft = self._artifact(f"{place}.artifact", table.artifact, base)
        resolver, expect = self._state(f"{place}.state", table.state)
        asked = CheckRequest(
            check_id=table.id,
            task_id=task_id,
            claim_ids=tuple(table.claims),
            command=tuple(table.command),
            cwd=str(self.folder),
            timeout_s=table.timeout_s,
            environment=table.environment,
            environment_from=tuple(table.environment_from),
            target=f"{ARTIFACT_TARGET}{artifact}" if artifact else None,
            target_state_hash=expect if expect != AT_START else None,
            verdict_policy=self._policy(f"{place}.policy", table.policy),
            state=table.state,
        )
        return PlannedCheck(
            asked=asked,
            branch=table.branch,
            of_output=table.artifact == OUTPUT,
            resolver=resolver,
            at_start=expect == AT_START,
            subject=draft,
        )

    def _artifact(
        self, key: str, name: str | None, base: tuple[BaseItem, ...]
    ) -> tuple[str | None, ArtifactDraft | None]:
        """Return the digest that `artifact` names, with the bytes where the base brings them."""
        if name is None or name == OUTPUT:
            return None, None
        named = {item.name: item for item in base}
        item = named.get(name)
        if item is None and _DIGEST.fullmatch(name):
            return name, None
        if item is None or item.kind != "artifact":
            names = [item.name for item in base if item.name and item.kind == "artifact"]
            allowed = ", ".join([OUTPUT, *names, "64 hex digits"])
            raise SpecError(self.source, key, f"no artifact '{name}'; allowed: {allowed}")
        return item.item_id, item.draft

    def _state(
        self, key: str, table: dict[str, Any] | None
    ) -> tuple[StateResolver | None, str | None]:
        """Return what reads the state, and what it must be: `at_start` or a digest."""
        if table is None:
            return None, None
        settings = dict(table)
        kind, expect = settings.pop("resolver", None), settings.pop("expect", AT_START)
        if not isinstance(kind, str):
            raise SpecError(self.source, f"{key}.resolver", "is missing; it says what is read")
        if expect != AT_START and not (isinstance(expect, str) and _DIGEST.fullmatch(expect)):
            reason = f"is 'at_start' or 64 lower-case hex digits, not '{expect}'"
            raise SpecError(self.source, f"{key}.expect", reason)
        if kind in _OF_THE_FOLDER:
            settings.setdefault("path", ".")
        if isinstance(settings.get("path"), str):
            settings["path"] = str(self.folder / settings["path"])
        try:
            return make_resolver(kind, settings), expect
        except ValidationError as error:
            refused = refusal(self.source, error)
            raise SpecError(self.source, f"{key}.{refused.key}", refused.reason) from error
        except SpecError as error:
            raise SpecError(self.source, f"{key}.resolver", error.reason) from error

    def _policy(self, key: str, table: PolicyTable | None) -> ExitCodePolicy | None:
        if table is None:
            return None
        policy = ExitCodePolicy(
            pass_codes=tuple(table.pass_codes),
            fail_codes=None if table.fail is None else tuple(table.fail),
            inconclusive_codes=tuple(table.inconclusive),
        )
        problem = policy_problem(policy)
        if problem is not None:
            raise SpecError(self.source, key, problem)
        return policy

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
        content = read_file(self.folder / name, self.source, key)
        if len(content) > ARTIFACT_LIMIT_BYTES:
            too_large = ArtifactTooLarge(len(content), ARTIFACT_LIMIT_BYTES)
            raise SpecError(self.source, key, too_large.message) from too_large
        media_type = mimetypes.guess_type(name)[0] or "text/plain"
        return ArtifactDraft(content, "source", media_type)

    def keys_by_name(self, base: tuple[BaseItem, ...]) -> dict[str, ItemKey]:
        """Return the keys of the base items that have a name, which must be their own."""
        keys: dict[str, ItemKey] = {}
        for index, item in enumerate(base):
            if item.name in keys:
                raise SpecError(
                    self.source, f"base[{index}].name", f"'{item.name}' is used more than once"
                )
            if item.name is not None:
                keys[item.name] = item.key
        return keys

    def named(self, names: list[str], keys: dict[str, ItemKey], key: str) -> frozenset[ItemKey]:
        """Return the keys of named base items; `key` is where the names stand."""
        for name in names:
            if name not in keys:
                allowed = ", ".join(keys) or "none, since no base item has a name"
                raise SpecError(self.source, key, f"no base item '{name}'; allowed: {allowed}")
        return frozenset(keys[name] for name in names)

    def text(self, text: str | None, file: str | None, key: str) -> str | None:
        """Return a text that stands in the spec, or in a file that it names."""
        if file is None:
            return text
        content = read_file(self.folder / file, self.source, key)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"{file} is not UTF-8 at byte {error.start}"
            raise SpecError(self.source, key, reason) from error
