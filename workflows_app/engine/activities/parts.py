"""The small parts of an activity, of every generation, as the program has them. Order of work is not decided here."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workflows_app.engine import names
from workflows_app.engine.activities.exits import Exits, read_effect
from workflows_app.engine.activities.shape import FolderShape
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Artifact,
    Branch,
    Checkpoint,
    DecisionPoint,
    Option,
    Transition,
    Trigger,
)

AUTHORITIES = ("relayed", "human")

_EFFECTS = ("setVariable", "transitionTo", "skipActivities", "exit")
_Part = TypeVar("_Part", Option, DecisionPoint, Branch, Artifact, Checkpoint)


def read_actions(shape: FolderShape, key: str) -> tuple[Action, ...]:
    return tuple(_action(item) for item in shape.shapes(key))


def read_triggers(shape: FolderShape, *, own: str, known: Collection[str]) -> tuple[Trigger, ...]:
    """One object in the first generation, a list since. `own` is the workflow, `known` are all that there are."""
    key = "triggers"
    value = shape.raw(key)
    items: Iterable[FolderShape] = [shape.inner(value, key)] if isinstance(value, dict) else shape.shapes(key)
    return tuple(_trigger(item, own, known) for item in items)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """The skill that a step applies, what it is given, and the variables that keep what it produces."""

    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)


def read_skill_use(shape: FolderShape) -> SkillUse:
    """`skill` with `skill_args`; in the newest form `technique`, a name or a name with inputs and outputs."""
    technique = shape.raw("technique")
    if isinstance(technique, dict):
        inner = shape.inner(technique, "technique")
        use = SkillUse(
            name=inner.text("name", required=True),
            arguments=inner.mapping("inputs"),
            outputs=inner.mapping("outputs"),
        )
        inner.extra()
        return use
    name = shape.text("skill") or shape.text("technique")
    return SkillUse(name=name, arguments=shape.mapping("skill_args"))


def read_checkpoint(shape: FolderShape, *, checkpoint_id: str, exits: Exits) -> Checkpoint:
    """A declared checkpoint, or the body of a step that is one: those have no name, and their gate may be a `when` line."""
    authority = shape.choice("authority", AUTHORITIES, default="relayed")
    return Checkpoint(
        id=checkpoint_id,
        name=shape.text("name", default=checkpoint_id),
        message=shape.text("message", required=True, default=checkpoint_id),
        options=unique_by_id(
            shape, "options", [_option(item, n, exits) for n, item in enumerate(shape.shapes("options"), 1)]
        ),
        condition=shape.condition("condition", "when"),
        required=shape.flag("required", default=True),
        blocking=shape.flag("blocking", default=True),
        default_option=shape.text("defaultOption"),
        auto_advance_ms=shape.positive("autoAdvanceMs"),
        prerequisite=shape.text("prerequisite"),
        human=shape.flag("human", default=False) or authority == "human",
        extra=shape.extra(),
    )


def read_decisions(shape: FolderShape) -> tuple[DecisionPoint, ...]:
    found = [_decision(item, number) for number, item in enumerate(shape.shapes("decisions"), 1)]
    return unique_by_id(shape, "decisions", found)


def read_transitions(shape: FolderShape) -> tuple[Transition, ...]:
    found = (_transition(item) for item in shape.shapes("transitions"))
    return tuple(transition for transition in found if transition.to)


def read_artifacts(shape: FolderShape) -> tuple[Artifact, ...]:
    found = [_artifact(item, number) for number, item in enumerate(shape.shapes("artifacts"), 1)]
    return unique_by_id(shape, "artifacts", found)


def unique_by_id(shape: FolderShape, key: str, parts: list[_Part]) -> tuple[_Part, ...]:
    """The parts whose id is the first of its kind. The others could never be chosen, so they are problems and left out."""
    kept: dict[str, _Part] = {}
    for index, part in enumerate(parts):
        if part.id in kept:
            shape.problem(ProblemCode.DUPLICATE_ID, f"{key}[{index}].id", f"The id {part.id!r} stands twice in {key}.")
        else:
            kept[part.id] = part
    return tuple(kept.values())


def _action(shape: FolderShape) -> Action:
    if not shape.has("action"):
        shape.missing("action")
    return Action(
        action=ActionKind(shape.choice("action", [kind.value for kind in ActionKind], default=ActionKind.LOG)),
        target=shape.text("target"),
        message=shape.text("message"),
        description=shape.text("description"),
        value=shape.raw("value"),
        clears=shape.knows("value") and shape.raw("value") is None,
        condition=shape.condition("condition", "when"),
        extra=shape.extra(),
    )


def _trigger(shape: FolderShape, own: str, known: Collection[str]) -> Trigger:
    return Trigger(
        workflow=names.sibling_id(shape.text("workflow", required=True), own=own, known=known),
        description=shape.text("description"),
        pass_context=shape.texts("passContext"),
        extra=shape.extra(),
    )


def _option(shape: FolderShape, number: int, exits: Exits) -> Option:
    option_id = shape.id(default=f"option-{number}")
    effect = shape.shape("effect")
    return Option(
        id=option_id,
        label=shape.text("label", required=True, default=option_id),
        description=shape.text("description"),
        effect=None if effect is None else read_effect(effect, exits),
        extra=shape.extra(hints=dict.fromkeys(_EFFECTS, "Write it under `effect`.")),
    )


def _decision(shape: FolderShape, number: int) -> DecisionPoint:
    decision_id = shape.id(default=f"decision-{number}")
    if shape.is_misspelt("branches"):
        shape.missing("branches")
    branches = unique_by_id(shape, "branches", [_branch(item, n) for n, item in enumerate(shape.shapes("branches"), 1)])
    if len(branches) < 2 and not shape.is_lost("branches"):
        message = f"A decision has at least 2 branches; this one has {len(branches)}."
        shape.problem(ProblemCode.TOO_SHORT, "branches", message)
    return DecisionPoint(
        id=decision_id,
        name=shape.text("name", required=True, default=decision_id),
        branches=branches,
        description=shape.text("description"),
        extra=shape.extra(),
    )


def _branch(shape: FolderShape, number: int) -> Branch:
    branch_id = shape.id(default=f"branch-{number}")
    return Branch(
        id=branch_id,
        label=shape.text("label", required=True, default=branch_id),
        condition=shape.condition("condition", "when"),
        transition_to=shape.text("transitionTo"),
        is_default=shape.flag("isDefault", default=False),
        extra=shape.extra(),
    )


def _transition(shape: FolderShape) -> Transition:
    return Transition(
        to=shape.text("to", required=True),
        condition=shape.condition("condition", "when"),
        is_default=shape.flag("isDefault", default=False),
        extra=shape.extra(),
    )


def _artifact(shape: FolderShape, number: int) -> Artifact:
    artifact_id = shape.id(default=f"artifact-{number}")
    return Artifact(
        id=artifact_id,
        name=shape.text("name", required=True, default=artifact_id),
        location=shape.text("location"),
        description=shape.text("description"),
        updates=shape.choice("action", ("create", "update"), default="create") == "update",
        extra=shape.extra(),
    )
