"""An author's test: walk a program with a given context and given answers, and tell the path."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from workflows_app.engine import walker, walks
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Effect,
    Family,
    Gate,
    Item,
    Loop,
    Parallel,
    Program,
    Step,
)
from workflows_app.engine.walks import LOOP_CONTROL_KIND, Failure, Note, Position, Walk

DEFAULT_MAX_STEPS = 500
MOST_WRONG = 10
_ROUND = re.compile(r"0|[1-9][0-9]{0,8}")
_ANSWER: Mapping[str, type] = {"context": dict, "artifacts": list, "option": str}
_ANSWER_WORDS = {"context": "an object of variables", "artifacts": "a list", "option": "the id of an option"}


class SimulatedOutcome(StrEnum):
    COMPLETE = "complete"
    BLOCKED = "blocked"
    TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStop:
    """One item on the path: `answer` is what the simulation handed in for it."""

    key: str
    kind: str
    title: str
    activity: str
    answer: Mapping[str, Any]
    why: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    outcome: SimulatedOutcome
    path: tuple[SimulatedStop, ...]
    variables: Mapping[str, Any]
    failure: Failure | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(stop.key for stop in self.path)


def simulate(
    *,
    program: Program,
    variables: Mapping[str, Any],
    answers: Mapping[str, Mapping[str, Any]],
    max_steps: int = DEFAULT_MAX_STEPS,
    loop_rounds: int = 1,
) -> Simulation:
    """Answers are looked up by instance key, with or without the visit of the activity, then by item id: `{"context": {…}, "artifacts": […], "option": "id"}`.

    A step without an answer that ends a round of a loop decided by an artifact says "stop" after `loop_rounds` rounds; a
    checkpoint without one takes its default option, else its first.
    """
    context = {**_defaults(program), **variables}
    walk = walker.start(program=program, variables=context)
    context |= walk.assigned
    path: list[SimulatedStop] = []
    while walk.failure is None and not walk.position.complete:
        if len(path) >= max_steps:
            return Simulation(outcome=SimulatedOutcome.TOO_LONG, path=tuple(path), variables=context)
        stop, walk, context = _step(program, walk, context, answers, loop_rounds)
        path.append(stop)
    outcome = SimulatedOutcome.COMPLETE if walk.failure is None else SimulatedOutcome.BLOCKED
    return Simulation(outcome=outcome, path=tuple(path), variables=context, failure=walk.failure)


def wrong_answers(*, program: Program, answers: Mapping[str, Any]) -> tuple[str, ...]:
    """What the answers say that the workflow does not have: items, rounds, options, or words that are no part of an answer.
    The first `MOST_WRONG` of it.
    """
    places = _places(program)
    names = {name for all_ in places.values() for place in all_ for name in place.around}
    wrong = (said for key, answer in answers.items() for said in _wrong_answer(key, answer, places, names))
    return tuple(islice(wrong, MOST_WRONG))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """Where an item stands: the loops around it, outermost first, and the options of a question. The key of an item of an
    `activity` begins with the visit of that, of which there are `visits` at most, or ever so many.
    """

    activity: str
    loops: tuple[Loop, ...]
    options: frozenset[str] | None
    visits: int | None = None

    @property
    def around(self) -> tuple[str, ...]:
        loops = tuple(loop.id for loop in self.loops)
        return (self.activity, *loops) if self.activity else loops

    def is_meant(self, names: Sequence[str]) -> bool:
        """A key may leave the visit of the activity out."""
        return tuple(names) in {self.around, self.around[-len(self.loops) :] if self.loops else ()}

    def never(self, rounds: Sequence[int]) -> str:
        """Why one of these rounds, the innermost last, or the visit before them, cannot come."""
        for loop, number in zip(reversed(self.loops), reversed(rounds), strict=False):
            most = min(loop.max_iterations, loop.count) if isinstance(loop.count, int) else loop.max_iterations
            if number >= most:
                last = f"the last of them is {f'{loop.id}@{most - 1}'!r}" if most else "no round of it comes"
                return f"the loop {loop.id!r} has at most {most} rounds, counted from 0: {last}."
        if self.visits is None or len(rounds) <= len(self.loops) or rounds[0] < self.visits:
            return ""
        only = (
            f"no way leads back to it: its only visit is {f'{self.activity}@0'!r}"
            if self.visits
            else "no way leads to it"
        )
        return f"the activity {self.activity!r} is not entered so often; {only}."


_Standings = Mapping[str, Sequence[_Standing]]


def _places(program: Program) -> dict[str, list[_Standing]]:
    """Every item that is answered, by its id."""
    found: dict[str, list[_Standing]] = {}
    is_visited = program.family is Family.ACTIVITIES
    reached, again = _entered(program) if is_visited else (set(), set())
    for activity in program.activities:
        visits = None if activity.id in again or not is_visited else int(activity.id in reached)
        for item, loops in _items_in(activity.body, ()):
            options = None
            if isinstance(item, Gate):
                options = frozenset(option.id for option in _checkpoint(activity, item).options)
            at = activity.id if is_visited else ""
            standing = _Standing(activity=at, loops=loops, options=options, visits=visits)
            found.setdefault(item.id, []).append(standing)
    return found


def _entered(program: Program) -> tuple[set[str], set[str]]:
    """The activities that a walk may come to, and those of them to which a way leads back."""
    known = {activity.id for activity in program.activities}
    leads = {each.id: [to for to in dict.fromkeys(_leads_to(each)) if to in known] for each in program.activities}
    order = _left_in_order(leads, [program.initial_activity])
    back: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for target in leads[name]:
            back[target].append(name)
    again = {name for name in order if name in leads[name]}
    taken: set[str] = set()
    # Those that lead to one another: what leads to each, from what was left last, is looked through once.
    for name in reversed(order):
        together, waiting = {name}, [] if name in taken else [name]
        while waiting:
            found = {each for each in back[waiting.pop()] if each not in taken and each not in together}
            together |= found
            waiting += found
        again |= together if len(together) > 1 else set()
        taken |= together
    return set(order), again


def _left_in_order(leads: Mapping[str, Sequence[str]], names: Iterable[str]) -> list[str]:
    """All that these lead to, each after what it leads to first."""
    order: list[str] = []
    met: set[str] = set()
    waiting = [(name, False) for name in names if name in leads]
    while waiting:
        name, is_left = waiting.pop()
        if is_left:
            order.append(name)
        elif name not in met:
            met.add(name)
            waiting += [(name, True), *((target, False) for target in leads[name] if target not in met)]
    return order


def _leads_to(activity: Activity) -> Iterator[str]:
    yield from (target for target, _ in walks.ways(activity))
    effects = (option.effect for checkpoint in activity.checkpoints for option in checkpoint.options)
    yield from (effect.transition_to for effect in effects if effect is not None)


def _items_in(
    body: Iterable[Item], loops: tuple[Loop, ...]
) -> Iterator[tuple[Step | Parallel | Gate, tuple[Loop, ...]]]:
    """With the loops around each."""
    for item in body:
        if isinstance(item, Loop):
            yield from _items_in(item.body, (*loops, item))
        else:
            yield item, loops


def _wrong_answer(key: str, answer: Any, places: _Standings, names: Collection[str]) -> Iterator[str]:
    around, colons, item = key.rpartition("::")
    if item not in places:
        yield f"No step or checkpoint is called {item!r}. {did_you_mean(item, places)}".strip()
        return
    meant = list(places[item])
    if colons:
        rounds = [part.rpartition("@") for part in around.split("/")]
        said = next(filter(None, (_wrong_round(*part, names) for part in rounds)), "")
        meant = [place for place in meant if place.is_meant([name for name, _, _ in rounds])]
        if said or not meant:
            yield f"{key}: {said or f'{item!r} stands elsewhere; write {_example(item, places[item][0])!r}.'}"
            return
        nevers = [(place, place.never([int(number) for _, _, number in rounds])) for place in meant]
        meant = [place for place, never in nevers if not never]
        if not meant:
            yield f"{key}: {nevers[0][1]}"
            return
    yield from (f"{key}: {said}" for said in _wrong_parts(answer, _options(meant)))


def _wrong_round(name: str, at: str, number: str, names: Collection[str]) -> str:
    if at and name not in names:
        return f"no activity or loop is called {name!r}. {did_you_mean(name, names)}".strip()
    return (
        ""
        if at and _ROUND.fullmatch(number)
        else f"{name + at + number!r} is no round; rounds are counted from 0, as in 'name@0'."
    )


def _example(item: str, place: _Standing) -> str:
    rounds = "/".join(f"{name}@0" for name in place.around)
    return f"{rounds}::{item}" if rounds else item


def _options(places: Iterable[_Standing]) -> frozenset[str] | None:
    """Those of all the questions that are meant; None where only steps are."""
    options = [place.options for place in places if place.options is not None]
    return frozenset().union(*options) if options else None


def _wrong_parts(answer: Any, known: frozenset[str] | None) -> Iterator[str]:
    if not isinstance(answer, Mapping):
        yield 'an answer is an object, as {"option": "…"} or {"context": {…}}.'
        return
    for word in sorted(answer.keys() - _ANSWER.keys()):
        yield f"{word!r} is no part of an answer. {did_you_mean(word, _ANSWER)}"
    for word, wanted in _ANSWER.items():
        if word in answer and not isinstance(answer[word], wanted):
            yield f"{word!r} is {_ANSWER_WORDS[word]}."
    artifacts = answer.get("artifacts")
    if isinstance(artifacts, list) and not all(isinstance(each, Mapping) for each in artifacts):
        yield "each of 'artifacts' is an object."
    chosen = answer.get("option")
    if known is None and chosen is not None:
        yield "a step is not answered with an option; only checkpoints are."
    elif known is not None and isinstance(chosen, str) and chosen not in known:
        yield f"the checkpoint has no option {chosen!r}. {did_you_mean(chosen, known)}"


def _step(
    program: Program,
    walk: Walk,
    context: dict[str, Any],
    answers: Mapping[str, Mapping[str, Any]],
    loop_rounds: int,
) -> tuple[SimulatedStop, Walk, dict[str, Any]]:
    position = walk.position
    item = walker.item_at(program, position)
    activity = program.activity(position.activity)
    if item is None or activity is None:
        raise LookupError(position.pending)
    answer = _answer_for(position, item.id, answers)
    target = ""
    if isinstance(item, Gate):
        effect = _answered(activity, item, answer)
        target = effect.transition_to
        scope = walker.scope_at(program=program, position=position, variables=context)
        context = _with(context, walker.set_by_option(effect=effect, variables=scope))
        position = walker.skip(position, effect.skip_activities)
    context = _merged(context, answer.get("context") or {})
    artifacts = tuple(answer.get("artifacts") or ()) or _loop_control(activity, position, loop_rounds)
    stop = SimulatedStop(
        key=position.pending,
        kind=item.__struct_config__.tag if isinstance(item.__struct_config__.tag, str) else "",
        title=_title(activity, item),
        activity=activity.id,
        answer=answer,
        why=walk.notes,
    )
    if isinstance(item, Step) and item.actions:
        scope = walker.scope_at(program=program, position=position, variables=context)
        context = _with(context, walker.set_by(program=program, actions=item.actions, variables=scope))
    if target:
        following = walker.enter_activity(program=program, position=position, activity_id=target, variables=context)
    else:
        following = walker.complete_pending(program=program, position=position, variables=context, artifacts=artifacts)
    return stop, following, _with(context, following.assigned)


def _answer_for(position: Position, item_id: str, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """By the whole key, by that without the visit of the activity, or by the item."""
    keys = (position.pending, position.pending.partition("/")[2], item_id)
    return dict(next((answers[key] for key in keys if answers.get(key)), {}))


def _answered(activity: Activity, gate: Gate, answer: dict[str, Any]) -> Effect:
    """An option that only another checkpoint of this name has is no answer to this one."""
    checkpoint = _checkpoint(activity, gate)
    first = checkpoint.options[0].id if checkpoint.options else ""
    if answer.get("option") not in {option.id for option in checkpoint.options}:
        answer["option"] = checkpoint.default_option or first
    option = next((option for option in checkpoint.options if option.id == answer["option"]), None)
    return (option and option.effect) or Effect()


def _checkpoint(activity: Activity, gate: Gate) -> Checkpoint:
    return next(checkpoint for checkpoint in activity.checkpoints if checkpoint.id == gate.checkpoint)


def _title(activity: Activity, item: Step | Parallel | Gate) -> str:
    return _checkpoint(activity, item).name if isinstance(item, Gate) else item.title


def _loop_control(activity: Activity, position: Position, loop_rounds: int) -> tuple[Mapping[str, Any], ...]:
    """The decision on the innermost loop that an artifact decides."""
    around = zip(walker.loops_at(activity, position.frames), position.frames, strict=True)
    rounds = [frame.iteration + 1 for loop, frame in around if loop.decision_contract]
    if not rounds:
        return ()
    return ({"kind": LOOP_CONTROL_KIND, "decision": "stop" if rounds[-1] >= loop_rounds else "continue"},)


def _defaults(program: Program) -> dict[str, Any]:
    return {variable.name: variable.default for variable in program.variables if variable.has_default}


def _with(context: dict[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The walk may be long and the context large: it is copied where it changes."""
    return {**context, **added} if added else context


def _merged(context: dict[str, Any], delta: Mapping[str, Any]) -> dict[str, Any]:
    if not delta:
        return context
    merged = {**context, **delta}
    return {key: value for key, value in merged.items() if value is not None or key not in delta}
