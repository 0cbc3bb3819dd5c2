"""Runs whose activities are handed over whole: entered, stopped at questions, answered. One read, one decision, one write.

A call is recorded under its holder and the place of the log that its token names: the same token and the same arguments
again are answered what was recorded. Any other call finds the run where it stands, whatever its token says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.engine import handles, handover, manifests, questions
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Answer, AnswerMode, AskQuestion, Decision, EnterActivity, Place
from sessions_app.engine.handles import Handle
from sessions_app.engine.handover_refusals import CheckpointNotPendingError, CheckpointOpenError, no_activity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.reply_facts import (
    EnteredFacts,
    HandedFacts,
    PersonAnsweredFacts,
    ResolvedFacts,
    SettledBeforeFacts,
    YieldedFacts,
)
from sessions_app.engine.runs import AttemptKind, Dialect
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.handles import Holder, read_children
from sessions_app.selectors.standings import Standing
from sessions_app.services import children
from sessions_app.services.appends import Append, NewAttempt
from sessions_app.services.attempts import MAX_TRIES, busy, landing_at, place_at, snapshot_of
from sessions_app.services.handles import Held, held_of, holder_of, read_held, retired, token_at
from sessions_app.services.keys import Keys, current_keys, read_token
from sessions_app.services.minting import Entropy, Minting, recorded_reply
from sessions_app.services.speech import Reply, Speech
from sessions_app.services.transitions import carry_out
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import canonical
from workflows_app.engine.program import Program
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.publications import published_lately


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a call is answered, where the run stands with it, and in which activity the call found it."""

    reply: Reply
    held: Held
    found_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls with which token, and when."""

    actor: Actor
    dialect: Dialect
    token: str
    now: datetime
    entropy: Entropy
    speech: Speech[HandedFacts]


def changed_since(actor: Actor, standing: Standing, program: Program, *, now: datetime) -> tuple[str, ...]:
    """That the published workflow is another than the one that the run is pinned to; known a few seconds late."""
    if not actor.may(Permission.READ_WORKFLOWS):
        return ()
    published = published_lately(actor=actor, workflow_id=standing.workflow_id, now=now)
    if published is None:
        return (f"{standing.workflow_id} is no longer published; this run goes on with the program it began with.",)
    if published.workflow_hash == standing.workflow_hash:
        return ()
    versions = manifests.check_version(pinned=program.version, published=published.version)
    began = f"{standing.workflow_id} was changed since this session started"
    if versions:
        return tuple(f"{began}. {said.message}" for said in versions)
    return (f"{began}; it goes on with the program it began with.",)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """What a call comes to, and what is said of it; without a decision nothing is written."""

    what: EnteredFacts | YieldedFacts | SettledBeforeFacts | ResolvedFacts | PersonAnsweredFacts
    decision: Decision | None = None


def enter_activity(call: Call, command: EnterActivity) -> Handed:
    """Leave the activity with what was done in it, and enter the next one."""

    def move(at: "_At") -> _Moved:
        snapshot, program = at.snapshot, at.program
        if handover.stays(program=program, snapshot=snapshot, activity_id=command.activity_id):
            handover.refuse_waiting(snapshot, command)
            return at.read_again(command)
        decision = decide(program=program, snapshot=snapshot, command=command, place=at.place_for(command))
        drift = changed_since(call.actor, at.standing, at.program, now=call.now)
        warned = (said.message for node in decision.nodes for said in node.warnings)
        what = at.entered(decision.snapshot, [*decision.told, *warned, *drift], recorded=decision.recorded)
        return _Moved(what=what, decision=decision)

    arguments = {
        "activity": command.activity_id,
        "claim": command.claim,
        "manifest": None if command.manifest is None else [_entry_json(entry) for entry in command.manifest],
        "outcomes": None if command.outcomes is None else [asdict(entry) for entry in command.outcomes],
    }
    return _once(call, "enter", arguments, move)


def _entry_json(entry: ManifestEntry) -> dict[str, Any]:
    said: dict[str, Any] = {"step_id": entry.step_id, "output": entry.output}
    if entry.artifacts:
        said["artifacts"] = [dict(each) for each in entry.artifacts]
    return {**said, "context": dict(entry.context)} if entry.context else said


def yield_checkpoint(call: Call, *, checkpoint_id: str) -> Handed:
    """A worker stops at a question. What was answered in this visit is told again and not asked."""

    def move(at: "_At") -> _Moved:
        activity = at.program.activity(at.snapshot.position.activity)
        if activity is None:
            raise no_activity()
        if at.snapshot.question_named(checkpoint_id) is not None:
            return _Moved(what=YieldedFacts(checkpoint_id=checkpoint_id))
        if not at.snapshot.questions and questions.is_settled(activity, at.snapshot, checkpoint_id):
            option = questions.latest_answer(at.snapshot, checkpoint_id) or ""
            return _Moved(what=SettledBeforeFacts(checkpoint_id=checkpoint_id, option=option))
        command = AskQuestion(checkpoint_id=checkpoint_id)
        decision = decide(program=at.program, snapshot=at.snapshot, command=command, place=at.place)
        return _Moved(what=YieldedFacts(checkpoint_id=checkpoint_id), decision=decision)

    return _once(call, "yield", {"checkpoint": checkpoint_id}, move)


def respond_checkpoint(
    call: Call, *, checkpoint_id: str, mode: AnswerMode, option_id: str = "", asked_by_client: bool = False
) -> Handed:
    """An agent passes on what its user chose, or resolves the question without them. Without a name the only one is meant.

    `asked_by_client` says that the client had the answer from its user itself.
    """
    voice = Voice(who=call.actor.id, door=CLIENT_FORM if asked_by_client else call.actor.way)
    command = Answer(mode=mode, checkpoint_id=checkpoint_id, option_id=option_id, voice=voice)

    def move(at: "_At") -> _Moved:
        told = _answered_by_person(at.snapshot, checkpoint_id)
        if told is not None:
            return _Moved(what=PersonAnsweredFacts(checkpoint_id=told, snapshot=at.snapshot))
        decision = decide(program=at.program, snapshot=at.snapshot, command=command, place=at.place)
        if decision.settled is None:
            raise ValueError("No question was answered.")
        what = ResolvedFacts(settled=decision.settled, snapshot=decision.snapshot, warnings=decision.told)
        return _Moved(what=what, decision=decision)

    return _once(call, "respond", {"checkpoint": checkpoint_id, "mode": mode.value, "option": option_id}, move)


def resume_checkpoint(*, actor: Actor, token: str, dialect: Dialect) -> Held:
    """A worker goes on after its question was answered. Nothing is written: the answer has moved the log."""
    held = read_held(actor=actor, token=token, dialect=dialect)
    if held.activity is None:
        raise no_activity()
    if held.pending:
        raise CheckpointOpenError.to_resume(held.snapshot)
    if not held.snapshot.answers:
        raise CheckpointNotPendingError(
            "No checkpoint of this activity was yielded and resolved.",
            suggestion="Go on with the work, and ask a checkpoint when you come to one.",
        )
    return held


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAtWork:
    """A run that another one waits for, and the token to take it on with."""

    session_id: UUID
    workflow_id: str
    token: str


def children_of(*, actor: Actor, snapshot: Snapshot) -> list[ChildAtWork]:
    """Those that the run waits for."""
    found = read_children(team_id=actor.team_id, run_ids=[UUID(hex=run) for run in snapshot.waits_for])
    return [
        ChildAtWork(
            session_id=child.handle.session_id,
            workflow_id=child.workflow_id,
            token=token_at(child.handle, child.next_event_index),
        )
        for child in found
    ]


def _answered_by_person(snapshot: Snapshot, checkpoint_id: str) -> str | None:
    """The question that a person has just answered, when nothing else is open under that name."""
    given = snapshot.answered
    if given is None or checkpoint_id not in {"", given.checkpoint}:
        return None
    if snapshot.question_named(given.checkpoint) is not None or (not checkpoint_id and snapshot.questions):
        return None
    return given.checkpoint


# One use of a token


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
    """Where a call finds the run."""

    handle: Handle
    standing: Standing
    program: Program
    snapshot: Snapshot
    place: Place
    minting: Minting

    def place_for(self, command: EnterActivity) -> Place:
        """With an id for each node that the manifest may make."""
        count = min(len(command.manifest or ()), handover.MAX_MANIFEST_ENTRIES)
        return replace(self.place, more_nodes=tuple(self.minting.new_id() for _ in range(count + 1)))

    def read_again(self, command: EnterActivity) -> _Moved:
        """The activity at hand once more: nothing is left, so nothing is written."""
        warnings = handover.warnings_of_staying(program=self.program, snapshot=self.snapshot, command=command)
        return _Moved(what=self.entered(self.snapshot, warnings))

    def entered(self, snapshot: Snapshot, warnings: Sequence[str], *, recorded: int | None = None) -> EnteredFacts:
        return EnteredFacts(
            program=self.program,
            before=self.snapshot,
            snapshot=snapshot,
            run_id=self.place.run_id,
            at_ms=self.place.at_ms,
            warnings=warnings,
            recorded=recorded,
        )


def _once(call: Call, name: str, arguments: Mapping[str, Any], move: Callable[[_At], _Moved]) -> Handed:
    call.actor.require(Permission.DRIVE_RUNS)
    token, keys = read_token(kind=TokenKind.SESSION, text=call.token)
    try:
        nonce = handles.nonce_of(token_nonce=token.nonce, call=name, arguments=arguments)
    except canonical.NotCanonicalError as error:
        raise InvalidInputError(f"The arguments are no plain JSON: {error}", suggestion="Send plain values.") from error
    for _ in range(MAX_TRIES):
        holder = holder_of(call.actor, token, call.dialect, nonce=nonce)
        # What is recorded is answered for ever; what is new needs a token that is still trusted.
        if holder.standing.recorded is not None:
            return _handed(recorded_reply(holder.standing.recorded, keys, call.speech), held_of(holder))
        if token.retired:
            raise retired()
        handed = _try(call, holder, nonce, move)
        if handed is not None:
            return handed
    raise busy()


def _try(call: Call, holder: Holder, nonce: bytes, move: Callable[[_At], _Moved]) -> Handed | None:
    minting = Minting(actor=call.actor, now=call.now, entropy=call.entropy, keys=current_keys())
    standing = holder.standing
    at = _At(
        handle=holder.handle,
        standing=standing,
        program=load_program(standing.workflow_hash),
        snapshot=snapshot_of(standing),
        place=place_at(minting, standing, nonce=nonce),
        minting=minting,
    )
    moved = move(at)
    if moved.decision is None:
        held = held_of(holder)
        return _handed(call.speech.reply(HandedFacts(token=held.token, what=moved.what)), held)
    return _written(call, at, moved, moved.decision, nonce)


def _written(call: Call, at: _At, moved: _Moved, last: Decision, nonce: bytes) -> Handed | None:
    events = sum(len(node.drafts) for node in last.nodes)
    token = token_at(at.handle, at.standing.head.next_index + events)
    reply = call.speech.reply(HandedFacts(token=token, what=moved.what))
    plan = at.minting.plan(
        program=at.program,
        decision=last,
        head=at.standing.head,
        landing=landing_at(last, at.minting.now),
        attempt=_attempt(at.handle, nonce, last.place, reply, at.minting.keys),
    )
    ends = last.snapshot.position.complete and at.handle.parent is not None
    if not (_carried_out_with_parent(at, plan, last) if ends else carry_out(actor=at.minting.actor, plan=plan)):
        return None
    held = Held(
        handle=at.handle,
        token=token,
        program=at.program,
        snapshot=last.snapshot,
        standing=_standing_after(at.standing, plan, last),
    )
    return Handed(reply=reply, held=held, found_in=at.snapshot.position.activity)


def _handed(reply: Reply, held: Held) -> Handed:
    return Handed(reply=reply, held=held, found_in=held.snapshot.position.activity)


def _carried_out_with_parent(at: _At, plan: Append, last: Decision) -> bool:
    """The last transition of a child, with the parent's return to work: both or neither."""
    with transaction.atomic(durable=True):
        written = carry_out(actor=at.minting.actor, plan=plan) and children.release(
            at.minting,
            at.handle,
            last.snapshot,
            program=at.program,
            workflow_id=at.standing.workflow_id,
        )
        if not written:
            transaction.set_rollback(True)
    return written


def _standing_after(standing: Standing, plan: Append, last: Decision) -> Standing:
    decision = last
    return replace(
        standing,
        node_id=last.place.next_node,
        tip_node_id=last.place.next_node,
        node_kind=decision.node_kind,
        snapshot=decision.snapshot_data,
        snapshot_digest=decision.snapshot_digest,
        head=plan.after,
        run_status=decision.status,
        has_children=False,
        recorded=None,
    )


def _attempt(handle: Handle, nonce: bytes, place: Place, reply: Reply, keys: Keys) -> NewAttempt:
    return NewAttempt(
        node_id=handle.id,
        nonce=nonce,
        kind=AttemptKind.ACK,
        to_node_id=place.next_node,
        reply=reply.data,
        reply_template=reply.template,
        keys_generation=keys.generation,
    )
