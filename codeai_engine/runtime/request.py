"""What a fan-out is asked to do: values, already read and checked, and the adapters to use."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from codeai_engine.digests import refuse_unless_interoperable
from codeai_engine.domain.context import Actor, CandidateKind, Provenance, Seal
from codeai_engine.domain.fanout import ADMIT_RECORDED
from codeai_engine.errors import PayloadRefused, SpecError
from codeai_engine.runtime.planned import refuse_unfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.adapters.base import Adapter
    from codeai_engine.domain.events import ArtifactDraft
    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.planned import PlannedCheck, PlannedClaim

ItemKey = tuple[CandidateKind, str]
BranchStatus = Literal["succeeded", "failed", "cancelled"]
DEADLINE_S = 600.0  # of one attempt: a provider that never answers may not hang a run
LATER_POLICIES = ("exclude_under_seal", "refuse")


@dataclass(frozen=True, slots=True)
class BaseItem:
    """One item that every branch is offered.

    Args:
        kind: `artifact`, `event` or `claim`.
        item_id: Artifact id, event id or claim id.
        name: How the spec calls it, None where it has no name.
        draft: Bytes to store with the fan-out; None where the ledger already has the item.
        lineage: Declared ids of where it came from; None where nothing was declared.
        declared_none: `(by, why)` where someone vouches that it has no lineage.
    """

    kind: CandidateKind
    item_id: str
    name: str | None = None
    draft: ArtifactDraft | None = None
    lineage: tuple[str, ...] | None = None
    declared_none: tuple[str, str] | None = None

    @property
    def key(self) -> ItemKey:
        """The pair under which rendering looks the item up."""
        return (self.kind, self.item_id)

    @property
    def provenance(self) -> Provenance:
        """What is known of its origin."""
        if self.kind == "event" or self.lineage:
            return "declared"  # an event's lineage is derived from the event itself
        return "declared_none" if self.declared_none else "unknown"


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """One line of a fan-out.

    Args:
        adapter_id: The adapter's name in the spec, for the record.
        prompt: The branch's own question; None takes the fan-out's.
        instruction: Likewise.
        context_render: True or False overrides the fan-out's mode; None takes it.
        timeout_s: Deadline of one attempt, in seconds; None takes the fan-out's.
        attempts: How many attempts at most; 1 never retries.
        omit_lineage: Keys of base items that this branch is compiled with as if nobody had
            declared their lineage: the negative control of a seal.
    """

    name: str
    call_id: str
    actor: Actor
    adapter: Adapter
    adapter_id: str
    prompt: str | None = None
    instruction: str | None = None
    variant: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    context_render: bool | None = None
    timeout_s: float | None = None
    attempts: int = 1
    omit_lineage: frozenset[ItemKey] = frozenset()


@dataclass(frozen=True, slots=True)
class FanoutRequest:
    """One question for several branches, over one fixed base.

    Args:
        context_render: Whether branches are sent rendered bytes (True) or the prompt alone, the
            package staying a selection record (False).
        seal: Forbidden on top of what the sibling rule forbids.
        required: Keys of the base items that must be selected; None: every artifact and event.
        concurrency: How many branches run at once.
        timeout_s: Deadline of one attempt, in seconds; None is no deadline.
        source: What the request was read from, for error messages.
        claims: What branches say of their own work, or the spec says of it.
        checks: What runs when a branch completes.
    """

    task_id: str
    prompt: str
    branches: tuple[BranchRequest, ...]
    objective: str | None = None
    instruction: str = ""
    base: tuple[BaseItem, ...] = ()
    context_render: bool = True
    seal: Seal = field(default_factory=Seal)
    budget_tokens: int | None = None
    required: frozenset[ItemKey] | None = None
    concurrency: int = 8
    timeout_s: float | None = DEADLINE_S
    provenance_policy: str = ADMIT_RECORDED
    blind_until_collected: bool = True
    spec_sha256: str | None = None
    source: str = "request"
    claims: tuple[PlannedClaim, ...] = ()
    checks: tuple[PlannedCheck, ...] = ()

    def is_required(self, item: BaseItem) -> bool:
        """Return whether compiling must fail when `item` cannot be selected."""
        if self.required is None:
            return item.kind != "claim"
        return item.key in self.required


@dataclass(frozen=True, slots=True)
class BranchOutcome:
    """How one branch ended."""

    name: str
    call_id: str
    status: BranchStatus
    error: str | None = None
    error_kind: str | None = None


@dataclass(frozen=True, slots=True)
class FanoutOutcome:
    """How a fan-out ended: one outcome per branch and check, in the order of the request."""

    fanout_id: str
    branches: tuple[BranchOutcome, ...]
    checks: tuple[CheckOutcome, ...] = ()

    @property
    def statuses(self) -> list[BranchStatus]:
        """The statuses as `fanout.completed` carries them."""
        return [branch.status for branch in self.branches]


def token_estimate(text: str) -> int:
    """Return the size of a text in the budget's unit: UTF-8 bytes divided by 4, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def refuse_malformed(request: FanoutRequest) -> None:
    """Check everything about a request that can be known without a ledger.

    Raises:
        SpecError: A policy of a later release, a repeated name, call id or base item, a required
            item that is not offered, a bound below one, or a prompt over the budget.
    """
    source = request.source
    policy = request.provenance_policy
    if policy in LATER_POLICIES:
        reason = f"'{policy}' is not in this release; allowed: {ADMIT_RECORDED}"
        raise SpecError(source, "fanout.provenance_policy", reason)
    if policy != ADMIT_RECORDED:
        reason = f"unknown policy '{policy}'; allowed: {ADMIT_RECORDED}"
        raise SpecError(source, "fanout.provenance_policy", reason)
    if request.concurrency < 1:
        raise SpecError(source, "fanout.concurrency", "must be at least 1")
    _refuse_repeats(source, "branch name", [branch.name for branch in request.branches])
    _refuse_repeats(source, "branch call_id", [branch.call_id for branch in request.branches])
    _refuse_repeats(source, "base item", [item.item_id for item in request.base])
    offered = {item.key for item in request.base}
    for kind, item_id in sorted((request.required or frozenset()) - offered):
        raise SpecError(source, "fanout.required", f"{kind} {item_id} is not in base")
    _refuse_odd_texts(request)
    _refuse_over_budget(request)
    names = [branch.name for branch in request.branches]
    refuse_unfit(source, request.claims, request.checks, names)
    for branch in request.branches:
        for field_name, value in (("variant", branch.variant), ("parameters", branch.parameters)):
            try:
                refuse_unless_interoperable(dict(value), field_name)
            except PayloadRefused as refused:
                place = f"branch '{branch.name}'.{refused.json_path}"
                raise SpecError(source, place, refused.reason) from refused


