"""Begins runs: the published program is pinned, a session is made where none is named, and a parent's run is told to wait."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine import landscape, outputs
from sessions_app.engine.children import given_to, passed_on, settled_of
from sessions_app.engine.decisions import Place, PreferenceChange, Start, Suspend, Warned, WarningCode, derive_id
from sessions_app.engine.drafts import session_draft
from sessions_app.engine.log import Head
from sessions_app.engine.observations import check_observations, observation_drafts
from sessions_app.engine.reply_facts import ReplyFacts
from sessions_app.engine.runs import DRIVES, Dialect, Drive, ObservationKey, Recorded
from sessions_app.engine.session_tokens import Handle, ParentContext, handle_of
from sessions_app.engine.state import Preferences
from sessions_app.engine.steering_refusals import CheckpointBlockingError
from sessions_app.engine.tables import NewRun
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind
from sessions_app.selectors import preferences as preference_selectors
from sessions_app.selectors.standings import (
    SessionStanding,
    is_request_known,
    read_recorded,
    read_session,
)
from sessions_app.services.moves.acknowledging import standing_work
from sessions_app.services.moves.facts import facts_after
from sessions_app.services.moves.moving import (
    Entropy,
    Moved,
    Mover,
    Opening,
    Point,
    Use,
    default_due_ms,
    done_once,
    mover_of,
    refuse_stopped,
    retired_token,
)
from sessions_app.services.moves.requests import chosen_by
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.moves.triggers import trigger_for
from sessions_app.services.store.appends import Append, NewSession
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError, RequestKeyReusedError
from workflows_app.engine import canonical
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Program, Trigger
from workflows_app.engine.values import Published
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published

MAX_TITLE_CHARACTERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a run begins with. Without `session_id` a new session is made for it.

    `request_key` is the caller's name for this one request: the same key again is answered the run that it began.
    `parent_state` is a state of the run driven by hand that triggers this one.
    """

    workflow_id: str
    goal: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    preferences: PreferenceChange | None = None
    observations: Mapping[ObservationKey, str] = field(default_factory=dict)
    session_id: UUID | None = None
    title: str = ""
    dialect: Dialect = Dialect.RAIL
    agent_id: str = ""
    request_key: str = ""
    parent_state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The run that a child is begun from. Without a trigger for the child it is linked and does not wait."""

    point: Point
    trigger: Trigger | None

    def given(self, program: Program, context: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a run of the program is given, and what remains of what whoever begins it says: no echo of what is not passed on."""
        if self.trigger is None:
            return {}, dict(context)
        at = self.point
        passed = passed_on(self.trigger, program=at.program, parent=at.snapshot)
        given = given_to(program, passed=passed, program=at.program, parent=at.snapshot)
        kept = passed.keys() - given.keys()
        return given, {name: value for name, value in context.items() if name not in kept or value != passed[name]}

    @property
    def settled(self) -> tuple[str, ...]:
        return settled_of(self.trigger, parent=self.point.snapshot) if self.trigger else ()

    @property
    def told(self) -> ParentContext:
        standing = self.point.standing
        return ParentContext(
            run_id=standing.run_id,
            session_id=standing.session_id,
            workflow_id=standing.workflow_id,
            activity=self.point.snapshot.position.activity,
            version=self.point.program.version,
        )


def start_run(
    *, actor: Actor, beginning: Beginning, now: datetime, entropy: Entropy, speech: Speech[ReplyFacts]
) -> Reply:
    """Pin the published program, begin a run and hand out its first step."""
    actor.require(Permission.DRIVE_RUNS)
    check_observations(beginning.observations)
    check_title(beginning.title)
    mover = mover_of(actor, now=now, entropy=entropy)
    use = _request(mover, beginning)

    def attempt(_: Recorded | None) -> Reply | None:
        published = find_published(actor=actor, workflow_id=beginning.workflow_id)
        moved = begin_run(mover, beginning, published, _parent(mover, beginning, published))
        reply = speech.reply(facts_after(moved, speech, goal=beginning.goal, warnings=_legacy_warning(published)))
        return reply if moved.append(use=use, reply=reply) else None

    return done_once(
        lambda: _begun(actor, use) if use else None,
        lambda recorded: use.recorded(recorded, speech) if use else None,
        attempt,
    )


