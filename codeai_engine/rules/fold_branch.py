"""The events that name one call, gathered into what the record says of one branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codeai_engine.domain.call import (
    AttemptPayload,
    AttemptStarted,
    CallCompleted,
    CallManifest,
    CallPreparationFailed,
    CallReinterpreted,
    CallReplayed,
    CallRequested,
    CallStatusDecided,
)
from codeai_engine.domain.context import ContextCompilationFailed, ContextCompiled
from codeai_engine.domain.fanout import BranchCancelled
from codeai_engine.domain.view import OutputView
from codeai_engine.rules.fold_event import P, last_read, of_kind, payload_field, reads
from codeai_engine.rules.fold_package import stored_package, stored_seal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.context import Package, Seal
    from codeai_engine.rules.fold_event import OpenedEvent, Read

REFUSED_PREFIX = "context compilation refused: "
OUTPUT_CHARACTERS = 65_536  # what a view holds; the whole is the artifact beside it


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """What the events that name one call hold, by kind.

    Where a call id occurs twice in a fan-out, both branches get every event of it; the request,
    the package and the manifest are those of the branch's own turn.

    Args:
        position: Place in the fan-out's `call_ids`.
        seal: As compiled, or as recorded with a refusal; its text where it cannot be read.
        package: What was compiled; None where nothing was, or it cannot be read.
        siblings: The ids at the other places; with the own id among them where it occurs twice.
        events: In order of sequence.
    """

    call_id: str
    position: int
    siblings: frozenset[str]
    events: tuple[OpenedEvent, ...]
    attempts: tuple[tuple[OpenedEvent, ...], ...]
    requested: Read[CallRequested] | None
    compiled: Read[ContextCompiled] | None
    compilation_failed: Read[ContextCompilationFailed] | None
    manifest: Read[CallManifest] | None
    preparation_failed: Read[CallPreparationFailed] | None
    replayed: Read[CallReplayed] | None
    completed: Read[CallCompleted] | None
    cancelled: Read[BranchCancelled] | None
    seal: Seal | str | None
    package: Package | None

    @property
    def instruction(self) -> str | None:
        """The instruction of the call; None where it was not requested."""
        return self.requested.payload.instruction if self.requested else None

    @property
    def prompt(self) -> str | None:
        """The question of the package, or of the branch that was refused one."""
        for compilation in (self.compiled, self.compilation_failed):
            if compilation is not None:
                return compilation.payload.prompt
        found = self._context().get("prompt")
        return found if isinstance(found, str) else None

    @property
    def actor(self) -> dict[str, Any]:
        """The five fields of the actor, or what of them is recorded."""
        for event in (self.compiled, self.compilation_failed, self.requested):
            if event is not None and event.payload.actor:
                return event.payload.actor
        return {"actor_id": self.events[0].row.actor_id} if self.events else {}

    @property
    def adapter_id(self) -> str | None:
        """The adapter's name in the spec, from the request or, for a refused branch, its end."""
        for event in (self.requested, self.completed):
            if event is not None and event.payload.adapter_id:
                return event.payload.adapter_id
        return None

    @property
    def name(self) -> str | None:
        """The branch's name in the spec (ours), from whatever event of it came first."""
        for compilation in (self.compiled, self.compilation_failed):
            if compilation is not None and compilation.payload.branch:
                return compilation.payload.branch
        metadata = self.requested.payload.metadata if self.requested else None
        found = (metadata or {}).get("branch")
        return found if isinstance(found, str) else None

    @property
    def error(self) -> str | None:
        """The error of the last completion."""
        return self.completed.payload.error if self.completed else None

    @property
    def refused(self) -> str | None:
        """Why compiling was refused: our record of it, or the peer's error text."""
        if self.compilation_failed is not None:
            return self.compilation_failed.payload.message or "no reason is recorded"
        if self.error is not None and self.error.startswith(REFUSED_PREFIX):
            return self.error.removeprefix(REFUSED_PREFIX)
        return None

    @property
    def is_synthesized(self) -> bool:
        """The last completion was made up by the peer for a branch that raised.

        It has no cause and no `call_status` (PEER_FORMAT 4); its zeros are defaults.
        """
        last = self.completed
        return last is not None and last.row.causation_id is None and not last.payload.call_status

    @property
    def decided_status(self) -> str | None:
        """The latest decision on the call's status, reinterpretations included."""
        decided = [
            event
            for event in self.events
            if event.row.kind in {CallStatusDecided.KIND, CallReinterpreted.KIND}
        ]
        found = payload_field(decided[-1], "status") if decided else None
        return found if isinstance(found, str) else None

    @property
    def nothing_sent(self) -> bool:
        """The record shows that no attempt was made.

        The first writers recorded no attempts at all, so their absence alone does not show it.
        """
        if self.attempts:
            return False
        if self.completed is None or self.manifest is not None or self.is_synthesized:
            return True
        ends = (self.refused, self.preparation_failed, self.cancelled)
        return any(end is not None for end in ends)

    def count(self, kind: str) -> int:
        """Return how many events of a kind name the call, read or not."""
        return sum(event.row.kind == kind for event in self.events)

    def _context(self) -> dict[str, Any]:
        return (self.requested.payload.context if self.requested else None) or {}

    def usage(self) -> tuple[int | None, int | None]:
        """Return input and output tokens, each None where it is unknown.

        A made-up completion says 0 and means nothing (PEER_DEFECTS 10); so do the zeros of
        writers that did not yet say where their numbers came from.
        """
        last = self.completed.payload if self.completed else None
        if last is None or self.is_synthesized:
            return None, None
        fields = last.model_fields_set
        found = (
            last.total_input_tokens if "total_input_tokens" in fields else last.input_tokens,
            last.total_output_tokens if "total_output_tokens" in fields else last.output_tokens,
        )
        if last.usage_source is None and not any(found):
            return None, None
        return found

    def output(self) -> OutputView | None:
        """Return what the branch answered, up to `OUTPUT_CHARACTERS`; None where nothing is."""
        last = self.completed.payload if self.completed else None
        if last is None or last.raw_output is None:
            return None
        text, whole = last.raw_output, last.output_artifact or {}
        if not text and not whole and last.status != "succeeded":
            return None
        is_cut = bool(last.raw_output_truncated)
        size = whole.get("byte_length")
        if size is None and not is_cut:
            size = len(text.encode("utf-8", "surrogatepass"))
        return OutputView(
            text=text[:OUTPUT_CHARACTERS],
            truncated=is_cut or len(text) > OUTPUT_CHARACTERS,
            escaped=bool(last.raw_output_escaped) or self._has_shown_escapes(),
            artifact_id=whole.get("artifact_id"),
            byte_length=size,
        )

    def _has_shown_escapes(self) -> bool:
        """Return whether reading the completion put an escape where a surrogate stands."""
        return any(
            event.problem is not None
            for event in self.events
            if self.completed is not None and event.row is self.completed.row
        )


