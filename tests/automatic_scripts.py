"""A script that takes an activity workflow to its end: lists have members, and what would repeat work without end stops."""

from itertools import pairwise

from tests.matrix_play import Script
from workflows_app.engine.program import (
    AllOf,
    AnyOf,
    Compare,
    Gate,
    Loop,
    LoopKind,
    Not,
    Operator,
    Step,
    Truthy,
    walk_items,
)
from workflows_app.engine.simulate import SimulatedOutcome, simulate

_BIGGER, _SMALLER = {Operator.GT, Operator.GTE}, {Operator.LT, Operator.LTE}


def automatic_script(program, *, members=1, knows=None, learning=True, most=300):
    """`members` is how many each list has that a loop goes through. Where the way leads back without end, what leads back
    is learnt to be false, and the options that ask for it are passed over. Without `learning` it is known from the start.
    """
    taken = set()
    script = _known(_first_script(program, members, knows or {}, taken), learning, taken)
    for _ in range(40):
        told = simulate(program=program, variables=script.knows, answers=answers_of(program, script), max_steps=most)
        late = _unanswered(program, told) if learning else set()
        if late - taken:
            taken |= late
            script = _known(_first_script(program, members, knows or {}, taken), learning, taken)
            continue
        if told.outcome is SimulatedOutcome.COMPLETE:
            break
        script = _known(_turned(program, script, told, taken), learning, taken)
    return script


def _unanswered(program, told):
    """What the script learns after an answer has set it: nobody but who answers changes that."""
    options = {
        (activity.id, each.id): {option.id: option for option in each.options}
        for activity in program.activities
        for each in activity.checkpoints
    }
    gates = {(each.id, gate.id): gate.checkpoint for each in program.activities for gate in gates_of(each)}
    said, found = set(), set()
    for stop in told.path:
        found |= said & set(stop.answer.get("context", {}))
        gate = (stop.activity, stop.key.rpartition("::")[2])
        if gate in gates and "option" in stop.answer:
            effect = options[stop.activity, gates[gate]][stop.answer["option"]].effect
            said |= set(effect.set_variable) if effect is not None else set()
    return found


def _known(script, learning, taken):
    if learning:
        learns = {
            item: kept
            for item, learnt in script.learns.items()
            if (kept := {name: value for name, value in learnt.items() if name not in taken})
        }
        return Script(knows=script.knows, learns=learns, chooses=script.chooses)
    learnt = {name: value for each in script.learns.values() for name, value in each.items()}
    return Script(knows=learnt | script.knows, chooses=script.chooses)


def answers_of(program, script):
    """As `matrix_play.story_of` answers: with the chosen option, else with the first."""
    asked = {each.id: each for activity in program.activities for each in activity.checkpoints}
    gates = [gate for activity in program.activities for gate in gates_of(activity)]
    options = {gate.id: script.chooses.get(gate.checkpoint, asked[gate.checkpoint].options[0].id) for gate in gates}
    return {item: {"context": learnt} for item, learnt in script.learns.items()} | {
        gate: {"option": option} for gate, option in options.items()
    }


def _turned(program, script, told, taken):
    """What is learnt and chosen besides, so that the ways back that were taken close."""
    learns, chooses = dict(script.learns), dict(script.chooses)
    visits = [stop.key.partition("::")[0].partition("/")[0] for stop in told.path]
    ways = [(a, b) for a, b in pairwise(visits) if a != b and not b.endswith("@0")]
    back = {(a.rpartition("@")[0], b.rpartition("@")[0]) for a, b in ways}
    for left, entered in back:
        activity = program.activity(left)
        last = [item for item in activity.body if isinstance(item, Step)][-1:]
        for step in last:
            learns[step.id] = learns.get(step.id, {}) | _learnt_to_go_on(activity, entered, taken)
        for gate in gates_of(activity):
            checkpoint = next(each for each in activity.checkpoints if each.id == gate.checkpoint)
            names = [option.id for option in checkpoint.options]
            at = names.index(chooses.get(checkpoint.id, names[0]))
            if at + 1 < len(names):
                chooses[checkpoint.id] = names[at + 1]
    return Script(knows=script.knows, learns=learns, chooses=chooses)


def _learnt_to_go_on(activity, back, taken):
    """That no condition of the way back holds, and where it is the default, that another one does."""
    ways = [way for way in activity.transitions if way.condition is not None]
    learnt = {}
    for way in ways:
        learnt |= refuted(way.condition, taken) if way.to == back else {}
    others = [way for way in ways if way.to != back]
    is_default = any(way.to == back and way.condition is None for way in activity.transitions)
    return learnt | (proved(others[-1].condition) if is_default and others else {})


def _first_script(program, members, given, taken):
    knows, learns = dict(given), {}
    for activity in program.activities:
        for loop in loops_of(activity.body):
            knows |= list_at(loop, members, knows)
            ends = refuted(loop.condition, taken) if loop.condition is not None else {}
            for step in loop.body:
                if ends and isinstance(step, Step):
                    learns[step.id] = learns.get(step.id, {}) | ends
    return Script(knows=knows, learns=learns)


def loops_of(body):
    return [item for item in walk_items(body) if isinstance(item, Loop)]


def gates_of(activity):
    return [item for item in walk_items(activity.body) if isinstance(item, Gate)]


def list_at(loop, members, knows):
    if loop.loops is not LoopKind.FOR_EACH or not loop.items or loop.items[0] in knows:
        return {}
    root, *rest = loop.items
    value = [{"id": f"{loop.id}-{number}"} for number in range(members)]
    for name in reversed(rest):
        value = {name: value}
    return {root: value}


def refuted(condition, taken=frozenset()):
    """Variables that make the condition false, if it can be without those that are `taken`."""
    match condition:
        case Truthy():
            return put(condition.path, value=False)
        case Not():
            return proved(condition.condition)
        case AllOf():
            ways = [refuted(one, taken) for one in condition.conditions]
            return next((way for way in ways if way and not taken & way.keys()), ways[0])
        case AnyOf():
            return {name: value for one in condition.conditions for name, value in refuted(one, taken).items()}
        case Compare():
            return compared(condition, holds=False)
    raise AssertionError(condition)


def proved(condition):
    match condition:
        case Truthy():
            return put(condition.path, value=True)
        case Not():
            return refuted(condition.condition)
        case AllOf():
            return {name: value for one in condition.conditions for name, value in proved(one).items()}
        case AnyOf():
            return proved(condition.conditions[0])
        case Compare():
            return compared(condition, holds=True)
    raise AssertionError(condition)


def compared(condition, *, holds):
    value = condition.value
    if condition.operator in {Operator.EQUALS, Operator.NOT_EQUALS}:
        same = holds is (condition.operator is Operator.EQUALS)
        # A variable that is handed in as null is one that is not there.
        if same and value is None:
            return {}
        return put(condition.path, value if same else other(value))
    if condition.operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return put(condition.path, "there" if holds is (condition.operator is Operator.EXISTS) else None)
    up = holds is (condition.operator in _BIGGER)
    return put(condition.path, value + 1 if up else value - 1)


def other(value):
    return not value if isinstance(value, bool) else f"not {value}"


def put(path, value):
    root, *rest = path
    for name in reversed(rest):
        value = {name: value}
    return {root: value}
