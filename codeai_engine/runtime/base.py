"""The fixed base of a fan-out, resolved once: bytes, lineage and sizes for every branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeai_engine.digests import sha256_hex
from codeai_engine.domain.context import Candidate
from codeai_engine.errors import SpecError
from codeai_engine.rules.lineage import event_lineage
from codeai_engine.rules.render import Unresolved, size_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.ledger.writer import Ledger
    from codeai_engine.runtime.request import (
        BaseItem,
        BranchRequest,
        FanoutRequest,
        ItemKey,
    )


@dataclass(frozen=True, slots=True)
class FixedBase:
    """What every branch is compiled from; nothing in it is read again later."""

    contents: Mapping[ItemKey, bytes | Unresolved]
    derived: Mapping[ItemKey, frozenset[str]]

    def candidates(self, request: FanoutRequest, branch: BranchRequest) -> tuple[Candidate, ...]:
        """Return the base as the candidates of one branch."""
        return tuple(self._candidate(request, branch, item) for item in request.base)

    def _candidate(
        self, request: FanoutRequest, branch: BranchRequest, item: BaseItem
    ) -> Candidate:
        content = self.contents[item.key]
        omitted = item.key in branch.omit_lineage
        declared = frozenset(item.lineage or ())
        return Candidate(
            kind=item.kind,
            candidate_id=item.item_id,
            lineage=self.derived.get(item.key, frozenset() if omitted else declared),
            provenance="unknown" if omitted else item.provenance,
            required=request.is_required(item),
            size_tokens=0
            if isinstance(content, Unresolved)
            else size_tokens(item.kind, item.item_id, len(content)),
        )


async def resolve_base(request: FanoutRequest, ledger: Ledger) -> FixedBase:
    """Read every base item once.

    Raises:
        SpecError: An item that the ledger should hold is not in it.
    """
    contents: dict[ItemKey, bytes | Unresolved] = {}
    derived: dict[ItemKey, frozenset[str]] = {}
    for item in request.base:
        if item.kind == "event":
            row = await ledger.event(item.item_id)
            if row is None:
                raise SpecError(
                    request.source, "base", f"event {item.item_id} is not in the ledger"
                )
            derived[item.key] = event_lineage(row)
            contents[item.key] = row.payload_json.encode("utf-8", "surrogatepass")
        elif item.kind == "claim":
            contents[item.key] = await _claim_content(item.item_id, request, ledger)
        else:
            contents[item.key] = await _artifact_content(item, request, ledger)
    return FixedBase(contents=contents, derived=derived)


async def _claim_content(
    claim_id: str, request: FanoutRequest, ledger: Ledger
) -> bytes | Unresolved:
    recorded = [row for row in await ledger.stream(claim_id) if row.kind == "claim.recorded"]
    if not recorded:
        raise SpecError(request.source, "base", f"claim {claim_id} is not in the ledger")
    if len(recorded) > 1:
        return Unresolved("multiple claim.recorded events")
    return recorded[0].payload_json.encode("utf-8", "surrogatepass")


async def _artifact_content(
    item: BaseItem, request: FanoutRequest, ledger: Ledger
) -> bytes | Unresolved:
    if item.draft is not None:
        content = item.draft.content
    else:
        stored = await ledger.artifact_bytes(item.item_id)
        if stored is None:
            reason = f"artifact {item.item_id} is not in the ledger"
            raise SpecError(request.source, "base", reason)
        content = stored
    if sha256_hex(content) != item.item_id:
        return Unresolved("artifact bytes do not match their content address")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return Unresolved("artifact is not UTF-8 text")
    return content
