"""Where a program asks for a signed-in person: nothing that stands there is passed by on an agent's word."""

from collections.abc import Iterator

from workflows_app.engine import conditions, walks
from workflows_app.engine.program import (
    Activity,
    Condition,
    ConfirmationKind,
    Gate,
    Item,
    Loop,
    Program,
    Step,
    walk_items,
)


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
    set_here = {
        action.target for item in walk_items(loop.body) if isinstance(item, Step) for action in item.actions
    } - {""}
    if not set_here or not any(activity_asks(activity) for activity in program.activities):
        return False
    read = (name for each in program.activities for name in names_read(each, asks=activity_asks(each)))
    return not set_here.isdisjoint(read)


def names_read(activity: Activity, *, asks: bool) -> set[str]:
    """The variables that decide where its ways lead, and where somebody is asked in it also those that decide whether. A dotted
    name is a part of a variable, or one of that whole name.
    """
    read = _conditions(activity) if asks else (condition for _, condition in walks.ways(activity))
    paths = {path for condition in read for path in conditions.variables_of(condition)}
    return paths | {path.partition(".")[0] for path in paths}


def _conditions(activity: Activity) -> Iterator[Condition | None]:
    yield from (condition for _, condition in walks.ways(activity))
    yield from (checkpoint.condition for checkpoint in activity.checkpoints)
    for item in walk_items(activity.body):
        if not isinstance(item, Gate):
            yield item.run_condition
            yield item.confirmation.condition if item.confirmation else None
