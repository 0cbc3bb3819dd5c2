"""Runs that are driven by hand: one action, or a look at where they stand."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from sessions_app.engine import steering, tokens
from sessions_app.engine.actions import Action, nonce_of
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decisions import Steer
from sessions_app.engine.refusals import NothingNewError
from sessions_app.engine.reply_facts import AwaitedRun, ReplyFacts
from sessions_app.engine.state import Snapshot
from sessions_app.engine.steering_refusals import REFUSALS
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors import standings
from sessions_app.selectors.session_tokens import read_children
from sessions_app.selectors.standings import Standing
from sessions_app.services.moves.acknowledging import after_answer, done_with, fork_warning, same_work, standing_work
from sessions_app.services.moves.facts import drift_known, facts_after, facts_at
from sessions_app.services.moves.moving import (
    Entropy,
    Mover,
    Point,
    Use,
    as_waived,
    mover_of,
    point_of,
    retired_token,
    unknown_node,
)
from sessions_app.services.moves.requests import approves, require_part
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.store.signing_keys import current_keys, read_token
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.engine import canonical
from workflows_app.engine.program import Program


def steer_run(
    *,
    actor: Actor,
    state_token: str,
    action: Action,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
    asked_by_client: bool = False,
) -> Reply:
    """One action on a run that is driven by hand. The same action on the same state again is answered what was recorded.

    What the landscape does not offer is answered as well, with the state as it was; nothing is written for it.
    `asked_by_client` says that the client had an answer from its user itself.
    """
    actor.require(Permission.DRIVE_RUNS)
    token, keys = read_token(kind=TokenKind.STATE, text=state_token)
    try:
        nonce = nonce_of(node_id=token.node_id, action=action)
    except canonical.NotCanonicalError as error:
        raise InvalidInputError(f"The action is no plain JSON: {error}", suggestion="Send plain values.") from error
    use = Use(node_id=token.node_id, nonce=nonce, keys=keys, refusal=retired_token() if token.retired else None)
    voice = Voice(who=actor.id, door=CLIENT_FORM if asked_by_client else actor.way)
    command = Steer(action=action, by_person=approves(actor), voice=voice)
    try:
        return _steered(mover_of(actor, now=now, entropy=entropy), use, command, speech)
    except NothingNewError:
        return tell_situation(actor=actor, state_token=state_token, speech=speech)
    except REFUSALS as error:
        return tell_situation(actor=actor, state_token=state_token, refusal=error, speech=speech)


def _steered(mover: Mover, use: Use, command: Steer, speech: Speech[ReplyFacts]) -> Reply:
    def attempt(standing: Standing) -> Reply | None:
        read = point_of(standing)
        at, branching = same_work(mover.actor, after_answer(mover.actor, read) or read)
        moved = mover.move(at, command, nonce=use.nonce, nodes=steering.nodes_before(at.program, at.snapshot))
        warnings = (*fork_warning(branching), *drift_known(mover, at.standing))
        facts = facts_after(moved, speech, goal=at.standing.goal, warnings=warnings, branching=branching)
        reply = speech.reply(replace(facts, before=at.snapshot, action=command.action))
        return reply if moved.append(use=use, reply=reply) else None

    return done_with(mover.actor, use, speech, attempt)


def read_situation(*, actor: Actor, state_token: str, speech: Speech[ReplyFacts]) -> Reply:
    """Where a run driven by hand stands. Nothing is written."""
    actor.require(Permission.READ_RUNS)
    return tell_situation(actor=actor, state_token=state_token, speech=speech)


def tell_situation(
    *, actor: Actor, state_token: str, speech: Speech[ReplyFacts], refusal: WorkrailError | None = None
) -> Reply:
    """The same to whoever drives the run, also that an action was refused there."""
    require_part(actor=actor)
    mover = _looking(actor)
    at = _looked_at(mover, state_token)
    facts = facts_at(actor, at, speech, entropy=os.urandom, warnings=drift_known(mover, at.standing))
    return speech.reply(replace(facts, refusal=refusal, awaited=_awaited_by(actor, at.snapshot)))


def _awaited_by(actor: Actor, snapshot: Snapshot) -> Sequence[AwaitedRun]:
    """The runs that this one waits for, with the states to take them on with."""
    found = read_children(team_id=actor.team_id, run_ids=[UUID(hex=run) for run in snapshot.waits_for])
    ring = current_keys().ring
    return [
        AwaitedRun(
            workflow=child.workflow_id,
            state=tokens.mint(keyring=ring, kind=TokenKind.STATE, node_id=child.tip_node_id),
        )
        for child in found
    ]


def read_standing(*, actor: Actor, state_token: str) -> Point:
    """Where a run driven by hand stands, for whoever asks what waits there."""
    actor.require(Permission.READ_RUNS)
    return _looked_at(_looking(actor), state_token)


def read_program(*, actor: Actor, state_token: str) -> Program:
    """What a run driven by hand goes by, whatever is published now."""
    actor.require(Permission.READ_RUNS)
    actor.require(Permission.READ_WORKFLOWS)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    standing = standings.read_standing(team_id=actor.team_id, node_id=token.node_id, nonce=b"")
    if standing is None:
        raise unknown_node()
    return point_of(standing).program


def _looking(actor: Actor) -> Mover:
    return mover_of(actor, now=timezone.now(), entropy=os.urandom)


def _looked_at(mover: Mover, state_token: str) -> Point:
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    at = standing_work(actor=mover.actor, node_id=token.node_id)
    # What an action would find there, with the ends of runs that it no longer has to wait for.
    return replace(at, snapshot=as_waived(mover.actor, mover.caught_up(at)).snapshot)