def _refuse_odd_texts(request: FanoutRequest) -> None:
    """Check that every text of a request is one that a payload can hold."""
    texts: list[tuple[str, object]] = [
        ("task.id", request.task_id),
        ("fanout.prompt", request.prompt),
        ("fanout.instruction", request.instruction),
    ]
    for branch in request.branches:
        place = f"branch '{branch.name}'"
        texts += [(f"{place}.name", branch.name), (f"{place}.call_id", branch.call_id)]
        texts += [(f"{place}.prompt", branch.prompt), (f"{place}.instruction", branch.instruction)]
        for kind, item_id in branch.omit_lineage:
            if kind == "event":
                reason = f"event {item_id} has a lineage of its own, which cannot be left out"
                raise SpecError(request.source, f"{place}.omit_lineage", reason)
    for place, text in texts:
        if text is not None and not isinstance(text, str):
            raise SpecError(request.source, place, f"must be text, not {type(text).__name__}")
        try:
            refuse_unless_interoperable(text, place)
        except PayloadRefused as refused:
            raise SpecError(request.source, place, refused.reason) from refused


def _refuse_repeats(source: str, what: str, values: list[str]) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise SpecError(source, what, f"'{value}' is used {count} times; each must be its own")


def _refuse_over_budget(request: FanoutRequest) -> None:
    budget = request.budget_tokens
    if budget is None:
        return
    for branch in request.branches:
        prompt = request.prompt if branch.prompt is None else branch.prompt
        instruction = request.instruction if branch.instruction is None else branch.instruction
        size = token_estimate(instruction) + token_estimate(prompt)
        if size > budget:
            reason = (
                f"instruction and prompt of branch '{branch.name}' take {size} tokens, "
                f"over the budget of {budget}"
            )
            raise SpecError(request.source, "fanout.budget_tokens", reason)
