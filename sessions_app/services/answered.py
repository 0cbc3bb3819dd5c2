"""What whoever acknowledges a question is told when a person has answered it: the continuation, recorded for that attempt."""

from dataclasses import dataclass, replace
from uuid import UUID

from sessions_app.engine.decisions import Outcome, Place, Warned, WarningCode
from sessions_app.engine.log import EventDraft, EventKind, seal
from sessions_app.engine.reply_facts import ReplyFacts
from sessions_app.engine.runs import AttemptKind
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.engine.submissions import Submission
from sessions_app.selectors.checkpoints import AfterAnswer
from sessions_app.selectors.standings import Standing
from sessions_app.services.appends import Append, NewAttempt
from sessions_app.services.attempts import drift_known
from sessions_app.services.minting import Minting, facts_of, mint_tokens
from sessions_app.services.speech import Reply, Speech
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The use of a token: under which node and nonce its reply is recorded."""

    node_id: UUID
    nonce: bytes
    kind: AttemptKind


def at_answer(standing: Standing, after: AfterAnswer) -> Standing:
    """The same run at the node that the answer made."""
    return replace(
        standing,
        node_id=after.node_id,
        node_kind=after.node_kind,
        snapshot=after.snapshot,
        snapshot_digest=after.snapshot_digest,
        has_children=after.has_children,
    )


def collected(
    minting: Minting,
    program: Program,
    at: tuple[Standing, AfterAnswer],
    use: Use,
    *,
    submission: Submission,
    speech: Speech[ReplyFacts],
) -> tuple[Reply, Append]:
    """`at` is the node that is acknowledged, and where its answer led: the step after the answer, and the rows that keep it for this attempt. No node is made and no tip moves."""
    standing, after = at
    snapshot = snapshot_from_bytes(after.snapshot)
    facts = facts_of(
        standing=at_answer(standing, after),
        program=program,
        snapshot=snapshot,
        minted=mint_tokens(
            keys=minting.keys,
            node_id=after.node_id,
            snapshot=snapshot,
            entropy=minting.entropy,
            prints=speech.prints,
        ),
        warnings=(*_unrecorded(submission), *drift_known(minting.actor, standing, now=minting.now)),
    )
    reply = speech.reply(replace(facts, outcome=Outcome.ADVANCED))
    return reply, _rows(minting, standing, after, use, reply)


def _rows(minting: Minting, standing: Standing, after: AfterAnswer, use: Use, reply: Reply) -> Append:
    sealed = seal(
        drafts=[_draft(standing, after, use)],
        session_id=standing.session_id,
        head=standing.head,
        event_ids=[minting.new_id()],
        timestamp_ms=minting.unix_ms,
    )
    attempt = NewAttempt(
        node_id=use.node_id,
        nonce=use.nonce,
        kind=use.kind,
        to_node_id=after.node_id,
        reply=reply.data,
        reply_template=reply.template,
        keys_generation=minting.keys.generation,
    )
    return Append(
        team_id=minting.actor.team_id,
        session_id=standing.session_id,
        actor=minting.actor.id,
        now=minting.now,
        before=standing.head,
        after=sealed.head,
        events=sealed.events,
        run_id=standing.run_id,
        attempts=[attempt],
    )


def _draft(standing: Standing, after: AfterAnswer, use: Use) -> EventDraft:
    place = Place(
        session_id=standing.session_id,
        run_id=standing.run_id,
        node_id=use.node_id,
        next_node=after.node_id,
        nonce=use.nonce,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
    )
    attempt = to_text(Prefix.ATTEMPT, place.attempt_id)
    outcome = {"kind": Outcome.ANSWERED.value, "toNodeId": to_text(Prefix.NODE, after.node_id)}
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
