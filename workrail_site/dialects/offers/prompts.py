"""One prompt for each published workflow, which begins it."""

import json
from collections.abc import Mapping
from typing import Any

from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.pages import PageRequest
from teams_app.engine.redaction import read_kept, shown_without_keys
from workflows_app.engine.canonical import UnreadableJsonError, loads_strict
from workflows_app.engine.program import Program, Variable, VariableType, WorkflowKind
from workflows_app.engine.values import WorkflowState, WorkflowValue
from workflows_app.selectors.catalog import read_published
from workflows_app.selectors.workflows import WorkflowFilters, list_workflows
from workrail_site.mcp.cursors import read_cursor, write_cursor

PAGE = 25
MAX_ARGUMENTS = 20
_MOST_BYTES = 1024 * 1024
_MOST_TOLD = 5
GOAL = "goal"
_CURSOR = "prompts"
# How each dialect begins a run of a workflow, by the name of its tool and of the arguments.
_BEGINNINGS: Mapping[str, tuple[str, str, str]] = {
    "rail": ("start_workflow", "workflowId", "context"),
    "navigation": ("nav_start", "workflow_id", "initial_variables"),
    "session": ("start_session", "workflow_id", ""),
    "orchestrator": ("start_session", "workflow_id", ""),
    "lookup": ("workflow_next", "workflowId", "context"),
}


def list_prompts(*, actor: Actor, cursor: str | None) -> dict[str, Any]:
    filters = WorkflowFilters(kind=WorkflowKind.WORKFLOW, state=WorkflowState.PUBLISHED)
    after = read_cursor(purpose=_CURSOR, cursor=cursor)
    page = list_workflows(actor=actor, filters=filters, page=PageRequest(after=after, limit=PAGE))
    following = page.next_position
    more = {} if following is None else {"nextCursor": write_cursor(purpose=_CURSOR, position=following)}
    return {"prompts": [_prompt(actor, each) for each in page.items], **more}


def get_prompt(*, actor: Actor, dialect: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """What the user says to begin it. Raises NotFoundError, and InvalidInputError for an argument that it has not, or that
    holds a key of ours: the words go to a model, which passes them on.
    """
    program = read_published(actor=actor, workflow_id=name)
    known = {variable.name: variable for variable in inputs_of(program)}
    unknown = sorted(set(arguments) - set(known) - {GOAL})
    missing = [variable.name for variable in known.values() if variable.required and variable.name not in arguments]
    if unknown or missing:
        raise InvalidInputError(
            f"The prompt {name} was not made: {_wrong(unknown, missing)}",
            suggestion=f"It takes: {', '.join([GOAL, *known])}.",
        )
    given: Mapping[str, str] = read_kept(arguments).value
    values = {key: _value(known[key], text) for key, text in given.items() if key != GOAL}
    text = _words(program, dialect, given.get(GOAL, ""), values)
    return {
        "description": f"Start {program.title}",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def _prompt(actor: Actor, workflow: WorkflowValue) -> dict[str, Any]:
    program = read_published(actor=actor, workflow_id=workflow.workflow_id)
    goal = {"name": GOAL, "description": "What you want done, in your words", "required": False}
    return {
        "name": workflow.workflow_id,
        "title": f"Start {workflow.title}",
        "description": workflow.description[:300],
        "arguments": [goal, *(_argument(variable) for variable in inputs_of(program))],
    }


def inputs_of(program: Program) -> tuple[Variable, ...]:
    """Those that somebody may know beforehand: what has a default comes after what is required."""
    named = [variable for variable in program.variables if variable.name != GOAL]
    return tuple(sorted(named, key=lambda variable: not variable.required)[:MAX_ARGUMENTS])


def _argument(variable: Variable) -> dict[str, Any]:
    kind = "" if variable.type is VariableType.STRING else f" ({variable.type.value}, as JSON)"
    return {
        "name": variable.name,
        "description": f"{variable.description or variable.name}{kind}",
        "required": variable.required,
    }


def _value(variable: Variable, text: str) -> Any:
    if variable.type is VariableType.STRING:
        return text
    try:
        return loads_strict(text, max_bytes=_MOST_BYTES)
    except UnreadableJsonError:
        return text


def _words(program: Program, dialect: str, goal: str, values: Mapping[str, Any]) -> str:
    tool, named, context = _BEGINNINGS[dialect]
    arguments: dict[str, Any] = {named: program.id}
    if dialect == "rail" and goal:
        arguments["goal"] = goal
    if dialect == "lookup":
        arguments["completedSteps"] = []
    if context and values:
        arguments[context] = dict(values)
    said = [f"Start the workflow {program.title} ({program.id}) and follow it to its end."]
    said.extend([f"Goal: {goal}"] if goal else [])
    said.extend(f"{key}: {json.dumps(value)}" for key, value in values.items() if not context)
    said.append(f"Begin with the tool {tool} and {json.dumps(arguments, ensure_ascii=False)}.")
    return "\n".join(said)


def _wrong(unknown: list[str], missing: list[str]) -> str:
    said = [f"there is no argument {shown_without_keys(name, most=80)!r}" for name in unknown[:_MOST_TOLD]]
    said += [f"{name!r} is required" for name in missing]
    return "; ".join(said[:_MOST_TOLD]) + "."
