"""Kinds that only the peer writes; we read and show them."""

from __future__ import annotations

from typing import Any, ClassVar

from codeai_engine.domain.value import Payload

Json = dict[str, Any]


class DirectiveOpened(Payload):
    """`directive.opened`: a mandate under which tasks are created."""

    KIND: ClassVar[str] = "directive.opened"

    directive_id: str
    objective: str | None = None


class OperationGovernanceRecorded(Payload):
    """`operation.governance_recorded`: what permitted a call, check or action."""

    KIND: ClassVar[str] = "operation.governance_recorded"

    subject_id: str | None = None
    status: str | None = None


PeerPayloads = DirectiveOpened | OperationGovernanceRecorded
