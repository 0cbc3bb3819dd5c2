"""Judges a history against the store that it has made: what must hold after each step, and at its end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine import tokens
from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.gates_passed import Stood, asks_people, passed_gates
from sessions_app.engine.log import Event, EventKind, StoredEvent, verify_chain
from sessions_app.engine.projections import ProjectedRun, ProjectedSession, fold, project
from sessions_app.engine.runs import ENDED, RunStatus
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.engine.tables import TABLES
from sessions_app.selectors.gates_passed import answers_told
from sessions_app.services.store.appends import Append
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import ActorKind
from teams_app.engine.ids import Prefix, to_text
from workflows_app.selectors.programs import load_program
from workrail_site.simulation.requests import CallAnswer, SimulatedRequest
from workrail_site.simulation.store import MemoryStore
from workrail_site.simulation.world import FindingError

# Every so many steps all rows of what has changed are compared; the rest is looked at after each.
_COMPARED_EVERY = 20
_TOKENS = ("stateToken", "ackToken", "checkpointToken", "state", "session_token")


@dataclass(kw_only=True, eq=False)
class Truth:
    store: MemoryStore
    _views: dict[UUID, ProjectedSession] = field(default_factory=dict)
    _seen: dict[UUID, int] = field(default_factory=dict)
    _changed: set[UUID] = field(default_factory=set)
    _uncompared: set[UUID] = field(default_factory=set)
    # By the nodes that a request made: what it marked, and that it chose what sets a variable.
    _marks: dict[UUID, str] = field(default_factory=dict)
    _chose: set[UUID] = field(default_factory=set)

    # As it goes

    def written(self, request: SimulatedRequest, plans: Sequence[Append]) -> None:
        request.transitions += 1
        if request.is_named and request.transitions > 1:
            raise FindingError(f"{request.told()} was done {request.transitions} times")
        if request.actor.kind is not ActorKind.PERSON and any(map(_by_person, plans)):
            raise FindingError(f"{request.told()} answered in the place of a person")
        for plan in plans:
            self._changed.add(plan.session_id)
            request.made.extend(node.id for node in plan.nodes)
            self._chose.update(node.id for node in plan.nodes if _chooses(plan.events))
        for node in plans[0].nodes:
            self._marks[node.id] = request.mark
        if request.is_named:
            replies = [attempt.reply for plan in plans for attempt in plan.attempts]
            if len(replies) != 1:
                raise FindingError(f"{request.told()} has moved a run, and {len(replies)} replies are recorded for it")
            request.recorded = replies[0]

    def answered(self, request: SimulatedRequest, answer: CallAnswer) -> None:
        if request.recorded is not None and answer.data != request.recorded:
            raise FindingError(f"{request.told()} was answered otherwise than what is recorded for it")
        ring = current_keys().ring
        for name in _TOKENS:
            text = answer.value.get(name)
            token = tokens.read_any(keyring=ring, text=text) if text else None
            if token is not None and token.node_id not in self.store.nodes and token.node_id not in self.store.handles:
                raise FindingError(f"{request.told()} was given a {name} of what is not stored")

    def stepped(self, step: int) -> None:
        for session_id in sorted(self._changed):
            self._read_on(session_id)
        self._uncompared |= self._changed
        self._changed.clear()
        if step % _COMPARED_EVERY == 0:
            for session_id in sorted(self._uncompared):
                self._compare(session_id, self._views[session_id])
            self._uncompared.clear()

    def ended(self, requests: Sequence[SimulatedRequest]) -> None:
        self.stepped(0)
        for session_id, session in sorted(self.store.sessions.items()):
            whole = verify_chain(map(_stored, session.events))
            if whole.faults or whole.head != session.head:
                raise FindingError(f"The log of {session_id} does not hold: {whole.faults}, {whole.head}")
            self._compare(session_id, project(event.body for event in session.events))
        for request in requests:
            self._once(request)
        self._answered_once()
        self._waits_for_no_ended_run()

    # Each session

    def _read_on(self, session_id: UUID) -> None:
        """What is new in the log follows what was there."""
        session = self.store.sessions[session_id]
        view, seen = self._views.setdefault(session_id, ProjectedSession()), self._seen.get(session_id, 0)
        before = session.events[seen - 1].digest if seen else None
        for place, event in enumerate(session.events[seen:], seen):
            body = orjson.loads(event.body)
            if event.index != place or (before is not None and body["previousDigest"] != before):
                raise FindingError(f"Event {event.index} of {session_id} does not follow the one before it")
            fold(view, body)
            before = event.digest
        self._seen[session_id] = len(session.events)
        if session.head.next_index != len(session.events) or session.head.digest != before:
            raise FindingError(f"The log of {session_id} ends otherwise than its row says")

    def _compare(self, session_id: UUID, view: ProjectedSession) -> None:
        rows = self.store.rows_of(session_id)
        for name, table in TABLES.items():
            told = {row.id: row for row in table.told(view)}
            stored = {row.id: row for row in rows[name]}
            if told.keys() != stored.keys():
                raise FindingError(f"The log of {session_id} tells of {len(told)} {name}, and {len(stored)} are there")
            for key, row in told.items():
                differing = [
                    column.name
                    for column in table.checked
                    if not column.is_same(getattr(stored[key], column.name), getattr(row, column.name))
                ]
                if differing:
                    raise FindingError(f"{name} {key}: {', '.join(differing)} are not what the log tells")
        for run in view.runs.values():
            self._judge_run(session_id, run)

    def _judge_run(self, session_id: UUID, run: ProjectedRun) -> None:
        team_id, program = self.store.sessions[session_id].team_id, load_program(run.workflow_hash)
        nodes = [
            Stood(
                node_id=node.node_id,
                parent_id=node.parent_id,
                snapshot=snapshot_from_bytes(self.store.snapshots[team_id, node.snapshot]),
            )
            for node in run.nodes.values()
        ]
        if asks_people(program):
            answers = answers_told(self.store.sessions[session_id].events, run)
            for passed in passed_gates(program=program, nodes=nodes, answers=answers):
                name = to_text(Prefix.NODE, passed.node_id)
                raise FindingError(f"{run.run_id} is past {passed.gate!r} at {name}, and no person answered it there")
        self._judge_variables(nodes)

    def _judge_variables(self, nodes: Sequence[Stood]) -> None:
        """Each state knows what was said on the way to it, and nothing of its siblings."""
        marks: dict[UUID | None, frozenset[str]] = {None: frozenset()}
        chosen: dict[UUID | None, bool] = {None: False}
        for node in nodes:
            # A child's root has its parent's variables; they were marked before it.
            own = {self._marks.get(node.node_id, "")} if node.parent_id else _marked(node.snapshot.variables)
            marks[node.node_id] = marks.get(node.parent_id, frozenset()) | own
            chosen[node.node_id] = chosen.get(node.parent_id, False) or node.node_id in self._chose
            strange = _marked(node.snapshot.variables) - marks[node.node_id]
            if strange and not node.snapshot.returned:
                raise FindingError(f"Node {node.node_id} knows {', '.join(sorted(strange))}, which was said elsewhere")
            if node.snapshot.variables.get("on") == "true" and not chosen[node.node_id]:
                raise FindingError(f"Node {node.node_id} has the effect of an option that nobody chose on its branch")

    # Each request

    def _once(self, request: SimulatedRequest) -> None:
        if request.is_answered and request.is_named and request.recorded is not None:
            missing = [node for node in request.made if node not in self.store.nodes]
            if missing:
                raise FindingError(f"{request.told()} was answered, and what it made is gone")

    def _answered_once(self) -> None:
        """A person's answer holds once."""
        given: dict[str, int] = {}
        for session in self.store.sessions.values():
            for event in session.events:
                if event.kind is EventKind.CHECKPOINT_ANSWERED:
                    data = orjson.loads(event.body)["data"]
                    if "request" in data and data["authority"] == "human":
                        given[data["request"]] = given.get(data["request"], 0) + 1
        audited = [target for action, target in self.store.audit if action == "checkpoint.answered"]
        twice = [name for name, count in given.items() if count > 1]
        if twice or sorted(given) != sorted(audited):
            raise FindingError(f"Answered twice: {twice}; {len(given)} in the log, {len(audited)} in the audit log")

    def _waits_for_no_ended_run(self) -> None:
        for run_id, placed in self.store.runs.items():
            snapshot = snapshot_from_bytes(self.store.snapshot(self.store.node(placed.row.tip_node_id)))
            ended = [name for name in snapshot.waits_for if RunStatus(self.store.run(UUID(hex=name)).status) in ENDED]
            if ended and RunStatus(placed.row.status) not in ENDED:
                raise FindingError(f"Run {run_id} waits for {', '.join(ended)}, which has ended")


def _by_person(plan: Append) -> bool:
    answers = any(closing.authority is Authority.HUMAN for closing in plan.closings)
    return answers or any(action == "step.approved" for action, _ in plan.audited)


def _marked(variables: Mapping[str, Any]) -> set[str]:
    return {name for name in variables if name[0] == "m" and name[1:].isdigit()}


def _chooses(events: Sequence[Event]) -> bool:
    """Whether an option that sets a variable was chosen in a transition."""
    bodies: Iterator[Any] = (
        orjson.loads(event.body)["data"] for event in events if event.kind is EventKind.CHECKPOINT_ANSWERED
    )
    return any(data.get("optionId") == "yes" for data in bodies)


def _stored(event: Event) -> StoredEvent:
    return StoredEvent(index=event.index, body=event.body, digest=event.digest)
