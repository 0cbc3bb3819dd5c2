"""Transitions of runs. Every door calls these; each is one read, one decision and one write.

The write is conditional on the log not having grown since the read. When another writer was first, the whole is done again
on the new state: what was recorded meanwhile for the same attempt is then simply answered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine import replies, tokens
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
    Warned,
    WarningCode,
)
from sessions_app.engine.journal import observation_draft, session_draft
from sessions_app.engine.log import EventDraft, Head, seal
from sessions_app.engine.obligations import Submission
from sessions_app.engine.prompts import pending_of, title_of
from sessions_app.engine.replies import Branching, ReplyFacts, Tokens
from sessions_app.engine.runs import AttemptKind, Dialect, ObservationKey
from sessions_app.engine.state import Snapshot, snapshot_from_bytes
from sessions_app.engine.tokens import (
    NONCE_BYTES,
    TokenKind,
    TokenScopeMismatchError,
    TokenSessionLockedError,
    TokenUnknownNodeError,
)
from sessions_app.selectors import branches, preferences as preference_selectors
from sessions_app.selectors.standings import Recorded, SessionStanding, Standing, read_session, read_standing
from sessions_app.services import store
from sessions_app.services.keys import Keys, current_keys
from sessions_app.services.store import (
    Append,
    NewAttempt,
    NewGap,
    NewNode,
    NewOutput,
    NewRun,
    NewSession,
)
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text, uuid7
from workflows_app.engine.program import Program
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published

Entropy = Callable[[int], bytes]

# A conflict is only seen after the other writer has committed, so each try is somebody's progress.
MAX_TRIES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a call is answered: the recorded bytes, and the text that their template draws from them."""

    data: bytes
    template: int
    replayed: bool = False

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = orjson.loads(self.data)
        return value

    @property
    def text(self) -> str:
        return replies.render_text(self.value, template=self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a run begins with. Without `session_id` a new session is made for it."""

    workflow_id: str
    goal: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    preferences: PreferenceChange | None = None
    observations: Mapping[ObservationKey, str] = field(default_factory=dict)
    session_id: UUID | None = None
    title: str = ""
    dialect: Dialect = Dialect.RAIL


def start_run(*, actor: Actor, beginning: Beginning, now: datetime, entropy: Entropy) -> Reply:
    """Pin the published program, begin a run and hand out its first step."""
    actor.require(Permission.DRIVE_RUNS)
    published = find_published(actor=actor, workflow_id=beginning.workflow_id)
    program = load_program(published.workflow_hash)
    for _ in range(MAX_TRIES):
        minting = _Minting(actor, now, entropy, current_keys())
        session = _session_for(actor, beginning)
        session_id = minting.new_id() if session is None else session.session_id
        place = Place(
            session_id=session_id,
            run_id=minting.new_id(),
            node_id=None,
            next_node=minting.new_id(),
            nonce=b"",
            workflow_id=published.workflow_id,
            workflow_hash=published.workflow_hash,
        )
        baseline = session.baseline if session else preference_selectors.baseline_of(actor=actor)
        command = Start(
            goal=beginning.goal,
            context=beginning.context,
            baseline=baseline,
            preferences=beginning.preferences,
        )
        decision = decide(program=program, snapshot=None, command=command, place=place)
        warned = tuple(
            Warned(code=WarningCode.LEGACY_WORKFLOW_ID, message=problem.message)
            for problem in published.warnings
            if problem.code == "legacy_id"
        )
        reply, _ = minting.reply(program, decision, place, beginning.goal, warnings=(*warned, *decision.warnings))
        title = beginning.title or beginning.goal[:200] or program.title
        drafts = [
            *([] if session else [session_draft(session_id=session_id, title=title, parent_id=None)]),
            *_observed(session_id, beginning.observations),
        ]
        plan = minting.plan(
            decision,
            place,
            head=session.head if session else Head(),
            title=title_of(program=program, snapshot=decision.snapshot),
            before=drafts,
            session=None if session else NewSession(title=title, baseline=baseline),
            observed={key.value: value for key, value in beginning.observations.items()},
            run=NewRun(
                run_id=place.run_id,
                workflow_id=published.workflow_id,
                workflow_title=program.title,
                workflow_hash=published.workflow_hash,
                dialect=beginning.dialect.value,
                goal=beginning.goal,
            ),
        )
        if store.append(plan):
            return reply
    raise busy()


def advance_run(
    *,
    actor: Actor,
    state_token: str,
    ack_token: str,
    submission: Submission,
    now: datetime,
    entropy: Entropy,
    preferences: PreferenceChange | None = None,
) -> Reply:
    """Acknowledge the pending step. The same tokens again are answered what was recorded, and write nothing."""
    actor.require(Permission.DRIVE_RUNS)
    command = Advance(submission=submission, preferences=preferences)
    return _transition(actor, state_token, (TokenKind.ACK, ack_token), command, now=now, entropy=entropy)


def bookmark_run(
    *,
    actor: Actor,
    state_token: str,
    checkpoint_token: str,
    submission: Submission,
    now: datetime,
    entropy: Entropy,
) -> Reply:
    """Record work at a node without advancing from it."""
    actor.require(Permission.DRIVE_RUNS)
    command = Bookmark(submission=submission)
    attempt = (TokenKind.CHECKPOINT, checkpoint_token)
    return _transition(actor, state_token, attempt, command, now=now, entropy=entropy)


def change_preferences(
    *, actor: Actor, run_id: UUID, change: PreferenceChange, now: datetime, entropy: Entropy
) -> Reply:
    """Change the mode between steps: a new tip with the same work pending."""
    actor.require(Permission.STEER_RUNS)
    for _ in range(MAX_TRIES):
        tip = branches.tip_of(actor=actor, run_id=run_id)
        standing = read_standing(team_id=actor.team_id, node_id=tip, nonce=b"")
        if standing is None:
            raise NotFoundError("There is no such run.", suggestion="List the runs of the session for their ids.")
        reply = _write(
            actor,
            standing,
            ChangePreferences(change=change),
            nonce=entropy(NONCE_BYTES),
            kind=AttemptKind.ACK,
            now=now,
            entropy=entropy,
        )
        if reply is not None:
            return reply
    raise busy()


def rehydrate_run(*, actor: Actor, state_token: str, entropy: Entropy) -> Reply:
    """The pending step of a node again, with what its run has noted so far. Nothing is written."""
    actor.require(Permission.READ_RUNS)
    keys = current_keys()
    node_id = tokens.read(keyring=keys.ring, kind=TokenKind.STATE, text=state_token).node_id
    found = branches.rehydration(actor=actor, node_id=node_id)
    if found is None:
        raise _unknown_node()
    standing = found.standing
    program = load_program(standing.workflow_hash)
    snapshot = snapshot_from_bytes(standing.snapshot)
    facts = _facts(
        standing,
        program,
        snapshot,
        outcome=None,
        minted=_mint(keys, standing.node_id, snapshot, entropy),
        warnings=_drift(actor, standing),
    )
    return _as_reply(replies.with_history(facts, recap=found.recap, branching=found.branching))


def _transition(
    actor: Actor,
    state_token: str,
    attempt: tuple[TokenKind, str],
    command: Command,
    *,
    now: datetime,
    entropy: Entropy,
) -> Reply:
    keys = current_keys()
    state = tokens.read(keyring=keys.ring, kind=TokenKind.STATE, text=state_token)
    token = tokens.read(keyring=keys.ring, kind=attempt[0], text=attempt[1])
    if token.retired or state.retired:
        raise _retired()
    if state.node_id != token.node_id:
        raise TokenScopeMismatchError(
            "The two tokens belong to different steps.",
            suggestion="Use the tokens of one reply together: take both from its nextCall.",
        )
    kind = AttemptKind.ACK if attempt[0] is TokenKind.ACK else AttemptKind.CHECKPOINT
    for _ in range(MAX_TRIES):
        standing = read_standing(team_id=actor.team_id, node_id=state.node_id, nonce=token.nonce)
        if standing is None:
            raise _unknown_node()
        if standing.recorded is not None:
            return recorded_reply(standing.recorded, keys)
        reply = _write(actor, standing, command, nonce=token.nonce, kind=kind, now=now, entropy=entropy)
        if reply is not None:
            return reply
    raise busy()


def _write(
    actor: Actor,
    standing: Standing,
    command: Command,
    *,
    nonce: bytes,
    kind: AttemptKind,
    now: datetime,
    entropy: Entropy,
) -> Reply | None:
    """One try: decide on what was read and write it; None when another writer was first."""
    program = load_program(standing.workflow_hash)
    minting = _Minting(actor, now, entropy, current_keys())
    place = Place(
        session_id=standing.session_id,
        run_id=standing.run_id,
        node_id=standing.node_id,
        next_node=minting.new_id(),
        nonce=nonce,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        has_children=standing.has_children,
        has_critical_gaps=standing.has_gaps,
    )
    snapshot = snapshot_from_bytes(standing.snapshot)
    decision = decide(program=program, snapshot=snapshot, command=command, place=place)
    forks = standing.has_children and decision.outcome in {Outcome.ADVANCED, Outcome.BLOCKED}
    branching = branches.branching_of(actor=actor, node_id=standing.node_id, forked=True) if forks else None
    at = standing.node_id if decision.outcome is Outcome.BOOKMARKED else place.next_node
    reply, data = minting.reply(
        program,
        decision,
        place,
        standing.goal,
        warnings=(*_fork_warning(branching), *decision.warnings),
        branching=branching,
        at=at,
    )
    plan = minting.plan(
        decision,
        place,
        head=standing.head,
        title=title_of(program=program, snapshot=decision.snapshot),
        attempt=NewAttempt(
            node_id=standing.node_id,
            nonce=nonce,
            kind=kind,
            to_node_id=place.next_node,
            reply=data,
            reply_template=replies.TEMPLATE,
            keys_generation=minting.keys.generation,
        ),
        tip=_tip_after(actor, decision, standing, place),
    )
    return reply if store.append(plan) else None


def _tip_after(actor: Actor, decision: Decision, standing: Standing, place: Place) -> UUID | None:
    """A bookmark is no place to go on from; it makes its node's branch the one last worked on."""
    if decision.outcome is not Outcome.BOOKMARKED:
        return place.next_node
    return None if not standing.has_children else branches.newest_leaf_below(actor=actor, node_id=standing.node_id)


@dataclass(frozen=True, slots=True)
class _Minting:
    """Makes the rows, ids and tokens of one try."""

    actor: Actor
    now: datetime
    entropy: Entropy
    keys: Keys

    @property
    def unix_ms(self) -> int:
        return int(self.now.timestamp() * 1000)

    def new_id(self) -> UUID:
        return uuid7(unix_ms=self.unix_ms, random=self.entropy(10))

    def reply(
        self,
        program: Program,
        decision: Decision,
        place: Place,
        goal: str,
        *,
        warnings: Sequence[Warned],
        branching: Branching | None = None,
        at: UUID | None = None,
    ) -> tuple[Reply, bytes]:
        snapshot = decision.snapshot
        starts = decision.outcome is Outcome.STARTED
        facts = ReplyFacts(
            outcome=decision.outcome,
            workflow_id=place.workflow_id,
            workflow_hash=place.workflow_hash,
            workflow_title=program.title,
            session_id=to_text(Prefix.SESSION, place.session_id),
            run_id=to_text(Prefix.RUN, place.run_id),
            goal=goal,
            preferences=snapshot.preferences,
            pending=pending_of(program=program, snapshot=snapshot),
            complete=snapshot.is_complete,
            tokens=_mint(self.keys, at or place.next_node, snapshot, self.entropy),
            warnings=warnings,
            blocked=snapshot.blocked,
            branching=branching,
            step_context=decision.step_context,
            preconditions=program.preconditions if starts else (),
            clarification_prompts=program.clarification_prompts if starts else (),
            references=_references(program) if starts else (),
        )
        reply = _as_reply(facts)
        return reply, reply.data

    def plan(
        self,
        decision: Decision,
        place: Place,
        *,
        head: Head,
        title: str,
        before: Sequence[EventDraft] = (),
        session: NewSession | None = None,
        observed: Mapping[str, str] | None = None,
        run: NewRun | None = None,
        attempt: NewAttempt | None = None,
        tip: UUID | None = None,
    ) -> Append:
        drafts = (*before, *decision.drafts)
        sealed = seal(
            drafts=drafts,
            session_id=place.session_id,
            head=head,
            event_ids=[self.new_id() for _ in drafts],
            timestamp_ms=self.unix_ms,
        )
        bookmarked = decision.outcome is Outcome.BOOKMARKED
        return Append(
            team_id=self.actor.team_id,
            session_id=place.session_id,
            actor=self.actor.id,
            now=self.now,
            before=head,
            after=sealed.head,
            events=sealed.events,
            session=session,
            observed=observed,
            run_id=place.run_id,
            run=run,
            run_status=None if bookmarked else decision.status,
            tip_node_id=place.next_node if run else tip,
            nodes=[
                NewNode(
                    node_id=place.next_node,
                    parent_id=place.node_id,
                    kind=decision.node_kind,
                    edge_kind=decision.edge_kind,
                    edge_cause=decision.edge_cause,
                    snapshot=decision.snapshot_data,
                    snapshot_digest=decision.snapshot_digest,
                    pending_key=decision.snapshot.position.pending,
                    pending_title=title[:256],
                    preferences=decision.snapshot.preferences,
                    event_index=head.next_index + len(before) + decision.node_draft,
                ),
            ],
            attempts=[attempt] if attempt else [],
            outputs=[
                NewOutput(
                    output_id=output.output_id,
                    node_id=place.node_id,
                    to_node_id=place.next_node,
                    channel=output.channel,
                    body=output.body,
                    sha256=output.sha256,
                    artifact_kind=output.artifact_kind[:128],
                    supersedes_id=output.supersedes,
                )
                for output in decision.outputs
            ],
            gaps=[
                NewGap(gap_id=gap.gap_id, node_id=place.node_id or place.next_node, gap=gap.gap)
                for gap in decision.gaps
            ],
        )


def _mint(keys: Keys, node_id: UUID, snapshot: Snapshot, entropy: Entropy) -> Tokens:
    state = tokens.mint(keyring=keys.ring, kind=TokenKind.STATE, node_id=node_id)
    checkpoint = tokens.mint(keyring=keys.ring, kind=TokenKind.CHECKPOINT, node_id=node_id, nonce=entropy(NONCE_BYTES))
    over = snapshot.position.complete or (snapshot.blocked is not None and not snapshot.blocked.retryable)
    ack = (
        "" if over else tokens.mint(keyring=keys.ring, kind=TokenKind.ACK, node_id=node_id, nonce=entropy(NONCE_BYTES))
    )
    return Tokens(state=state, ack=ack, checkpoint=checkpoint)


def _facts(
    standing: Standing,
    program: Program,
    snapshot: Snapshot,
    *,
    outcome: Outcome | None,
    minted: Tokens,
    warnings: Sequence[Warned],
) -> ReplyFacts:
    return ReplyFacts(
        outcome=outcome,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        workflow_title=program.title,
        session_id=to_text(Prefix.SESSION, standing.session_id),
        run_id=to_text(Prefix.RUN, standing.run_id),
        goal=standing.goal,
        preferences=snapshot.preferences,
        pending=pending_of(program=program, snapshot=snapshot),
        complete=snapshot.is_complete,
        tokens=minted,
        warnings=warnings,
        blocked=snapshot.blocked,
        references=_references(program),
    )


def _as_reply(facts: ReplyFacts) -> Reply:
    return Reply(data=orjson.dumps(replies.reply_json(facts)), template=replies.TEMPLATE)


def recorded_reply(recorded: Recorded, keys: Keys) -> Reply:
    """Byte for byte while the key that signed its tokens is trusted; afterwards with the same tokens signed anew."""
    data = recorded.reply
    if recorded.keys_generation < keys.generation - 1:
        data = tokens.resign(keyring=keys.ring, text=data.decode("utf-8")).encode("utf-8")
    return Reply(data=data, template=recorded.reply_template, replayed=True)


def _references(program: Program) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "id": reference.id,
            "title": reference.title,
            "source": reference.source,
            "purpose": reference.purpose,
            "authoritative": reference.authoritative,
        }
        for reference in program.references
    )


