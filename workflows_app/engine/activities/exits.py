"""How an activity may come out: it names its exits, the workflow's graph says where each leads, and an option may choose one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from workflows_app.engine.activities.shape import FolderShape, is_id
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import Checkpoint, Effect, Transition

TERMINAL = "__terminal__"

Graph = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exits:
    """Those of one activity by their ids, with the activity that each leads to. They `are_all`, unless one cannot be read."""

    targets: Mapping[str, str]
    are_all: bool = True

    def chosen_in(self, effect: FolderShape) -> str:
        """Where an effect leads that names an exit; empty where it names none."""
        name = effect.text("exit")
        if name and name not in self.targets and self.are_all:
            hint = effect.findings.hint(name, self.targets)
            message = f"The activity has no exit {name[:80]!r}."
            effect.problem(ProblemCode.UNKNOWN_REF, "exit", message, suggestion=hint)
        return self.targets.get(name, "")


NO_EXITS = Exits(targets={})


def exits_of(activity: FolderShape, graph: Graph, activity_id: str) -> Exits:
    """An exit that the graph leaves out is the end."""
    leads = graph.get(activity_id, {})
    if leads and activity.is_misspelt("exits"):
        activity.missing("exits")
    declared = activity.raw("exits")
    listed = declared if isinstance(declared, list) else [] if declared is None else [declared]
    names = [item.get("id") if isinstance(item, dict) else None for item in listed]
    known = [name for name in names if isinstance(name, str) and is_id(name)]
    return Exits(
        targets={name: leads.get(name) or TERMINAL for name in known},
        are_all=len(known) == len(names) and not activity.is_lost("exits"),
    )


def read_exits(activity: FolderShape, exits: Exits, checkpoints: Collection[Checkpoint]) -> tuple[Transition, ...]:
    """As transitions. An exit without a condition that an option chooses is taken by that option alone."""
    effects = (option.effect for checkpoint in checkpoints for option in checkpoint.options)
    chosen = {effect.extra.get("exit") for effect in effects if effect is not None}
    found = []
    for number, item in enumerate(activity.shapes("exits"), 1):
        exit_id = item.id(default=f"exit-{number}")
        way = Transition(
            to=exits.targets.get(exit_id, TERMINAL),
            condition=item.condition("condition", "when"),
            is_default=item.flag("isDefault", default=False),
            extra={"exit": exit_id, **_described(item), **item.extra()},
        )
        if way.condition is not None or way.is_default or exit_id not in chosen:
            found.append(way)
    return tuple(found)


def _described(shape: FolderShape) -> dict[str, str]:
    description = shape.text("description")
    return {"description": description} if description else {}


def read_effect(shape: FolderShape, exits: Exits) -> Effect:
    exit_id = shape.text("exit")
    target = exits.chosen_in(shape)
    return Effect(
        set_variable=shape.mapping("setVariable"),
        transition_to=shape.text("transitionTo") or target,
        skip_activities=shape.texts("skipActivities"),
        extra={**({"exit": exit_id} if exit_id else {}), **shape.extra()},
    )


def read_graph(workflow: FolderShape) -> Graph:
    """The activity to which each exit of each activity leads. What is no name was told, and leads to nothing."""
    said = workflow.mapping("graph")
    graph = workflow.inner(said, "graph")
    found: dict[str, dict[str, str]] = {}
    for activity_id, names in said.items():
        leads = graph.inner(graph.mapping(activity_id), activity_id)
        if graph.is_lost(activity_id, Severity.WARNING):
            workflow.lose("graph", Severity.WARNING)
        if names is None or isinstance(names, dict):
            found[activity_id] = {name: _target(leads, name) for name in names or ()}
    return found


def _target(leads: FolderShape, exit_id: str) -> str:
    target = leads.raw(exit_id)
    if target is None or isinstance(target, str):
        return target or ""
    message = f"The exit {exit_id[:80]!r} leads to something other than an activity, and a run is in one at a time."
    hint = "Name one activity; what it begins beside itself are its `triggers`, and what it repeats a loop."
    leads.problem(ProblemCode.BAD_VALUE, exit_id, message, severity=Severity.ERROR, suggestion=hint)
    leads.findings.lose(file=leads.file, path="graph", severity=Severity.ERROR)
    return ""


def check_graph(workflow: FolderShape, graph: Graph, activities: Mapping[str, Exits]) -> None:
    """What the graph and the activities do not say alike would end a run in silence."""
    for activity_id, leads in graph.items():
        place = f"graph.{activity_id[:80]}"
        if activity_id not in activities and workflow.findings.is_told_instead(activity_id, workflow.findings.loose):
            workflow.lose("graph", workflow.findings.loose)
            continue
        if activity_id not in activities:
            hint = workflow.findings.hint(activity_id, activities)
            message = f"{activity_id[:80]!r} is no activity of the workflow."
            workflow.problem(ProblemCode.UNKNOWN_ACTIVITY, place, message, suggestion=hint)
            workflow.lose("graph", workflow.findings.loose)
            continue
        declared = activities[activity_id].targets
        if not activities[activity_id].are_all:
            continue
        unknown = [name for name in leads if name not in declared]
        for name in unknown:
            message = f"The activity {activity_id[:80]!r} has no exit {name[:80]!r}."
            hint = workflow.findings.hint(name, declared)
            workflow.problem(ProblemCode.UNKNOWN_REF, f"{place}.{name[:80]}", message, suggestion=hint)
            workflow.lose("graph", workflow.findings.loose)
        for name in () if unknown else sorted(set(declared) - set(leads)):
            message = f"The graph does not say where the exit {name[:80]!r} of {activity_id[:80]!r} leads."
            hint = f"Name an activity, or {TERMINAL!r} for the end."
            workflow.problem(ProblemCode.MISSING_KEY, f"{place}.{name[:80]}", message, suggestion=hint)
