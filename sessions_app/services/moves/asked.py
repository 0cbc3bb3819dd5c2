"""The questions that an agent's token leads to, as they stand: for doors that put them to somebody."""

from uuid import UUID

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.runs import STOPPED, Dialect
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.checkpoints import CheckpointValue, told_checkpoint
from sessions_app.selectors.standings import Standing, read_standing
from sessions_app.services.moves.acknowledging import standing_work
from sessions_app.services.moves.moving import point_of, refuse_stopped
from sessions_app.services.moves.requests import require_part
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor


def questions_at_state(*, actor: Actor, state_token: str) -> tuple[CheckpointValue, ...]:
    """Of a run that is led or steered, at the node of the token or where the same work stands by now."""
    require_part(actor=actor)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    at = standing_work(actor=actor, node_id=token.node_id)
    return _questions(actor, at.standing, at.snapshot)


def question_of_step(*, actor: Actor, state_token: str) -> CheckpointValue | None:
    """The question that a step of a run that is led is, or the one that took its place, and what became of it. Where a person has
    stopped the run, that is told instead.
    """
    require_part(actor=actor)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    standing = read_standing(team_id=actor.team_id, node_id=token.node_id, nonce=b"")
    if standing is None:
        return None
    refuse_stopped(actor, standing)
    asked = point_of(standing).snapshot.asked
    if asked is None:
        return None
    found = told_checkpoint(actor=actor, request_id=UUID(hex=asked.request))
    if found.state is not CheckpointState.STALE:
        return found
    now = questions_at_state(actor=actor, state_token=state_token)
    return next((each for each in now if each.checkpoint_id == found.checkpoint_id), None)


def questions_of_session(*, actor: Actor, session_token: str, dialect: Dialect) -> tuple[CheckpointValue, ...]:
    """Of a run whose activities are handed over, wherever it stands."""
    held = read_held(actor=actor, token=session_token, dialect=dialect)
    return _questions(actor, held.standing, held.snapshot)


def _questions(actor: Actor, standing: Standing, snapshot: Snapshot) -> tuple[CheckpointValue, ...]:
    """None while a person has stopped the run: an answer would be refused."""
    if standing.run_status in STOPPED:
        return ()
    return tuple(told_checkpoint(actor=actor, request_id=UUID(hex=each.request)) for each in snapshot.questions)
