"""Whether a run went past a place where a signed-in person has to be asked, as its log and its snapshots tell it.

This judges histories, not moves: it shares no rule with what refuses to pass, so that a defect there shows here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from msgspec.structs import replace

from sessions_app.engine.checkpoints import APPROVE, Authority
from sessions_app.engine.state import Snapshot
from workflows_app.engine import conditions, walker
from workflows_app.engine.program import (
    Activity,
    Confirmation,
    ConfirmationKind,
    Gate,
    Item,
    Loop,
    Program,
    walk_items,
)
from workflows_app.engine.walks import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """A node with its state. Parents come before their children."""

    node_id: UUID
    parent_id: UUID | None
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer, and the node that it made. `instance` is the key of the place that the question stood for."""

    node_id: UUID
    checkpoint: str
    instance: str
    option: str
    authority: Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The node at which the run was behind the gate, though nobody who may had answered."""

    node_id: UUID
    gate: str


def asks_people(program: Program) -> bool:
    """Whether there is anything to judge in a run of it."""
    return any(_asks(activity, item) for activity in program.activities for item in walk_items(activity.body))


def passed_gates(*, program: Program, nodes: Iterable[Stood], answers: Iterable[Given]) -> Iterator[Passed]:
    """In the order of the nodes. What a person waived is passed rightly."""
    run = _Run(program=program)
    for answer in answers:
        if answer.authority is Authority.HUMAN:
            run.made_by.setdefault(answer.node_id, []).append(answer)
    for node in nodes:
        yield from run.take(node)


# A loop as it was entered once: the visit, the rounds around it, and its id.
_Entered = tuple[str, int, tuple[tuple[str, int], ...], str]


@dataclass(slots=True, kw_only=True)
class _Run:
    """`given` are the answers of people on the way to each node, and `worked` the loops in which something was done there; a
    node without any shares its parent's. `states` are as they are judged, `stood` where the nodes stand, and `asked`
    what was to be asked of a person in a state before, in which the same was at hand.
    """

    program: Program
    made_by: dict[UUID, list[Given]] = field(default_factory=dict)
    states: dict[UUID, Snapshot] = field(default_factory=dict)
    stood: dict[UUID, Position] = field(default_factory=dict)
    given: dict[UUID, tuple[Given, ...]] = field(default_factory=dict)
    worked: dict[UUID, frozenset[_Entered]] = field(default_factory=dict)
    asked: dict[UUID, frozenset[str]] = field(default_factory=dict)

    def take(self, node: Stood) -> Iterator[Passed]:
        before = self.states.get(node.parent_id) if node.parent_id else None
        inherited = self.given.get(node.parent_id, ()) if node.parent_id else ()
        worked = self.worked.get(node.parent_id, frozenset()) if node.parent_id else frozenset()
        self.states[node.node_id] = node.snapshot
        self.stood[node.node_id] = node.snapshot.position
        self.given[node.node_id] = (*inherited, *self.made_by.get(node.node_id, ()))
        self.worked[node.node_id] = worked
        if node.parent_id is None or before is None or node.snapshot.stop is not None:
            return
        crossing = _Crossing(
            program=self.program,
            before=before,
            after=node.snapshot,
            stood=self.stood[node.parent_id],
            asked=self.asked.get(node.parent_id, frozenset()),
            worked=worked,
        )
        if node.snapshot.position == before.position:
            self.asked[node.node_id] = crossing.asked_here()
            return
        if crossing.is_set_back():
            # What was at hand is still to be done, and is judged when the run goes on from there.
            self.states[node.node_id] = replace(node.snapshot, position=before.position)
            return
        self.worked[node.node_id] = crossing.worked_after()
        if _waives(before) or _waives(node.snapshot):
            return
        for gate in crossing.gates():
            if not crossing.is_answered(gate, self.given[node.node_id]):
                yield Passed(node_id=node.node_id, gate=gate.id)


def _waives(snapshot: Snapshot) -> bool:
    """A person had the run never stop: only their name in the state says so."""
    return snapshot.preferences.waives_people


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crossing:
    """From one node to the next; `worked` are the loops in which something was done before, `asked` what was to be asked of
    a person while the same was at hand. The node stood at `stood`, which is elsewhere than `before` where something was told of late.
    """

    program: Program
    before: Snapshot
    after: Snapshot
    stood: Position
    asked: frozenset[str]
    worked: frozenset[_Entered]

    def is_set_back(self) -> bool:
        """To a step of the same activity that stands before the one at hand, which is told of late. A loop that was begun is done."""
        activity, after = self.program.activity(self.before.position.activity), self.after.position
        before = self.before.position
        at_hand = before.frames[0].loop if before.frames else before.pending_item
        if activity is None or not (self._is_same_visit() and before.pending_item and after.pending_item):
            return False
        if at_hand in after.done:
            return False
        return _place(activity, after) < _place(activity, self.before.position)

    def gates(self) -> Iterator[Item]:
        """Where people are asked, and which are behind the run now and were not before."""
        activity = self.program.activity(self.before.position.activity)
        if activity is None:
            return
        yield from self._left_pending(activity)
        yield from self._gone_around(activity, until=self._left_undone_from(activity))

    def asked_here(self) -> frozenset[str]:
        """With what is asked of a person in the state before: what came with an attempt that was blocked lifts no question."""
        activity, pending = (
            self.program.activity(self.before.position.activity),
            walker.item_at(self.program, self.before.position),
        )
        if activity is None or pending is None:
            return self.asked
        items = (pending, *walker.loops_at(activity, self.before.position.frames))
        return self.asked.union(item.id for item in items if self._asks_a_person(activity, item, self.before))

    def worked_after(self) -> frozenset[_Entered]:
        """With the loops around what was done here."""
        pending = walker.item_at(self.program, self.before.position)
        if pending is None or not self.before.position.frames or self._stands_at(pending):
            return self.worked
        return self.worked.union(_entered(self.before.position))

    def _left_pending(self, activity: Activity) -> Iterator[Item]:
        """What was pending and is not any more, with the loops that it is the first work in."""
        pending = walker.item_at(self.program, self.before.position)
        if pending is None or self._stands_at(pending) or self._is_needless(activity):
            return
        if self._is_lifted(activity, pending):
            return
        position = self.before.position
        around = zip(walker.loops_at(activity, position.frames), _entered(position), strict=False)
        for item in (pending, *(loop for loop, entered in around if entered not in self.worked)):
            if item.id in self.asked or self._asks_a_person(activity, item, self.before):
                yield item

    def _is_lifted(self, activity: Activity, pending: Item) -> bool:
        """What was told of late stands before it, and what came with that says that it is not to be done."""
        was_set_back = self.stood != self.before.position and not self.before.position.frames
        return was_set_back and pending.id not in self.asked and not self._is_due(activity, pending)

    def _is_needless(self, activity: Activity) -> bool:
        """An answer before leads elsewhere, and what is at hand stands behind its question."""
        at = self.before.position.frames[0].loop if self.before.position.frames else self.before.position.pending_item
        place = next((index for index, item in enumerate(activity.body) if item.id == at), 0)
        return place > self._first_leading(activity, self._answered_leading())

    def _stands_at(self, item: Item) -> bool:
        before, after = self.before.position, self.after.position
        if (before.activity, before.visit, before.pending) == (after.activity, after.visit, after.pending):
            return True
        # Set on another step of the round, or of the activity, with this one still to be done.
        return not after.complete and self._is_same_visit() and not after.pending and item.id not in after.done

    def _gone_around(self, activity: Activity, *, until: int) -> Iterator[Item]:
        """Items at the top of the activity that the run was before, and is behind, and at which it never stood."""
        for index, item in enumerate(activity.body[:until]):
            if isinstance(item, Loop) or item.id == self.before.position.pending_item:
                continue
            if not self._has_behind(activity, self.before.position, index) and self._is_behind_now(activity, index):
                needed = (self._asks_a_person(activity, item, state) for state in (self.before, self.after))
                if all(needed) and self._is_due(activity, item):
                    yield item

    def _is_behind_now(self, activity: Activity, index: int) -> bool:
        return not self._is_same_visit() or self._has_behind(activity, self.after.position, index)

    def _has_behind(self, activity: Activity, position: Position, index: int) -> bool:
        """Work after it in the order of work is done or at hand, or it is done itself. Questions are answered in any order."""
        at = position.frames[0].loop if position.frames else position.pending_item
        done = {item.id for item in activity.body if item.id in position.done and not isinstance(item, Gate)}
        reached = [place for place, item in enumerate(activity.body) if item.id in {at, *done}]
        return activity.body[index].id in position.done or index < max(reached, default=-1)

    def _is_same_visit(self) -> bool:
        before, after = self.before.position, self.after.position
        return (before.activity, before.visit) == (after.activity, after.visit) and not after.complete

    def _is_due(self, activity: Activity, item: Item) -> bool:
        """Under what was known before and what is known after; what became due or needless on the way is not judged. The
        question of a step is due with it.
        """
        if not self._set_on_leaving(activity).isdisjoint(_read_by(activity, item)):
            return False
        step = next((each for each in activity.body if isinstance(item, Gate) and each.id == item.step), None)
        if step is not None and step.id not in self.after.position.done and not self._is_due(activity, step):
            return False
        return all(
            walker.is_eligible(program=self.program, activity=activity, item=item, variables=state.variables)
            for state in (self.before, self.after)
        )

    def _set_on_leaving(self, activity: Activity) -> set[str]:
        """What was set when the activity was left and the next one entered: nobody knows any more what it was on the way."""
        if self._is_same_visit():
            return set()
        entered = None if self.after.position.complete else self.program.activity(self.after.position.activity)
        actions = (*activity.exit_actions, *(entered.entry_actions if entered else ()))
        return {conditions.root_of(action.target) for action in actions}

    def _left_undone_from(self, activity: Activity) -> int:
        """An option that leads elsewhere leaves undone what stands behind its question at the top of the activity."""
        pending = walker.item_at(self.program, self.before.position)
        said = self._answered_leading() | ({pending.checkpoint} if isinstance(pending, Gate) else set())
        return self._first_leading(activity, said)

    def _answered_leading(self) -> set[str]:
        """What was answered in this visit, where one of the answers leads elsewhere, or the last of them did."""
        answered = walker.item_at(self.program, self.stood)
        last = {answered.checkpoint} if isinstance(answered, Gate) and not self._is_same_visit() else set[str]()
        if not self.before.led_to:
            return last
        return last | {key.partition("::")[2].partition("#")[0] for key in self.before.answers}

    def _first_leading(self, activity: Activity, said: set[str]) -> int:
        """The place of the first question of these that has an option which leads elsewhere; behind all where none has."""
        leading = {
            each.id
            for each in activity.checkpoints
            if each.id in said and any(option.effect and option.effect.transition_to for option in each.options)
        }
        places = (
            index
            for index, item in enumerate(activity.body)
            if any(isinstance(each, Gate) and each.checkpoint in leading for each in walk_items((item,)))
        )
        return next(places, len(activity.body))

    def _asks_a_person(self, activity: Activity, item: Item, state: Snapshot) -> bool:
        if isinstance(item, Gate):
            return any(each.id == item.checkpoint and each.human for each in activity.checkpoints)
        if not _is_approval(item.confirmation) or item.confirmation is None:
            return False
        scope = walker.scope_at(program=self.program, position=self.before.position, variables=state.variables)
        return conditions.evaluate(item.confirmation.condition, variables=scope, mode=self.program.conditions)

    def is_answered(self, gate: Item, given: tuple[Given, ...]) -> bool:
        """By a person, on this branch, in this visit; an approval by its approving only."""
        position = self.before.position
        name = gate.checkpoint if isinstance(gate, Gate) else gate.id
        asked_whole = f"{position.activity}@{position.visit}::{name}"
        return any(
            (answer.instance == position.pending or answer.instance.split("#")[0] == asked_whole)
            and (isinstance(gate, Gate) or answer.option == APPROVE)
            for answer in given
        )


def _read_by(activity: Activity, item: Item) -> set[str]:
    """The variables by which it is due."""
    own = (each.condition for each in activity.checkpoints if isinstance(item, Gate) and each.id == item.checkpoint)
    read = own if isinstance(item, Gate) else (item.run_condition,)
    return {conditions.root_of(name) for condition in read for name in conditions.variables_of(condition)}


def _place(activity: Activity, position: Position) -> tuple[int, ...]:
    """Where what is at hand stands in the order of work, by round and place from the outermost body inwards."""
    body, found = activity.body, list[int]()
    for loop, frame in zip(walker.loops_at(activity, position.frames), position.frames, strict=True):
        found += [_index(body, loop.id), frame.iteration]
        body = loop.body
    return (*found, _index(body, position.pending_item))


def _index(body: tuple[Item, ...], item_id: str) -> int:
    return next(place for place, item in enumerate(body) if item.id == item_id)


def _entered(position: Position) -> Iterator[_Entered]:
    """The loops around what is pending, outermost first."""
    around = tuple((frame.loop, frame.iteration) for frame in position.frames)
    for depth, (loop, _) in enumerate(around):
        yield position.activity, position.visit, around[:depth], loop


def _asks(activity: Activity, item: Item) -> bool:
    if isinstance(item, Gate):
        return any(each.id == item.checkpoint and each.human for each in activity.checkpoints)
    return _is_approval(item.confirmation)


def _is_approval(confirmation: Confirmation | None) -> bool:
    return confirmation is not None and confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL
