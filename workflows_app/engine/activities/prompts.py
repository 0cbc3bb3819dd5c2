"""What an agent reads that walks an activity workflow one step at a time. The same step always reads the same."""

import json
from typing import Any, assert_never

from workflows_app.engine import conditions
from workflows_app.engine.activities.parts import SkillUse
from workflows_app.engine.activities.references import SkillNames
from workflows_app.engine.program import Action, ActionKind, Activity, Artifact, Program, Trigger


def step_prompt(
    *,
    title: str,
    description: str,
    actions: tuple[Action, ...],
    triggers: tuple[Trigger, ...],
    use: SkillUse,
    skill_summary: str,
) -> str:
    """The description (else the title), what to do, the skill to apply, and the workflows to start, in this order."""
    parts = [description.strip() or title]
    if actions:
        parts.append("\n".join(f"- {describe_action(action)}" for action in actions))
    if use.name:
        parts.append(_skill(use, skill_summary))
    parts.extend(describe_trigger(trigger) for trigger in triggers)
    return "\n\n".join(parts)


def describe_action(action: Action) -> str:
    said = _said(action)
    return said if action.condition is None else f"If {conditions.describe(action.condition)}: {said}"


def describe_trigger(trigger: Trigger) -> str:
    said = _after(": ", trigger.description)
    passed = f" Pass on: {', '.join(trigger.pass_context)}." if trigger.pass_context else ""
    return f"Start the workflow `{trigger.workflow}`{said}{'' if said.endswith(('.', '!', '?')) else '.'}{passed}"


def what_holds_in(program: Program, activity: Activity, *, how_to_read: str) -> tuple[str, ...]:
    """What an activity says beside its steps, to whoever gets them one at a time: its rules, what is said and left to decide as
    one comes in, the skills that are for all of it with how one is read, the workflows that it starts, what is to come of it, and
    what is said and left to decide as one leaves.
    """
    said = [describe_action(action) for action in activity.entry_actions if _is_for_agents(action)]
    started = [describe_trigger(trigger) for trigger in activity.triggers]
    known = _known_skills(program, activity)
    skills = [f"Skills of this activity: {', '.join(known)}. {how_to_read}".strip()] if known else []
    come = [f"To come of it: {outcome}" for outcome in activity.outcome]
    written = [_artifact(program, activity, artifact) for artifact in activity.artifacts]
    leaving = [f"When it is done: {describe_action(each)}" for each in activity.exit_actions if _is_for_agents(each)]
    return (*activity.rules, *said, *skills, *started, *come, *written, *leaving)


def _artifact(program: Program, activity: Activity, artifact: Artifact) -> str:
    """A new document has the number of its activity before its name, an older one keeps the name that it has."""
    numbered = bool(activity.artifact_prefix) and not artifact.updates
    name = f"{activity.artifact_prefix}-{artifact.name}" if numbered else artifact.name
    place = program.artifact_locations.get(artifact.location)
    where = place.path if place else artifact.location
    verb = "Update" if artifact.updates else "Write"
    return f"{verb} the document `{name}`{f' in {where}' if where else ''}{_after(': ', artifact.description)}"


def _known_skills(program: Program, activity: Activity) -> list[str]:
    """By names that read them from wherever they are asked for."""
    names, home = SkillNames(program), activity.borrowed_from
    named = dict.fromkeys((activity.primary_skill, *activity.supporting_skills))
    return [names.read_as(name, home=home) for name in named if name and names.find(name, home=home) is not None]


def _is_for_agents(action: Action) -> bool:
    """What the server does, or looks at, by itself is none of theirs."""
    return action.action is ActionKind.MESSAGE or action.leaves_open


def _said(action: Action) -> str:
    told = action.message or action.description
    match action.action:
        case ActionKind.LOG:
            return f"Log: {told or action.target}"
        case ActionKind.MESSAGE:
            return f"Tell the user: {told or action.target}"
        case ActionKind.VALIDATE:
            return f"Check `{action.target}`{_after(': ', told)}" if action.target else f"Check: {told}"
        case ActionKind.SET:
            value = "" if action.value is None and not action.clears else f" to {_json(action.value)}"
            return f"Set `{action.target}`{value}{_after(': ', told)}"
        case ActionKind.EMIT:
            value = "" if action.value is None else f" with {_json(action.value)}"
            return f"Announce `{action.target}`{value}{_after(': ', told)}"
        case _:
            assert_never(action.action)


def _skill(use: SkillUse, summary: str) -> str:
    lines = [f"Apply the skill `{use.name}`{_after(': ', summary) or '.'}"]
    lines.extend(f"- with `{name}` = {_json(use.arguments[name])}" for name in sorted(use.arguments))
    lines.extend(f"- its output `{name}` is kept as {_json(use.outputs[name])}" for name in sorted(use.outputs))
    return "\n".join(lines)


def _after(sign: str, text: str) -> str:
    return f"{sign}{text.strip()}" if text.strip() else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
