"""Views of checks. Plain values, so that reading them needs no pydantic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BindingView:
    """What the runtime established about one subject of a check.

    Args:
        status: As it is recorded; None where the record does not say, which is not `unbound`.
        requested: The digest that the check asked for.
        observed: The digest that was read or found.
        reason: Why it is not bound.
    """

    status: str | None = None
    requested: str | None = None
    observed: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What each exit code was declared to mean; `fail_codes` None takes every other code."""

    policy_id: str | None
    pass_codes: tuple[int, ...] = ()
    fail_codes: tuple[int, ...] | None = None
    inconclusive_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputHead:
    """The beginning of what a command wrote on one stream.

    Args:
        text: At most `HEAD_CHARACTERS` of it.
        truncated: More was written than stands here.
        recorded_cut: The record itself does not hold the whole inline.
        byte_length: How many bytes were written in all; None where the record does not say.
        artifact_id: The artifact with what was kept.
    """

    text: str
    truncated: bool = False
    recorded_cut: bool = False
    byte_length: int | None = None
    artifact_id: str | None = None


@dataclass(frozen=True, slots=True)
class EarlierView:
    """An earlier check of the same claim.

    Args:
        sequence: Of its completion.
        claim_id: The claim that both name.
        differs: What is not the same in both; empty where the two are before and after.
        observed: The state's digest then and now, where both were bound to one.
    """

    check_id: str
    sequence: int
    verdict: str | None
    claim_id: str
    differs: tuple[str, ...] = ()
    observed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check as it was recorded; `requested` is None where its request is not in the ledger.

    Args:
        sequence: Of its completion; of its request where it has none.
        event_id: Of its completion; None where it has none.
        invocations: How often a command was really started; None where the record does not count.
        state_after: `stable`, `moved` or `unavailable`; None where no second reading is recorded.
        consumption: What was seen of the command reading its artifact; None where nothing was.
        probes: Seeded defects and how many of them it detected; None where none are recorded.
        subject: How the state is read, in words of the request, such as `file paragraph.md`.
        completions: How many completions this check id has in what was read.
        contradictions: What no runtime could have come to, in plain words.
    """

    check_id: str
    sequence: int
    verdict: str | None
    binding_status: str | None = None
    artifact_binding_status: str | None = None
    error: str | None = None
    inconclusive_reason: str | None = None
    exit_code: int | None = None
    requested: int | None = None
    claim_ids: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    target: str | None = None
    event_id: str | None = None
    task_id: str | None = None
    created_at: str = ""
    state: BindingView = BindingView()
    artifact: BindingView = BindingView()
    policy: PolicyView | None = None
    cwd: str | None = None
    timeout_s: float | None = None
    environment: tuple[tuple[str, str], ...] = ()
    environment_from: tuple[str, ...] = ()
    verifier: str | None = None
    details: str | None = None
    stdout: OutputHead | None = None
    stderr: OutputHead | None = None
    invocations: int | None = None
    state_after: str | None = None
    state_after_observed: str | None = None
    consumption: str | None = None
    probes: tuple[int, int] | None = None
    subject: str | None = None
    branch: str | None = None
    fanout_id: str | None = None
    earlier: EarlierView | None = None
    completions: int = 1
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChecksView:
    """The checks of a ledger.

    Args:
        items: Completed checks by sequence.
        requested: How many were requested, among those read.
        unanswered: Ids of requested checks without a completion, once for each request.
        pending: Those checks themselves.
        total: How many checks the ledger holds, where only the newest were read.
    """

    items: tuple[CheckView, ...]
    requested: int
    unanswered: tuple[str, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
    pending: tuple[CheckView, ...] = ()
    total: int | None = None
