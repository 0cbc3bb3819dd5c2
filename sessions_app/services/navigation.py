"""Runs that are driven by hand: one action, or a look at where they stand."""

import os
from dataclasses import replace
from datetime import datetime

from sessions_app.engine import landscape
from sessions_app.engine.actions import Action, nonce_of
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decisions import Steer
from sessions_app.engine.refusals import NothingNewError
from sessions_app.engine.reply_facts import ReplyFacts
from sessions_app.engine.runs import AttemptKind
from sessions_app.engine.state import Snapshot
from sessions_app.engine.steering_refusals import REFUSALS
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.standings import Standing
from sessions_app.services.answered import Use
from sessions_app.services.attempts import approves
from sessions_app.services.keys import current_keys, read_token
from sessions_app.services.minting import Entropy, facts_of, mint_tokens
from sessions_app.services.runs import use_once
from sessions_app.services.speech import Reply, Speech
from sessions_app.services.stood import stood_at
from sessions_app.services.triggered import awaited_by
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.engine import canonical
from workflows_app.engine.program import Checkpoint, Program


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
    node_id = token.node_id
    try:
        nonce = nonce_of(node_id=node_id, action=action)
    except canonical.NotCanonicalError as error:
        raise InvalidInputError(f"The action is no plain JSON: {error}", suggestion="Send plain values.") from error
    use = Use(node_id=node_id, nonce=nonce, kind=AttemptKind.ACK)
    try:
        voice = Voice(who=actor.id, door=CLIENT_FORM if asked_by_client else actor.way)
        command = Steer(action=action, by_person=approves(actor), voice=voice)
        return use_once(actor, use, command, keys, retired=token.retired, now=now, entropy=entropy, speech=speech)
    except NothingNewError:
        return read_situation(actor=actor, state_token=state_token, speech=speech)
    except REFUSALS as error:
        return read_situation(actor=actor, state_token=state_token, refusal=error, speech=speech)


def read_situation(
    *, actor: Actor, state_token: str, speech: Speech[ReplyFacts], refusal: WorkrailError | None = None
) -> Reply:
    """Where a run driven by hand stands, or that an action was refused there. Nothing is written."""
    standing, program, snapshot = _stood(actor, state_token)
    minted = mint_tokens(
        keys=current_keys(), node_id=standing.node_id, snapshot=snapshot, entropy=os.urandom, prints=speech.prints
    )
    facts = facts_of(standing=standing, program=program, snapshot=snapshot, minted=minted)
    return speech.reply(replace(facts, refusal=refusal, awaited=awaited_by(actor=actor, snapshot=snapshot)))


def read_checkpoint(*, actor: Actor, state_token: str) -> Checkpoint | None:
    """The question that waits at a node, if one does."""
    _standing, program, snapshot = _stood(actor, state_token)
    return landscape.surveyed(program=program, snapshot=snapshot).checkpoint


def _stood(actor: Actor, state_token: str) -> tuple[Standing, Program, Snapshot]:
    actor.require(Permission.READ_RUNS)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    return stood_at(actor=actor, node_id=token.node_id)
