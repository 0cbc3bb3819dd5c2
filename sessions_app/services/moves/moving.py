"""Moves runs. A service reads where a run stands, has the move decided here, presents what came of it, and appends it.

When another writer was first nothing is written, and the service reads again. The moves of the runs above, which wait for one
that ends, belong to the same transaction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from msgspec import structs

from sessions_app.engine import checkpoints, children, stops
from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Decision, Move, Outcome, Place, Start, TakeBack
from sessions_app.engine.log import EventDraft, EventKind, Head, seal
from sessions_app.engine.runs import ENDED, STOPPED, AttemptKind, Recorded, RunStatus
from sessions_app.engine.session_tokens import Handle, issued_draft
from sessions_app.engine.state import Snapshot, Stop, sound_snapshot
from sessions_app.engine.tables import NewRun
from sessions_app.engine.tokens import (
    NONCE_BYTES,
    TokenBadSignatureError,
    TokenSessionLockedError,
    TokenUnknownNodeError,
)
from sessions_app.selectors.session_tokens import read_children
from sessions_app.selectors.standings import Standing, is_withdrawn, read_standing, read_tip
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.moves.triggers import trigger_for
from sessions_app.services.store.appends import Append, NewAttempt, NewSession, NewTip
from sessions_app.services.store.rows import Rows
from sessions_app.services.store.signing_keys import Keys, current_keys
from sessions_app.services.store.writing import write
from teams_app.engine.actors import Actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text, uuid7
from workflows_app.engine.program import Program
from workflows_app.selectors.programs import load_program

Entropy = Callable[[int], bytes]
Read = TypeVar("Read")
Done = TypeVar("Done")

# A conflict is only seen after the other writer has committed, so each try is somebody's progress.
MAX_TRIES = 128


class Tries:
    """Of one call."""

    def __init__(self) -> None:
        self._left = MAX_TRIES

    def begin(self) -> None:
        """Raises TokenSessionLockedError when there were so many that the caller is to try again."""
        if not self._left:
            raise TokenSessionLockedError(
                "Other calls kept writing to this session.",
                suggestion="Wait a second and repeat the same call with the same tokens; it is answered once.",
            )
        self._left -= 1


def done_once(
    read: Callable[[], Read], recorded: Callable[[Read], Done | None], attempt: Callable[[Read], Done | None]
) -> Done:
    """What is recorded of a call, or what it comes to. An attempt is None when another writer was first.

    The same call may have been done by its twin after this one had read: a refusal is told only when nothing is recorded then.
    """
    tries = Tries()
    while True:
        tries.begin()
        found = read()
        known = recorded(found)
        if known is not None:
            return known
        try:
            done = attempt(found)
        except WorkrailError:
            done = recorded(read())
            if done is None:
                raise
        if done is not None:
            return done


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A node of a run as it was read, with its program and its state; and by whose token, where that is known.

    `owed` is what has to be written before a move from here.
    """

    standing: Standing
    program: Program
    snapshot: Snapshot
    handle: Handle | None = None
    owed: tuple[Append, ...] = ()


def point_of(standing: Standing, *, handle: Handle | None = None) -> Point:
    """A place at which a run was once stopped is one like any other, as soon as a person has let the run go on."""
    snapshot = sound_snapshot(data=standing.snapshot, digest=standing.snapshot_digest)
    if snapshot.stop is not None and standing.run_status not in STOPPED:
        snapshot = structs.replace(snapshot, stop=None)
    return Point(standing=standing, program=load_program(standing.workflow_hash), snapshot=snapshot, handle=handle)


