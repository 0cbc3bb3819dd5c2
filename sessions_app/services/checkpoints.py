"""People answer what runs ask: each service is one conditional write, and its entry in the audit log."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from sessions_app.engine import outputs
from sessions_app.engine.checkpoints import (
    MAX_REASON_CHARACTERS,
    Authority,
    CheckpointAnsweredError,
    CheckpointStaleError,
    CheckpointState,
    Voice,
)
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Answer
from sessions_app.engine.runs import ENDED, Dialect
from sessions_app.models import CheckpointRequest
from sessions_app.selectors.checkpoints import CheckpointValue, read_checkpoint, waiting_node
from sessions_app.selectors.standings import Standing, read_standing, read_tip
from sessions_app.services.attempts import MAX_TRIES, busy, landing_at, landing_of, place_at, snapshot_of, unknown_node
from sessions_app.services.keys import current_keys
from sessions_app.services.minting import Entropy, Minting
from sessions_app.services.transitions import carry_out, claimed_error
from sessions_app.services.triggered import awaited_child, end_with_parent
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.audit import record_audit
from workflows_app.selectors.programs import load_program

_UNANSWERED = Q(state__in=[CheckpointState.OPEN.value, CheckpointState.WITHDRAWN.value])


def claim_checkpoint(*, actor: Actor, request_id: UUID, now: datetime) -> CheckpointValue:
    """Say that one is about to answer. Claiming again changes nothing."""
    _require_person(actor)
    with transaction.atomic(durable=True):
        if not actor.is_human:
            _require_own_word(actor, read_checkpoint(actor=actor, request_id=request_id))
        # One of two who claim at once finds the row claimed: the condition is judged again after the other's commit.
        claimed = CheckpointRequest.objects.filter(
            _UNANSWERED, pk=request_id, team_id=actor.team_id, claimed_by__in=["", actor.id]
        ).update(claimed_by=actor.id, claimed_at=now)
        value = read_checkpoint(actor=actor, request_id=request_id)
        if not claimed:
            _refuse_closed(value)
            raise claimed_error(claimed_by=value.claimed_by)
        _record(actor, "checkpoint.claimed", value, now)
    return value


def release_checkpoint(*, actor: Actor, request_id: UUID, now: datetime) -> CheckpointValue:
    """Take a claim back: one's own, or that of somebody who does not come back."""
    _require_person(actor)
    with transaction.atomic(durable=True):
        if not actor.is_human:
            _require_own_word(actor, read_checkpoint(actor=actor, request_id=request_id))
        rows = CheckpointRequest.objects.filter(_UNANSWERED, pk=request_id, team_id=actor.team_id)
        released = rows.exclude(claimed_by="").update(claimed_by="", claimed_at=None)
        value = read_checkpoint(actor=actor, request_id=request_id)
        if released:
            _record(actor, "checkpoint.released", value, now)
    return value


def answer_checkpoint(
    *, actor: Actor, request_id: UUID, option_id: str, digest: str, reason: str, now: datetime, entropy: Entropy
) -> CheckpointValue:
    """The person's answer moves the run. `digest` is that of what they were shown."""
    _require_person(actor)
    outputs.check_text(reason, name="reason", max_characters=MAX_REASON_CHARACTERS)
    outputs.check_text(option_id, name="option", max_characters=256)
    voice = Voice(who=actor.id, door=actor.way, reason=reason.strip())
    minting = Minting(actor=actor, now=now, entropy=entropy, keys=current_keys())
    command = Answer(request=request_id.hex, option_id=option_id, digest=digest, voice=voice)
    for _ in range(MAX_TRIES):
        if _answer(minting, request_id, command):
            return read_checkpoint(actor=actor, request_id=request_id)
    raise busy()


def _answer(minting: Minting, request_id: UUID, command: Answer) -> bool:
    """One try: False when another writer was first."""
    actor = minting.actor
    at = _where_it_waits(actor, request_id)
    # Read after the log's head: what was answered before it is seen here, and what is answered later moves it.
    value = read_checkpoint(actor=actor, request_id=request_id)
    _require_own_word(actor, value)
    _refuse_closed(value)
    if value.claimed_by not in {"", actor.id}:
        raise claimed_error(claimed_by=value.claimed_by)
    if at is None:
        raise unknown_node()
    if not at.handed_over and waiting_node(team_id=actor.team_id, request_id=request_id) != at.standing.node_id:
        return False
    standing = at.standing
    program = load_program(standing.workflow_hash)
    decision = decide(
        program=program, snapshot=snapshot_of(standing), command=command, place=place_at(minting, standing)
    )
    landing = (
        landing_at(decision, minting.now) if at.handed_over else landing_of(program, decision, standing, minting.now)
    )
    plan = minting.plan(program=program, decision=decision, head=standing.head, landing=landing, attempt=None)
    ends = decision.status in ENDED
    snapshot = decision.snapshot
    child = awaited_child(actor=actor, standing=standing, program=program, snapshot=snapshot) if ends else None
    return carry_out(actor=actor, plan=plan) if child is None else end_with_parent(minting, plan, child)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """Where an answer is taken. A run that is handed over waits as a whole, any other at one of its nodes."""

    standing: Standing
    handed_over: bool


def _where_it_waits(actor: Actor, request_id: UUID) -> _Waiting | None:
    value = read_checkpoint(actor=actor, request_id=request_id)
    handed_over = value.dialect in {Dialect.SESSION, Dialect.ORCHESTRATOR}
    if handed_over:
        standing = read_tip(team_id=actor.team_id, run_id=value.run_id)
    else:
        node_id = waiting_node(team_id=actor.team_id, request_id=request_id)
        standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
    return None if standing is None else _Waiting(standing=standing, handed_over=handed_over)


def _require_person(actor: Actor) -> None:
    if actor.kind is not ActorKind.PERSON:
        raise HumanRequiredError(
            "A checkpoint is answered by a signed-in person; no key can do it, whatever its scopes.",
            suggestion="Ask your user to answer it in the Studio.",
        )
    actor.require(Permission.ANSWER_CHECKPOINTS)


def _require_own_word(actor: Actor, value: CheckpointValue) -> None:
    """A question for people is answered by a token only where the team says so."""
    if value.authority is Authority.HUMAN and not actor.is_human:
        raise HumanRequiredError(
            "The question asks for a signed-in person, and tokens of this team do not answer such questions.",
            suggestion="Answer it in the Studio, signed in. An owner may let tokens answer, in the settings of the team.",
            details={"setting": "tokensAnswerHuman"},
        )


def _refuse_closed(value: CheckpointValue) -> None:
    if value.state is CheckpointState.ANSWERED:
        raise CheckpointAnsweredError(
            f"The checkpoint was answered before: {value.option_id}, by {value.answered_by or 'a default'}.",
            suggestion="Read the checkpoint for the answer; the run has gone on with it.",
            details={"optionId": value.option_id, "answeredBy": value.answered_by},
        )
    if value.state is CheckpointState.STALE:
        raise CheckpointStaleError(
            "The question was asked again in other words.",
            suggestion="Answer the newer one: list the open checkpoints.",
        )


def _record(actor: Actor, action: str, value: CheckpointValue, now: datetime) -> None:
    record_audit(actor=actor, action=action, target=to_text(Prefix.CHECKPOINT, value.id), now=now)
