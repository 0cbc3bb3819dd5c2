"""An author's test: walk a program with a given context and given answers, and tell the path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import Any

from workflows_app.engine import walker
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Checkpoint, Effect, Gate, Loop, Parallel, Program, Step, walk_items
from workflows_app.engine.walks import LOOP_CONTROL_KIND, Failure, Note, Position, Walk

DEFAULT_MAX_STEPS = 500
MOST_WRONG = 10
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
    """Answers are looked up by instance key, then by item id: `{"context": {…}, "artifacts": […], "option": "id"}`.

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
    options, rounds = _options(program), _rounds(program)
    wrong = (
        said
        for key, answer in answers.items()
        for said in chain(_wrong_rounds(key, rounds), _wrong_answer(key, answer, options))
    )
    return tuple(islice(wrong, MOST_WRONG))


def _wrong_rounds(key: str, rounds: frozenset[str]) -> Iterator[str]:
    around = key.rpartition("::")[0]
    for name in (part.rpartition("@")[0] for part in around.split("/") if around):
        if name not in rounds:
            yield f"{key}: no activity or loop is called {name!r}. {did_you_mean(name, rounds)}".strip()


def _wrong_answer(key: str, answer: Any, options: Mapping[str, frozenset[str] | None]) -> Iterator[str]:
    item = key.rpartition("::")[2]
    if item not in options:
        yield f"No step or checkpoint is called {item!r}. {did_you_mean(item, options)}".strip()
        return
    if not isinstance(answer, Mapping):
        yield f'{key}: an answer is an object, as {{"option": "…"}} or {{"context": {{…}}}}.'
        return
    for word in sorted(answer.keys() - _ANSWER.keys()):
        yield f"{key}: {word!r} is no part of an answer. {did_you_mean(word, _ANSWER)}"
    for word, wanted in _ANSWER.items():
        if word in answer and not isinstance(answer[word], wanted):
            yield f"{key}: {word!r} is {_ANSWER_WORDS[word]}."
    artifacts = answer.get("artifacts")
    if isinstance(artifacts, list) and not all(isinstance(each, Mapping) for each in artifacts):
        yield f"{key}: each of 'artifacts' is an object."
    known, chosen = options[item], answer.get("option")
    if known is None and chosen is not None:
        yield f"{key}: a step is not answered with an option; only checkpoints are."
    elif known is not None and isinstance(chosen, str) and chosen not in known:
        yield f"{key}: the checkpoint has no option {chosen!r}. {did_you_mean(chosen, known)}"


def _rounds(program: Program) -> frozenset[str]:
    """What a key may name around its item."""
    loops = {item.id for activity in program.activities for item in walk_items(activity.body) if isinstance(item, Loop)}
    return frozenset({*loops, *(activity.id for activity in program.activities)})


def _options(program: Program) -> dict[str, frozenset[str] | None]:
    """Every item by its id, with the options of those that are answered with one."""
    found: dict[str, frozenset[str] | None] = {}
    for activity in program.activities:
        for item in walk_items(activity.body):
            if isinstance(item, Gate):
                ids = frozenset(option.id for option in _checkpoint(activity, item).options)
                found[item.id] = (found.get(item.id) or frozenset()) | ids
            elif not isinstance(item, Loop):
                found.setdefault(item.id, None)
    return found


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
    answer = dict(answers.get(position.pending) or answers.get(item.id) or {})
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


def _answered(activity: Activity, gate: Gate, answer: dict[str, Any]) -> Effect:
    checkpoint = _checkpoint(activity, gate)
    first = checkpoint.options[0].id if checkpoint.options else ""
    chosen = answer.setdefault("option", checkpoint.default_option or first)
    option = next((option for option in checkpoint.options if option.id == chosen), None)
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
