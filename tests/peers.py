"""Where the peer's sample ledgers are: beside the project, or where a variable says.

They are read-only data of another system with expected facts; tests that need them skip without.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[1]
PEER_LEDGERS = Path(os.environ.get("CODEAI_PEER_LEDGERS", _ROOT.parent / "shared" / "peer-ledgers"))
PEER_NAMES = (
    "big_500",
    "checks_all",
    "claims_promotion",
    "clean_fanout",
    "evidence_path",
    "fanout_cancelled",
    "fanout_failures",
    "governance_ops",
    "ladder_runs",
    "mixed_render",
    "odd_payloads",
    "orphan_kills",
    "rendered_fanout",
    "seal_exclusions",
    "selection_only",
    "v0_legacy",
    "wal_live",
)
needs_peer_ledgers = pytest.mark.skipif(
    not (PEER_LEDGERS / "expected.json").is_file(),
    reason="the peer's sample ledgers are not beside the project (set CODEAI_PEER_LEDGERS)",
)


def peer_ledger(name: str) -> Path:
    """Return the path of one of the peer's sample ledgers."""
    return PEER_LEDGERS / name / "ledger.sqlite"


def expected_facts(name: str) -> dict[str, Any]:
    """Return the exact facts that are stated for one of the peer's sample ledgers."""
    facts: dict[str, Any] = json.loads((PEER_LEDGERS / "expected.json").read_text())["ledgers"][
        name
    ]
    return facts
