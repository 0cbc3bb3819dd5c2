"""Session tokens: begin a run that is handed over, join one, take up a token of a retired key, or begin a child."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from sessions_app.engine import handles, outputs
from sessions_app.engine.children import passed_on
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Decision, Place, Start
from sessions_app.engine.drafts import session_draft
from sessions_app.engine.handles import MAX_AGENT_CHARACTERS, Handle, ParentContext, handle_of, issued_draft
from sessions_app.engine.handover_refusals import CheckpointOpenError
from sessions_app.engine.log import Head, seal
from sessions_app.engine.runs import Dialect, Drive
from sessions_app.engine.state import OpenQuestion, Preferences, Snapshot
from sessions_app.engine.tables import NewRun, handle_row
from sessions_app.engine.tokens import (
    Token,
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenKind,
    TokenScopeMismatchError,
    TokenUnknownNodeError,
    TokenUnsupportedVersionError,
)
from sessions_app.selectors import preferences as preference_selectors
from sessions_app.selectors.handles import Holder, read_holder
from sessions_app.selectors.standings import Standing
from sessions_app.services import children, store
from sessions_app.services.appends import Append, NewSession
from sessions_app.services.attempts import MAX_TRIES, busy, default_due_ms, landing_at, snapshot_of
from sessions_app.services.keys import current_keys, read_token
from sessions_app.services.minting import Entropy, Minting, Opening
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.engine.program import Activity, Program
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published

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
    minting = Minting(actor=actor, now=now, entropy=entropy, keys=current_keys())
    if not wish.session_token:
        return Begun(held=_fresh(minting, wish))
    try:
        read, _ = read_token(kind=TokenKind.SESSION, text=wish.session_token)
        holder = holder_of(actor, read, wish.dialect)
    except _UNUSABLE as error:
        return _recovered(minting, wish, error)
    if wish.dialect is Dialect.SESSION and read.retired:
        raise retired()
    told = _other_workflow(wish, holder)
    joined = _joined(minting, wish, holder)
    if read.retired:
        warning = (
            "The token was signed with a retired key; the session was taken up where it stands. Use the new token."
        )
        return Begun(held=joined, adopted=True, warning=" ".join(part for part in (warning, told) if part))
    return Begun(held=joined, inherited=True, warning=told)


def _recovered(minting: Minting, wish: Wish, error: WorkrailError) -> Begun:
    """The orchestrator's contract goes on with a fresh session; nothing of what the token said is believed."""
    if wish.dialect is not Dialect.ORCHESTRATOR:
        raise error
    warning = (
        f"{error.message} A fresh session was begun: the state of the previous one was not inherited and must be "
        "reconstructed from what you saved."
    )
    return Begun(held=_fresh(minting, wish), recovered=True, warning=warning)


def _other_workflow(wish: Wish, holder: Holder) -> str:
    """The token says which workflow it is of. Where the contract checks the name, another one is refused."""
    names = {holder.standing.workflow_id, load_program(holder.standing.workflow_hash).id}
    if not wish.workflow_id or wish.workflow_id in names:
        return ""
    said = f"The token is of a session of {holder.standing.workflow_id!r}, not of {wish.workflow_id!r}."
    if wish.dialect is Dialect.SESSION:
        raise InvalidInputError(
            said,
            suggestion="Begin another workflow without a token.",
            details={"parameter": "workflow_id"},
        )
    return f"{said} It goes on with its own workflow."


def _fresh(minting: Minting, wish: Wish) -> Held:
    for _ in range(MAX_TRIES):
        held = _begun(minting, wish)
        if held is not None:
            return held
    raise busy()


def _begun(minting: Minting, wish: Wish) -> Held | None:
    """One try: None when the parent's session was written to meanwhile."""
    actor = minting.actor
    parent = _parent(actor, wish)
    published = find_published(actor=actor, workflow_id=wish.workflow_id or META)
    program = load_program(published.workflow_hash)
    place = Place(
        session_id=minting.new_id(),
        run_id=minting.new_id(),
        node_id=None,
        next_node=minting.new_id(),
        nonce=b"",
        workflow_id=published.workflow_id,
        workflow_hash=published.workflow_hash,
        at_ms=minting.unix_ms,
        due_ms=default_due_ms(),
    )
    names = frozenset({published.workflow_id, published.requested_id, program.id})
    trigger = children.trigger_for(actor, parent.activity, published.workflow_id, names) if parent else None
    context = passed_on(trigger, parent.snapshot) if parent and trigger else {}
    baseline = preference_selectors.baseline_of(actor=actor)
    command = Start(
        goal="",
        context=context,
        baseline=baseline,
        bundled=published.bundled,
        trigger=actor.door.value,
        drive=Drive.HANDED_OVER,
    )
    decision = decide(program=program, snapshot=None, command=command, place=place)
    handle = handle_of(
        session_id=place.session_id,
        run_id=place.run_id,
        dialect=wish.dialect,
        agent_id=wish.agent_id,
        parent=_context_of(parent) if parent else None,
    )
    plan = _plan(minting, program, decision, handle, baseline)
    with transaction.atomic(durable=True):
        if not store.append(plan):
            return None
        if parent and trigger and not children.suspend(minting, parent.standing, run_id=place.run_id):
            transaction.set_rollback(True)
            return None
    return _read_again(actor, handle)


