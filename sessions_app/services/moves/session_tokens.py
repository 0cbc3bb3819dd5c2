"""Session tokens: begin a run that is handed over, join one, take up a token of a retired key, or begin a child."""

from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import structs

from sessions_app.engine import outputs, session_tokens
from sessions_app.engine.handover_refusals import CheckpointOpenError
from sessions_app.engine.runs import Dialect
from sessions_app.engine.session_tokens import MAX_AGENT_CHARACTERS, Handle, handle_of, issued_draft
from sessions_app.engine.state import OpenQuestion, Snapshot
from sessions_app.engine.tables import handle_row
from sessions_app.engine.tokens import (
    Token,
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenKind,
    TokenScopeMismatchError,
    TokenUnknownNodeError,
    TokenUnsupportedVersionError,
)
from sessions_app.selectors.session_tokens import Holder, read_holder
from sessions_app.selectors.standings import Standing
from sessions_app.services.moves.beginning import Beginning, begin_run, parent_at
from sessions_app.services.moves.moving import Entropy, Mover, Point, Tries, mover_of, point_of, refuse_stopped
from sessions_app.services.store.signing_keys import current_keys, read_token
from sessions_app.services.store.writing import write
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.engine.program import Activity, Program
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published, ids_behind

META = "meta"
_UNUSABLE = (
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenUnknownNodeError,
    TokenUnsupportedVersionError,
    TokenScopeMismatchError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a session token stands for now. `token` is the one to hand back: it names the holder and the end of the log."""

    handle: Handle
    token: str
    program: Program
    snapshot: Snapshot
    standing: Standing

    @property
    def activity(self) -> Activity | None:
        """Where the run is; None before its first activity."""
        return self.program.activity(self.snapshot.position.activity)

    @property
    def pending(self) -> tuple[OpenQuestion, ...]:
        return self.snapshot.questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """How a session token came about. `warning` is for the agent to read."""

    held: Held
    inherited: bool = False
    adopted: bool = False
    recovered: bool = False
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an agent begins with: a workflow, a token to go on with, or the token of the session that dispatches it."""

    dialect: Dialect
    workflow_id: str = ""
    agent_id: str = ""
    session_token: str = ""
    parent_token: str = ""


def read_held(*, actor: Actor, token: str, dialect: Dialect) -> Held:
    """Nothing is written. Raises one of the `TOKEN_*` errors; a token of a retired key is taken up by `begin` only."""
    actor.require(Permission.READ_RUNS)
    read, _ = read_token(kind=TokenKind.SESSION, text=token)
    if read.retired:
        raise retired()
    return held_of(holder_of(actor, read, dialect))


def refuse_gated(held: Held) -> None:
    """Where the work waits for a question, nothing of it is handed out."""
    if held.pending:
        raise CheckpointOpenError.to_work(held.snapshot)


def begin(*, actor: Actor, wish: Wish, now: datetime, entropy: Entropy) -> Begun:
    """A fresh session, or the one of the token under this agent's name. A child is linked to its parent for good."""
    actor.require(Permission.DRIVE_RUNS)
    outputs.check_text(wish.agent_id, name="agent_id", max_characters=MAX_AGENT_CHARACTERS)
    mover = mover_of(actor, now=now, entropy=entropy)
    if not wish.session_token:
        return Begun(held=_fresh(mover, wish))
    try:
        read, _ = read_token(kind=TokenKind.SESSION, text=wish.session_token)
        holder = holder_of(actor, read, wish.dialect)
    except _UNUSABLE as error:
        return _recovered(mover, wish, error)
    if wish.dialect is Dialect.SESSION and read.retired:
        raise retired()
    told = _other_workflow(actor, wish, holder)
    joined = _joined(mover, wish, holder)
    if read.retired:
        warning = (
            "The token was signed with a retired key; the session was taken up where it stands. Use the new token."
        )
        return Begun(held=joined, adopted=True, warning=" ".join(part for part in (warning, told) if part))
    return Begun(held=joined, inherited=True, warning=told)


def _recovered(mover: Mover, wish: Wish, error: WorkrailError) -> Begun:
    """The orchestrator's contract goes on with a fresh session; nothing of what the token said is believed."""
    if wish.dialect is not Dialect.ORCHESTRATOR:
        raise error
    warning = (
        f"{error.message} A fresh session was begun: the state of the previous one was not inherited and must be "
        "reconstructed from what you saved."
    )
    return Begun(held=_fresh(mover, wish), recovered=True, warning=warning)


def _other_workflow(actor: Actor, wish: Wish, holder: Holder) -> str:
    """The token says which workflow it is of, by any of its names. Where the contract checks the name, another one is refused."""
    own = holder.standing.workflow_id
    names = {own, load_program(holder.standing.workflow_hash).id}
    if not wish.workflow_id or wish.workflow_id in names or own in ids_behind(actor, [wish.workflow_id]):
        return ""
    said = f"The token is of a session of {holder.standing.workflow_id!r}, not of {wish.workflow_id!r}."
    if wish.dialect is Dialect.SESSION:
        raise InvalidInputError(
            said,
            suggestion="Begin another workflow without a token.",
            details={"parameter": "workflow_id"},
        )
    return f"{said} It goes on with its own workflow."


def _fresh(mover: Mover, wish: Wish) -> Held:
    beginning = Beginning(workflow_id=wish.workflow_id or META, dialect=wish.dialect, agent_id=wish.agent_id)
    tries = Tries()
    while True:
        tries.begin()
        parent = _parent(mover.actor, wish)
        published = find_published(actor=mover.actor, workflow_id=beginning.workflow_id)
        moved = begin_run(mover, beginning, published, parent_at(mover.actor, parent, published) if parent else None)
        if moved.append() and moved.handle is not None:
            return _read_again(mover.actor, moved.handle)


def _parent(actor: Actor, wish: Wish) -> Point | None:
    """A child acts for the team of its parent, which is the team of the key that begins it."""
    if not wish.parent_token:
        return None
    held = read_held(actor=actor, token=wish.parent_token, dialect=wish.dialect)
    refuse_stopped(actor, held.standing)
    return Point(standing=held.standing, program=held.program, snapshot=held.snapshot, handle=held.handle)


# Joining


def _joined(mover: Mover, wish: Wish, holder: Holder) -> Held:
    """The same run under this agent's name. Whoever joined before joins without a trace."""
    agent = wish.agent_id or holder.handle.agent_id
    handle = replace(
        handle_of(
            session_id=holder.handle.session_id,
            run_id=holder.handle.run_id,
            dialect=holder.handle.dialect,
            agent_id=agent,
        ),
        parent=holder.handle.parent,
    )
    tries = Tries()
    while True:
        tries.begin()
        # The log's head first: whoever joins after it was read moves it, and whoever joined before is found.
        latest = read_holder(team_id=mover.actor.team_id, handle_id=holder.handle.id) or holder
        known = read_holder(team_id=mover.actor.team_id, handle_id=handle.id)
        if known is not None:
            return held_of(known)
        head, session_id, run_id = latest.standing.head, handle.session_id, handle.run_id
        note = mover.note(session_id=session_id, head=head, drafts=[issued_draft(handle)], run_id=run_id)
        joined = handle_row(handle, event_index=head.next_index, created_at=mover.now)
        if write(actor=mover.actor, plans=[structs.replace(note, handles=[joined])]):
            return _read_again(mover.actor, handle)


def _read_again(actor: Actor, handle: Handle) -> Held:
    holder = read_holder(team_id=actor.team_id, handle_id=handle.id)
    if holder is None:
        raise _unknown_session()
    return held_of(holder)


# Reading


def holder_of(actor: Actor, token: Token, dialect: Dialect, *, nonce: bytes = b"") -> Holder:
    holder = read_holder(team_id=actor.team_id, handle_id=token.node_id, nonce=nonce)
    if holder is None:
        raise _unknown_session()
    if holder.handle.dialect is not dialect:
        raise TokenScopeMismatchError(
            f"The token is of the {holder.handle.dialect.value} dialect.",
            suggestion=f"Use it at the address of that dialect, /mcp/{holder.handle.dialect.value}.",
        )
    return holder


def held_of(holder: Holder) -> Held:
    return held_at(point_of(holder.standing, handle=holder.handle))


def held_at(at: Point) -> Held:
    if at.handle is None:
        raise _unknown_session()
    return Held(
        handle=at.handle,
        token=token_at(at.handle, at.standing.head.next_index),
        program=at.program,
        snapshot=at.snapshot,
        standing=at.standing,
    )


def token_at(handle: Handle, index: int) -> str:
    return session_tokens.mint(keyring=current_keys().ring, handle_id=handle.id, index=index)


def _unknown_session() -> TokenUnknownNodeError:
    return TokenUnknownNodeError("No session of your team stands behind this token.", suggestion="Begin a new session.")


def retired() -> TokenBadSignatureError:
    return TokenBadSignatureError(
        "The token was signed with a key that is no longer trusted.",
        suggestion="Begin with it, which gives a fresh token of the same session where that is allowed.",
        details={"retired": True},
    )
