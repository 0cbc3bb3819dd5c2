"""A program written out in the words of step workflows: what a client of the lookup family reads of a definition.

Whatever format a workflow was authored in, it is told in this one. A checkpoint is a step that asks for confirmation.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from teams_app.engine.normal_forms import trimmed
from workflows_app.engine import canonical, conditions, contracts, placeholders
from workflows_app.engine.filled import filled
from workflows_app.engine.lookup import Ahead, Work, checkpoint_of
from workflows_app.engine.program import (
    Activity,
    AllOf,
    AllRules,
    AnyOf,
    AnyRule,
    Broken,
    Checkpoint,
    Compare,
    Condition,
    Confirmation,
    ConfirmationKind,
    Contract,
    Family,
    Gate,
    Item,
    Loop,
    Not,
    NotRule,
    Parallel,
    Program,
    Rule,
    Step,
    Truthy,
    Validation,
)
from workflows_app.engine.rounds import rounds_json
from workflows_app.engine.step_demands import demands_of
from workflows_app.engine.steps.prompts import handed_out
from workflows_app.engine.validation import MAX_NOTES_BYTES, check_notes

COMPLETE = "Workflow complete."
_PERSON = "Only a signed-in person may agree to this, and nothing here records it: run the workflow by another dialect."


def workflow_document(program: Program) -> dict[str, Any]:
    return {**overview(program), "steps": _steps(program)}


def workflow_preview(program: Program) -> dict[str, Any]:
    """The definition without its steps, but for the first one and their number."""
    steps = _steps(program)
    return {**overview(program), "totalSteps": len(steps), "firstStep": steps[0] if steps else None}


def workflow_stubs(program: Program) -> dict[str, Any]:
    """The definition with its steps by name only."""
    steps = [{"id": step["id"], "title": step["title"], "prompt": ""} for step in _steps(program)]
    return {**overview(program), "steps": steps}


def overview(program: Program) -> dict[str, Any]:
    said = {
        "preconditions": list(program.preconditions),
        "clarificationPrompts": list(program.clarification_prompts),
        "metaGuidance": [*program.guidance, *program.rules],
    }
    named = {"id": program.id, "name": program.title, "description": program.description, "version": program.version}
    return named | _told(said)


def count_steps(program: Program) -> int:
    return sum(len(activity.body) for activity in program.activities)


def next_json(program: Program, ahead: Ahead) -> dict[str, Any]:
    """The step with its values in place, and how to go about it. Of a failure its words are told by who asks."""
    item = ahead.item
    if item is None:
        return {"step": None, "guidance": {"prompt": COMPLETE}, "isComplete": ahead.failure is None}
    step = {**_item(ahead.activity, item, ahead.key), **_rendered(program, ahead, item)}
    return {"step": step, "guidance": _guidance(program, ahead, item, step), "isComplete": False}


# How to go about a step


def _rendered(program: Program, ahead: Ahead, item: Work) -> dict[str, Any]:
    scope = ahead.scope
    if isinstance(item, Gate):
        checkpoint = checkpoint_of(ahead.activity, item)
        if checkpoint is None:
            return {}
        title = placeholders.render_message(checkpoint.name, variables=scope)
        return {"title": title, "prompt": _question(checkpoint, scope)}
    if isinstance(item, Parallel):
        filling = placeholders.Filling(scope)
        parts = [handed_out(item, variables=scope, mode=program.conditions, filling=filling)]
    else:
        parts = [placeholders.render(item.prompt or _description(item), variables=scope)]
    if isinstance(item, Step):
        held = [f for f in item.fragments if conditions.evaluate(f.when, variables=scope, mode=program.conditions)]
        parts.extend(placeholders.render(fragment.text, variables=scope) for fragment in held)
    title = placeholders.render(item.title, variables=scope)
    guidance = [placeholders.render(text, variables=scope) for text in item.guidance]
    role = placeholders.render(item.agent_role, variables=scope)
    functions = _functions(item, lambda text: placeholders.render(text, variables=scope))
    return {
        "title": title,
        **({"agentRole": role} if role else {}),
        "prompt": "\n\n".join(part for part in parts if part.strip()),
        **({"guidance": guidance} if guidance else {}),
        **({"functionDefinitions": functions} if functions else {}),
    }


def _functions(item: Step | Parallel, said: Callable[[str], str] = str) -> list[dict[str, str]]:
    """What the step refers to by name."""
    return [{"name": each.name, "definition": said(each.definition)} for each in item.functions]


def _guidance(program: Program, ahead: Ahead, item: Work, step: Mapping[str, Any]) -> dict[str, Any]:
    confirms = bool(step.get("requireConfirmation")) and _is_confirmed_now(program, ahead, item)
    said = {
        "loop": rounds_json(ahead.rounds),
        "modelHint": item.model_tier.value if isinstance(item, Step) and item.model_tier else "",
        "validationCriteria": [placeholders.render(text, variables=ahead.scope) for text in expected_of(program, item)],
    }
    return {
        "prompt": _guiding_prompt(item, step, ahead.scope, confirms=confirms),
        "requiresConfirmation": confirms,
        **_told(said),
    }


def _is_confirmed_now(program: Program, ahead: Ahead, item: Work) -> bool:
    """A confirmation may be asked for under a condition, which the context decides as in a run."""
    if isinstance(item, Gate) or item.confirmation is None:
        return True
    return conditions.evaluate(item.confirmation.condition, variables=ahead.scope, mode=program.conditions)


def _guiding_prompt(item: Work, step: Mapping[str, Any], scope: Mapping[str, Any], *, confirms: bool) -> str:
    prompt: str = step["prompt"]
    if isinstance(item, Gate):
        return prompt
    role = [f"## Agent Role\n{placeholders.render(item.agent_role, variables=scope)}"] if item.agent_role else []
    lines = [f"- {placeholders.render(text, variables=scope)}" for text in item.guidance]
    guided = ["## Step Guidance\n" + "\n".join(lines)] if lines else []
    named = [f"- {each['name']}(): {each['definition']}" for each in step.get("functionDefinitions", ())]
    functions = ["## Function Definitions\n" + "\n".join(named)] if named else []
    by_person = item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL
    person = [_PERSON] if by_person and confirms else []
    return "\n\n".join([*role, *guided, prompt, *functions, *person])


def _question(checkpoint: Checkpoint, scope: Mapping[str, Any]) -> str:
    checkpoint = filled(checkpoint, variables=scope)
    options = [
        f"- {option.id}: {option.label}{f' ({option.description})' if option.description else ''}"
        for option in checkpoint.options
    ]
    answer = (
        _PERSON
        if checkpoint.human
        else f'Show this to your user and wait. Then add the answer to context as {{"{checkpoint.id}": "<option id>"}}.'
    )
    return "\n\n".join([checkpoint.message, "\n".join(options), answer])


def issues_of(*, program: Program, item: Work, output: str, context: Mapping[str, Any]) -> tuple[str, ...]:
    """What is wrong with the output of a step; empty when it does what the step asks for."""
    if isinstance(item, Gate):
        return ()
    if not trimmed(output):
        return ("The output is empty.",)
    validation = item.validation if isinstance(item, Step) else None
    issues = check_notes(validation, notes=output, variables=context, mode=program.conditions)
    contract = program.contracts.get(item.contract.contract) if item.contract and item.contract.required else None
    return issues if contract is None else (*issues, *_artifact_issues(contract, output))


def _artifact_issues(contract: Contract, output: str) -> tuple[str, ...]:
    """The output of a step with a contract is the artifact, as JSON."""
    try:
        artifact = canonical.loads_strict(output, max_bytes=MAX_NOTES_BYTES)
    except canonical.UnreadableJsonError:
        return (f"The output is not the JSON of an artifact of kind {contract.artifact_kind}.",)
    return contracts.check_artifact(contract, artifact)


def expected_of(program: Program, item: Work) -> tuple[str, ...]:
    """What will be asked of the output, in words."""
    if isinstance(item, Gate):
        return ()
    return demands_of(program, item)


# The definition


def _steps(program: Program) -> list[dict[str, Any]]:
    return [
        _item(activity, item, item.id if program.family is Family.STEPS else f"{activity.id}@0::{item.id}")
        for activity in program.activities
        for item in activity.body
    ]


def _item(activity: Activity | None, item: Item, key: str) -> dict[str, Any]:
    match item:
        case Step():
            return {"id": key, "title": item.title, "prompt": item.prompt or item.description, **_told(_step(item))}
        case Parallel():
            said = {**_manner(item), "runCondition": condition_document(item.run_condition)}
            return {"id": key, "title": item.title, "prompt": item.prompt, **_told(said)}
        case Gate():
            return _gate(activity, item, key)
        case Loop():
            return _loop(activity, item, key)
        case _:
            assert_never(item)


def _step(step: Step) -> dict[str, Any]:
    return {
        **_manner(step),
        "askForFiles": step.ask_for_files,
        "runCondition": condition_document(step.run_condition),
        "validationCriteria": _criteria(step.validation),
    }


def _manner(item: Step | Parallel) -> dict[str, Any]:
    return {
        "agentRole": item.agent_role,
        "guidance": list(item.guidance),
        "functionDefinitions": _functions(item),
        "requireConfirmation": _confirmation(item.confirmation),
    }


def _confirmation(confirmation: Confirmation | None) -> Any:
    """True where the step always asks; else the condition under which it does."""
    if confirmation is None:
        return None
    return True if confirmation.condition is None else condition_document(confirmation.condition)


def _gate(activity: Activity | None, gate: Gate, key: str) -> dict[str, Any]:
    checkpoint = checkpoint_of(activity, gate)
    if checkpoint is None:
        return {"id": key, "title": gate.id, "prompt": ""}
    return {
        "id": key,
        "title": checkpoint.name,
        "prompt": _question(checkpoint, {}),
        "requireConfirmation": True,
        **_told({"runCondition": condition_document(checkpoint.condition)}),
    }


def _loop(activity: Activity | None, loop: Loop, key: str) -> dict[str, Any]:
    said = {
        "condition": condition_document(loop.condition),
        "count": ".".join(loop.count) if isinstance(loop.count, tuple) else loop.count,
        "items": ".".join(loop.items),
        "itemVar": loop.item_variable,
        "indexVar": loop.index_variable,
        "iterationVar": loop.iteration_variable,
    }
    return {
        "id": key,
        "type": "loop",
        "title": loop.title or loop.id,
        "prompt": loop.description,
        "loop": {"type": loop.loops.value, "maxIterations": loop.max_iterations, **_told(said)},
        "body": [_item(activity, item, item.id) for item in loop.body],
        **_told({"runCondition": condition_document(loop.run_condition)}),
    }


def condition_document(condition: Condition | None) -> dict[str, Any] | None:
    match condition:
        case None:
            return None
        case Compare():
            return {"var": ".".join(condition.path), condition.operator.value: condition.value}
        case Truthy():
            return {"var": ".".join(condition.path)}
        case AllOf():
            return {"and": [condition_document(part) for part in condition.conditions]}
        case AnyOf():
            return {"or": [condition_document(part) for part in condition.conditions]}
        case Not():
            return {"not": condition_document(condition.condition)}
        case Broken():
            return {"broken": condition.reason}
        case _:
            assert_never(condition)


def _criteria(validation: Validation | None) -> Any:
    """As authors write them: a list where every rule must hold, else the composition."""
    if validation is None:
        return None
    return [_rule(rule) for rule in validation.rules] if isinstance(validation, AllRules) else _rule(validation)


def _rule(validation: Validation) -> dict[str, Any]:
    match validation:
        case Rule():
            said = {
                "value": validation.value,
                "pattern": validation.pattern,
                "flags": validation.flags,
                "min": validation.min_length,
                "max": validation.max_length,
                "schema": validation.schema,
                "condition": condition_document(validation.condition),
            }
            return {"type": validation.check.value, **_told(said), "message": validation.message}
        case AllRules():
            return {"and": [_rule(rule) for rule in validation.rules]}
        case AnyRule():
            return {"or": [_rule(rule) for rule in validation.rules]}
        case NotRule():
            return {"not": _rule(validation.rule)}
        case _:
            assert_never(validation)


def _description(item: Step | Parallel) -> str:
    return item.description if isinstance(item, Step) else ""


def _told(said: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing; a zero says something."""
    return {key: value for key, value in said.items() if not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str | Iterable) and not value)