def gather_branch(
    call_ids: Sequence[str],
    position: int,
    events: Sequence[OpenedEvent],
    packages: Sequence[Read[ContextCompiled]],
) -> BranchFacts:
    """Gather what names one call.

    Args:
        call_ids: The fan-out's, by position.
        position: Which of them.
        events: Those that name the call, in order of sequence.
        packages: Every compilation of the fan-out.
    """
    call_id = call_ids[position]
    turn = call_ids[:position].count(call_id) if call_ids.count(call_id) > 1 else None
    requested = _own_turn(reads(events, CallRequested), turn)
    compiled = _compiled(call_ids, call_id, requested, packages)
    failed = last_read(events, ContextCompilationFailed)
    seal = _seal(compiled, failed)
    return BranchFacts(
        call_id=call_id,
        position=position,
        siblings=frozenset(other for at, other in enumerate(call_ids) if at != position),
        events=tuple(events),
        attempts=_attempts(events),
        requested=requested,
        compiled=compiled,
        compilation_failed=failed,
        manifest=_own_turn(reads(events, CallManifest), turn),
        preparation_failed=last_read(events, CallPreparationFailed),
        replayed=last_read(events, CallReplayed),
        completed=last_read(events, CallCompleted),
        cancelled=last_read(events, BranchCancelled),
        seal=seal,
        package=stored_package(compiled.payload, seal) if compiled and seal is not None else None,
    )


def _seal(
    compiled: Read[ContextCompiled] | None, failed: Read[ContextCompilationFailed] | None
) -> Seal | str | None:
    if compiled is not None:
        return stored_seal(compiled.payload.seal)
    if failed is not None and failed.payload.seal is not None:
        return stored_seal(failed.payload.seal)
    return None


def _own_turn(found: tuple[Read[P], ...], turn: int | None) -> Read[P] | None:
    """Return the last event, or for an id that occurs twice the one of this occurrence."""
    if not found or turn is None:
        return found[-1] if found else None
    return found[min(turn, len(found) - 1)]


def _attempts(events: Iterable[OpenedEvent]) -> tuple[tuple[OpenedEvent, ...], ...]:
    """Group the events of attempts by stream, in order of their start."""
    by_stream: dict[str, list[OpenedEvent]] = {}
    for event in events:
        if isinstance(event.payload, AttemptPayload) or event.row.kind.startswith("attempt."):
            by_stream.setdefault(event.row.stream_id, []).append(event)
    started = [group for group in by_stream.values() if of_kind(group, AttemptStarted)]
    return tuple(tuple(group) for group in started)


def _compiled(
    call_ids: Sequence[str],
    call_id: str,
    requested: Read[CallRequested] | None,
    packages: Sequence[Read[ContextCompiled]],
) -> Read[ContextCompiled] | None:
    """Find a branch's compilation: named by it (ours), by the request, or by the sibling rule."""
    own = [package for package in packages if package.payload.call_id == call_id]
    if own:
        return own[-1]
    if requested is not None:
        wanted = (requested.payload.context or {}).get("package_id")
        before = [
            package
            for package in packages
            if package.payload.package_id == wanted
            and package.row.sequence < requested.row.sequence
        ]
        return before[-1] if before else None
    by_rule = [
        package for package in packages if _only_unsealed(call_ids, package.payload) == {call_id}
    ]
    return by_rule[0] if len(by_rule) == 1 else None


def _only_unsealed(call_ids: Sequence[str], package: ContextCompiled) -> set[str]:
    """Return the calls of a fan-out that a package's seal leaves out: its own, by the rule."""
    seal = stored_seal(package.seal)
    if package.call_id is not None or isinstance(seal, str):
        return set()
    return set(call_ids) - seal.forbidden_call_ids
