"""People answer what runs ask: each service is one conditional write, and its entry in the audit log."""

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
from sessions_app.engine.decisions import Answer
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest
from sessions_app.selectors.checkpoints import CheckpointValue, read_checkpoint, waiting_node
from sessions_app.selectors.standings import Standing, read_standing, read_tip
from sessions_app.services.moves.moving import Entropy, Tries, mover_of, point_of, unknown_node
from sessions_app.services.store.writing import claimed_error
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.normal_forms import trimmed
from teams_app.services.audit import record_audit

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
    voice = Voice(who=actor.id, door=actor.way, reason=trimmed(reason))
    command = Answer(request=request_id.hex, option_id=option_id, digest=digest, voice=voice)
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        standing = _where_it_waits(actor, request_id)
        # Read after the log's head: what was answered before it is seen here, and what is answered later moves it.
        value = read_checkpoint(actor=actor, request_id=request_id)
        _require_own_word(actor, value)
        _refuse_closed(value)
        if value.claimed_by not in {"", actor.id}:
            raise claimed_error(claimed_by=value.claimed_by)
        if standing is None:
            raise unknown_node()
        if (
            not _waits_as_a_whole(value)
            and waiting_node(team_id=actor.team_id, request_id=request_id) != standing.node_id
        ):
            continue
        if mover.move(point_of(standing), command).append():
            return read_checkpoint(actor=actor, request_id=request_id)


def _where_it_waits(actor: Actor, request_id: UUID) -> Standing | None:
    value = read_checkpoint(actor=actor, request_id=request_id)
    if _waits_as_a_whole(value):
        return read_tip(team_id=actor.team_id, run_id=value.run_id)
    node_id = waiting_node(team_id=actor.team_id, request_id=request_id)
    return read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")


def _waits_as_a_whole(value: CheckpointValue) -> bool:
    """A run that is handed over does, any other waits at one of its nodes."""
    return value.dialect in {Dialect.SESSION, Dialect.ORCHESTRATOR}


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
