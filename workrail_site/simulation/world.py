"""One history: several agents and people, their calls interleaved at every question to the store, and every fault drawn from
one seed.

A call runs in one go, but at each question that it asks of the store other calls may run whole, and it may lose its process
or its connection there. What commutes with such a schedule commutes in Postgres: a call reads, and then writes on the head
that it has read.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from django.db import OperationalError

from sessions_app.engine.runs import Dialect
from sessions_app.engine.tokens import TokenSessionLockedError
from sessions_app.services.store.appends import Append
from sessions_app.services.store.signing_keys import forget_keys
from teams_app.engine.actors import Actor, ActorKind, Door, Role, Scope
from teams_app.engine.errors import WorkrailError
from workflows_app.selectors.asked import answered_by
from workflows_app.selectors.publications import forget_publications
from workrail_site.simulation.agents import HandedAgent, NavigationAgent, RailAgent
from workrail_site.simulation.faults import Chance, SimulatedFault
from workrail_site.simulation.people import SimulatedPerson
from workrail_site.simulation.requests import CallAnswer, DiedError, SimulatedCaller, SimulatedRequest

BEGIN = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
_DEEPEST = 3
# Others run, and calls die, where these are asked; the rest is told by caches.
_INTERRUPTED = frozenset(
    {
        "read_standing", "read_tip", "read_session", "read_recorded", "read_holder", "read_children", "read_answered",
        "read_checkpoint", "waiting_node", "beneath", "newest_leaf", "recap_of",
    }
)  # fmt: skip
_GONE = (DiedError, OperationalError)
# What is stored is never damaged, and nobody is told so.
_NEVER = frozenset({"SESSION_NOT_HEALTHY", "INTERNAL_ERROR"})


class FindingError(Exception):
    """A promise that a history broke."""


class Store(Protocol):
    """What is behind the boundary, and what of it can be looked at from outside."""

    def ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any: ...

    def waiting(self) -> Sequence[tuple[UUID, str, Sequence[str]]]: ...

    def run_ids(self) -> Sequence[UUID]: ...

    def node_ids(self, run_id: UUID) -> Sequence[UUID]: ...


class HistoryWatch(Protocol):
    """Whoever judges the history as it goes."""

    def written(self, request: SimulatedRequest, plans: Sequence[Append]) -> None: ...

    def answered(self, request: SimulatedRequest, answer: CallAnswer) -> None: ...

    def stepped(self, step: int) -> None: ...

    def ended(self, requests: Sequence[SimulatedRequest]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCast:
    """An agent and a person of one team, and strangers, who are of another."""

    agent: Actor
    person: Actor
    stranger: Actor
    strange_person: Actor


def usual_cast() -> SimulatedCast:
    team, other = UUID(int=1), UUID(int=2)
    agent = Actor(
        kind=ActorKind.AGENT_KEY, id="key_a", name="Agent", team_id=team, door=Door.MCP, scopes=frozenset(Scope)
    )
    person = Actor(kind=ActorKind.PERSON, id="person_b", name="Bob", team_id=team, door=Door.STUDIO, role=Role.AUTHOR)
    return SimulatedCast(
        agent=agent,
        person=person,
        stranger=_elsewhere(agent, other),
        strange_person=_elsewhere(person, other),
    )


def _elsewhere(actor: Actor, team_id: UUID) -> Actor:
    return Actor(
        kind=actor.kind,
        id=f"{actor.id}_other",
        name=actor.name,
        team_id=team_id,
        door=actor.door,
        role=actor.role,
        scopes=actor.scopes,
    )


@dataclass(kw_only=True, eq=False)
class World:
    """`transcript` is what happened, line by line; `digest` names the whole history."""

    chance: Chance
    store: Store
    watch: HistoryWatch
    cast: SimulatedCast = field(default_factory=usual_cast)
    now: datetime = BEGIN
    step: int = 0
    transcript: list[str] = field(default_factory=list)
    requests: list[SimulatedRequest] = field(default_factory=list)
    frames: list[SimulatedRequest] = field(default_factory=list)
    _numbers: int = 0
    _is_calm: bool = False
    _callers: list[SimulatedCaller] = field(default_factory=list)
    _again: dict[SimulatedCaller, SimulatedRequest] = field(default_factory=dict)
    _late: list[SimulatedRequest] = field(default_factory=list)
    _told: Any = field(default_factory=hashlib.sha256)

    def __post_init__(self) -> None:
        agent, person = self.cast.agent, self.cast.person
        self._callers = [
            RailAgent(name="rail-1", actor=agent, office=self),
            RailAgent(name="rail-2", actor=agent, office=self),
            NavigationAgent(name="nav", actor=agent, office=self),
            HandedAgent(name="session", actor=agent, office=self, dialect=Dialect.SESSION),
            HandedAgent(name="orchestrator", actor=agent, office=self, dialect=Dialect.ORCHESTRATOR),
            SimulatedPerson(name="Bob", actor=person, office=self, desk=self.store),
            RailAgent(name="Bob's rail", actor=person, office=self),
        ]
        # Histories differ in who is there: of one workflow alone more is seen.
        mode = self.chance.below(6)
        if mode < 5:
            share = ([0, 1, 5], [2, 5], [3, 5], [4, 5], [0, 5, 6])[mode]
            self._callers = [self._callers[at] for at in share]

    @property
    def digest(self) -> str:
        return str(self._told.copy().hexdigest())

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def run(self, steps: int) -> None:
        """Raises FindingError where a promise is broken."""
        with self._installed():
            for self.step in range(1, steps + 1):
                self.turn()
                self.watch.stepped(self.step)
            self._come_back()
            self.watch.ended(self.requests)

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """What this process remembers of another store is forgotten before and after."""
        with answered_by(Boundary(self)):
            forget_keys()
            forget_publications()
            try:
                yield
            finally:
                forget_keys()
                forget_publications()

    # Turns

    def turn(self) -> None:
        """One call of somebody, as the network delivers it."""
        if self._late and self.chance.in_hundred(20):
            late = self._late.pop(self.chance.below(len(self._late)))
            self.deliver(late, is_heard=False)
            return
        request = self._drawn()
        if request is None:
            return
        if self.chance.happens(SimulatedFault.STRANGER):
            self.deliver_strangely(request)
        self.deliver(request, is_heard=not self.chance.happens(SimulatedFault.REPLY_LOST))
        if self.chance.happens(SimulatedFault.DOUBLED):
            self.deliver(request, is_heard=True)
        if self.chance.happens(SimulatedFault.LATE):
            self._late.append(request)

    def _drawn(self) -> SimulatedRequest | None:
        """Who was not answered asks again before anything else."""
        caller = self.chance.one(self._callers)
        again = self._again.pop(caller, None)
        # Whoever is in the middle of a call makes no other.
        if again is not None or any(frame.caller is caller for frame in self.frames):
            return again
        request: SimulatedRequest | None = caller.next_request()
        if request is not None:
            self.requests.append(request)
        return request

    def deliver(self, request: SimulatedRequest, *, is_heard: bool) -> CallAnswer | None:
        request.deliveries += 1
        self._pass_time()
        self.frames.append(request)
        try:
            answer = request.call(request.actor, self.now, self.chance.entropy)
        except _GONE as gone:
            self._note(request, f"was lost: {gone}")
            if is_heard:
                self._again[request.caller] = request
            return None
        except WorkrailError as refusal:
            self._refused(request, refusal, is_heard=is_heard)
            return None
        finally:
            self.frames.pop()
        self._note(request, f"got {hashlib.sha256(answer.data).hexdigest()[:12]}")
        self.watch.answered(request, answer)
        if not is_heard:
            self._again.setdefault(request.caller, request)
        elif not request.is_answered:
            request.is_answered = True
            request.caller.take(request, answer)
        return answer

    def _refused(self, request: SimulatedRequest, refusal: WorkrailError, *, is_heard: bool) -> None:
        self._note(request, f"was refused: {refusal.code}")
        if refusal.code in _NEVER:
            raise FindingError(f"{request.told()} met what is never there: {refusal.code}")
        if isinstance(refusal, TokenSessionLockedError):
            if is_heard:
                self._again[request.caller] = request
        elif request.recorded is not None:
            raise FindingError(f"{request.told()} was answered before, and is refused now: {refusal.code}")

    def deliver_strangely(self, request: SimulatedRequest) -> None:
        """The same call by somebody of another team: whatever it names does not exist for them."""
        if request.name.startswith("starts") or request.name == "begins":
            return
        is_person = request.actor.kind is ActorKind.PERSON
        actor = self.cast.strange_person if is_person else self.cast.stranger
        written = len(self.requests)
        try:
            request.call(actor, self.now, self.chance.entropy)
        except WorkrailError as refusal:
            if refusal.code not in {"TOKEN_UNKNOWN_NODE", "NOT_FOUND", "VALIDATION_ERROR"}:
                raise FindingError(f"{request.told()} by a stranger was refused with {refusal.code}") from refusal
            self._note(request, f"by a stranger was refused: {refusal.code}")
            return
        except _GONE:
            return
        raise FindingError(f"{request.told()} was answered to a stranger, after {written} requests")

    def _come_back(self) -> None:
        """Without faults: whoever waits for an answer gets one, and whoever had one gets the same."""
        self.chance.without = frozenset(SimulatedFault)
        self._is_calm = True
        for request in [*self._again.values(), *self._late]:
            self.deliver(request, is_heard=False)
        for request in self.requests:
            if request.recorded is not None and self.deliver(request, is_heard=False) is None:
                raise FindingError(f"{request.told()} is recorded, and not answered when it is repeated")

    def _pass_time(self) -> None:
        self.now += timedelta(milliseconds=200 + self.chance.below(20_000))
        if self.chance.happens(SimulatedFault.CLOCK):
            self.now += timedelta(seconds=self.chance.below(1200) - 600)

    def _note(self, request: SimulatedRequest, what: str) -> None:
        line = f"{self.step:3} {'  ' * len(self.frames)}{request.told()} {what}"
        self.transcript.append(line)
        self._told.update(line.encode())

    # The boundary

    def interrupt(self, name: str) -> None:
        """Before the question is asked."""
        if self._is_calm or name not in _INTERRUPTED:
            return
        self._beside()
        match self.chance.at_read():
            case SimulatedFault.DIED_READING:
                raise DiedError(SimulatedFault.DIED_READING.value)
            case SimulatedFault.LOST_READING:
                raise OperationalError(SimulatedFault.LOST_READING.value)
            case _:
                pass

    def write(self, *, actor: Actor, plans: Sequence[Append]) -> bool:
        if not self._is_calm:
            self._beside()
            self._beside()
        fault = self.chance.at_write()
        match fault:
            case SimulatedFault.DIED_BEFORE:
                raise DiedError(fault.value)
            case SimulatedFault.LOST_BEFORE:
                raise OperationalError(fault.value)
            case SimulatedFault.HELD:
                raise TokenSessionLockedError("Another call is writing to this session.")
            case _:
                pass
        written = bool(self.store.ask("write", actor=actor, plans=plans))
        if written and self.frames:
            self._told.update(b"".join(event.digest.encode() for plan in plans for event in plan.events))
            self.watch.written(self.frames[-1], plans)
        match fault:
            case SimulatedFault.DIED_AFTER:
                raise DiedError(fault.value)
            case SimulatedFault.LOST_AFTER:
                raise OperationalError(fault.value)
            case _:
                return written

    def _beside(self) -> None:
        """Another call runs whole, here in the middle of this one."""
        if not self.frames or len(self.frames) >= _DEEPEST or not self.chance.happens(SimulatedFault.BESIDE):
            return
        if self.chance.happens(SimulatedFault.AT_ONCE):
            self.deliver(self.frames[-1], is_heard=False)
        else:
            self.turn()

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Nothing changes for whoever reads in it."""
        before, self._is_calm = self._is_calm, True
        try:
            with self.store.ask("one_state"):
                yield
        finally:
            self._is_calm = before


class Boundary:
    """Stands in for the tables: every question passes the world on its way to the store."""

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self, *, actor: Actor, plans: Sequence[Append]) -> bool:
        return self._world.write(actor=actor, plans=plans)

    def one_state(self) -> AbstractContextManager[None]:
        return self._world.one_state()

    def __getattr__(self, name: str) -> Any:
        world = self._world

        def ask(*args: Any, **kwargs: Mapping[str, Any]) -> Any:
            world.interrupt(name)
            return world.store.ask(name, *args, **kwargs)

        return ask
