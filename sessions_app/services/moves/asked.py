"""The questions that an agent's token leads to, as they stand: for doors that put them to somebody."""

from uuid import UUID

from sessions_app.engine.runs import STOPPED, Dialect
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.checkpoints import CheckpointValue, read_checkpoint
from sessions_app.selectors.standings import Standing
from sessions_app.services.moves.acknowledging import standing_work
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor, Permission


def questions_at_state(*, actor: Actor, state_token: str) -> tuple[CheckpointValue, ...]:
    """Of a run that is led or steered, at the node of the token or where the same work stands by now."""
    actor.require(Permission.READ_RUNS)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    at = standing_work(actor=actor, node_id=token.node_id)
    return _questions(actor, at.standing, at.snapshot)


def questions_of_session(*, actor: Actor, session_token: str, dialect: Dialect) -> tuple[CheckpointValue, ...]:
    """Of a run whose activities are handed over, wherever it stands."""
    held = read_held(actor=actor, token=session_token, dialect=dialect)
    return _questions(actor, held.standing, held.snapshot)


def _questions(actor: Actor, standing: Standing, snapshot: Snapshot) -> tuple[CheckpointValue, ...]:
    """None while a person has stopped the run: an answer would be refused."""
    if standing.run_status in STOPPED:
        return ()
    return tuple(read_checkpoint(actor=actor, request_id=UUID(hex=each.request)) for each in snapshot.questions)
