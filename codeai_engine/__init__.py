"""CodeAI engine: sealed fan-outs and bound checks on an append-only ledger.

The public names. Each is loaded on first use (PEP 562), so that importing this package is cheap:
reading a ledger needs neither pydantic nor a provider.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codeai_engine.domain.check_view import (
        BindingView,
        ChecksView,
        CheckView,
        EarlierView,
        OutputHead,
        PolicyView,
    )
    from codeai_engine.domain.claim_view import (
        ClaimEntry,
        ClaimsView,
        ClaimView,
        DanglingView,
        RefusalView,
        StandingView,
    )
    from codeai_engine.domain.view import (
        ArtifactRow,
        AttemptView,
        BranchView,
        BytesPart,
        EventRow,
        EventSummary,
        FanoutSummary,
        FanoutView,
        LedgerInfo,
        OutputView,
        OverviewView,
        Page,
        SealView,
        TraceView,
    )
    from codeai_engine.engine import Engine, open_engine
    from codeai_engine.errors import CodeAIError, LedgerError
    from codeai_engine.ledger.reader import LedgerReader, open_ledger
    from codeai_engine.queries.views import (
        read_attempts,
        read_check,
        read_checks,
        read_claim,
        read_claims,
        read_event,
        read_events,
        read_fanout,
        read_fanouts,
        read_overview,
    )
    from codeai_engine.spec import load_checks, load_spec

__version__ = "0.1.0"

_HOME = {
    "codeai_engine.domain.check_view": (
        "BindingView",
        "CheckView",
        "ChecksView",
        "EarlierView",
        "OutputHead",
        "PolicyView",
    ),
    "codeai_engine.domain.claim_view": (
        "ClaimEntry",
        "ClaimView",
        "ClaimsView",
        "DanglingView",
        "RefusalView",
        "StandingView",
    ),
    "codeai_engine.domain.view": (
        "ArtifactRow",
        "AttemptView",
        "BranchView",
        "BytesPart",
        "EventRow",
        "EventSummary",
        "FanoutSummary",
        "FanoutView",
        "LedgerInfo",
        "OutputView",
        "OverviewView",
        "Page",
        "SealView",
        "TraceView",
    ),
    "codeai_engine.engine": ("Engine", "open_engine"),
    "codeai_engine.errors": ("CodeAIError", "LedgerError"),
    "codeai_engine.ledger.reader": ("LedgerReader", "open_ledger"),
    "codeai_engine.queries.views": (
        "read_attempts",
        "read_check",
        "read_checks",
        "read_claim",
        "read_claims",
        "read_event",
        "read_events",
        "read_fanout",
        "read_fanouts",
        "read_overview",
    ),
    "codeai_engine.spec": ("load_checks", "load_spec"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ArtifactRow",
    "AttemptView",
    "BindingView",
    "BranchView",
    "BytesPart",
    "CheckView",
    "ChecksView",
    "ClaimEntry",
    "ClaimView",
    "ClaimsView",
    "CodeAIError",
    "DanglingView",
    "EarlierView",
    "Engine",
    "EventRow",
    "EventSummary",
    "FanoutSummary",
    "FanoutView",
    "LedgerError",
    "LedgerInfo",
    "LedgerReader",
    "OutputHead",
    "OutputView",
    "OverviewView",
    "Page",
    "PolicyView",
    "RefusalView",
    "SealView",
    "StandingView",
    "TraceView",
    "__version__",
    "load_checks",
    "load_spec",
    "open_engine",
    "open_ledger",
    "read_attempts",
    "read_check",
    "read_checks",
    "read_claim",
    "read_claims",
    "read_event",
    "read_events",
    "read_fanout",
    "read_fanouts",
    "read_overview",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module defines
    """Load a public name from its module on first use."""
    module = _MODULE_OF.get(name)
    if module is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value
