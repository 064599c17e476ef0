"""Two protocols: what reads the state of a subject, and what examines it.

Objects of your own that have these members are passed in, or found by the entry-point groups
`codeai_engine.resolvers` and `codeai_engine.verifiers`. `verifiers/contract.py` is the suite for
both, public and without pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from codeai_engine.domain.check import CheckRequest, CheckResult


@runtime_checkable
class StateResolver(Protocol):
    """Says in which state a subject is, as a digest that differs when the subject does."""

    async def read(self) -> str:
        """Return the digest of the state now, 64 lower-case hex digits.

        Raises:
            VerifierError: The state cannot be read; a check bound to it is then not run.
        """
        ...


@runtime_checkable
class Verifier(Protocol):
    """Examines one subject; which one is the runtime's business, not its own."""

    @property
    def name(self) -> str:
        """What it is called in a record."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever it may judge differently."""
        ...

    async def verify(self, request: CheckRequest) -> CheckResult:
        """Carry out one check.

        PASS and FAIL are what was found; INCONCLUSIVE carries a reason; whatever kept the check
        from being carried out (no command, a timeout, a launch failure) is ERROR and says why.

        Raises:
            VerifierError: Recorded as ERROR, as anything else it raises is.
        """
        ...


@runtime_checkable
class Foresees(Protocol):
    """What a verifier may have besides: it knows of a request that it cannot even begin with.

    The record then says so without an invocation (`check.started`).
    """

    def problem(self, request: CheckRequest) -> str | None:
        """Return why the request cannot be begun with, None where it can be tried."""
        ...
