"""Payload models: every kind is in the union once, and old shapes are read as what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

import pytest

from codeai_engine.domain.claim import ClaimPayloads
from codeai_engine.domain.events import PAYLOAD_BY_KIND, UnreadPayload, read_payload
from codeai_engine.domain.peer import (
    DirectiveOpened,
    DirectiveRegistrationRequested,
    PeerPayloads,
    TaskAccepted,
)

if TYPE_CHECKING:
    from codeai_engine.domain.value import Payload

PEER_FORMAT_SECTION_4 = """
directive.registration_requested directive.registration_refused directive.opened task.created
authority.transitioned authority.transition_refused task.accepted task.acceptance_rejected
task.completed fanout.requested fanout.completed context.compilation_requested context.compiled
context.compilation_failed call.requested call.preparation_failed call.replayed call.manifest
attempt.started attempt.observed attempt.interpreted attempt.retry_decided attempt.completed
call.status_decided call.completed call.reinterpreted call.resumed operation.governance_recorded
operation.governance_refused scheduler.decision_recorded action.requested action.authorized
action.authorization_refused action.decision_basis_refused action.replay_refused
action.execution_started action.completed action.reconciled action.reconcile_refused
check.requested check.completed claim.recorded claim.linked claim.verification_attempted
claim.verification_attempt_refused claim.evidence claim.status claim.check_inconclusive
claim.extracted claim.evidence_recorded decision.recorded claim.refused claim.evidence_refused
decision.refused ladder.started ladder.rung_entered ladder.rung_declined ladder.resolved
ladder.asked_human ladder.exhausted
"""
KINDS_OF_THE_PEER = frozenset(re.findall(r"\S+", PEER_FORMAT_SECTION_4))


def test_every_kind_of_the_peer_has_a_model() -> None:
    assert PAYLOAD_BY_KIND.keys() >= KINDS_OF_THE_PEER


def test_no_two_models_are_of_one_kind() -> None:
    kinds = [model.KIND for model in (*get_args(PeerPayloads), *get_args(ClaimPayloads))]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize("model", [*get_args(PeerPayloads), *get_args(ClaimPayloads)])
def test_a_model_says_its_kind_and_what_it_means(model: type[Payload]) -> None:
    assert re.match(rf"`{re.escape(model.KIND)}`", model.__doc__ or "")


def test_a_set_that_was_stored_as_text_is_read_as_text() -> None:
    stored = "frozenset({<Capability.READ: 'read'>})"
    text = f'{{"directive_id":"d","capabilities":"{stored}"}}'
    payload = read_payload("directive.registration_requested", text)
    assert isinstance(payload, DirectiveRegistrationRequested)
    assert payload.capabilities == stored


def test_a_missing_field_is_none_and_a_later_one_is_kept() -> None:
    payload = read_payload("directive.opened", '{"directive_id":"d","of_next_year":[1]}')
    assert isinstance(payload, DirectiveOpened)
    assert payload.objective is None
    assert payload.model_extra == {"of_next_year": [1]}


def test_what_identifies_the_subject_may_not_be_missing() -> None:
    assert isinstance(read_payload("directive.opened", "{}"), UnreadPayload)
    assert isinstance(read_payload("task.accepted", "{}"), TaskAccepted)
