"""The composition root: picks clock, ids and ledger, and runs fan-outs and checks on them."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

import codeai_engine
from codeai_engine.adapters.base import close_adapter
from codeai_engine.ambient import SystemClock, TimeOrderedIds
from codeai_engine.domain.events import EventDraft
from codeai_engine.domain.fanout import SessionEnded, SessionStarted
from codeai_engine.errors import LedgerError
from codeai_engine.ledger.memory import MemoryLedger
from codeai_engine.ledger.writer import open_writer
from codeai_engine.runtime.base import resolve_base
from codeai_engine.runtime.check_list import run_checks
from codeai_engine.runtime.environment import read_ledger_key
from codeai_engine.runtime.fanout import begin_fanout, collect_fanout
from codeai_engine.runtime.planned import pin_states, refuse_unfit
from codeai_engine.runtime.record import RUNTIME_ACTOR, RunContext, say_nothing
from codeai_engine.runtime.request import FanoutRequest, refuse_malformed
from codeai_engine.runtime.session import ProcessIdentity, read_process_identity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from anyio.abc import TaskGroup

    from codeai_engine.ambient import Clock, IdSource
    from codeai_engine.domain.value import Payload
    from codeai_engine.ledger.writer import Ledger
    from codeai_engine.runtime.check import CheckOutcome
    from codeai_engine.runtime.planned import ChecksRequest
    from codeai_engine.runtime.request import FanoutOutcome

T = TypeVar("T")
CLOSE_SECONDS = 5.0


class Engine:
    """Runs fan-outs and checks on one ledger. Made by `open_engine`, never by hand.

    The ledger is opened, and created, by the first request that can run at all: one that is refused
    leaves nothing behind.

    Attributes:
        path: The ledger.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        ids: IdSource,
        identity: ProcessIdentity,
        tasks: TaskGroup,
        stop_cause: Callable[[], str],
    ) -> None:
        self.path = path
        self._clock = clock
        self._ids = ids
        self._identity = identity
        self._tasks = tasks
        self._stop_cause = stop_cause
        self._adapters: dict[int, object] = {}
        self._opening = anyio.Lock()
        self._beginning = anyio.Lock()
        self._closing = anyio.Event()
        self._held: _HeldLedger | None = None
        self._session_id = ids.new_id()
        self._is_begun = False
        self._taken_claim_ids: set[str] = set()
        self._taken_check_ids: set[str] = set()

    async def run_fanout(
        self, request: FanoutRequest, *, on_step: Callable[[str, str], None] | None = None
    ) -> FanoutOutcome:
        """Run one sealed fan-out with its checks; return how each branch and check ended.

        Args:
            request: What to run, such as `load_spec` returns.
            on_step: Told the name of a branch and the step it reached.

        Raises:
            SpecError: The request cannot be run; nothing was written.
            LedgerError: The ledger refuses.
        """
        refuse_malformed(request)
        for branch in request.branches:
            self._adapters[id(branch.adapter)] = branch.adapter
        return await _in_a_task(partial(self._fanout, request, on_step))

    async def _fanout(
        self, request: FanoutRequest, on_step: Callable[[str, str], None] | None
    ) -> FanoutOutcome:
        request = replace(request, checks=await pin_states(request.checks, request.source))

        async def look_ahead() -> None:
            # A ledger that is not there holds no base item: refuse before making the file.
            await resolve_base(request, MemoryLedger(clock=self._clock))

        run = self._run(await self._open(look_ahead), on_step)
        async with self._beginning:  # the first of several at once brings the session
            preamble = [] if self._is_begun else [self._session_started()]
            begun = await begin_fanout(request, run, preamble=preamble)
            self._is_begun = True
        return await collect_fanout(begun)

    async def run_checks(
        self, request: ChecksRequest, *, on_step: Callable[[str, str], None] | None = None
    ) -> tuple[CheckOutcome, ...]:
        """Record claims and carry out checks without a fan-out; return how each check ended.

        Args:
            request: What to check, such as `load_checks` returns.
            on_step: Told the id of a check and its verdict.

        Raises:
            SpecError: The request cannot be carried out; nothing was written.
            LedgerError: The ledger refuses.
        """
        refuse_unfit(request.source, request.claims, request.checks, ())
        return await _in_a_task(partial(self._checks, request, on_step))

    async def _checks(
        self, request: ChecksRequest, on_step: Callable[[str, str], None] | None
    ) -> tuple[CheckOutcome, ...]:
        request = replace(request, checks=await pin_states(request.checks, request.source))
        run = self._run(await self._open(), on_step)
        async with self._beginning:
            if not self._is_begun:
                await run.ledger.append([self._session_started()])
                self._is_begun = True
        return await run_checks(request, run)

    def _run(self, ledger: Ledger, on_step: Callable[[str, str], None] | None) -> RunContext:
        return RunContext(
            ledger=ledger,
            clock=self._clock,
            ids=self._ids,
            session_id=self._session_id,
            stop_cause=self._stop_cause,
            ledger_key=partial(read_ledger_key, self.path),
            on_step=on_step or say_nothing,
            taken_claim_ids=self._taken_claim_ids,
            taken_check_ids=self._taken_check_ids,
        )

    async def _open(self, look_ahead: Callable[[], Awaitable[None]] | None = None) -> Ledger:
        async with self._opening:
            if self._held is None:
                if look_ahead is not None and not _may_exist(self.path):
                    await look_ahead()
                # The writer lives in a task of the engine's own, so that it ends where it began,
                # in whatever task a fan-out happens to be run.
                self._held = _HeldLedger()
                self._tasks.start_soon(self._hold_ledger, self._held)
            held = self._held
            await held.ready.wait()
            if held.ledger is None:
                self._held = None
                raise held.refusal or LedgerError(f"{self.path} could not be opened")
        return held.ledger

    async def _hold_ledger(self, held: _HeldLedger) -> None:
        # Shielded: what a cancellation ends is recorded here, so this ends last, by `close`.
        with anyio.CancelScope(shield=True):
            try:
                async with open_writer(self.path, clock=self._clock) as ledger:
                    held.ledger = ledger
                    held.ready.set()
                    await self._closing.wait()
            except LedgerError as error:
                if held.ledger is not None:
                    raise
                held.refusal = error
            finally:
                held.ready.set()

    def _session_started(self) -> EventDraft:
        return self._draft(
            SessionStarted(
                session_id=self._session_id,
                machine_sha256=self._identity.machine_sha256,
                boot_id=self._identity.boot_id,
                pid=self._identity.pid,
                process_started_at=self._identity.process_started_at,
                engine_version=codeai_engine.__version__,
                executor="local",
                isolation="none",
            )
        )

    async def close(self, reason: str) -> None:
        """Let the adapters go, record how the session ended, and close the ledger.

        Args:
            reason: `done`, `interrupted` or `failed`.
        """
        held = self._held
        try:
            with anyio.CancelScope(shield=True):
                try:
                    if self._is_begun and held is not None and held.ledger is not None:
                        ended = SessionEnded(session_id=self._session_id, reason=reason)
                        await held.ledger.append([self._draft(ended)])
                finally:
                    await self._let_adapters_go()
        finally:
            self._closing.set()

    async def _let_adapters_go(self) -> None:
        for adapter in self._adapters.values():
            # What an adapter cannot let go of in time ends with the process.
            with anyio.move_on_after(CLOSE_SECONDS), suppress(Exception):
                await close_adapter(adapter)

    def _draft(self, payload: Payload) -> EventDraft:
        return EventDraft(
            event_id=self._ids.new_id(),
            stream_id=self._session_id,
            kind=payload.KIND,
            actor_id=RUNTIME_ACTOR,
            payload=payload,
        )


