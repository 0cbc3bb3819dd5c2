"""A program as it is shown before a run: its first step, and for its authors the order of everything."""

from dataclasses import dataclass
from typing import Any, assert_never

from workflows_app.engine import walker
from workflows_app.engine.program import Activity, Family, Gate, Item, Loop, Parallel, Program, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    """The step that a run without any context begins with. Values that only a run has stay as they are written."""

    step_id: str
    title: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineItem:
    item_id: str
    kind: str
    title: str
    items: tuple["OutlineItem", ...] = ()

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"id": self.item_id, "kind": self.kind, "title": self.title}
        return body | ({"items": [item.as_json() for item in self.items]} if self.items else {})


def first_step(program: Program) -> FirstStep | None:
    """None when every item has a condition that does not hold yet."""
    variables = {variable.name: variable.default for variable in program.variables if variable.has_default}
    walk = walker.start(program=program, variables=variables)
    item = walker.item_at(program, walk.position)
    match item:
        case None:
            return None
        case Gate():
            activity = program.activity(walk.position.activity)
            return FirstStep(step_id=item.id, title=_gate_title(activity, item), prompt=_question(activity, item))
        case Step() | Parallel():
            return FirstStep(step_id=item.id, title=item.title, prompt=item.prompt)
        case _:
            assert_never(item)


def outline(program: Program) -> tuple[OutlineItem, ...]:
    """In the order of the source; conditions and loops decide at run time what of it comes when."""
    if program.family is Family.STEPS:
        return tuple(item for activity in program.activities for item in _items(activity, activity.body))
    return tuple(
        OutlineItem(item_id=each.id, kind="activity", title=each.title, items=_items(each, each.body))
        for each in program.activities
    )


def _items(activity: Activity, body: tuple[Item, ...]) -> tuple[OutlineItem, ...]:
    return tuple(_item(activity, item) for item in body)


def _item(activity: Activity, item: Item) -> OutlineItem:
    match item:
        case Step():
            return OutlineItem(item_id=item.id, kind="step", title=item.title)
        case Parallel():
            return OutlineItem(item_id=item.id, kind="parallel", title=item.title)
        case Gate():
            return OutlineItem(item_id=item.id, kind="checkpoint", title=_gate_title(activity, item))
        case Loop():
            return OutlineItem(item_id=item.id, kind="loop", title=item.title, items=_items(activity, item.body))
        case _:
            assert_never(item)


def _gate_title(activity: Activity | None, gate: Gate) -> str:
    found = [each.name for each in (activity.checkpoints if activity else ()) if each.id == gate.checkpoint]
    return found[0] if found else gate.id


def _question(activity: Activity | None, gate: Gate) -> str:
    found = [each.message for each in (activity.checkpoints if activity else ()) if each.id == gate.checkpoint]
    return found[0] if found else ""