def begin_run(mover: Mover, beginning: Beginning, published: Published, parent: Parent | None) -> Moved:
    """The first move of a run, with its parent's."""
    program = load_program(published.workflow_hash)
    session = _session_for(mover.actor, beginning)
    place = Place(
        session_id=session.session_id if session else mover.new_id(),
        run_id=mover.new_id(),
        node_id=None,
        next_node=mover.new_id(),
        nonce=b"",
        workflow_id=published.workflow_id,
        workflow_hash=published.workflow_hash,
        at_ms=mover.unix_ms,
        due_ms=default_due_ms(),
    )
    told = preference_selectors.told_baseline(session) if session else None
    baseline = told or preference_selectors.baseline_of(actor=mover.actor)
    given, context = parent.given(program, beginning.context) if parent else ({}, beginning.context)
    command = Start(
        goal=beginning.goal,
        context=context,
        baseline=baseline,
        preferences=chosen_by(mover.actor, beginning.preferences),
        bundled=published.bundled,
        trigger=mover.actor.door.value,
        drive=DRIVES[beginning.dialect],
        given=given,
        settled=parent.settled if parent else (),
    )
    moved = mover.begin(
        program=program,
        command=command,
        place=place,
        head=session.head if session else Head(),
        opening=_opening(beginning, program, place, session=session, baseline=baseline, parent=parent),
        handle=_handle(beginning, place, parent),
    )
    return moved if parent is None else replace(moved, above=_suspended(mover, moved, parent))


def _suspended(mover: Mover, moved: Moved, parent: Parent) -> tuple[Append, ...]:
    """The parent waits for the run; a run in which nothing is to be done lets it go on at once."""
    handle, place = moved.handle, moved.decision.place
    if parent.trigger is None or handle is None:
        return ()
    waits = mover.move(parent.point, Suspend(run=place.run_id.hex))
    if not moved.decision.snapshot.position.complete:
        return *waits.owed, waits.plan
    back = mover.take_back(
        waits.point_after(parent.point),
        handle,
        program=moved.program,
        workflow_id=place.workflow_id,
        snapshot=moved.decision.snapshot,
    )
    return *waits.owed, waits.plan, *back


def _handle(beginning: Beginning, place: Place, parent: Parent | None) -> Handle | None:
    """Of a run that is handed over, or that another one began."""
    if parent is None and DRIVES[beginning.dialect] is not Drive.HANDED_OVER:
        return None
    return handle_of(
        session_id=place.session_id,
        run_id=place.run_id,
        dialect=beginning.dialect,
        agent_id=beginning.agent_id,
        parent=parent.told if parent else None,
    )


def _opening(
    beginning: Beginning,
    program: Program,
    place: Place,
    *,
    session: SessionStanding | None,
    baseline: Preferences,
    parent: Parent | None,
) -> Opening:
    parent_id = parent.point.standing.session_id if parent else None
    title = beginning.title or beginning.goal[:200] or program.title
    begun = session_draft(session_id=place.session_id, title=title, parent_id=parent_id, baseline=baseline)
    observed = observation_drafts(
        session_id=place.session_id,
        observations=beginning.observations,
        current=session.observed if session else {},
        next_index=session.head.next_index if session else 0,
    )
    return Opening(
        drafts=(*(() if session else (begun,)), *observed),
        session=None if session else NewSession(title=title, baseline=baseline, parent_id=parent_id),
        observed={key.value: value for key, value in beginning.observations.items()},
        run=NewRun(
            workflow_id=place.workflow_id,
            workflow_title=program.title,
            workflow_hash=place.workflow_hash,
            dialect=beginning.dialect.value,
            goal=beginning.goal,
        ),
    )


def _session_for(actor: Actor, beginning: Beginning) -> SessionStanding | None:
    if beginning.session_id is None:
        return None
    session = read_session(team_id=actor.team_id, session_id=beginning.session_id)
    if session is None:
        raise NotFoundError(
            "There is no such session.",
            suggestion="Begin a new one, or find the one that is meant.",
        )
    return session


