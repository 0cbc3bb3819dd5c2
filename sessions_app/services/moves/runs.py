"""Runs that go step by step: acknowledged, noted at, their mode changed, read again. Every door calls these."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from sessions_app.engine import checkpoints
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decisions import (
    Advance,
    Bookmark,
    ChangePreferences,
    Outcome,
    PreferenceChange,
)
from sessions_app.engine.log import NodeKind
from sessions_app.engine.refusals import NothingNewError
from sessions_app.engine.reply_facts import Branching, Recap, ReplyFacts
from sessions_app.engine.runs import ENDED, AttemptKind, RunStatus, status_of
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind, TokenScopeMismatchError
from sessions_app.selectors import branches
from sessions_app.selectors.branches import Leaf
from sessions_app.selectors.standings import Standing, read_tip
from sessions_app.services.moves.acknowledging import after_answer, done_with, fork_warning, same_work, tell_answer
from sessions_app.services.moves.facts import drift_known, drift_of, facts_after, facts_at
from sessions_app.services.moves.moving import (
    Entropy,
    Landing,
    Mover,
    Point,
    Tries,
    Use,
    as_waived,
    mover_of,
    point_of,
    retired_token,
    unknown_node,
)
from sessions_app.services.moves.requests import approves, chosen_by, set_by
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.store.appends import NewTip
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError


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
    use = _use_of(state_token, (TokenKind.ACK, ack_token))
    mover = mover_of(actor, now=now, entropy=entropy)

    def attempt(standing: Standing) -> Reply | None:
        read = point_of(standing)
        after = after_answer(actor, read)
        if after is not None and not after.snapshot.was_sent_back:
            return tell_answer(mover, use, after, submission=submission, speech=speech)
        at, branching = same_work(actor, after or read)
        try:
            moved = mover.move(at, command, nonce=use.nonce)
        except NothingNewError:
            # Asked once more whether a person has answered: where the run stands is told, and nothing is recorded.
            return _told(actor, after or read, entropy, speech, outcome=Outcome.BLOCKED)
        warnings = (*fork_warning(branching), *drift_known(mover, at.standing))
        facts = facts_after(moved, speech, goal=at.standing.goal, warnings=warnings, branching=branching)
        reply = speech.reply(replace(facts, before=at.snapshot))
        return reply if moved.append(use=use, reply=reply) else None

    return done_with(actor, use, speech, attempt)


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
    use = _use_of(state_token, (TokenKind.BOOKMARK, checkpoint_token))
    mover = mover_of(actor, now=now, entropy=entropy)

    def attempt(standing: Standing) -> Reply | None:
        at = point_of(standing)
        moved = mover.move_as_read(at, command, nonce=use.nonce)
        reply = speech.reply(facts_after(moved, speech, goal=at.standing.goal))
        landing = landing_beside(mover, at)
        return reply if landing and moved.append(use=use, reply=reply, landing=landing) else None

    return done_with(actor, use, speech, attempt)


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
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        # One statement: a tip that is read first and looked up afterwards may be an older node by then.
        standing = read_tip(team_id=actor.team_id, run_id=run_id)
        if standing is None:
            raise NotFoundError("There is no such run.", suggestion="List the runs of the session for their ids.")
        at = as_waived(actor, point_of(standing))
        if change.applied_to(at.snapshot.preferences) == at.snapshot.preferences:
            return _told(actor, at, entropy, speech)
        use = Use(node_id=standing.node_id, nonce=entropy(NONCE_BYTES), keys=mover.keys)
        moved = mover.move(at, ChangePreferences(change=change), nonce=use.nonce)
        reply = speech.reply(facts_after(moved, speech, goal=standing.goal))
        if moved.append(use=use, reply=reply):
            return reply


def rehydrate_run(*, actor: Actor, state_token: str, entropy: Entropy, speech: Speech[ReplyFacts]) -> Reply:
    """The pending step of a node again, with what its run has noted so far. Nothing is written."""
    actor.require(Permission.READ_RUNS)
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    found = branches.rehydration(actor=actor, node_id=token.node_id)
    if found is None:
        raise unknown_node()
    at = _caught_up(actor, point_of(found.standing), entropy)
    return _told(actor, as_waived(actor, at), entropy, speech, recap=found.recap, branching=found.branching)


def _caught_up(actor: Actor, at: Point, entropy: Entropy) -> Point:
    """With the ends of runs that it no longer has to wait for, as whoever goes on from there would find it."""
    if not at.snapshot.waits_for:
        return at
    mover = mover_of(actor, now=timezone.now(), entropy=entropy)
    return replace(at, snapshot=mover.caught_up(at).snapshot)


def _told(
    actor: Actor,
    at: Point,
    entropy: Entropy,
    speech: Speech[ReplyFacts],
    *,
    recap: Recap | None = None,
    branching: Branching | None = None,
    outcome: Outcome | None = None,
) -> Reply:
    facts = facts_at(actor, at, speech, entropy=entropy, warnings=drift_of(actor, at.standing))
    return speech.reply(replace(facts, outcome=outcome, recap=recap or Recap(), branching=branching))


def _use_of(state_token: str, attempt: tuple[TokenKind, str]) -> Use:
    state, _ = read_token(kind=TokenKind.STATE, text=state_token)
    token, keys = read_token(kind=attempt[0], text=attempt[1])
    if state.node_id != token.node_id:
        raise TokenScopeMismatchError(
            "The two tokens belong to different steps.",
            suggestion="Use the tokens of one reply together: take both from its nextCall.",
        )
    return Use(
        node_id=token.node_id,
        nonce=token.nonce,
        keys=keys,
        kind=AttemptKind.ACK if attempt[0] is TokenKind.ACK else AttemptKind.BOOKMARK,
        refusal=retired_token() if token.retired or state.retired else None,
    )


def landing_beside(mover: Mover, at: Point) -> Landing | None:
    """A bookmark is no place to go on from; it makes its node's branch the one last worked on, where the run stands.

    None when the end of a run that the branch waits for had to be written first: it is another branch then.
    """
    leaf = branches.newest_leaf(actor=mover.actor, node_id=at.standing.node_id)
    if leaf is None:
        raise unknown_node()
    is_elsewhere = leaf.node_id != at.standing.tip_node_id
    if is_elsewhere and snapshot_from_bytes(leaf.snapshot).waits_for and mover.settles(leaf.node_id):
        return None
    return landing_on(leaf, at)


def landing_on(leaf: Leaf, at: Point) -> Landing:
    """The run as it stands at the end of a branch."""
    if leaf.node_id == at.standing.tip_node_id:
        return Landing(tip=leaf.node_id)
    status = _status_at(leaf, at.standing)
    return Landing(
        tip=leaf.node_id,
        # Told even when it is the same: a branch that is complete too was so at a time of its own.
        status=status,
        completed_at=leaf.created_at if status in ENDED else None,
        moved=NewTip(asked=leaf.asked) if checkpoints.may_ask(at.program) else None,
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