@asynccontextmanager
async def open_engine(
    path: str | Path,
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    identity: ProcessIdentity | None = None,
    stop_cause: Callable[[], str] = lambda: "caller",
) -> AsyncIterator[Engine]:
    """Open an engine on a ledger; leaving the block ends the session and closes the file.

    Args:
        path: The ledger; made by the first fan-out where it does not exist.
        clock: Injected for reproducible ledgers; the machine's own when absent.
        ids: Likewise.
        identity: What the session says of this process; read from the system when absent.
        stop_cause: Asked why when a cancellation comes from outside: `signal` or `caller`.
    """
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        engine = Engine(
            Path(path),
            clock or SystemClock(),
            ids or TimeOrderedIds(),
            identity or read_process_identity(),
            tasks,
            stop_cause,
        )
        try:
            yield engine
        except BaseException as error:  # noqa: BLE001 - raised below, without a group around it
            failure = error
        is_cancelled = isinstance(failure, anyio.get_cancelled_exc_class())
        try:
            reason = "interrupted" if is_cancelled else "failed" if failure else "done"
            await engine.close(reason)
        except LedgerError as error:
            failure = failure or error
        if failure is not None and is_cancelled:
            raise failure
    if failure is not None:
        raise failure


@dataclass(slots=True)
class _HeldLedger:
    """The open ledger, or why it could not be opened, once it is known which."""

    ready: anyio.Event = field(default_factory=anyio.Event)
    ledger: Ledger | None = None
    refusal: LedgerError | None = None


async def _in_a_task(job: Callable[[], Awaitable[T]]) -> T:
    """Run in a task of its own, so that a cancellation always comes as one of a scope.

    A task's own `cancel()`, which `asyncio.run` uses on Ctrl-C, goes through every shield; a
    scope's waits until what is being recorded is durable.
    """
    results: list[T] = []
    failures: list[Exception] = []

    async def run() -> None:
        try:
            results.append(await job())
        except Exception as error:  # noqa: BLE001 - raised below: a group would wrap it
            failures.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
    if failures:
        raise failures[0]
    return results[0]


def _may_exist(path: Path) -> bool:
    """Return whether a ledger may be there; where nobody can look, opening it will say why."""
    try:
        return path.exists()
    except OSError:
        return True
