"""A program written out in the words of activity workflows: what an agent of that family reads of a definition.

Fields at their default are left out, save those that a reader looks for first. Whatever format a workflow was authored in,
it is told in this one.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, assert_never

from workflows_app.engine.activities.references import named_for_all
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.program import (
    Action,
    Activity,
    AllOf,
    AnyOf,
    Artifact,
    Broken,
    Checkpoint,
    Compare,
    Condition,
    DecisionPoint,
    Effect,
    Gate,
    Item,
    Loop,
    Not,
    Operator,
    Option,
    Parallel,
    Program,
    Step,
    Transition,
    Trigger,
    Truthy,
    Variable,
    WorkflowMode,
)
from workflows_app.engine.step_demands import demands_of

_OPERATORS = {
    Operator.EQUALS: "==",
    Operator.NOT_EQUALS: "!=",
    Operator.GT: ">",
    Operator.GTE: ">=",
    Operator.LT: "<",
    Operator.LTE: "<=",
}
_UNARY = frozenset({Operator.EXISTS, Operator.NOT_EXISTS})


def workflow_json(program: Program) -> dict[str, Any]:
    """The whole definition with its activities."""
    return _workflow(program, [activity_json(program, activity) for activity in program.activities])


def workflow_summary(program: Program) -> dict[str, Any]:
    """The definition with its activities by name only."""
    return _workflow(program, _stubs(program))


def overview_json(program: Program, *, with_modes: bool) -> dict[str, Any]:
    """What is read before the first activity: rules, variables, roles, where to begin, and the activities by name. Each of
    these is there, also where it is empty.
    """
    modes = {"modes": [_mode(mode) for mode in program.modes]} if with_modes else {}
    return {
        "id": program.id,
        "version": program.version,
        "title": program.title,
        "description": program.description,
        "rules": list(program.rules or program.guidance),
        **_told(_opening(program)),
        "variables": [_variable(variable) for variable in program.variables],
        "executionModel": {"roles": _roles(program)},
        **modes,
        "initialActivity": program.initial_activity,
        "activities": _stubs(program),
    }


def activity_json(program: Program, activity: Activity) -> dict[str, Any]:
    """Its skills by names that read them wherever they are asked for."""
    activity = named_for_all(program, activity)
    steps = [step_json(program, item) for item in activity.body if isinstance(item, Step | Parallel)]
    said = {
        "problem": activity.problem,
        "description": activity.description,
        "recognition": list(activity.recognition),
        "skills": _told({"primary": activity.primary_skill, "supporting": list(activity.supporting_skills)}),
        "rules": list(activity.rules),
        "steps": steps,
        "checkpoints": [checkpoint_json(checkpoint) for checkpoint in activity.checkpoints],
        "decisions": [_decision(decision) for decision in activity.decisions],
        "loops": [_loop(program, item) for item in activity.body if isinstance(item, Loop)],
        "order": _order(activity),
        "transitions": [_transition(transition) for transition in activity.transitions],
        "triggers": [trigger_json(trigger) for trigger in activity.triggers],
        "entryActions": [_action(action) for action in activity.entry_actions],
        "exitActions": [_action(action) for action in activity.exit_actions],
        "outcome": list(activity.outcome),
        "context_to_preserve": list(activity.context_to_preserve),
        "artifacts": [_artifact(artifact) for artifact in activity.artifacts],
        "artifactPrefix": activity.artifact_prefix,
        "estimatedTime": activity.estimated_time,
        "notes": list(activity.notes),
    }
    first = {"id": activity.id, "version": activity.version, "name": activity.title or activity.id}
    return first | _told(said) | {"required": activity.required} | dict(activity.extra)


def _order(activity: Activity) -> list[str]:
    """What is done after what, questions by their checkpoint: where it is not questions, steps with the question that each
    names, then loops.
    """
    first = list(takewhile(lambda item: isinstance(item, Gate) and not item.step, activity.body))
    steps = [item for item in activity.body if isinstance(item, Step | Parallel)]
    asked = {item.step: item for item in activity.body if isinstance(item, Gate) and item.step}
    loops = [item for item in activity.body if isinstance(item, Loop)]
    read = [*first, *(each for step in steps for each in (step, asked.get(step.id)) if each is not None), *loops]
    order = [_name(item) for item in activity.body]
    return [] if order == [_name(item) for item in read] else order


def _name(item: Item) -> str:
    return item.checkpoint if isinstance(item, Gate) else item.id


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    said = {
        "condition": condition_json(checkpoint.condition),
        "prerequisite": checkpoint.prerequisite,
        "defaultOption": checkpoint.default_option,
        "autoAdvanceMs": checkpoint.auto_advance_ms,
        "human": checkpoint.human,
    }
    return {
        "id": checkpoint.id,
        "name": checkpoint.name,
        "message": checkpoint.message,
        "required": checkpoint.required,
        "blocking": checkpoint.blocking,
        "options": [_option(option) for option in checkpoint.options],
        **_told(said),
        **checkpoint.extra,
    }


def trigger_json(trigger: Trigger) -> dict[str, Any]:
    said = {"description": trigger.description, "passContext": list(trigger.pass_context)}
    return {"workflow": trigger.workflow, **_told(said), **trigger.extra}


def condition_json(condition: Condition | None) -> dict[str, Any] | None:
    match condition:
        case None:
            return None
        case Compare():
            said = {
                "type": "simple",
                "variable": ".".join(condition.path),
                "operator": _OPERATORS.get(condition.operator, condition.operator.value),
            }
            return said if condition.operator in _UNARY else said | {"value": condition.value}
        case Truthy():
            return {"type": "simple", "variable": ".".join(condition.path), "operator": "truthy"}
        case AllOf():
            return {"type": "and", "conditions": [condition_json(part) for part in condition.conditions]}
        case AnyOf():
            return {"type": "or", "conditions": [condition_json(part) for part in condition.conditions]}
        case Not():
            return {"type": "not", "condition": condition_json(condition.condition)}
        case Broken():
            return {"type": "broken", "reason": condition.reason}
        case _:
            assert_never(condition)


def instructions_json(program: Program, step: Step | Parallel) -> dict[str, Any]:
    """A step that says itself how it is done, told as a skill of its own."""
    return {
        "id": step.id,
        "version": program.version,
        "capability": step.title,
        **_told({"instructions": (step.prompt or step.description) if isinstance(step, Step) else step.prompt}),
        **_told(_manner(program, step)),
    }


def shortened(activity: Mapping[str, Any], *, text_bytes: int) -> dict[str, Any]:
    """A printed activity whose steps keep the beginning of what they say."""
    return {
        **activity,
        **{key: [_cut(item, text_bytes) for item in activity[key]] for key in ("steps", "loops") if key in activity},
    }


def _cut(item: Mapping[str, Any], text_bytes: int) -> dict[str, Any]:
    said = {**item}
    if isinstance(item.get("description"), str):
        said["description"] = fit_bytes(item["description"], max_bytes=text_bytes)
    for key in ("guidance", "fragments", "functions", "outputRequirements"):
        said.pop(key, None)
    if "steps" in item:
        said["steps"] = [_cut(inner, text_bytes) for inner in item["steps"]]
    return said


def _stubs(program: Program) -> list[dict[str, Any]]:
    return [
        {"id": activity.id, "name": activity.title or activity.id, "required": activity.required}
        for activity in program.activities
    ]


def _roles(program: Program) -> list[dict[str, Any]]:
    return [{"id": role.id, "description": role.description, **role.extra} for role in program.roles]


def _opening(program: Program) -> dict[str, Any]:
    """What a workflow of the other family says before its first step."""
    references = [
        {
            "id": reference.id,
            "title": reference.title,
            "source": reference.source,
            "purpose": reference.purpose,
            "authoritative": reference.authoritative,
        }
        for reference in program.references
    ]
    return {
        "preconditions": list(program.preconditions),
        "clarificationPrompts": list(program.clarification_prompts),
        "references": references,
    }


def _workflow(program: Program, activities: list[dict[str, Any]]) -> dict[str, Any]:
    said = {
        "description": program.description,
        "author": program.author,
        "tags": list(program.tags),
        "rules": list(program.rules or program.guidance),
        **_opening(program),
        "variables": [_variable(variable) for variable in program.variables],
        "executionModel": _told({"roles": _roles(program)}),
        "skills": _told({"primary": program.primary_skill, "workflow": list(program.skill_ids)}),
        "modes": [_mode(mode) for mode in program.modes],
        "artifactLocations": {name: place.path for name, place in program.artifact_locations.items()},
    }
    return {
        "id": program.id,
        "version": program.version,
        "title": program.title,
        **_told(said),
        "initialActivity": program.initial_activity,
        "activities": activities,
    }


def step_json(program: Program, step: Step | Parallel) -> dict[str, Any]:
    """A step of the other family has no description of its own; its prompt is what is to be done."""
    said: dict[str, Any] = {"condition": condition_json(step.run_condition)}
    if isinstance(step, Parallel):
        told = _told({"description": step.prompt, **said, **_manner(program, step)})
        return {"id": step.id, "name": step.title, **told, "required": True}
    said |= {
        "description": step.description or step.prompt,
        "skill": step.skill,
        "skill_args": dict(step.skill_arguments),
        "checkpoint": step.checkpoint,
        "actions": [_action(action) for action in step.actions],
        "triggers": [trigger_json(trigger) for trigger in step.triggers],
        **_manner(program, step),
    }
    return {"id": step.id, "name": step.title, **_told(said), "required": step.required, **step.extra}


def _manner(program: Program, step: Step | Parallel) -> dict[str, Any]:
    """What a step of the other family says besides its prompt: how to go about it, what to hand in, and who has to agree."""
    said: dict[str, Any] = {
        "agentRole": step.agent_role,
        "guidance": list(step.guidance),
        "functions": [{"name": function.name, "definition": function.definition} for function in step.functions],
        "outputContract": step.contract.contract if step.contract else "",
        "outputRequirements": list(demands_of(program, step)),
        "requireConfirmation": step.confirmation.confirms.value if step.confirmation else "",
        "confirmationCondition": condition_json(step.confirmation.condition) if step.confirmation else None,
    }
    if isinstance(step, Step):
        said["askForFiles"] = step.ask_for_files
        said["modelTier"] = step.model_tier.value if step.model_tier else ""
        said["fragments"] = [
            {"text": fragment.text, **_told({"condition": condition_json(fragment.when)})}
            for fragment in step.fragments
        ]
    return said


def _loop(program: Program, loop: Loop) -> dict[str, Any]:
    over = ".".join(loop.items)
    said = {
        "description": loop.description,
        "variable": loop.item_variable,
        "indexVariable": loop.index_variable,
        "iterationVariable": loop.iteration_variable,
        "over": over,
        "count": loop.count if isinstance(loop.count, int) else ".".join(loop.count or ()),
        "condition": condition_json(loop.condition),
        "decidedBy": loop.decision_contract,
        "breakCondition": condition_json(loop.break_condition),
        "runCondition": condition_json(loop.run_condition),
        "activities": list(loop.activities),
    }
    return {
        "id": loop.id,
        "name": loop.title or loop.id,
        "type": loop.loops.value,
        **_told(said),
        "maxIterations": loop.max_iterations,
        "steps": [_inner(program, item) for item in loop.body],
        **loop.extra,
    }


def _inner(program: Program, item: Item) -> dict[str, Any]:
    match item:
        case Step() | Parallel():
            return step_json(program, item)
        case Gate():
            return {"checkpoint": item.checkpoint}
        case Loop():
            return _loop(program, item)
        case _:
            assert_never(item)


def _option(option: Option) -> dict[str, Any]:
    said = {"description": option.description, "effect": _effect(option.effect)}
    return {"id": option.id, "label": option.label, **_told(said), **option.extra}


def _effect(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    said = {
        "setVariable": dict(effect.set_variable),
        "transitionTo": effect.transition_to,
        "skipActivities": list(effect.skip_activities),
    }
    return _told(said) | dict(effect.extra)


def _decision(decision: DecisionPoint) -> dict[str, Any]:
    branches = [
        {
            "id": branch.id,
            "label": branch.label,
            **_told({"condition": condition_json(branch.condition), "transitionTo": branch.transition_to}),
            "isDefault": branch.is_default,
            **branch.extra,
        }
        for branch in decision.branches
    ]
    return {
        "id": decision.id,
        "name": decision.name,
        **_told({"description": decision.description}),
        "branches": branches,
        **decision.extra,
    }


def _transition(transition: Transition) -> dict[str, Any]:
    said = _told({"condition": condition_json(transition.condition)})
    return {"to": transition.to, **said, "isDefault": transition.is_default, **transition.extra}


def _action(action: Action) -> dict[str, Any]:
    said = {
        "target": action.target,
        "message": action.message,
        "description": action.description,
        "condition": condition_json(action.condition),
    }
    value = {} if action.value is None and not action.clears else {"value": action.value}
    return {"action": action.action.value, **_told(said), **value, **action.extra}


def _variable(variable: Variable) -> dict[str, Any]:
    default = {"defaultValue": variable.default} if variable.has_default else {}
    return {
        "name": variable.name,
        "type": variable.type.value,
        **_told({"description": variable.description}),
        **default,
        "required": variable.required,
        **variable.extra,
    }


def _mode(mode: WorkflowMode) -> dict[str, Any]:
    said = {
        "description": mode.description,
        "recognition": list(mode.recognition),
        "skipActivities": list(mode.skip_activities),
        "defaults": dict(mode.defaults),
        "resource": mode.resource,
    }
    return {
        "id": mode.id,
        "name": mode.name,
        "activationVariable": mode.activation_variable,
        **_told(said),
        **mode.extra,
    }


def _artifact(artifact: Artifact) -> dict[str, Any]:
    said = {"location": artifact.location, "description": artifact.description}
    said["action"] = "update" if artifact.updates else ""
    return {"id": artifact.id, "name": artifact.name, **_told(said), **artifact.extra}


def _told(said: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing; a zero says something."""
    return {key: value for key, value in said.items() if not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str | Iterable) and not value)