def _plan(minting: Minting, program: Program, decision: Decision, handle: Handle, baseline: Preferences) -> Append:
    place = decision.place
    parent_id = handle.parent.session_id if handle.parent else None
    opening = Opening(
        drafts=[
            session_draft(session_id=place.session_id, title=program.title, parent_id=parent_id, baseline=baseline)
        ],
        session=NewSession(title=program.title, baseline=baseline, parent_id=parent_id),
        observed={},
        run=NewRun(
            workflow_id=place.workflow_id,
            workflow_title=program.title,
            workflow_hash=place.workflow_hash,
            dialect=handle.dialect.value,
            goal="",
        ),
    )
    return minting.plan(
        program=program,
        decision=decision,
        head=Head(),
        landing=landing_at(decision, minting.now),
        attempt=None,
        opening=opening,
        handle=handle,
    )


def _parent(actor: Actor, wish: Wish) -> Held | None:
    """A child acts for the team of its parent, which is the team of the key that begins it."""
    return read_held(actor=actor, token=wish.parent_token, dialect=wish.dialect) if wish.parent_token else None


def _context_of(parent: Held) -> ParentContext:
    return ParentContext(
        run_id=parent.handle.run_id,
        session_id=parent.handle.session_id,
        workflow_id=parent.standing.workflow_id,
        activity=parent.snapshot.position.activity,
        version=parent.program.version,
    )


# Joining


def _joined(minting: Minting, wish: Wish, holder: Holder) -> Held:
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
    for _ in range(MAX_TRIES):
        # The log's head first: whoever joins after it was read moves it, and whoever joined before is found.
        latest = read_holder(team_id=minting.actor.team_id, handle_id=holder.handle.id) or holder
        known = read_holder(team_id=minting.actor.team_id, handle_id=handle.id)
        if known is not None:
            return held_of(known)
        if store.append(_joining(minting, latest.standing, handle)):
            return _read_again(minting.actor, handle)
    raise busy()


def _read_again(actor: Actor, handle: Handle) -> Held:
    holder = read_holder(team_id=actor.team_id, handle_id=handle.id)
    if holder is None:
        raise busy()
    return held_of(holder)


def _joining(minting: Minting, standing: Standing, handle: Handle) -> Append:
    sealed = seal(
        drafts=[issued_draft(handle)],
        session_id=handle.session_id,
        head=standing.head,
        event_ids=[minting.new_id()],
        timestamp_ms=minting.unix_ms,
    )
    return Append(
        team_id=minting.actor.team_id,
        session_id=handle.session_id,
        actor=minting.actor.id,
        now=minting.now,
        before=standing.head,
        after=sealed.head,
        events=sealed.events,
        run_id=handle.run_id,
        handles=[handle_row(handle, event_index=sealed.events[0].index, created_at=minting.now)],
    )


# Reading


def holder_of(actor: Actor, token: Token, dialect: Dialect, *, nonce: bytes = b"") -> Holder:
    holder = read_holder(team_id=actor.team_id, handle_id=token.node_id, nonce=nonce)
    if holder is None:
        raise TokenUnknownNodeError(
            "No session of your team stands behind this token.", suggestion="Begin a new session."
        )
    if holder.handle.dialect is not dialect:
        raise TokenScopeMismatchError(
            f"The token is of the {holder.handle.dialect.value} dialect.",
            suggestion=f"Use it at the address of that dialect, /mcp/{holder.handle.dialect.value}.",
        )
    return holder


def held_of(holder: Holder) -> Held:
    return Held(
        handle=holder.handle,
        token=token_at(holder.handle, holder.standing.head.next_index),
        program=load_program(holder.standing.workflow_hash),
        snapshot=snapshot_of(holder.standing),
        standing=holder.standing,
    )


def token_at(handle: Handle, index: int) -> str:
    return handles.mint(keyring=current_keys().ring, handle_id=handle.id, index=index)


def retired() -> TokenBadSignatureError:
    return TokenBadSignatureError(
        "The token was signed with a key that is no longer trusted.",
        suggestion="Begin with it, which gives a fresh token of the same session where that is allowed.",
        details={"retired": True},
    )
