"""What becomes of an agent's word about what a person then declines, by an option that says nothing of it: in the run that asked, and in
the one that goes on with what that one leaves.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sessions_app.engine.state import Snapshot
from workflows_app.engine import conditions, placeholders, walks
from workflows_app.engine.program import Checkpoint, Compare, Effect, Gate, Loop, Program, Truthy, walk_items
from workflows_app.engine.variables import Names, is_about


def as_chosen(*, program: Program, checkpoint: Checkpoint, chosen: Effect, snapshot: Snapshot) -> dict[str, Any]:
    """The variables that a person's answer goes by: where an agent has said what another option sets, or what reads like it, and the
    chosen one sets nothing of it, that is as it was declared.
    """
    variables, claimed, settled = dict(snapshot.variables), Names(snapshot.claimed), Names(snapshot.settled)
    others = [each.effect for each in checkpoint.options if each.effect is not None and checkpoint.human]
    offered = [
        (name, value)
        for effect in (others if snapshot.claimed else ())
        for name, value in effect.set_variable.items()
        if name not in chosen.set_variable and name not in settled and is_about(name, claimed)
    ]
    if not offered:
        return variables
    readers = _Readers(program, variables)
    declined = {
        name for name, value in offered if readers.take_alike(name, placeholders.resolved(value, variables=variables))
    }
    return _as_declared(program, declined, variables) if declined else variables


def declined_in_child(
    *, parent: Program, variables: Mapping[str, Any], declined: Iterable[str], program: Program, child: Snapshot
) -> dict[str, Any]:
    """What an agent's word in the parent becomes, of variables that a person has declined in the child, a run of `program`: as they are
    declared, null where they are not. Where nobody knows what the other options would have set, since it was asked farther away, the
    word goes.
    """
    readers, held = _Readers(parent, variables), Names(variables)
    offered: dict[str, list[object]] = {}
    for name, value in _options_of_people(program):
        offered.setdefault(name, []).append(placeholders.resolved(value, variables=child.variables))
    among = Names(offered)
    gone = set()
    for name in declined:
        values = [(each, value) for each in among.about(name) for value in offered[each]]
        if held.about(name) and (not values or any(readers.take_alike(each, value) for each, value in values)):
            gone.add(name)
    left = _as_declared(parent, gone, variables) if gone else dict(variables)
    parts = [name for name in gone if name not in variables and left.get(name, "") is None]
    back = {name: left.get(name) for name in gone | (variables.keys() - left.keys()) if name not in parts}
    for name in sorted(parts):
        root, *path = name.split(".")
        back[root] = _without(back.get(root, variables.get(root)), path)
    return back


def _without(value: Any, path: Sequence[str]) -> Any:
    """A copy in which nothing stands there."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: each if key != path[0] else _without(each, path[1:])
        for key, each in value.items()
        if key != path[0] or path[1:]
    }


def _options_of_people(program: Program) -> Iterator[tuple[str, Any]]:
    for activity in program.activities:
        effects = (
            each.effect for checkpoint in activity.checkpoints if checkpoint.human for each in checkpoint.options
        )
        for effect in effects:
            yield from () if effect is None else effect.set_variable.items()


class _Readers:
    """What a program asks of its variables, looked through once: the work for each name goes by what is about it, however many variables
    an agent has sent.
    """

    def __init__(self, program: Program, variables: Mapping[str, Any]) -> None:
        self._program, self._variables, self._names = program, variables, Names(variables)
        self._asked: dict[str, list[Compare | Truthy]] = {}
        for part in _asked_anywhere(program):
            self._asked.setdefault(".".join(part.path), []).append(part)
        self._lists = {".".join(path): path for path in _gone_through(program)}
        self._read = Names((*self._asked, *self._lists))

    def take_alike(self, name: str, value: object) -> bool:
        """Whether what is there says that value: it is the same, or some condition takes it for the same where it would not take what
        is declared; where none reads it, nobody here tells the two apart.
        """
        said = {each: self._variables[each] for each in self._names.about(name)}
        if conditions.is_same_value(conditions.lookup(tuple(name.split(".")), variables=said), value):
            return True
        read = self._read.about(name)
        three = (said, {**said, name: value}, _as_declared(self._program, {name}, said))
        asked = (part for path in read for part in self._asked.get(path, ()))
        lists = (self._lists[path] for path in read if path in self._lists)
        return (
            not read
            or any(_alike(*(self._holds(each, found) for found in three)) for each in asked)
            # Whether there are rounds.
            or any(_alike(*(bool(conditions.lookup(path, variables=found)) for found in three)) for path in lists)
        )

    def _holds(self, part: Compare | Truthy, found: Mapping[str, Any]) -> bool:
        return conditions.evaluate(part, variables=found, mode=self._program.conditions)


def _alike(said: bool, chosen: bool, declared: bool) -> bool:  # noqa: FBT001  three answers to one question
    return said is chosen is not declared


def _gone_through(program: Program) -> Iterator[tuple[str, ...]]:
    """The lists of loops, by their paths."""
    for activity in program.activities:
        yield from (item.items for item in walk_items(activity.body) if isinstance(item, Loop) and item.items)


def _asked_anywhere(program: Program) -> Iterator[Compare | Truthy]:
    """What any way, question, step, loop or mode goes by, in the smallest parts: what else must hold may come to hold."""
    for activity in program.activities:
        found = [condition for _, condition in walks.ways(activity)]
        found += [checkpoint.condition for checkpoint in activity.checkpoints]
        for item in walk_items(activity.body):
            found += [] if isinstance(item, Gate) else [item.run_condition]
            found += [item.condition, item.break_condition] if isinstance(item, Loop) else []
        for condition in found:
            yield from conditions.smallest_parts(condition)
    for mode in program.modes:
        yield Truthy(path=tuple(mode.activation_variable.split(".")))


def _as_declared(program: Program, names: Collection[str], variables: Mapping[str, Any]) -> dict[str, Any]:
    among = Names(names)
    others = {each: value for each, value in variables.items() if each not in among}
    declared = {each.name: each.default for each in program.variables if each.has_default and each.name in names}
    there = [
        name
        for name in names
        if name not in declared
        and conditions.lookup(tuple(name.split(".")), variables=others) is not conditions.MISSING
    ]
    return {**others, **declared, **dict.fromkeys(sorted(there))}
