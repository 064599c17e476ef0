"""Events: drafts that a writer takes, and the union in which stored payloads are read.

A kind that is not known is kept as it is; a payload that does not fit its kind becomes an
`UnreadPayload`, text and problem. Neither is ever dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from codeai_engine.digests import interoperable_json, sha256_hex
from codeai_engine.domain import call, claim, context, fanout, peer
from codeai_engine.domain.value import Payload


@dataclass(frozen=True, slots=True)
class ArtifactDraft:
    """Bytes that commit together with the event that names them.

    Args:
        content: The bytes; at most 64 MiB.
        artifact_type: Such as `rendered_context`, `prepared_body`, `source`.
        media_type: IANA media type.
    """

    content: bytes
    artifact_type: str
    media_type: str

    @property
    def artifact_id(self) -> str:
        """The SHA-256 of the bytes."""
        return sha256_hex(self.content)

    def reference(self) -> dict[str, str | int]:
        """Return the reference that an event holds; its type is the one that counts."""
        digest = self.artifact_id
        return {
            "artifact_id": digest,
            "sha256": digest,
            "media_type": self.media_type,
            "artifact_type": self.artifact_type,
            "byte_length": len(self.content),
        }


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event before it has a sequence and a time.

    Args:
        event_id: Made by the caller, since later events name it as their cause.
        payload: A model of the kind, or a plain object for a kind that has none.
    """

    event_id: str
    stream_id: str
    kind: str
    actor_id: str
    payload: Payload | dict[str, Any]
    causation_id: str | None = None
    correlation_id: str | None = None

    def payload_json(self) -> str:
        """Return the canonical text that is stored.

        Raises:
            PayloadRefused: A value is not I-JSON; names its path.
        """
        if isinstance(self.payload, Payload):
            return self.payload.to_json()
        return interoperable_json(self.payload)


@dataclass(frozen=True, slots=True)
class UnknownPayload:
    """The payload of a kind that this engine has no model for: its text, as it is."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class UnreadPayload:
    """A payload that does not fit its kind: its text, and the first problem in one sentence."""

    kind: str
    text: str
    problem: str


KnownPayload = (
    fanout.SessionStarted
    | fanout.SessionEnded
    | fanout.TaskCreated
    | fanout.FanoutRequested
    | fanout.FanoutCompleted
    | fanout.BranchCancelled
    | context.ContextCompiled
    | context.ContextCompilationFailed
    | context.ContextCompilationRequested
    | call.CallRequested
    | call.CallPreparationFailed
    | call.CallManifest
    | call.CallStatusDecided
    | call.CallCompleted
    | call.CallReplayed
    | call.CallReinterpreted
    | call.CallResumed
    | call.AttemptStarted
    | call.AttemptSending
    | call.AttemptWireObserved
    | call.AttemptObserved
    | call.AttemptInterpreted
    | call.AttemptRetryDecided
    | call.AttemptCompleted
    | call.AttemptAbandoned
    | claim.ClaimPayloads
    | peer.PeerPayloads
)
AnyPayload = KnownPayload | UnknownPayload | UnreadPayload

PAYLOAD_BY_KIND: dict[str, type[Payload]] = {model.KIND: model for model in get_args(KnownPayload)}


def read_payload(kind: str, text: str) -> Payload | UnknownPayload | UnreadPayload:
    """Read the stored text of a payload as the model of its kind.

    Returns:
        The model; `UnknownPayload` where the kind has none; `UnreadPayload` where the text does
        not fit it. Never raises for what a ledger can hold.
    """
    model = PAYLOAD_BY_KIND.get(kind)
    if model is None:
        return UnknownPayload(kind=kind, text=text)
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "$"
        return UnreadPayload(kind=kind, text=text, problem=f"{place}: {first['msg']}")
    except ValueError as error:  # a text that has no UTF-8
        return UnreadPayload(kind=kind, text=text, problem=str(error))
