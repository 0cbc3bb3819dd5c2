"""What a move would get around, where activities are handed over: other activities, in which people are asked or more than words is
demanded, that stand on every way to where the agent wants to go.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import guards, settling, ways
from sessions_app.engine.state import Snapshot
from workflows_app.engine import aiming, conditions, walker, walks
from workflows_app.engine.people import names_of_modes, names_read, names_read_within, sets_any
from workflows_app.engine.program import Activity, Item, Loop, Program, Step, walk_items
from workflows_app.engine.walker import LookAhead
from workflows_app.engine.walks import Frame, Position

# Items that one call comes to in thought, for what their steps set.
_MOST_ITEMS = 4_000
# How often an activity is gone through in thought, each time with other variables.
_MOST_VISITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Evasion:
    """What a move would get around: activities in which people are asked or more than words is demanded. `unset` are the
    variables that would not be as the way there leaves them, where those activities are passed by what they say.
    """

    guarding: tuple[str, ...]
    unset: tuple[str, ...] = ()
    # That nobody is asked on the way, and an answer of another run has closed it.
    is_answered: bool = False


def evaded(*, program: Program, snapshot: Snapshot, target: str) -> Evasion | None:
    """What the run would get around by going to the target; where more stands on the way than is gone through, all of it."""
    ahead = LookAhead(program, budget=_MOST_ITEMS)
    variables = _on_leaving(ahead, snapshot)
    chosen = snapshot.position.skipped_activities
    asking = {each.id for each in program.activities if guards.demands(program, each) and each.id not in chosen}
    if not asking:
        return _past_answers(program, snapshot, target)
    beginnings = set(leads_to(program=program, snapshot=snapshot))
    reached = _reached(ahead, beginnings, asking, snapshot, variables)
    if ahead.is_spent:
        return Evasion(guarding=tuple(sorted(asking)))
    ends = walker.end_names(program)
    if target in reached:
        read = _read_from(program, target, asking)
        unset = _unset(read, reached[target], _as_it_leaves(program=program, snapshot=snapshot))
        return Evasion(guarding=tuple(sorted(asking)), unset=unset) if unset else None
    if target in ends and not ends.isdisjoint(reached):
        return None
    return Evasion(guarding=tuple(sorted(reached.keys() & asking)) or tuple(sorted(asking)))


def _past_answers(program: Program, snapshot: Snapshot, target: str) -> Evasion | None:
    """Where nobody is asked, a way goes by what was answered in the run that triggered this one, or in one that it triggered."""
    here = program.activity(snapshot.position.activity)
    if here is None or not ways.reads_others_answers(program, here, snapshot.settled):
        return None
    open_to, ends = set(leads_to(program=program, snapshot=snapshot)), walker.end_names(program)
    if target in open_to or (target in ends and not ends.isdisjoint(open_to)):
        return None
    return Evasion(guarding=(), is_answered=True)


def _unset(read: set[str], possible: list[dict[str, Any]], variables: dict[str, Any]) -> tuple[str, ...]:
    """The variables that no way to there leaves so."""
    differing = [
        {name for name in read if not conditions.is_same_variable(name, variables=variables, others=found)}
        for found in possible
    ]
    return tuple(sorted(min(differing, key=len, default=())))


def _read_from(program: Program, target: str, asking: set[str]) -> set[str]:
    """What the ways from there on read, and what is read in the activities in which somebody is asked; nothing where nobody is."""
    onward = tuple(_onward(program, target))
    if asking.isdisjoint(activity.id for activity in onward):
        return set()
    read = {name for activity in onward for name in names_read(activity, asks=activity.id in asking)}
    return read | names_of_modes(program)


def _onward(program: Program, target: str) -> Iterator[Activity]:
    """The activity, and all that it may lead to."""
    seen, waiting = {target}, [target]
    while waiting:
        activity = program.activity(waiting.pop())
        if activity is None:
            continue
        yield activity
        following = set(ways.valid_targets(program, activity)) - seen
        seen |= following
        waiting.extend(sorted(following))


def leads_to(*, program: Program, snapshot: Snapshot) -> tuple[str, ...]:
    """Where the run goes next as things stand. An answer that leads to no activity leads to the end."""
    here = program.activity(snapshot.position.activity)
    if snapshot.led_to:
        return (snapshot.led_to if program.activity(snapshot.led_to) is not None else walker.end_name(program),)
    if here is None:
        return (program.initial_activity,)
    variables = _at_the_end(LookAhead(program, budget=_MOST_ITEMS), snapshot)
    held = settling.not_agents(program, snapshot)
    return ways.open_targets(program=program, activity=here, variables=variables, settled=held)


def _on_leaving(ahead: LookAhead, snapshot: Snapshot) -> dict[str, Any]:
    here, variables = ahead.program.activity(snapshot.position.activity), _at_the_end(ahead, snapshot)
    return variables if here is None else ways.on_leaving(program=ahead.program, activity=here, variables=variables)


def _as_it_leaves(*, program: Program, snapshot: Snapshot) -> dict[str, Any]:
    """The variables when the run moves on as it is, with what is left undone left undone."""
    here, variables = program.activity(snapshot.position.activity), dict(snapshot.variables)
    if here is None:
        return variables | walker.set_by_modes(program=program, variables=variables)
    return ways.on_leaving(program=program, activity=here, variables=variables)


def _at_the_end(ahead: LookAhead, snapshot: Snapshot) -> dict[str, Any]:
    """The variables when what is left of the activity is done, or when the run begins. An answer that leads elsewhere leaves
    it undone.
    """
    program, variables = ahead.program, dict(snapshot.variables)
    if program.activity(snapshot.position.activity) is None:
        return variables | walker.set_by_modes(program=program, variables=variables)
    return variables if snapshot.led_to else _with_steps(ahead, snapshot.position, variables)


def _with_steps(ahead: LookAhead, position: Position, variables: dict[str, Any]) -> dict[str, Any]:
    """With what the steps that must be done set, whoever leaves them out: as a run that is led goes through the activity."""
    program = ahead.program
    activity = program.activity(position.activity)
    if activity is None or not _sets(activity.body):
        return variables
    idle = frozenset(item.id for item in activity.body if isinstance(item, Loop) and not _decides(ahead, item))
    at, rounds = ahead.come_to(guards.past_loops(position, idle), variables), _Rounds(activity)
    while at is not None and not at.complete and (at.activity, at.visit) == (position.activity, position.visit):
        variables = settling.as_set_by_pending(program=program, position=at, variables=variables)
        at = ahead.come_to(rounds.past(at, variables), variables)
    return variables


def _sets(body: tuple[Item, ...]) -> bool:
    return any(isinstance(item, Step) and item.actions for item in walk_items(body))


def _decides(ahead: LookAhead, loop: Loop) -> bool:
    """Whether what is set in it may decide where a way leads, or if somebody is asked."""
    return any(isinstance(item, Step) and sets_any(item, ahead.deciding) for item in walk_items(loop.body))


class _Rounds:
    """The rounds of loops, as they are gone through in thought: where each does the same, and one has changed nothing, those behind
    it change nothing either.
    """

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        self.before: dict[tuple[Frame, ...], tuple[int, dict[str, Any]]] = {}
        self.alike: dict[str, bool] = {}

    def past(self, at: Position, variables: dict[str, Any]) -> Position:
        """Behind the item, and behind the loops of which a round has changed nothing."""
        for depth, (loop, frame) in enumerate(zip(walker.loops_at(self.activity, at.frames), at.frames, strict=True)):
            if self._is_idle(loop, at.frames[:depth], frame.iteration, variables):
                return aiming.past(replace(at, frames=at.frames[:depth], pending_item=loop.id))
        return aiming.past(at)

    def _is_idle(self, loop: Loop, around: tuple[Frame, ...], iteration: int, variables: dict[str, Any]) -> bool:
        """Asked once more in a round, it is compared with the one before it."""
        key = (*around, Frame(loop=loop.id, iteration=0))
        known, as_then = self.before.get(key, (-1, {}))
        if known == iteration:
            return False
        self.before[key] = (iteration, variables)
        if known < 0 or not conditions.is_same_value(as_then, variables):
            return False
        if loop.id not in self.alike:
            self.alike[loop.id] = walks.round_names(loop).isdisjoint(names_read_within(loop))
        return self.alike[loop.id]


def _reached(
    ahead: LookAhead, beginnings: set[str], asking: set[str], snapshot: Snapshot, variables: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """What can be come to without passing through an activity in which somebody is asked, and the variables as they are then.
    What the activities on the way set is set, save in those that are left out, by the options that were chosen or by the modes as
    they are when it is their turn.
    """
    program = ahead.program
    reached: dict[str, list[dict[str, Any]]] = {}
    waiting, held = [(target, variables) for target in sorted(beginnings)], settling.not_agents(program, snapshot)
    while waiting:
        target, found = waiting.pop()
        tried = reached.setdefault(target, [])
        if found in tried or len(tried) >= _MOST_VISITS:
            continue
        tried.append(found)
        activity = program.activity(target)
        is_left_out = target in walker.left_out(program=program, position=snapshot.position, variables=found)
        if activity is None or (target in asking and not is_left_out):
            continue
        if not is_left_out:
            entered = walker.set_by(program=program, actions=activity.entry_actions, variables=found)
            found = _with_steps(ahead, Position(activity=target, visits={target: 1}), found | entered)
        targets = ways.open_targets(program=program, activity=activity, variables=found, settled=held)
        if not is_left_out:
            found = ways.on_leaving(program=program, activity=activity, variables=found)
        waiting.extend((each, found) for each in targets)
    return reached
