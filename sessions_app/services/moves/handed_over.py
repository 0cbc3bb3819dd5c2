"""Runs whose activities are handed over whole: entered, stopped at questions, answered. One read, one decision, one write.

A call is recorded under its holder and the place of the log that its token names: the same token and the same arguments
again are answered what was recorded. Any other call finds the run where it stands, whatever its token says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine import handover, manifests, questions, session_tokens
from sessions_app.engine.checkpoints import CLIENT_FORM, Voice
from sessions_app.engine.decisions import Answer, AnswerMode, AskQuestion, EnterActivity
from sessions_app.engine.handover_refusals import (
    CheckpointNotPendingError,
    CheckpointOpenError,
    no_activity,
    refuse_complete,
)
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.reply_facts import (
    EnteredFacts,
    HandedFacts,
    PersonAnsweredFacts,
    ResolvedFacts,
    SettledBeforeFacts,
    YieldedFacts,
)
from sessions_app.engine.runs import Dialect
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.session_tokens import Holder, read_children
from sessions_app.selectors.standings import Standing
from sessions_app.services.moves.moving import (
    Entropy,
    Moved,
    Mover,
    Point,
    Use,
    done_once,
    mover_of,
    point_of,
    refuse_stopped,
)
from sessions_app.services.moves.session_tokens import Held, held_at, held_of, holder_of, read_held, retired, token_at
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import canonical
from workflows_app.engine.program import Program
from workflows_app.selectors.publications import published_lately

Came = EnteredFacts | YieldedFacts | SettledBeforeFacts | ResolvedFacts | PersonAnsweredFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a call is answered, where the run stands with it, and in which activity the call found it."""

    reply: Reply
    held: Held
    found_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverCall:
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


def enter_activity(call: HandoverCall, command: EnterActivity) -> Handed:
    """Leave the activity with what was done in it, and enter the next one."""
    arguments = {
        "activity": command.activity_id,
        "claim": command.claim,
        "manifest": None if command.manifest is None else [_entry_json(entry) for entry in command.manifest],
        "outcomes": None if command.outcomes is None else [asdict(entry) for entry in command.outcomes],
    }
    turn = _Turn(call, "enter", arguments)
    # An id for each node that the manifest may make.
    nodes = min(len(command.manifest or ()), handover.MAX_MANIFEST_ENTRIES) + 1

    def attempt(at: Point) -> Handed | None:
        program, snapshot = at.program, at.snapshot
        if handover.stays(program=program, snapshot=snapshot, activity_id=command.activity_id):
            handover.refuse_waiting(snapshot, command)
            # The activity at hand once more: nothing is left, so nothing is written.
            warnings = handover.warnings_of_staying(program=program, snapshot=snapshot, command=command)
            return turn.told(at, _entered(turn.mover, at, snapshot, warnings))
        moved = turn.mover.move(at, command, nonce=turn.use.nonce, nodes=nodes)
        decision = moved.decision
        drift = changed_since(call.actor, at.standing, program, now=call.now)
        warned = (said.message for node in decision.nodes for said in node.warnings)
        said = [*decision.told, *warned, *drift]
        what = _entered(turn.mover, at, decision.snapshot, said, recorded=decision.recorded)
        return turn.append(at, moved, what)

    return turn.done(attempt)


def _entered(
    mover: Mover, at: Point, snapshot: Snapshot, warnings: Sequence[str], *, recorded: int | None = None
) -> EnteredFacts:
    return EnteredFacts(
        program=at.program,
        before=at.snapshot,
        snapshot=snapshot,
        run_id=at.standing.run_id,
        at_ms=mover.unix_ms,
        warnings=warnings,
        recorded=recorded,
    )


def _entry_json(entry: ManifestEntry) -> dict[str, Any]:
    said: dict[str, Any] = {"step_id": entry.step_id, "output": entry.output}
    if entry.artifacts:
        said["artifacts"] = [dict(each) for each in entry.artifacts]
    return {**said, "context": dict(entry.context)} if entry.context else said


def yield_checkpoint(call: HandoverCall, *, checkpoint_id: str) -> Handed:
    """A worker stops at a question. What was answered in this visit is told again and not asked."""
    turn = _Turn(call, "yield", {"checkpoint": checkpoint_id})

    def attempt(at: Point) -> Handed | None:
        activity = at.program.activity(at.snapshot.position.activity)
        if activity is None:
            raise no_activity()
        if at.snapshot.question_named(checkpoint_id) is not None:
            return turn.told(at, YieldedFacts(checkpoint_id=checkpoint_id))
        if not at.snapshot.questions and questions.is_settled(activity, at.snapshot, checkpoint_id):
            option = questions.latest_answer(at.snapshot, checkpoint_id) or ""
            return turn.told(at, SettledBeforeFacts(checkpoint_id=checkpoint_id, option=option))
        moved = turn.mover.move(at, AskQuestion(checkpoint_id=checkpoint_id), nonce=turn.use.nonce)
        return turn.append(at, moved, YieldedFacts(checkpoint_id=checkpoint_id))

    return turn.done(attempt)


def respond_checkpoint(
    call: HandoverCall, *, checkpoint_id: str, mode: AnswerMode, option_id: str = "", asked_by_client: bool = False
) -> Handed:
    """An agent passes on what its user chose, or resolves the question without them. Without a name the only one is meant.

    `asked_by_client` says that the client had the answer from its user itself.
    """
    voice = Voice(who=call.actor.id, door=CLIENT_FORM if asked_by_client else call.actor.way)
    command = Answer(mode=mode, checkpoint_id=checkpoint_id, option_id=option_id, voice=voice)
    turn = _Turn(call, "respond", {"checkpoint": checkpoint_id, "mode": mode.value, "option": option_id})

    def attempt(at: Point) -> Handed | None:
        answered = _answered_by_person(at.snapshot, checkpoint_id)
        if answered is not None:
            return turn.told(at, PersonAnsweredFacts(checkpoint_id=answered, snapshot=at.snapshot))
        refuse_complete(at.snapshot)
        moved = turn.mover.move(at, command, nonce=turn.use.nonce)
        decision = moved.decision
        if decision.settled is None:
            raise ValueError("No question was answered.")
        what = ResolvedFacts(settled=decision.settled, snapshot=decision.snapshot, warnings=decision.told)
        return turn.append(at, moved, what)

    return turn.done(attempt)


def resume_checkpoint(*, actor: Actor, token: str, dialect: Dialect) -> Held:
    """A worker goes on after its question was answered. Nothing is written: the answer has moved the log."""
    held = read_held(actor=actor, token=token, dialect=dialect)
    refuse_stopped(actor, held.standing)
    refuse_complete(held.snapshot)
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


class _Turn:
    """A call with its token: read, and answered with what is recorded, what is so already, or what it comes to."""

    def __init__(self, call: HandoverCall, name: str, arguments: Mapping[str, Any]) -> None:
        call.actor.require(Permission.DRIVE_RUNS)
        self.call = call
        self.token, keys = read_token(kind=TokenKind.SESSION, text=call.token)
        try:
            nonce = session_tokens.nonce_of(token_nonce=self.token.nonce, call=name, arguments=arguments)
        except canonical.NotCanonicalError as error:
            said = f"The arguments are no plain JSON: {error}"
            raise InvalidInputError(said, suggestion="Send plain values.") from error
        refusal = retired() if self.token.retired else None
        self.use = Use(node_id=self.token.node_id, nonce=nonce, keys=keys, refusal=refusal)
        self.mover = mover_of(call.actor, now=call.now, entropy=call.entropy)

    def done(self, attempt: Callable[[Point], Handed | None]) -> Handed:
        def begun(holder: Holder) -> Handed | None:
            at = point_of(holder.standing, handle=holder.handle)
            refuse_stopped(self.call.actor, holder.standing)
            return attempt(at)

        return done_once(self._read, self._recorded, begun)

    def _read(self) -> Holder:
        return holder_of(self.call.actor, self.token, self.call.dialect, nonce=self.use.nonce)

    def _recorded(self, holder: Holder) -> Handed | None:
        reply = self.use.recorded(holder.standing.recorded, self.call.speech)
        if reply is None:
            return None
        held = held_of(holder)
        return Handed(reply=reply, held=held, found_in=held.snapshot.position.activity)

    def told(self, at: Point, what: Came) -> Handed:
        """Nothing is written."""
        held = held_at(at)
        reply = self.call.speech.reply(HandedFacts(token=held.token, what=what))
        return Handed(reply=reply, held=held, found_in=at.snapshot.position.activity)

    def append(self, at: Point, moved: Moved, what: Came) -> Handed | None:
        """None when another writer was first."""
        held = held_at(moved.point_after(at))
        reply = self.call.speech.reply(HandedFacts(token=held.token, what=what))
        if not moved.append(use=self.use, reply=reply):
            return None
        return Handed(reply=reply, held=held, found_in=at.snapshot.position.activity)
