"""Where an acknowledgement takes effect: at the node of its token, or where the same work stands by now.

A person may have answered in the meantime, preferences may have been changed, a triggered run may have begun or ended.
"""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from msgspec import structs

from sessions_app.engine.decisions import Outcome, Place, Warned, WarningCode
from sessions_app.engine.landscape import waits_for_a_person
from sessions_app.engine.log import EventDraft, EventKind, NodeKind
from sessions_app.engine.reply_facts import Branching, ReplyFacts
from sessions_app.engine.state import is_same_work, snapshot_from_bytes
from sessions_app.engine.submissions import Submission
from sessions_app.selectors import branches
from sessions_app.selectors.checkpoints import read_answered
from sessions_app.selectors.standings import Standing, read_standing
from sessions_app.services.moves.facts import drift_known, facts_at
from sessions_app.services.moves.moving import Mover, Point, Use, done_once, point_of, refuse_stopped, unknown_node
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.store.writing import write
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text


def read_use(actor: Actor, use: Use) -> Standing:
    """The node of the token, with what was recorded for this use of it."""
    standing = read_standing(team_id=actor.team_id, node_id=use.node_id, nonce=use.nonce)
    if standing is None:
        raise unknown_node()
    return standing


def done_with(actor: Actor, use: Use, speech: Speech[ReplyFacts], attempt: Callable[[Standing], Reply | None]) -> Reply:
    """What is recorded of this use of its node, or what the attempt comes to there."""
    return done_once(lambda: read_use(actor, use), lambda standing: use.recorded(standing.recorded, speech), attempt)


def after_answer(actor: Actor, at: Point) -> Point | None:
    """Where a person's answer to this node's question led, if one has answered it."""
    standing, asked = at.standing, at.snapshot.asked
    if asked is None or not (standing.has_children or standing.node_kind is NodeKind.BLOCKED_ATTEMPT):
        return None
    after = read_answered(team_id=actor.team_id, request_id=UUID(hex=asked.request))
    if after is None:
        return None
    answered = replace(
        standing,
        node_id=after.node_id,
        node_kind=after.node_kind,
        snapshot=after.snapshot,
        snapshot_digest=after.snapshot_digest,
        has_children=after.has_children,
    )
    return replace(at, standing=answered, snapshot=snapshot_from_bytes(after.snapshot))


def same_work(actor: Actor, at: Point) -> tuple[Point, Branching | None]:
    """Here, or the same work below it. What else stands below it is told when the acknowledgement makes a fork."""
    if not at.standing.has_children:
        return at, None
    below = branches.beneath(actor=actor, node_id=at.standing.node_id, forked=True)
    successor = branches.same_work_below(at.standing, below)
    if successor is None:
        return at, below.branching if below else None
    return point_of(successor), None


def standing_work(*, actor: Actor, node_id: UUID) -> Point:
    """The node, where the same work stands by now, or where a person's answer led, for whoever only looks."""
    standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
    if standing is None:
        raise unknown_node()
    at = point_of(standing)
    leaf = branches.newest_leaf(actor=actor, node_id=node_id) if standing.has_children else None
    if leaf is not None and (
        waits_for_a_person(program=at.program, snapshot=at.snapshot)
        or is_same_work(at.snapshot, snapshot_from_bytes(leaf.snapshot))
    ):
        # The leaf may have got a successor since it was found: only a node that is read without one is read with its head.
        return standing_work(actor=actor, node_id=leaf.node_id)
    after = after_answer(actor, at)
    if after is not None and after.standing.node_id != node_id:
        return standing_work(actor=actor, node_id=after.standing.node_id)
    return at


def tell_answer(
    mover: Mover, use: Use, after: Point, *, submission: Submission, speech: Speech[ReplyFacts]
) -> Reply | None:
    """The step after a person's answer, recorded for this use: no node is made and no tip moves. None when another writer was
    first. Where a person has stopped the run since, that is told instead, and the same call asks again when it goes on.
    """
    refuse_stopped(mover.actor, after.standing)
    warnings = (*_unrecorded(submission), *drift_known(mover, after.standing))
    told = facts_at(mover.actor, after, speech, entropy=mover.entropy, warnings=warnings)
    reply = speech.reply(replace(told, outcome=Outcome.ADVANCED))
    standing = after.standing
    draft = _answer_told(after, use)
    note = mover.note(session_id=standing.session_id, head=standing.head, drafts=[draft], run_id=standing.run_id)
    attempt = use.attempt(reply, to_node_id=standing.node_id, keys=mover.keys)
    return reply if write(actor=mover.actor, plans=[structs.replace(note, attempts=[attempt])]) else None


def _answer_told(after: Point, use: Use) -> EventDraft:
    standing = after.standing
    place = Place(
        session_id=standing.session_id,
        run_id=standing.run_id,
        node_id=use.node_id,
        next_node=standing.node_id,
        nonce=use.nonce,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
    )
    attempt = to_text(Prefix.ATTEMPT, place.attempt_id)
    outcome = {"kind": Outcome.ANSWERED.value, "toNodeId": to_text(Prefix.NODE, standing.node_id)}
    return EventDraft(
        kind=EventKind.ADVANCE_RECORDED,
        dedupe=f"{EventKind.ADVANCE_RECORDED.value}:{to_text(Prefix.NODE, use.node_id)}:{attempt}",
        data={"attemptId": attempt, "intent": "ack_pending", "outcome": outcome},
        run_id=standing.run_id,
        node_id=use.node_id,
    )


def _unrecorded(submission: Submission) -> tuple[Warned, ...]:
    if not submission.notes.strip() and not submission.artifacts and not submission.context:
        return ()
    message = "A signed-in person had answered before this call; what you handed in with it was not recorded."
    return (Warned(code=WarningCode.ANSWERED_BY_PERSON, message=message),)


def fork_warning(branching: Branching | None) -> tuple[Warned, ...]:
    if branching is None:
        return ()
    count = len(branching.siblings) + branching.omitted
    message = (
        f"This step was acknowledged before ({count} {'time' if count == 1 else 'times'}); a new branch was begun."
    )
    return (Warned(code=WarningCode.FORKED, message=message),)