def check_title(title: str) -> None:
    outputs.check_text(title, name="title", max_characters=MAX_TITLE_CHARACTERS)


def _legacy_warning(published: Published) -> tuple[Warned, ...]:
    return tuple(
        Warned(code=WarningCode.LEGACY_WORKFLOW_ID, message=problem.message)
        for problem in published.warnings
        if problem.code is ProblemCode.LEGACY_ID
    )


# The run that triggers it


def _parent(mover: Mover, beginning: Beginning, published: Published) -> Parent | None:
    """Where the state of the parent stands now, with what other runs gave back; raises one of the `TOKEN_*` errors."""
    if beginning.parent_state is None:
        return None
    token, _ = read_token(kind=TokenKind.STATE, text=beginning.parent_state)
    if token.retired:
        raise retired_token()
    at = mover.caught_up(standing_work(actor=mover.actor, node_id=token.node_id))
    refuse_stopped(mover.actor, at.standing)
    goes_on = not (at.snapshot.position.complete or at.snapshot.is_handed_over or at.snapshot.blocked)
    parent = parent_at(mover.actor, at, published) if goes_on else Parent(point=at, trigger=None)
    if parent.trigger is not None:
        _refuse_at_checkpoint(at)
    return parent


def parent_at(actor: Actor, at: Point, published: Published) -> Parent:
    names = frozenset({published.workflow_id, published.requested_id, load_program(published.workflow_hash).id})
    activity = at.program.activity(at.snapshot.position.activity)
    return Parent(point=at, trigger=trigger_for(actor, activity, published.workflow_id, names))


def _refuse_at_checkpoint(at: Point) -> None:
    """Nothing is triggered while a question waits, as the landscape offers it."""
    land = landscape.survey(program=at.program, snapshot=at.snapshot)
    if land is not None and land.checkpoint is not None:
        raise CheckpointBlockingError(
            f"Checkpoint {land.checkpoint.id} of the run that parent_state names waits for an answer.",
            suggestion="Have it answered first, then start the triggered workflow.",
        )


# A request that names itself


def _request(mover: Mover, beginning: Beginning) -> Use | None:
    """The same key of the same caller is the same use, and what it asks for is in the nonce."""
    if not beginning.request_key:
        return None
    actor = mover.actor
    named = derive_id("start", actor.team_id.bytes, actor.id.encode(), beginning.request_key.encode())
    return Use(node_id=named, nonce=_digest_of(beginning), keys=mover.keys)


def _digest_of(beginning: Beginning) -> bytes:
    """What a request asks for, in as few bytes as an attempt has for it."""
    asked = {
        "workflowId": beginning.workflow_id,
        "goal": beginning.goal,
        "context": dict(beginning.context),
        "preferences": repr(beginning.preferences),
        "observations": {key.value: value for key, value in beginning.observations.items()},
        "sessionId": str(beginning.session_id or ""),
        "title": beginning.title,
        **({} if beginning.dialect is Dialect.RAIL else {"dialect": beginning.dialect.value}),
        **({} if beginning.parent_state is None else {"parentState": beginning.parent_state}),
    }
    try:
        body = canonical.canonical_bytes(asked)
    except canonical.NotCanonicalError as error:
        raise InvalidInputError(f"The request is no plain JSON: {error}", suggestion="Send plain values.") from error
    return hashlib.blake2b(body, digest_size=NONCE_BYTES).digest()


def _begun(actor: Actor, use: Use) -> Recorded | None:
    """What the request was answered before. Raises RequestKeyReusedError when it was another one."""
    recorded = read_recorded(team_id=actor.team_id, node_id=use.node_id, nonce=use.nonce)
    if recorded is not None or not is_request_known(team_id=actor.team_id, node_id=use.node_id):
        return recorded
    # It may have been recorded since: then it is known, and by this body.
    recorded = read_recorded(team_id=actor.team_id, node_id=use.node_id, nonce=use.nonce)
    if recorded is None:
        raise RequestKeyReusedError(
            "This Idempotency-Key named a request with another body; nothing was begun.",
            suggestion="Send the body as it was, or another key for another request.",
        )
    return recorded
