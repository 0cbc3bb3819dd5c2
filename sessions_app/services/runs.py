"""Transitions of runs. Every door calls these; each is one read, one decision and one write.

The write is conditional on the log not having grown since the read. When another writer was first, the whole is done again
on the new state: what was recorded meanwhile for the same attempt is then simply answered.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine import checkpoints, outputs
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import (
    Advance,
    Bookmark,
    ChangePreferences,
    Command,
    Decision,
    Outcome,
    Place,
    PreferenceChange,
    Start,
    Steer,
    Warned,
    WarningCode,
    derive_id,
)
from sessions_app.engine.drafts import session_draft
from sessions_app.engine.log import Head, NodeKind
from sessions_app.engine.observations import check_observations, observation_drafts
from sessions_app.engine.refusals import NothingNewError
from sessions_app.engine.reply_facts import Branching, Recap, ReplyFacts
from sessions_app.engine.runs import DRIVES, ENDED, AttemptKind, Dialect, ObservationKey, RunStatus, status_of
from sessions_app.engine.state import Preferences, snapshot_from_bytes
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tables import NewRun
from sessions_app.engine.tokens import (
    NONCE_BYTES,
    TokenKind,
    TokenScopeMismatchError,
)
from sessions_app.selectors import branches, preferences as preference_selectors
from sessions_app.selectors.branches import Beneath, Leaf
from sessions_app.selectors.checkpoints import AfterAnswer, read_answered
from sessions_app.selectors.standings import (
    Recorded,
    SessionStanding,
    Standing,
    is_request_known,
    known_observations,
    read_recorded,
    read_session,
    read_standing,
    read_tip,
)
from sessions_app.services.answered import Use, at_answer, collected
from sessions_app.services.appends import NewAttempt, NewSession, NewTip
from sessions_app.services.attempts import (
    MAX_TRIES,
    approves,
    busy,
    chosen_by,
    default_due_ms,
    drift_known,
    drift_of,
    landing_at,
    landing_of,
    place_at,
    retired_token,
    set_by,
    snapshot_of,
    unknown_node,
)
from sessions_app.services.keys import Keys, current_keys, read_token
from sessions_app.services.minting import (
    Entropy,
    Landing,
    Minting,
    Opening,
    facts_of,
    mint_tokens,
    recorded_reply,
)
from sessions_app.services.speech import Reply, Speech
from sessions_app.services.transitions import carry_out
from sessions_app.services.triggered import Child, Parent, awaited_child, begin_with_parent, end_with_parent, parent_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError, WorkrailError
from workflows_app.engine import canonical
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Program
from workflows_app.engine.values import Published
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published

__all__ = [
    "Beginning",
    "Reply",
    "advance_run",
    "bookmark_run",
    "change_preferences",
    "rehydrate_run",
    "start_run",
]

MAX_TITLE_CHARACTERS = 256
# Of requests that were recorded before their bodies were compared.
_NO_NONCE = bytes(NONCE_BYTES)


class RequestKeyReusedError(WorkrailError):
    """The key names a request that asked for something else."""

    code = "IDEMPOTENCY_KEY_REUSED"


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
    request_key: str = ""
    parent_state: str | None = None


def start_run(
    *, actor: Actor, beginning: Beginning, now: datetime, entropy: Entropy, speech: Speech[ReplyFacts]
) -> Reply:
    """Pin the published program, begin a run and hand out its first step."""
    actor.require(Permission.DRIVE_RUNS)
    check_observations(beginning.observations)
    check_title(beginning.title)
    request = _request_id(actor, beginning)
    said = b"" if request is None else _digest_of(beginning)
    published = find_published(actor=actor, workflow_id=beginning.workflow_id)
    for _ in range(MAX_TRIES):
        if request is not None:
            recorded = _begun(actor, request, said)
            if recorded is not None:
                return recorded_reply(recorded, current_keys(), speech)
        reply = _begin(actor, beginning, published, request, now=now, entropy=entropy, speech=speech)
        if reply is not None:
            return reply
    raise busy()


def _request_id(actor: Actor, beginning: Beginning) -> UUID | None:
    if not beginning.request_key:
        return None
    return derive_id("start", actor.team_id.bytes, actor.id.encode(), beginning.request_key.encode())


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


def _begun(actor: Actor, request: UUID, said: bytes) -> Recorded | None:
    """What the request was answered before. Raises RequestKeyReusedError when it was another one."""
    recorded = _recorded(actor, request, said)
    if recorded is not None or not is_request_known(team_id=actor.team_id, node_id=request):
        return recorded
    # It may have been recorded since: then it is known, and by this body.
    recorded = _recorded(actor, request, said)
    if recorded is None:
        raise RequestKeyReusedError(
            "This Idempotency-Key named a request with another body; nothing was begun.",
            suggestion="Send the body as it was, or another key for another request.",
        )
    return recorded


def _recorded(actor: Actor, request: UUID, said: bytes) -> Recorded | None:
    found = (read_recorded(team_id=actor.team_id, node_id=request, nonce=nonce) for nonce in (said, _NO_NONCE))
    return next((recorded for recorded in found if recorded is not None), None)


def _begin(
    actor: Actor,
    beginning: Beginning,
    published: Published,
    request: UUID | None,
    *,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply | None:
    """One try: None when another writer was first."""
    program = load_program(published.workflow_hash)
    minting = Minting(actor=actor, now=now, entropy=entropy, keys=current_keys())
    session = _session_for(actor, beginning)
    place = Place(
        session_id=session.session_id if session else minting.new_id(),
        run_id=minting.new_id(),
        node_id=None,
        next_node=minting.new_id(),
        nonce=b"",
        workflow_id=published.workflow_id,
        workflow_hash=published.workflow_hash,
        at_ms=minting.unix_ms,
        due_ms=default_due_ms(),
    )
    baseline = session.baseline if session else preference_selectors.baseline_of(actor=actor)
    parent = _parent(actor, beginning, published, program)
    command = Start(
        goal=beginning.goal,
        context={**parent.context, **beginning.context} if parent else beginning.context,
        baseline=baseline,
        preferences=chosen_by(actor, beginning.preferences),
        bundled=published.bundled,
        trigger=actor.door.value,
        drive=DRIVES[beginning.dialect],
    )
    decision = decide(program=program, snapshot=None, command=command, place=place)
    warnings = (*_legacy_warning(published), *decision.warnings)
    handle = parent.handle(place) if parent else None
    facts = minting.facts(
        program=program, decision=decision, prints=speech.prints, goal=beginning.goal, warnings=warnings
    )
    reply = speech.reply(replace(facts, returns=parent is not None and parent.trigger is not None))
    plan = minting.plan(
        program=program,
        decision=decision,
        head=session.head if session else Head(),
        landing=landing_at(decision, now),
        attempt=None if request is None else _attempt(request, _digest_of(beginning), place, reply, minting),
        opening=_opening(beginning, published, program, place, session=session, baseline=baseline, parent=parent),
        handle=handle,
    )
    if parent is None or handle is None:
        return reply if carry_out(actor=actor, plan=plan) else None
    child = Child(handle=handle, snapshot=decision.snapshot, program=program, workflow_id=published.workflow_id)
    return reply if begin_with_parent(minting, plan, parent, child=child) else None


def _parent(actor: Actor, beginning: Beginning, published: Published, program: Program) -> Parent | None:
    if beginning.parent_state is None:
        return None
    return parent_of(actor=actor, state_token=beginning.parent_state, published=published, child=program)


def _opening(
    beginning: Beginning,
    published: Published,
    program: Program,
    place: Place,
    *,
    session: SessionStanding | None,
    baseline: Preferences,
    parent: Parent | None,
) -> Opening:
    parent_id = parent.standing.session_id if parent else None
    title = beginning.title or beginning.goal[:200] or program.title
    observed = observation_drafts(
        session_id=place.session_id,
        observations=beginning.observations,
        current=session.observed if session else {},
        known=known_observations(session_id=place.session_id) if session and beginning.observations else (),
    )
    begun = (
        []
        if session
        else [session_draft(session_id=place.session_id, title=title, parent_id=parent_id, baseline=baseline)]
    )
    return Opening(
        drafts=(*begun, *observed),
        session=None if session else NewSession(title=title, baseline=baseline, parent_id=parent_id),
        observed={key.value: value for key, value in beginning.observations.items()},
        run=NewRun(
            workflow_id=published.workflow_id,
            workflow_title=program.title,
            workflow_hash=published.workflow_hash,
            dialect=beginning.dialect.value,
            goal=beginning.goal,
        ),
    )


def advance_run(
    *,
    actor: Actor,
    state_token: str,
    ack_token: str,
    submission: Submission,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
    preferences: PreferenceChange | None = None,
    asked_by_client: bool = False,
) -> Reply:
    """Acknowledge the pending step. The same tokens again are answered what was recorded, and write nothing.

    `asked_by_client` says that the client put the pending question to its user itself: the answer is the user's, and no
    model has passed it on.
    """
    actor.require(Permission.DRIVE_RUNS)
    command = Advance(
        submission=submission,
        preferences=chosen_by(actor, preferences),
        by_person=approves(actor),
        voice=Voice(who=actor.id, door=CLIENT_FORM if asked_by_client else actor.way),
    )
    attempt = (TokenKind.ACK, ack_token)
    return _transition(actor, state_token, attempt, command, now=now, entropy=entropy, speech=speech)


def bookmark_run(
    *,
    actor: Actor,
    state_token: str,
    checkpoint_token: str,
    submission: Submission,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply:
    """Record work at a node without advancing from it."""
    actor.require(Permission.DRIVE_RUNS)
    command = Bookmark(submission=submission)
    attempt = (TokenKind.CHECKPOINT, checkpoint_token)
    return _transition(actor, state_token, attempt, command, now=now, entropy=entropy, speech=speech)


def change_preferences(
    *,
    actor: Actor,
    run_id: UUID,
    change: PreferenceChange,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply:
    """Change the mode between steps: a new tip with the same work pending. What is so already is only told again.

    Whoever holds tokens of the step goes on with them, under the new preferences.
    """
    actor.require(Permission.STEER_RUNS)
    change = set_by(actor, change)
    for _ in range(MAX_TRIES):
        # One statement: a tip that is read first and looked up afterwards may be an older node by then.
        standing = read_tip(team_id=actor.team_id, run_id=run_id)
        if standing is None:
            raise NotFoundError("There is no such run.", suggestion="List the runs of the session for their ids.")
        snapshot = snapshot_of(standing)
        if change.applied_to(snapshot.preferences) == snapshot.preferences:
            return _told(actor, standing, entropy, speech)
        attempt = Use(node_id=standing.node_id, nonce=entropy(NONCE_BYTES), kind=AttemptKind.ACK)
        command = ChangePreferences(change=change)
        reply = _write(actor, standing, command, attempt, now=now, entropy=entropy, speech=speech)
        if reply is not None:
            return reply
    raise busy()


def rehydrate_run(*, actor: Actor, state_token: str, entropy: Entropy, speech: Speech[ReplyFacts]) -> Reply:
    """The pending step of a node again, with what its run has noted so far. Nothing is written."""
    actor.require(Permission.READ_RUNS)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    found = branches.rehydration(actor=actor, node_id=token.node_id)
    if found is None:
        raise unknown_node()
    return _told(actor, found.standing, entropy, speech, recap=found.recap, branching=found.branching)


def _told(
    actor: Actor,
    standing: Standing,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
    *,
    recap: Recap | None = None,
    branching: Branching | None = None,
    outcome: Outcome | None = None,
) -> Reply:
    program = load_program(standing.workflow_hash)
    snapshot = snapshot_of(standing)
    facts = facts_of(
        standing=standing,
        program=program,
        snapshot=snapshot,
        minted=mint_tokens(
            keys=current_keys(), node_id=standing.node_id, snapshot=snapshot, entropy=entropy, prints=speech.prints
        ),
        warnings=drift_of(actor, standing),
    )
    return speech.reply(replace(facts, outcome=outcome, recap=recap or Recap(), branching=branching))


def _transition(
    actor: Actor,
    state_token: str,
    attempt: tuple[TokenKind, str],
    command: Command,
    *,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply:
    state, _ = read_token(kind=TokenKind.STATE, text=state_token)
    token, keys = read_token(kind=attempt[0], text=attempt[1])
    if state.node_id != token.node_id:
        raise TokenScopeMismatchError(
            "The two tokens belong to different steps.",
            suggestion="Use the tokens of one reply together: take both from its nextCall.",
        )
    kind = AttemptKind.ACK if attempt[0] is TokenKind.ACK else AttemptKind.CHECKPOINT
    use = Use(node_id=token.node_id, nonce=token.nonce, kind=kind)
    retired = token.retired or state.retired
    return use_once(actor, use, command, keys, retired=retired, now=now, entropy=entropy, speech=speech)


def use_once(
    actor: Actor,
    use: Use,
    command: Command,
    keys: Keys,
    *,
    retired: bool,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply:
    """What the use comes to: recorded once, and answered so ever after."""
    for _ in range(MAX_TRIES):
        standing = read_standing(team_id=actor.team_id, node_id=use.node_id, nonce=use.nonce)
        if standing is None:
            raise unknown_node()
        # What is recorded is answered for ever; what is new needs a token that is still trusted.
        if standing.recorded is not None:
            return recorded_reply(standing.recorded, keys, speech)
        if retired:
            raise retired_token()
        try:
            reply = _write(actor, standing, command, use, now=now, entropy=entropy, speech=speech)
        except NothingNewError:
            if isinstance(command, Steer):
                raise
            return _waiting(actor, standing, command, entropy, speech)
        if reply is not None:
            return reply
    raise busy()


def _waiting(actor: Actor, standing: Standing, command: Command, entropy: Entropy, speech: Speech[ReplyFacts]) -> Reply:
    """Asked once more whether a person has answered: where the run stands is told, and nothing is recorded."""
    after = _after_answer(actor, standing, command)
    standing = standing if after is None else at_answer(standing, after)
    return _told(actor, standing, entropy, speech, outcome=Outcome.BLOCKED)


def _write(
    actor: Actor,
    standing: Standing,
    command: Command,
    attempt: Use,
    *,
    now: datetime,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
) -> Reply | None:
    """One try: decide on what was read and write it; None when another writer was first."""
    program = load_program(standing.workflow_hash)
    minting = Minting(actor=actor, now=now, entropy=entropy, keys=current_keys())
    after = _after_answer(actor, standing, command)
    if after is not None and isinstance(command, Advance) and not snapshot_from_bytes(after.snapshot).was_sent_back:
        reply, plan = collected(
            minting, program, (standing, after), attempt, submission=command.submission, speech=speech
        )
        return reply if carry_out(actor=actor, plan=plan) else None
    standing = standing if after is None else at_answer(standing, after)
    standing, below = _where(actor, standing, command)
    place = place_at(minting, standing, nonce=attempt.nonce)
    decision = decide(program=program, snapshot=snapshot_of(standing), command=command, place=place)
    branching = below.branching if below else None
    drift = drift_known(actor, standing, now=now) if isinstance(command, Advance | Steer) else ()
    warnings = (*_fork_warning(branching), *decision.warnings, *drift)
    child = _ending(actor, standing, program, decision)
    facts = minting.facts(
        program=program,
        decision=decision,
        prints=speech.prints,
        goal=standing.goal,
        warnings=warnings,
        branching=branching,
    )
    if isinstance(command, Steer):
        facts = replace(facts, before=snapshot_of(standing), action=command.action, returns=child is not None)
    reply = speech.reply(facts)
    plan = minting.plan(
        program=program,
        decision=decision,
        head=standing.head,
        landing=_landing(minting, program, decision, standing),
        attempt=_attempt(attempt.node_id, attempt.nonce, place, reply, minting, kind=attempt.kind),
    )
    written = carry_out(actor=actor, plan=plan) if child is None else end_with_parent(minting, plan, child)
    return reply if written else None


def _ending(actor: Actor, standing: Standing, program: Program, decision: Decision) -> Child | None:
    """Only a run that ends asks whether another one waits for it."""
    if decision.outcome is Outcome.BOOKMARKED or decision.status not in ENDED:
        return None
    return awaited_child(actor=actor, standing=standing, program=program, snapshot=decision.snapshot)


def _after_answer(actor: Actor, standing: Standing, command: Command) -> AfterAnswer | None:
    """Where a person's answer to this node's question led: whoever acknowledges the node goes on from there."""
    if not isinstance(command, Advance | Steer):
        return None
    if not standing.has_children and standing.node_kind is not NodeKind.BLOCKED_ATTEMPT:
        return None
    asked = snapshot_of(standing).asked
    return None if asked is None else read_answered(team_id=actor.team_id, request_id=UUID(hex=asked.request))


def _where(actor: Actor, standing: Standing, command: Command) -> tuple[Standing, Beneath | None]:
    """The node that is acknowledged: this one, or the same work under preferences that were changed meanwhile.

    What stands below it is told when the acknowledgement makes a fork.
    """
    if not isinstance(command, Advance | Steer) or not standing.has_children:
        return standing, None
    below = branches.beneath(actor=actor, node_id=standing.node_id, forked=True)
    successor = branches.same_work_below(standing, below)
    return (standing, below) if successor is None else (successor, None)


def _landing(minting: Minting, program: Program, decision: Decision, standing: Standing) -> Landing:
    """A bookmark is no place to go on from; it makes its node's branch the one last worked on."""
    if decision.outcome is not Outcome.BOOKMARKED:
        return landing_of(program, decision, standing, minting.now)
    leaf = branches.newest_leaf(actor=minting.actor, node_id=standing.node_id)
    if leaf is None:
        raise unknown_node()
    if leaf.node_id == standing.tip_node_id:
        return Landing(tip=leaf.node_id)
    status = _status_at(leaf, standing)
    return Landing(
        tip=leaf.node_id,
        # Told even when it is the same: a branch that is complete too was so at a time of its own.
        status=status,
        completed_at=leaf.created_at if status in ENDED else None,
        moved=NewTip(asked=leaf.asked) if checkpoints.may_ask(program) else None,
    )


def _status_at(leaf: Leaf, standing: Standing) -> RunStatus:
    snapshot = snapshot_from_bytes(leaf.snapshot)
    return status_of(
        stop=snapshot.stop.kind if snapshot.stop else None,
        has_questions=bool(snapshot.questions),
        is_blocked=leaf.kind is NodeKind.BLOCKED_ATTEMPT,
        is_complete=not leaf.pending_key,
        has_gaps=standing.has_gaps,
    )


def _attempt(
    node_id: UUID,
    nonce: bytes,
    place: Place,
    reply: Reply,
    minting: Minting,
    *,
    kind: AttemptKind = AttemptKind.ACK,
) -> NewAttempt:
    return NewAttempt(
        node_id=node_id,
        nonce=nonce,
        kind=kind,
        to_node_id=place.next_node,
        reply=reply.data,
        reply_template=reply.template,
        keys_generation=minting.keys.generation,
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


def _fork_warning(branching: Branching | None) -> tuple[Warned, ...]:
    if branching is None:
        return ()
    count = len(branching.siblings) + branching.omitted
    message = (
        f"This step was acknowledged before ({count} {'time' if count == 1 else 'times'}); a new branch was begun."
    )
    return (Warned(code=WarningCode.FORKED, message=message),)
