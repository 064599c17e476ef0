"""Drafts the events of one fan-out as the engine writes them (DESIGN 4), a step at a time.

What it binds is right: packages, renderings and bodies come from the rules. A test takes the steps
it needs, in the order it needs, and may change one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from codeai_engine.digests import canonical_json, text_digest
from codeai_engine.domain import call as calls
from codeai_engine.domain.context import (
    Actor,
    Candidate,
    ContextCompilationFailed,
    ContextCompiled,
    Seal,
)
from codeai_engine.domain.events import ArtifactDraft, EventDraft
from codeai_engine.domain.fanout import (
    BranchCancelled,
    FanoutCompleted,
    FanoutRequested,
    SessionEnded,
)
from codeai_engine.domain.view import EventRow
from codeai_engine.errors import RequiredContextMissing
from codeai_engine.rules.bind import compose_model_input, compose_selection_input, prompt_hash
from codeai_engine.rules.compile import (
    COMPILER_VERSION,
    CompileRequest,
    compile_package,
    sibling_seal,
    trace_candidates,
)
from codeai_engine.rules.render import render_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codeai_engine.domain.context import Compilation, Provenance
    from codeai_engine.domain.value import Payload

CREATED_AT = "2026-01-01T00:00:00.000000+00:00"
SESSION = "session-1"


@dataclass(frozen=True)
class Item:
    """One artifact of the base.

    Args:
        lineage: None where nothing is declared, empty where someone vouches for none.
    """

    text: str
    name: str | None = None
    lineage: tuple[str, ...] | None = None

    @property
    def item_id(self) -> str:
        return text_digest(self.text)

    @property
    def provenance(self) -> Provenance:
        if self.lineage is None:
            return "unknown"
        return "declared" if self.lineage else "declared_none"


PARAGRAPH = Item("The sky is green.\n", "paragraph", lineage=())


@dataclass
class FanoutScript:
    """Drafts of one fan-out.

    Args:
        omitted: Branch name to the items compiled as if nothing had been declared of them.
        prompts: Branch name to its own question.
        call_prefix: What call ids begin with; the fan-out's id unless the peer's are reused.
        is_command: The branches are commands, so that the input is sent on standard input.
    """

    names: tuple[str, ...] = ("A", "B", "C")
    base: tuple[Item, ...] = (PARAGRAPH,)
    required: bool = True
    rendered: bool = True
    is_command: bool = False
    omitted: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    fanout_id: str = "fanout-1"
    call_prefix: str | None = None
    artifacts: dict[str, ArtifactDraft] = field(default_factory=dict)
    _compiled: dict[str, Compilation] = field(default_factory=dict)
    _requests: dict[str, str] = field(default_factory=dict)
    _bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    _count: int = 0

    def call_id(self, name: str) -> str:
        return f"{self.call_prefix or self.fanout_id}:call-{name}"

    def begin(self) -> list[EventDraft]:
        """`fanout.requested` and every compilation, as they commit together."""
        for item in self.base:
            self._keep(item.text.encode(), "source")
        drafts = [self._draft(self.fanout_id, self.request(), actor="runtime")]
        for name in self.names:
            drafts += self._compile(name)
        return drafts

    def request(self) -> FanoutRequested:
        return FanoutRequested(
            fanout_id=self.fanout_id,
            task_id="task-1",
            call_ids=[self.call_id(name) for name in self.names],
            base_prompt="What is wrong?",
            context_render=calls.CONTEXT_RENDER_V1 if self.rendered else None,
            input_provenance="rendered_bytes" if self.rendered else "selection_record",
            base_lineage_declared={
                "artifacts": sum(bool(item.lineage) for item in self.base),
                "claims": 0,
            },
            base_offered={"artifacts": len(self.base), "claims": 0, "events": 0},
            provenance_policy="admit_recorded",
            base_lineage={
                "artifacts": {i.item_id: list(i.lineage) for i in self.base if i.lineage},
                "claims": {},
            },
            base_declared_none=[
                {"kind": "artifact", "id": item.item_id, "by": "editor", "why": "by hand"}
                for item in self.base
                if item.lineage == ()
            ],
            base_names={f"artifact:{i.item_id}": i.name for i in self.base if i.name},
            blind_until_collected=True,
        )

    def _compile(self, name: str) -> list[EventDraft]:
        request = self._compile_request(name)
        try:
            compilation = compile_package(request)
        except RequiredContextMissing as error:
            failed = ContextCompilationFailed(
                compilation_id=self.call_id(name),
                task_id="task-1",
                exception="RequiredContextMissing",
                message=error.message,
                call_id=self.call_id(name),
                fanout_id=self.fanout_id,
                seal=request.seal.to_payload(),
                trace=[entry.to_payload() for entry in trace_candidates(request)],
            )
            text = f"context compilation refused: {error.message}"
            completed = calls.CallCompleted(
                call_id=self.call_id(name),
                task_id="task-1",
                status="failed",
                call_status="failed",
                error=text,
                error_kind="compilation_refused",
            )
            return [self._on_call(name, failed), self._on_call(name, completed)]
        self._compiled[name] = compilation
        package = compilation.package
        payload = ContextCompiled(
            **package.identity(),
            package_id=package.package_id,
            trace_id=compilation.trace_id,
            trace=[entry.to_payload() for entry in compilation.trace],
            included_ids=list(compilation.included_ids),
            excluded_ids=list(compilation.excluded_ids),
            compiler_version=COMPILER_VERSION,
            call_id=self.call_id(name),
            lineage_omitted=sorted(item.item_id for item in self.omitted.get(name, ())),
        )
        return [self._draft(package.package_id, payload, actor=f"actor-{name}")]

    def _compile_request(self, name: str) -> CompileRequest:
        omitted = self.omitted.get(name, ())
        return CompileRequest(
            task_id="task-1",
            actor=Actor(f"actor-{name}", provider="local", model="tiny"),
            prompt=self.prompts.get(name, "What is wrong?"),
            candidates=tuple(
                Candidate(
                    "artifact",
                    item.item_id,
                    frozenset() if item in omitted else frozenset(item.lineage or ()),
                    "unknown" if item in omitted else item.provenance,
                    required=self.required,
                )
                for item in self.base
            ),
            seal=sibling_seal(Seal(), frozenset(map(self.call_id, self.names)), self.call_id(name)),
        )

    def requested(self, name: str) -> EventDraft:
        compilation = self._compiled[name]
        package = compilation.package
        draft = self._on_call(
            name,
            calls.CallRequested(
                call_id=self.call_id(name),
                task_id="task-1",
                actor=package.actor.to_payload(),
                context=package.identity() | {"package_id": package.package_id},
                idempotency_key=self.call_id(name),
                pattern="fanout",
                parameters={"max_output_tokens": 300},
                adapter_id="local",
                instruction="Be brief.",
                variant={"temperature": 0.0},
                metadata={"fanout_id": self.fanout_id, "branch": name},
            ),
        )
        self._requests[name] = draft.event_id
        return draft

    def manifest(self, name: str, **changed: Any) -> EventDraft:
        package = self._compiled[name].package
        prompt = package.prompt
        fields: dict[str, Any] = {"rendered_items": [], "input_layout": []}
        if self.rendered:
            held = {("artifact", item.item_id): item.text.encode() for item in self.base}
            rendered = render_context(package.items(), held)
            composed = compose_model_input("Be brief.", rendered, prompt)
            fields = {
                "context_render_version": rendered.version,
                "rendered_context_sha256": rendered.sha256,
                "rendered_items": [item.to_payload() for item in rendered.items],
                "input_layout": [part.to_payload() for part in composed.layout],
                "rendered_context_artifact": self._keep(rendered.content, "rendered_context"),
            }
        else:
            composed = compose_selection_input("Be brief.", prompt)
        body = self._body(composed.text)
        self._bodies[name] = body
        reference = self._keep(canonical_json(body).encode(), "prepared_body")
        return self._on_call(
            name,
            calls.CallManifest(
                **{
                    "call_id": self.call_id(name),
                    "provider": "local",
                    "resolved_model_id": "tiny",
                    "context_package_id": package.package_id,
                    "prompt_hash": prompt_hash("Be brief.", prompt),
                    "effective_parameters": {"protocol": "chat_completions"},
                    "request_body_sha256": reference["sha256"],
                    "request_body_artifact": reference,
                    "input_pointer": "/stdin" if self.is_command else "/messages/0/content",
                    "model_input_sha256": composed.sha256,
                    **fields,
                    **changed,
                }
            ),
        )

    def _body(self, text: str) -> dict[str, Any]:
        if self.is_command:
            return {"argv": ["cat"], "stdin": text}
        return {"model": "tiny", "messages": [{"role": "user", "content": text}]}

    def body(self, name: str) -> dict[str, Any]:
        """The body that the manifest of a branch binds."""
        return self._bodies[name]

    def keep_body(self, body: dict[str, Any]) -> dict[str, Any]:
        """Store another body and return its reference."""
        return self._keep(canonical_json(body).encode(), "prepared_body")

    def started(self, name: str, number: int = 1, **changed: Any) -> EventDraft:
        fields = {"cause": "first", "wait_s": 0.0, "session_id": SESSION} | changed
        return self._on_attempt(
            name, number, calls.AttemptStarted, attempt_index=number, provider="local", **fields
        )

    def sending(self, name: str, number: int = 1) -> EventDraft:
        return self._on_attempt(name, number, calls.AttemptSending)

    def wire(self, name: str, number: int = 1, sha256: str | None = None) -> EventDraft:
        body = self._bodies[name]
        sent = body["stdin"] if self.is_command else canonical_json(body)
        return self._on_attempt(
            name, number, calls.AttemptWireObserved, request_sha256=sha256 or text_digest(sent)
        )

    def observed(self, name: str, number: int = 1) -> EventDraft:
        return self._on_attempt(
            name, number, calls.AttemptObserved, transport_outcome="response_received"
        )

    def interpreted(self, name: str, number: int = 1) -> EventDraft:
        return self._on_attempt(name, number, calls.AttemptInterpreted)

    def attempt_completed(self, name: str, number: int = 1, **changed: Any) -> EventDraft:
        fields: dict[str, Any] = {"status": "succeeded", "latency_ms": 12} | changed
        return self._on_attempt(name, number, calls.AttemptCompleted, **fields)

    def abandoned(self, name: str, number: int = 1, wire: str = "unknown") -> EventDraft:
        return self._on_attempt(
            name, number, calls.AttemptAbandoned, cause="transport", wire=wire, by="guard"
        )

    def completed(self, name: str, **changed: Any) -> EventDraft:
        fields: dict[str, Any] = {
            "status": "succeeded",
            "call_status": "succeeded",
            "raw_output": f"answer of {name}",
        } | changed
        return self._on_call(name, calls.CallCompleted(call_id=self.call_id(name), **fields))

    def cancelled(self, name: str) -> list[EventDraft]:
        gone = BranchCancelled(call_id=self.call_id(name), fanout_id=self.fanout_id, cause="signal")
        end = self.completed(
            name, status="cancelled", call_status="cancelled", raw_output=None, error="cancelled"
        )
        return [self._on_call(name, gone), end]

    def prepared(self, name: str) -> list[EventDraft]:
        """Requested, bound, and its first attempt sent."""
        return [
            self.requested(name),
            self.manifest(name),
            self.started(name),
            self.sending(name),
        ]

    def answered(self, name: str) -> list[EventDraft]:
        """The rest of a branch that succeeds."""
        return [
            self.wire(name),
            self.observed(name),
            self.interpreted(name),
            self.attempt_completed(name),
            self._on_call(
                name, calls.CallStatusDecided(call_id=self.call_id(name), status="succeeded")
            ),
            self.completed(name),
        ]

    def succeeded(self, name: str) -> list[EventDraft]:
        """A whole branch that succeeds."""
        return self.prepared(name) + self.answered(name)

    def ended(self, statuses: Sequence[str] | None = None) -> EventDraft:
        """`fanout.completed`; every branch succeeded unless `statuses` says otherwise."""
        payload = FanoutCompleted(
            fanout_id=self.fanout_id,
            task_id="task-1",
            call_ids=[self.call_id(name) for name in self.names],
            statuses=list(statuses or ["succeeded"] * len(self.names)),
        )
        return self._draft(self.fanout_id, payload, actor="runtime")

    def session_ended(self) -> EventDraft:
        return self._draft(SESSION, SessionEnded(session_id=SESSION, reason="failed"))

    def whole(self) -> list[EventDraft]:
        """The fan-out from its request to its completion, every branch succeeding."""
        drafts = self.begin()
        for name in self.names:
            drafts += self.succeeded(name)
        return [*drafts, self.ended()]

    def _on_call(self, name: str, payload: Payload) -> EventDraft:
        return self._draft(self.call_id(name), payload, actor=f"actor-{name}", cause=name)

    def _on_attempt(
        self,
        name: str,
        number: int,
        model: type[calls.AttemptPayload],
        **fields: Any,
    ) -> EventDraft:
        attempt_id = f"{self.fanout_id}:{name}:attempt-{number}"
        payload = model(attempt_id=attempt_id, call_id=self.call_id(name), **fields)
        return self._draft(attempt_id, payload, actor=f"actor-{name}", cause=name)

    def _draft(
        self, stream_id: str, payload: Payload, *, actor: str = "runtime", cause: str = ""
    ) -> EventDraft:
        self._count += 1
        return EventDraft(
            event_id=f"{self.fanout_id}:event-{self._count:03}",
            stream_id=stream_id,
            kind=payload.KIND,
            actor_id=actor,
            payload=payload,
            causation_id=self._requests.get(cause),
            correlation_id="task-1",
        )

    def _keep(self, content: bytes, artifact_type: str) -> dict[str, Any]:
        draft = ArtifactDraft(content, artifact_type, "text/plain; charset=utf-8")
        self.artifacts[draft.artifact_id] = draft
        return dict(draft.reference())


def rows_of(drafts: Iterable[EventDraft], start: int = 1) -> tuple[EventRow, ...]:
    """The rows that a ledger would hold of `drafts`, from sequence `start` on."""
    return tuple(
        EventRow(
            sequence=sequence,
            event_id=draft.event_id,
            stream_id=draft.stream_id,
            kind=draft.kind,
            actor_id=draft.actor_id,
            payload_json=draft.payload_json(),
            created_at=CREATED_AT,
            causation_id=draft.causation_id,
            correlation_id=draft.correlation_id,
        )
        for sequence, draft in enumerate(drafts, start)
    )


@dataclass
class HeldSources:
    """Sources of a fold that are held in memory."""

    artifacts: dict[str, bytes] = field(default_factory=dict)
    rows: tuple[EventRow, ...] = ()

    def artifact_bytes(self, artifact_id: str) -> bytes | None:
        return self.artifacts.get(artifact_id)

    def event(self, event_id: str) -> EventRow | None:
        return next((row for row in self.rows if row.event_id == event_id), None)

    def claim_records(self, claim_id: str) -> tuple[EventRow, ...]:
        return tuple(
            row for row in self.rows if row.stream_id == claim_id and row.kind == "claim.recorded"
        )


def sources_of(script: FanoutScript, rows: tuple[EventRow, ...] = ()) -> HeldSources:
    """What the script's artifacts and rows hold."""
    return HeldSources({key: draft.content for key, draft in script.artifacts.items()}, rows)


def with_payload(row: EventRow, text: str) -> EventRow:
    """The same row with another stored text."""
    return replace(row, payload_json=text)
