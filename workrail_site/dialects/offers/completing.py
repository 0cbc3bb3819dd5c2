"""What may be written into the arguments of prompts and of addresses: of many as many as the protocol takes, and how many there are."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.selectors.runs import RunFilters, list_runs
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import PageRequest
from workflows_app.engine.activities.references import skill_names
from workflows_app.engine.program import VariableType
from workflows_app.engine.values import WorkflowState
from workflows_app.selectors.catalog import read_published
from workflows_app.selectors.workflows import WorkflowFilters, count_workflows, list_workflows
from workrail_site.dialects.offers.prompts import inputs_of

# As every revision of MCP bounds them.
MAX_COMPLETIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """`total` is None where nobody has counted."""

    values: tuple[str, ...] = ()
    total: int | None = 0
    has_more: bool = False


def complete(*, actor: Actor, ref: Mapping[str, Any], name: str, value: str, given: Mapping[str, str]) -> Completions:
    """What the argument may be, beginning with what is written of it."""
    wanted = value.strip().lower()
    if ref.get("type") == "ref/prompt":
        return _of(_prompt_values(actor, str(ref.get("name", "")), name), wanted)
    match name:
        case "workflow":
            return _workflows(actor, wanted)
        case "skill" | "resource" | "template" if "workflow" in given:
            program = read_published(actor=actor, workflow_id=given["workflow"])
            if name == "skill":
                return _of(skill_names(program), wanted)
            held = program.resources if name == "resource" else program.templates
            return _of(sorted({item.id for item in held}), wanted)
        case "run" if actor.may(Permission.READ_RUNS):
            return _runs(actor, wanted)
        case _:
            return Completions()


def _prompt_values(actor: Actor, workflow_id: str, name: str) -> list[str]:
    program = read_published(actor=actor, workflow_id=workflow_id)
    found = next((variable for variable in inputs_of(program) if variable.name == name), None)
    if found is None:
        return []
    default = [json.dumps(found.default).strip('"')] if found.has_default and found.default is not None else []
    return ["true", "false"] if found.type is VariableType.BOOLEAN else default


def _workflows(actor: Actor, wanted: str) -> Completions:
    """Everything published whose address can be read, routines too."""
    filters = WorkflowFilters(state=WorkflowState.PUBLISHED, beginning=wanted)
    page = list_workflows(actor=actor, filters=filters, page=PageRequest(limit=MAX_COMPLETIONS))
    values = tuple(each.workflow_id for each in page.items)
    if page.next_position is None:
        return Completions(values=values, total=len(values))
    return Completions(values=values, total=count_workflows(actor=actor, filters=filters), has_more=True)


def _runs(actor: Actor, wanted: str) -> Completions:
    """Of the latest ones: an id says nothing to anybody who looks for an older run."""
    page = list_runs(actor=actor, filters=RunFilters(), page=PageRequest(limit=MAX_COMPLETIONS))
    found = _of((to_text(Prefix.RUN, run.id) for run in page.items), wanted)
    return Completions(values=found.values, total=None, has_more=True) if page.next_position else found


def _of(choices: Iterable[str], wanted: str) -> Completions:
    found = tuple(choice for choice in choices if choice.lower().startswith(wanted))
    return Completions(values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS)