def _session_for(actor: Actor, beginning: Beginning) -> SessionStanding | None:
    if beginning.session_id is None:
        return None
    session = read_session(team_id=actor.team_id, session_id=beginning.session_id)
    if session is None:
        raise NotFoundError(
            "There is no such session.",
            suggestion="Leave sessionId out to begin a new one, or find it with resume_session.",
        )
    return session


def _observed(session_id: UUID, observations: Mapping[ObservationKey, str]) -> list[EventDraft]:
    return [observation_draft(session_id=session_id, key=key, value=value) for key, value in observations.items()]


def _drift(actor: Actor, standing: Standing) -> tuple[Warned, ...]:
    """The published program is another than the pinned one: the run keeps its own, and says so."""
    try:
        published = find_published(actor=actor, workflow_id=standing.workflow_id)
    except NotFoundError:
        message = f"{standing.workflow_id} is no longer published; this run goes on with the program it began with."
        return (Warned(code=WarningCode.WORKFLOW_CHANGED, message=message),)
    if published.workflow_hash == standing.workflow_hash:
        return ()
    message = (
        f"{standing.workflow_id} was changed since this run began; the run goes on with the program it began with."
    )
    return (Warned(code=WarningCode.WORKFLOW_CHANGED, message=message),)


def _fork_warning(branching: Branching | None) -> tuple[Warned, ...]:
    if branching is None:
        return ()
    count = len(branching.siblings)
    message = (
        f"This step was acknowledged before ({count} {'time' if count == 1 else 'times'}); a new branch was begun."
    )
    return (Warned(code=WarningCode.FORKED, message=message),)


def _unknown_node() -> TokenUnknownNodeError:
    return TokenUnknownNodeError(
        "No step of your team stands behind this token.",
        suggestion="Call resume_session to find the run again.",
    )


def _retired() -> tokens.TokenBadSignatureError:
    return tokens.TokenBadSignatureError(
        "The token was signed with a key that is no longer trusted.",
        suggestion="Call resume_session to get fresh tokens for the run.",
    )


def busy() -> TokenSessionLockedError:
    return TokenSessionLockedError(
        "Other calls kept writing to this session.",
        suggestion="Wait a second and repeat the same call with the same tokens; it is answered once.",
    )
