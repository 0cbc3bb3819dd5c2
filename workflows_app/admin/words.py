"""Workflows in the words and shapes that people read."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import orjson

from teams_app.admin.parts import State
from workflows_app.engine import conditions
from workflows_app.engine.problems import Severity, WorkflowProblem
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    ConfirmationKind,
    Family,
    Gate,
    Item,
    Loop,
    LoopKind,
    Parallel,
    Program,
    Step,
)
from workflows_app.engine.values import ProgramDiff, WorkflowState

_STATES = {
    WorkflowState.DRAFT: State(shape="draft", word="Draft"),
    WorkflowState.PUBLISHED: State(shape="done", word="Published"),
    WorkflowState.RETIRED: State(shape="cancelled", word="Retired"),
}
_FAMILIES = {Family.STEPS: "Steps", Family.ACTIVITIES: "Activities"}
_PLACE = re.compile(r"\[([^\[\]]+)\]")
_ID_CHARACTERS = re.compile(r"[_-]+")
# Names of the program that say more in other words.
_FIELDS = {
    "run_condition": "when it runs",
    "max_iterations": "most rounds",
    "confirmation": "who must agree",
    "validation": "what the notes must hold",
    "workflow_hash": "program",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStage:
    """One line of an outline. `depth` is 0 at the top; `is_group` holds those that follow it."""

    item_id: str
    activity: str
    title: str
    sub: str
    shape: str
    depth: int
    is_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProblem:
    """`line` is in the file that is named; `wrong` and `right` are there when one word can be changed for another."""

    problem: WorkflowProblem
    file: str
    line: int | None
    wrong: str = ""
    right: str = ""

    @property
    def is_error(self) -> bool:
        return self.problem.severity is Severity.ERROR

    @property
    def shape(self) -> str:
        return "blocked" if self.is_error else "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInWords:
    place: str
    what: str
    before: str
    after: str


def state_of(state: WorkflowState) -> State:
    return _STATES[state]


def family_of(family: Family) -> str:
    return _FAMILIES[family]


def stages_of(program: Program) -> Iterator[WorkflowStage]:
    is_folder = program.family is Family.ACTIVITIES
    for activity in program.activities:
        if is_folder:
            first = "first" if activity.id == program.initial_activity else _leads_to(activity)
            yield WorkflowStage(
                item_id=activity.id,
                activity=activity.id,
                title=activity.title,
                sub=first,
                shape="loop",
                depth=0,
                is_group=True,
            )
        yield from _stages(activity, activity.body, depth=1 if is_folder else 0)


def _leads_to(activity: Activity) -> str:
    ways = [transition.to for transition in activity.transitions]
    return f"then {' or '.join(ways)}" if ways else "the end"


def _stages(activity: Activity, items: tuple[Item, ...], *, depth: int) -> Iterator[WorkflowStage]:
    for item in items:
        title, sub, shape = _told(activity, item)
        yield WorkflowStage(
            item_id=item.id,
            activity=activity.id,
            title=title,
            sub=sub,
            shape=shape,
            depth=depth,
            is_group=isinstance(item, Loop),
        )
        if isinstance(item, Loop):
            yield from _stages(activity, item.body, depth=depth + 1)


def _told(activity: Activity, item: Item) -> tuple[str, str, str]:
    match item:
        case Step():
            return item.title, _joined(_asked(item), _when(item)), "question" if _asked(item) else "step"
        case Parallel():
            return item.title, _joined(f"{len(item.delegations)} at once", _when(item)), "child"
        case Loop():
            return item.title, _joined(_rounds(item), _when(item)), "loop"
        case Gate():
            found = next((each for each in activity.checkpoints if each.id == item.checkpoint), None)
            return _gate(item, found)


def _gate(gate: Gate, checkpoint: Checkpoint | None) -> tuple[str, str, str]:
    if checkpoint is None:
        return gate.id, "", "question"
    who = "people only" if checkpoint.human else ""
    options = ", ".join(option.label or option.id for option in checkpoint.options)
    return checkpoint.name or checkpoint.id, _joined(who, options), "question"


def _asked(step: Step) -> str:
    if step.confirmation is None:
        return ""
    return "people only" if step.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL else "asks first"


def _when(item: Step | Parallel | Loop) -> str:
    return f"if {conditions.describe(item.run_condition)}" if item.run_condition is not None else ""


def _rounds(loop: Loop) -> str:
    most = f"at most {loop.max_iterations} rounds"
    match loop.loops:
        case LoopKind.FOR_EACH:
            return f"for each of {'.'.join(loop.items)}, {most}"
        case LoopKind.FOR:
            times = loop.count if isinstance(loop.count, int) else ".".join(loop.count or ())
            return f"{times} times, {most}"
        case LoopKind.UNTIL:
            return f"until {conditions.describe(loop.condition)}, {most}" if loop.condition else most
        case _:
            return f"while {conditions.describe(loop.condition)}, {most}" if loop.condition else most


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def change_in_words(change: ProgramDiff, titles: Mapping[str, str]) -> ChangeInWords:
    """`activities[main].body[fix].max_iterations` is “Fix one file: most rounds”, where that is the title of `fix`."""
    named = [titles.get(name, name) for name in _PLACE.findall(change.path) if name != "main"]
    tail = change.path.rpartition("]")[2].lstrip(".")
    field = tail.partition(".")[0].removesuffix(" (order)")
    is_order = change.path.endswith("(order)")
    what = "the order" if is_order else _FIELDS.get(field, _ID_CHARACTERS.sub(" ", field))
    told: Callable[[object], str] = partial(_in_order, titles=titles) if is_order else _value
    return ChangeInWords(
        place=" · ".join(named[-2:]) or "the workflow",
        what=what or {"added": "is new", "removed": "is gone"}.get(change.change.value, "is another"),
        before=told(change.before),
        after=told(change.after),
    )


def _in_order(value: object, titles: Mapping[str, str]) -> str:
    """Ids one after the other; what is too long to be read whole stays as it is."""
    try:
        ids = orjson.loads(str(value))
    except orjson.JSONDecodeError:
        return str(value)
    return ", ".join(titles.get(each, each) for each in ids)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("title") or value.get("name") or value.get("id") or "")
    if isinstance(value, str) and value.startswith(("{", "[")):
        with suppress(orjson.JSONDecodeError):
            return _flat(orjson.loads(value))
    return _plain(value)


def _flat(value: object) -> str:
    """A part of a program as one reads it aloud: “kind: and, rules: kind: contains, text: Rollback”."""
    if isinstance(value, dict):
        return ", ".join(f"{_ID_CHARACTERS.sub(' ', key)}: {_flat(part)}" for key, part in value.items())
    return "; ".join(map(_flat, value)) if isinstance(value, list) else _plain(value)


def _plain(value: object) -> str:
    return "" if value is None else ("yes" if value is True else "no" if value is False else str(value))