def as_waived(actor: Actor, at: Point) -> Point:
    """What a person has waived and taken back is waived at no node of the run that was made before."""
    preferences, standing = at.snapshot.preferences, at.standing
    if not (preferences.waives_people and standing.has_withdrawal):
        return at
    # Where another node was read for this one, the person may have waived it anew in between.
    if not is_withdrawn(team_id=actor.team_id, node_id=standing.node_id):
        return at
    return replace(at, snapshot=structs.replace(at.snapshot, preferences=structs.replace(preferences, waived_by="")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The use of a token: under which node and nonce its reply is recorded. `refusal` is of a token whose key is retired."""

    node_id: UUID
    nonce: bytes
    keys: Keys
    kind: AttemptKind = AttemptKind.ACK
    refusal: WorkrailError | None = None

    def recorded(self, recorded: Recorded | None, speech: Speech[Any]) -> Reply | None:
        """What is recorded is answered for ever; what is new needs a token that is still trusted."""
        if recorded is not None:
            return speech.recorded(recorded, keyring=self.keys.ring)
        if self.refusal is not None:
            raise self.refusal
        return None

    def attempt(self, reply: Reply, *, to_node_id: UUID, keys: Keys) -> NewAttempt:
        return NewAttempt(
            node_id=self.node_id,
            nonce=self.nonce,
            kind=self.kind,
            to_node_id=to_node_id,
            reply=reply.data,
            reply_template=reply.template,
            keys_generation=keys.generation,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a start writes before the decision's own rows. `session` is set when the run begins one."""

    run: NewRun
    drafts: Sequence[EventDraft]
    observed: Mapping[str, str]
    session: NewSession | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Where the run stands after the move. Without a status it keeps the one that it has."""

    tip: UUID
    status: RunStatus | None = None
    completed_at: datetime | None = None
    moved: NewTip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """Who moves a run, and when."""

    actor: Actor
    now: datetime
    entropy: Entropy
    keys: Keys

    @property
    def unix_ms(self) -> int:
        return int(self.now.timestamp() * 1000)

    def new_id(self) -> UUID:
        return uuid7(unix_ms=self.unix_ms, random=self.entropy(10))

    def move(self, at: Point, command: Move, *, nonce: bytes | None = None, nodes: int = 0) -> "Moved":
        """One decision; raises what the engine refuses. Without a nonce it is an attempt of its own. `nodes` are those that
        it may make besides the last.
        """
        return self.move_as_read(self.caught_up(at), command, nonce=nonce, nodes=nodes)

    def move_as_read(self, at: Point, command: Move, *, nonce: bytes | None = None, nodes: int = 0) -> "Moved":
        """The same where the ends of other runs make no difference."""
        at = as_waived(self.actor, at)
        place = self._place(at.standing, nonce, nodes)
        decision = decide(program=at.program, snapshot=at.snapshot, command=command, place=place)
        ends = decision.outcome is not Outcome.BOOKMARKED and decision.status in ENDED
        plan = self._plan(at.program, decision, at.standing.head, _landing(at, decision, self.now))
        above = self._go_on_above(at, decision.snapshot) if ends else ()
        return Moved(mover=self, program=at.program, decision=decision, plan=plan, above=above, owed=at.owed)

    def caught_up(self, at: Point) -> Point:
        """A run that is waited for may have ended while this one stood on another branch: it is taken back here as well."""
        # What a person has stopped stays stopped on every branch, and is told so by the move itself.
        waited_for = [] if at.standing.run_status in STOPPED else [UUID(hex=run) for run in at.snapshot.waits_for]
        found = read_children(team_id=self.actor.team_id, run_ids=waited_for) if waited_for else ()
        for child in found:
            tip = read_tip(team_id=self.actor.team_id, run_id=child.handle.run_id)
            if tip is None or tip.run_status not in ENDED:
                continue
            end = point_of(tip)
            back = self._taken_back(
                at, child.handle, program=end.program, workflow_id=child.workflow_id, snapshot=end.snapshot
            )
            if back is not None:
                at = replace(back.point_after(at), owed=(*at.owed, back.plan))
        return at

    def settles(self, node_id: UUID) -> bool:
        """Writes the ends of runs that a leaf still waits for, before the run comes to stand there. False when nothing was owed,
        or another writer was first.
        """
        leaf = read_standing(team_id=self.actor.team_id, node_id=node_id, nonce=b"")
        owed = self.caught_up(point_of(leaf)).owed if leaf else ()
        return bool(owed) and write(actor=self.actor, plans=owed)

    def begin(
        self, *, program: Program, command: Start, place: Place, head: Head, opening: Opening, handle: Handle | None
    ) -> "Moved":
        decision = decide(program=program, snapshot=None, command=command, place=place)
        plan = self._plan(program, decision, head, _landing_at(decision, self.now), opening=opening, handle=handle)
        return Moved(mover=self, program=program, decision=decision, plan=plan, handle=handle)

    def take_back(
        self, parent: Point, child: Handle, *, program: Program, workflow_id: str, snapshot: Snapshot
    ) -> tuple[Append, ...]:
        """The parent, if it waits for this run, goes on with what the run gives back."""
        moved = self._taken_back(parent, child, program=program, workflow_id=workflow_id, snapshot=snapshot)
        return () if moved is None else (moved.plan, *moved.above)

    def _taken_back(
        self, parent: Point, child: Handle, *, program: Program, workflow_id: str, snapshot: Snapshot
    ) -> "Moved | None":
        if child.parent is None or child.run_id.hex not in parent.snapshot.waits_for:
            return None
        activity = parent.program.activity(child.parent.activity)
        trigger = trigger_for(self.actor, activity, workflow_id, frozenset({program.id, workflow_id}))
        returned = children.given_back(
            parent=parent.program, trigger=trigger, before=parent.snapshot, program=program, child=snapshot
        )
        settled = children.settled_in(parent=parent.program, trigger=trigger, before=parent.snapshot, child=snapshot)
        return self.move_as_read(parent, TakeBack(run=child.run_id.hex, returned=returned, settled=settled))

    def note(self, *, session_id: UUID, head: Head, drafts: Sequence[EventDraft], run_id: UUID | None = None) -> Append:
        """Events that no decision makes; the rows that belong to them are added to it."""
        sealed = seal(
            drafts=drafts,
            session_id=session_id,
            head=head,
            event_ids=[self.new_id() for _ in drafts],
            timestamp_ms=self.unix_ms,
        )
        return Append(
            team_id=self.actor.team_id,
            session_id=session_id,
            actor=self.actor.id,
            now=self.now,
            before=head,
            after=sealed.head,
            events=sealed.events,
            run_id=run_id,
        )

    def _plan(
        self,
        program: Program,
        decision: Decision,
        head: Head,
        landing: Landing,
        *,
        opening: Opening | None = None,
        handle: Handle | None = None,
    ) -> Append:
        """The rows: a node for each that the decision makes, and the handle that is issued with it."""
        nodes, place, handles = decision.nodes, decision.place, [handle] if handle else []
        drafts = (
            *(opening.drafts if opening else ()),
            *(draft for node in nodes for draft in node.drafts),
            *map(issued_draft, handles),
        )
        noted = self.note(session_id=place.session_id, head=head, drafts=drafts, run_id=place.run_id)
        places = {event.dedupe: event.index for event in noted.events}
        rows = Rows(program=program, decisions=nodes, places=places, now=self.now)
        return structs.replace(
            _landed(noted, landing),
            session=opening.session if opening else None,
            observed=opening.observed if opening else None,
            run=opening.run if opening else None,
            nodes=rows.nodes(),
            snapshots={node.snapshot_digest: node.snapshot_data for node in nodes},
            outputs=rows.outputs(),
            gaps=rows.gaps(),
            questions=rows.questions(),
            closings=[closing for node in nodes for closing in node.closings],
            closed_by=place.next_node,
            audited=[entry for node in nodes for draft in node.drafts for entry in _audited(draft, node)],
            handles=rows.handles(handles),
        )

    def _place(self, standing: Standing, nonce: bytes | None, nodes: int) -> Place:
        return Place(
            session_id=standing.session_id,
            run_id=standing.run_id,
            node_id=standing.node_id,
            next_node=self.new_id(),
            nonce=self.entropy(NONCE_BYTES) if nonce is None else nonce,
            workflow_id=standing.workflow_id,
            workflow_hash=standing.workflow_hash,
            has_children=standing.has_children,
            has_critical_gaps=standing.has_gaps,
            at_ms=self.unix_ms,
            min_response_ms=settings.CHECKPOINT_MIN_RESPONSE_MS,
            due_ms=default_due_ms(),
            stop=stop_of(self.actor.team_id, standing),
            more_nodes=tuple(self.new_id() for _ in range(nodes)),
        )

    def _go_on_above(self, at: Point, snapshot: Snapshot) -> tuple[Append, ...]:
        """Locks are taken from the child upwards, so that none wait for each other."""
        found = read_children(team_id=self.actor.team_id, run_ids=[at.standing.run_id]) if at.handle is None else ()
        child = at.handle or next((each.handle for each in found), None)
        if child is None or child.parent is None:
            return ()
        tip = read_tip(team_id=self.actor.team_id, run_id=child.parent.run_id)
        if tip is None:
            return ()
        workflow_id = at.standing.workflow_id
        return self.take_back(point_of(tip), child, program=at.program, workflow_id=workflow_id, snapshot=snapshot)


def mover_of(actor: Actor, *, now: datetime, entropy: Entropy) -> Mover:
    return Mover(actor=actor, now=now, entropy=entropy, keys=current_keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a move comes to, before it is written. `above` are the moves of the runs that this one was triggered by, `owed`
    what has to be written before it.
    """

    mover: Mover
    program: Program
    decision: Decision
    plan: Append
    handle: Handle | None = None
    above: tuple[Append, ...] = ()
    owed: tuple[Append, ...] = ()

    @property
    def returns(self) -> bool:
        """Whether another run waits for this one, or goes on with its end."""
        return bool(self.above)

    def append(self, *, use: Use | None = None, reply: Reply | None = None, landing: Landing | None = None) -> bool:
        """False when another writer was first and nothing was written. The reply is recorded for the use."""
        plan = self.plan if landing is None else _landed(self.plan, landing)
        if use is not None and reply is not None:
            attempt = use.attempt(reply, to_node_id=self.decision.place.next_node, keys=self.mover.keys)
            plan = structs.replace(plan, attempts=[attempt])
        return write(actor=self.mover.actor, plans=[*self.owed, plan, *self.above])

    def point_after(self, at: Point) -> Point:
        """Where the run stands when it is written."""
        decision = self.decision
        standing = replace(
            at.standing,
            node_id=decision.place.next_node,
            tip_node_id=decision.place.next_node,
            node_kind=decision.node_kind,
            snapshot=decision.snapshot_data,
            snapshot_digest=decision.snapshot_digest,
            head=self.plan.after,
            run_status=decision.status,
            has_children=False,
            recorded=None,
        )
        return replace(at, standing=standing, snapshot=decision.snapshot)


def _audited(draft: EventDraft, decision: Decision) -> Iterator[tuple[str, str]]:
    """What a person approved with their own acknowledgement, before anybody was asked, and which run they stopped."""
    place, data = decision.place, draft.data
    if draft.kind is EventKind.CHECKPOINT_ANSWERED:
        if data["authority"] == Authority.HUMAN.value and "request" not in data:
            yield "step.approved", to_text(Prefix.NODE, place.node_id or place.next_node)
    elif draft.kind is EventKind.RUN_STOPPED:
        yield f"run.{data['kind']}", to_text(Prefix.RUN, place.run_id)
    elif draft.kind is EventKind.RUN_RESUMED:
        yield "run.resumed", to_text(Prefix.RUN, place.run_id)
    elif draft.kind is EventKind.BRANCH_PREFERRED:
        yield "run.branch_preferred", to_text(Prefix.RUN, place.run_id)


def stop_of(team_id: UUID, standing: Standing) -> Stop | None:
    """That the run is stopped is told by its row, and by whom and why by its tip."""
    if standing.run_status not in STOPPED:
        return None
    tip = read_tip(team_id=team_id, run_id=standing.run_id)
    return sound_snapshot(data=tip.snapshot, digest=tip.snapshot_digest).stop if tip else None


def refuse_stopped(actor: Actor, standing: Standing) -> None:
    """Of a run that a person has stopped nothing is told but that, and why."""
    stop = stop_of(actor.team_id, standing)
    if stop is not None:
        raise stops.refusal(stop)


def _landed(plan: Append, landing: Landing) -> Append:
    return structs.replace(
        plan,
        run_status=landing.status,
        completed_at=landing.completed_at,
        tip_node_id=landing.tip,
        moved=landing.moved,
    )


def _landing_at(decision: Decision, now: datetime) -> Landing:
    completed = now if decision.status in ENDED else None
    return Landing(tip=decision.place.next_node, status=decision.status, completed_at=completed)


def _landing(at: Point, decision: Decision, now: datetime) -> Landing:
    """The new node. The inbox is told when the run went on from elsewhere than it stood."""
    landing = _landing_at(decision, now)
    if at.standing.node_id == at.standing.tip_node_id or not checkpoints.may_ask(at.program):
        return landing
    asked = decision.snapshot.asked
    return replace(landing, moved=NewTip(asked=UUID(hex=asked.request) if asked else None))


def default_due_ms() -> int | None:
    return settings.CHECKPOINT_DUE_MS or None


def unknown_node() -> TokenUnknownNodeError:
    return TokenUnknownNodeError(
        "No step of your team stands behind this token.",
        suggestion="Copy the token of the last reply once more, or find the run again.",
    )


def retired_token() -> TokenBadSignatureError:
    return TokenBadSignatureError(
        "The token was signed with a key that is no longer trusted.",
        suggestion="Find the run again for fresh tokens.",
    )
