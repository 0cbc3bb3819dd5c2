"""Where a program asks for a signed-in person: nothing that stands there is passed by on an agent's word."""

from collections.abc import Container, Iterable, Iterator

from workflows_app.engine import conditions, placeholders, walks
from workflows_app.engine.program import (
    Action,
    Activity,
    Checkpoint,
    Condition,
    ConfirmationKind,
    Gate,
    Item,
    Loop,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.variables import Names, is_about

# In so many different sets of activities the questions for what people alone set are looked for.
_MOST_PLACES = 32


class AskedOfPeople:
    """What an activity asks of signed-in people, looked at once for all of its items."""

    def __init__(self, activity: Activity) -> None:
        self._human = frozenset(checkpoint.id for checkpoint in activity.checkpoints if checkpoint.human)
        gates = (item for item in walk_items(activity.body) if isinstance(item, Gate)) if self._human else ()
        self._after = frozenset(gate.step for gate in gates if gate.checkpoint in self._human and gate.step)

    def asks(self, item: Item) -> bool:
        """Whether the item itself, a question that follows it, or anything within it is for a person."""
        if isinstance(item, Gate):
            return item.checkpoint in self._human
        if item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL:
            return True
        if isinstance(item, Loop):
            return any(self.asks(inner) for inner in item.body)
        return item.id in self._after


def asks_person(activity: Activity, item: Item) -> bool:
    return AskedOfPeople(activity).asks(item)


def activity_asks(activity: Activity) -> bool:
    """Whether anything in it does: each item is looked at once, since what follows a step stands there as well."""
    human = {checkpoint.id for checkpoint in activity.checkpoints if checkpoint.human}
    for item in walk_items(activity.body):
        if isinstance(item, Gate):
            if item.checkpoint in human:
                return True
        elif item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL:
            return True
    return False


def leads_to_people(program: Program, loop: Loop) -> bool:
    """Whether what its steps set may decide if somebody is asked further on."""
    sets = [item for item in walk_items(loop.body) if isinstance(item, Step) and item.actions]
    names = names_that_decide(program) if sets else frozenset[str]()
    return any(sets_any(step, names) for step in sets)


def names_that_decide(program: Program) -> frozenset[str]:
    """The variables that decide whether somebody is asked, and those that what sets them goes by; none where nobody is."""
    if not any(activity_asks(activity) for activity in program.activities):
        return frozenset()
    found = {name for each in program.activities for name in names_read(each, asks=activity_asks(each))}
    found |= names_of_modes(program)
    setters = [(_roots((action.target,)), _read_by(action, run)) for action, run in _setters(program)]
    while added := {name for sets, read in setters if not sets.isdisjoint(found) for name in read} - found:
        found |= added
    return frozenset(found)


def left_to_people(program: Program) -> frozenset[str]:
    """The variables that the options of people's questions set, and no action of the workflow."""
    found = _set_by_options(program, human=True)
    others = Names(action.target for action, _ in _setters(program) if found and action.target)
    return frozenset(name for name in found if not is_about(name, others))


def set_by_people_alone(program: Program) -> frozenset[str]:
    """Of those the variables that no question sets which an agent may answer."""
    others = set_by_others(program)
    return frozenset(name for name in left_to_people(program) if not is_about(name, others))


def kept_for_people(program: Program) -> tuple[str, ...]:
    """Of what only people's answers set, what says whether they are asked: it is nobody else's to say, not even before they are."""
    alone = set_by_people_alone(program)
    if not alone:
        return ()
    asked = names_of_questions(program)
    around = _read_around_questions(program, {name for name in alone if conditions.root_of(name) not in asked})
    return tuple(sorted(name for name in alone if conditions.root_of(name) in asked or name in around))


def _read_around_questions(program: Program, names: set[str]) -> set[str]:
    """Those that a way reads to which there is one from the beginning that passes none of the activities where people are asked for them.
    Where they are asked in too many different ones to look at, all are.
    """
    asking = {each.id: _roots(_set_by_required(each)) for each in program.activities}
    asked_in: dict[frozenset[str], set[str]] = {}
    for name in names:
        root = conditions.root_of(name)
        asked_in.setdefault(frozenset(key for key, roots in asking.items() if root in roots), set()).add(name)
    if len(asked_in) > _MOST_PLACES:
        return names
    read = {each.id: _roots(_read_by_ways(each)) for each in program.activities} if asked_in else {}
    found = set()
    for places, there in asked_in.items():
        roots = {root for key in _come_to_without(program, places) for root in read[key]}
        found |= {name for name in there if conditions.root_of(name) in roots}
    return found


def _come_to_without(program: Program, places: frozenset[str]) -> set[str]:
    """The activities that a way from the beginning leads to which passes none of these."""
    activities = {each.id: each for each in program.activities}
    waiting, seen = [program.initial_activity], set(places)
    while waiting:
        activity = activities.get(waiting.pop())
        if activity is None or activity.id in seen:
            continue
        seen.add(activity.id)
        effects = (option.effect for each in activity.checkpoints for option in each.options)
        waiting += [target for target, _ in walks.ways(activity)]
        waiting += [effect.transition_to for effect in effects if effect is not None and effect.transition_to]
    return seen - places


def _set_by_required(activity: Activity) -> set[str]:
    """The variables that the options set of the questions which people are asked before it is left."""
    return _set_by([each for each in activity.checkpoints if each.human and each.required])


def _read_by_ways(activity: Activity) -> set[str]:
    return {name for _, condition in walks.ways(activity) for name in conditions.variables_of(condition)}


def set_by_others(program: Program) -> Names:
    """The variables that actions of the workflow set, or questions which an agent may answer."""
    targets = (action.target for action, _ in _setters(program) if action.target)
    return Names((*_set_by_options(program, human=False), *targets))


def names_of_questions(program: Program) -> set[str]:
    """The variables, by their roots, that say in its turn whether a person is asked: in the conditions of their questions, of what these
    follow and stand in, and by the modes that leave activities out.
    """
    found = _roots(names_of_modes(program))
    for activity in program.activities:
        asking = AskedOfPeople(activity)
        items = [item for item in walk_items(activity.body) if not isinstance(item, Gate) and asking.asks(item)]
        read = (
            *(each.condition for each in activity.checkpoints if each.human),
            *(each.run_condition for each in items),
        )
        found |= _roots(name for condition in read for name in conditions.variables_of(condition))
        found |= {name for item in items if isinstance(item, Loop) for name in _round_names(item)}
    return found


def _set_by_options(program: Program, *, human: bool) -> set[str]:
    return _set_by(each for activity in program.activities for each in activity.checkpoints if each.human is human)


def _set_by(asked: Iterable[Checkpoint]) -> set[str]:
    effects = (option.effect for each in asked for option in each.options)
    return {name for effect in effects if effect is not None for name in effect.set_variable}


def sets_any(step: Step, names: Container[str]) -> bool:
    """Whether its actions may set one of these variables."""
    return any(action.target and conditions.root_of(action.target) in names for action in step.actions)


def names_read(activity: Activity, *, asks: bool) -> set[str]:
    """The variables that decide where its ways lead, and where somebody is asked in it also those that decide whether. A dotted
    name is a part of a variable, or one of that whole name.
    """
    read = _conditions(activity) if asks else (condition for _, condition in walks.ways(activity))
    paths = {path for condition in read for path in conditions.variables_of(condition)}
    names = paths | _roots(paths)
    return names | _read_by_loops(activity) if asks else names


def names_of_modes(program: Program) -> set[str]:
    """The variables by which activities are left out, whoever is asked in them."""
    names = {mode.activation_variable for mode in program.modes if mode.skip_activities}
    return names | _roots(names)


def names_read_within(loop: Loop) -> set[str]:
    """The variables by which the steps in it go, and what they set: where the round is none of them, each does the same."""
    inner = tuple(walk_items(loop.body))
    acts = (_read_by(action, item.run_condition) for item in inner if isinstance(item, Step) for action in item.actions)
    runs = (
        name for item in inner if not isinstance(item, Gate) for name in conditions.variables_of(item.run_condition)
    )
    around = (_round_names(item) for item in inner if isinstance(item, Loop))
    return _roots(runs).union(*acts, *around)


def _conditions(activity: Activity) -> Iterator[Condition | None]:
    yield from (condition for _, condition in walks.ways(activity))
    yield from (checkpoint.condition for checkpoint in activity.checkpoints)
    for item in walk_items(activity.body):
        if not isinstance(item, Gate):
            yield item.run_condition
            yield item.confirmation.condition if item.confirmation else None


def _read_by_loops(activity: Activity) -> set[str]:
    """Whether there is a round in which somebody is asked."""
    asking = AskedOfPeople(activity)
    loops = (item for item in walk_items(activity.body) if isinstance(item, Loop) and asking.asks(item))
    return {name for loop in loops for name in _round_names(loop)}


def _round_names(loop: Loop) -> set[str]:
    return _roots((*walks.deciding_keys(loop), *conditions.variables_of(loop.break_condition)))


def _setters(program: Program) -> Iterator[tuple[Action, Condition | None]]:
    for activity in program.activities:
        yield from ((action, None) for action in (*activity.entry_actions, *activity.exit_actions))
        for item in walk_items(activity.body):
            if isinstance(item, Step):
                yield from ((action, item.run_condition) for action in item.actions)


def _read_by(action: Action, run: Condition | None) -> set[str]:
    """What it goes by, and what it puts."""
    put = placeholders.names_of_value(action.value)
    return _roots((*put, *conditions.variables_of(action.condition), *conditions.variables_of(run)))


def _roots(names: Iterable[str]) -> set[str]:
    return {conditions.root_of(name) for name in names if name}
