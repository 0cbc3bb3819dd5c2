"""One activity of a workflow, from the document of any generation."""

import re
from dataclasses import dataclass
from typing import Any

from workflows_app.engine.activities.body import Surroundings, read_body
from workflows_app.engine.activities.definition import read_variables, read_version
from workflows_app.engine.activities.exits import read_exits
from workflows_app.engine.activities.parts import (
    read_actions,
    read_artifacts,
    read_decisions,
    read_transitions,
    read_triggers,
)
from workflows_app.engine.activities.shape import ActivityPlaces, FolderShape
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Activity, Variable

ESTIMATE = re.compile(r"[0-9]+(?:-[0-9]+)?\s*(?:m|min|h|hr|hours?|d|days?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What the workflow gives to each of its activities."""

    rules: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadActivity:
    activity: Activity
    variables: tuple[Variable, ...]
    places: ActivityPlaces


def read_activity(
    shape: FolderShape, *, activity_id: str, around: Surroundings, inherited: Inherited, artifact_prefix: str
) -> ReadActivity:
    """`artifact_prefix` is the number in the file's name. Variables that only this activity writes may be declared in it."""
    shape.raw("id")
    shape.text("$schema")
    body = read_body(shape, around=around)
    primary, supporting = _skills(shape, around)
    variables, reads = _variables(shape)
    if shape.has("artifactPrefix"):
        message = "The prefix is the number in the file's name; what stands here is not read."
        shape.warn(ProblemCode.IGNORED_FIELD, "artifactPrefix", message)
    if shape.has("bundleTechniques"):
        message = "Techniques are handed out one by one, when a step asks for its own; what stands here is not read."
        shape.warn(ProblemCode.IGNORED_FIELD, "bundleTechniques", message)
    activity = Activity(
        id=activity_id,
        title=shape.text("name", required=True, default=activity_id),
        body=body.items,
        version=read_version(shape),
        description=shape.text("description"),
        problem=shape.text("problem"),
        recognition=shape.texts("recognition"),
        primary_skill=primary,
        supporting_skills=tuple(dict.fromkeys((*inherited.skills, *supporting))),
        checkpoints=body.checkpoints,
        decisions=read_decisions(shape),
        transitions=(*read_transitions(shape), *read_exits(shape, around.exits, body.checkpoints)),
        triggers=read_triggers(shape, own=around.workflow, known=around.workflow_ids),
        entry_actions=read_actions(shape, "entryActions"),
        exit_actions=read_actions(shape, "exitActions"),
        outcome=shape.texts("outcome"),
        context_to_preserve=shape.texts("context_to_preserve"),
        required=shape.flag("required", default=True),
        estimated_time=_estimate(shape),
        rules=(*inherited.rules, *shape.texts("rules")),
        notes=shape.texts("notes"),
        artifact_prefix=artifact_prefix,
        artifacts=read_artifacts(shape),
        borrowed_from=around.home,
        extra={**reads, **shape.extra()},
    )
    places = ActivityPlaces(shape=shape, graph=around.graph, checkpoints=body.checkpoint_shapes, items=body.item_shapes)
    return ReadActivity(activity=activity, variables=variables, places=places)


def _skills(shape: FolderShape, around: Surroundings) -> tuple[str, tuple[str, ...]]:
    """The primary skill, and the supporting ones with the techniques that newer activities have in their stead."""
    primary, supporting = "", _required(shape, "techniques", around)
    if isinstance(shape.raw("skills"), list):
        supporting = (*_required(shape, "skills", around), *supporting)
    elif (skills := shape.shape("skills")) is not None:
        primary = around.skill_named(skills.text("primary"))
        if primary:
            around.require(primary, at=skills, key="primary")
        supporting = (*_required(skills, "supporting", around), *supporting)
        skills.extra()
    return primary, supporting


def _required(shape: FolderShape, key: str, around: Surroundings) -> tuple[str, ...]:
    references = tuple(around.skill_named(reference) for reference in shape.texts(key))
    for index, reference in enumerate(references):
        around.require(reference, at=shape, key=f"{key}[{index}]")
    return references


def _variables(shape: FolderShape) -> tuple[tuple[Variable, ...], dict[str, Any]]:
    """Newer activities declare what they write, and say what they read."""
    declared = shape.shape("variables")
    if declared is None:
        return (), {}
    variables = read_variables(declared, "writes")
    reads = declared.texts("reads")
    declared.extra()
    return variables, {"variables": {"reads": list(reads)}} if reads else {}


def _estimate(shape: FolderShape) -> str:
    estimate = shape.text("estimatedTime")
    if estimate and ESTIMATE.fullmatch(estimate) is None:
        message = f"{estimate[:40]!r} is not a time like '10-20m' or '1h'."
        shape.warn(ProblemCode.BAD_VALUE, "estimatedTime", message)
    return estimate
