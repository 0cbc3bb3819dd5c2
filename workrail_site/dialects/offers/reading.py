"""What stands at an address, and the addresses that there are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import orjson

from sessions_app.engine.values import RunValue
from sessions_app.selectors.runs import RunFilters, list_runs, read_run
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.redaction import shown_without_keys
from workflows_app.engine.activities.references import skill_names
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.values import WorkflowState, WorkflowValue
from workflows_app.selectors.handed_out import HandedOut, read_attachment
from workflows_app.selectors.previews import WorkflowPreview, preview_workflow
from workflows_app.selectors.workflows import WorkflowFilters, list_workflows
from workrail_site.dialects.activities.resources import part_in, parts_of
from workrail_site.dialects.inherited import told_whole
from workrail_site.dialects.offers.addresses import Address, OfferShelf, read_address
from workrail_site.mcp.answers import MAX_REPLY_BYTES
from workrail_site.mcp.cursors import read_cursor, write_cursor

PAGE = 50
RUNS_SHOWN = 10
_SHOWN_CHARACTERS = 200
_CURSOR = "resources"
_JSON, _MARKDOWN = "application/json", "text/markdown"
_SCHEMAS: Mapping[str, Callable[[], Mapping[str, Any]]] = {"workflow-of-steps": SCHEMAS["steps-0.3.0"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """An address as a list shows it."""

    uri: str
    name: str
    title: str
    description: str = ""
    mime_type: str = _JSON

    def as_json(self) -> dict[str, Any]:
        said = {"description": self.description} if self.description else {}
        return {"uri": self.uri, "name": self.name, "title": self.title, "mimeType": self.mime_type, **said}


def list_resources(*, actor: Actor, cursor: str | None) -> dict[str, Any]:
    """The published workflows, page by page; before the first of them the schemas and the newest runs."""
    after = read_cursor(purpose=_CURSOR, cursor=cursor)
    filters = WorkflowFilters(state=WorkflowState.PUBLISHED)
    page = list_workflows(actor=actor, filters=filters, page=PageRequest(after=after, limit=PAGE))
    first = [] if after else [*_schemas(), *_runs(actor)]
    offered = [*first, *(_workflow(each) for each in page.items)]
    following = page.next_position
    more = {} if following is None else {"nextCursor": write_cursor(purpose=_CURSOR, position=following)}
    return {"resources": [each.as_json() for each in offered], **more}


TEMPLATES = [
    {
        "uriTemplate": template,
        "name": name,
        "title": title,
        "description": description,
        "mimeType": mime_type,
    }
    for template, name, title, description, mime_type in (
        ("workrail://workflows/{workflow}", "workflow", "A workflow", "What it is for, and its first step", _JSON),
        (
            "workrail://workflows/{workflow}/skills/{skill}",
            "skill",
            "A skill",
            "How to do something: read it where a step says to apply the skill",
            _MARKDOWN,
        ),
        (
            "workrail://workflows/{workflow}/resources/{resource}",
            "resource",
            "A guide of a workflow",
            "By its number or its name",
            _MARKDOWN,
        ),
        (
            "workrail://workflows/{workflow}/templates/{template}",
            "template",
            "A template of a workflow",
            "A document to be filled in",
            _MARKDOWN,
        ),
        ("workrail://schemas/{schema}", "schema", "A schema", "The form that workflows are written to", _JSON),
        ("workrail://runs/{run}", "run", "A run", "Where it stands and what is open", _JSON),
    )
]


def read_resource(*, actor: Actor, uri: str) -> dict[str, Any]:
    """What is longer than a reply comes in parts, each of which ends with the address of the next one. Raises NotFoundError for an
    address with nothing at it.
    """
    asked = part_in(uri)
    address = read_address(asked.whole)
    if address is None:
        raise NotFoundError(
            f"Nothing has the address {shown_address(uri)!r}.", suggestion="List the resources and templates."
        )
    mime_type, text = _content(actor, address)
    parts = parts_of(text) if len(text.encode()) > MAX_REPLY_BYTES else [text]
    number = asked.number_among(parts)
    said = f"[This was part {number} of {len(parts)}."
    following = f" The next: {asked.after(number, parts)}]" if number < len(parts) else "]"
    told = f"{parts[number - 1]}\n\n{said}{following}" if len(parts) > 1 else text
    return {"contents": [{"uri": uri, "mimeType": mime_type, "text": told}]}


def shown_address(uri: str) -> str:
    """As much of what a client has asked for as is told again."""
    return shown_without_keys(uri, most=_SHOWN_CHARACTERS)


def _skill_told(actor: Actor, address: Address) -> str:
    read = read_attachment(actor=actor, workflow_id=address.name, held=HandedOut.SKILLS, name=address.item)
    return told_whole(
        read, how_to_read="Read what else they say at these addresses.", called=lambda name: _skill_uri(address, name)
    )


def _skill_uri(address: Address, name: str) -> str:
    return Address(shelf=OfferShelf.SKILL, name=address.name, item=name).as_uri()


def _content(actor: Actor, address: Address) -> tuple[str, str]:
    match address.shelf:
        case OfferShelf.WORKFLOW:
            return _JSON, _printed(_preview(preview_workflow(actor=actor, workflow_id=address.name)))
        case OfferShelf.SKILL:
            return _MARKDOWN, _skill_told(actor, address)
        case OfferShelf.RESOURCE | OfferShelf.TEMPLATE:
            held = HandedOut.RESOURCES if address.shelf is OfferShelf.RESOURCE else HandedOut.TEMPLATES
            found = read_attachment(actor=actor, workflow_id=address.name, held=held, name=address.item)
            return _MARKDOWN, found.text
        case OfferShelf.SCHEMA:
            return _JSON, _printed(_schema(address.name))
        case OfferShelf.RUN:
            return _JSON, _printed(_run(actor, address.name))
        case _:
            assert_never(address.shelf)


def _preview(preview: WorkflowPreview) -> dict[str, Any]:
    workflow, program, first = preview.workflow, preview.program, preview.first
    said: dict[str, Any] = {
        "id": workflow.workflow_id,
        "title": workflow.title,
        "description": workflow.description,
        "version": workflow.version,
        "state": workflow.state.value,
        "tags": list(workflow.tags),
    }
    if program is not None:
        said |= {
            "about": program.about,
            "preconditions": list(program.preconditions),
            "variables": [variable.name for variable in program.variables],
            "skills": skill_names(program),
            "resources": [item.id for item in program.resources],
            "templates": [item.id for item in program.templates],
        }
    if first is not None:
        said["firstStep"] = {"id": first.step_id, "title": first.title, "prompt": first.prompt}
    return {key: value for key, value in said.items() if value}


def _schema(name: str) -> Mapping[str, Any]:
    if name not in _SCHEMAS:
        raise NotFoundError(
            f"There is no schema {shown_address(name)!r}.", suggestion=f"There are: {', '.join(_SCHEMAS)}."
        )
    return _SCHEMAS[name]()


def _run(actor: Actor, text: str) -> dict[str, Any]:
    run_id = from_text(Prefix.RUN, text)
    if run_id is None:
        raise NotFoundError("There is no such run in your team.", suggestion="Ids of runs begin with run_.")
    detail = read_run(actor=actor, run_id=run_id)
    return {
        **_told_run(detail.run),
        "sessionId": to_text(Prefix.SESSION, detail.run.session_id),
        "goal": detail.run.goal,
        "pending": detail.tip.pending_title,
        "openGaps": {severity.value: count for severity, count in detail.open_gaps.items()},
        "startedAt": detail.run.started_at.isoformat(),
        "lastActivityAt": detail.run.last_activity_at.isoformat(),
    }


def _told_run(run: RunValue) -> dict[str, Any]:
    return {
        "id": to_text(Prefix.RUN, run.id),
        "workflowId": run.workflow_id,
        "title": run.workflow_title,
        "status": run.status.value,
        "dialect": run.dialect.value,
    }


def _workflow(workflow: WorkflowValue) -> Offered:
    return Offered(
        uri=Address(shelf=OfferShelf.WORKFLOW, name=workflow.workflow_id).as_uri(),
        name=workflow.workflow_id,
        title=workflow.title,
        description=workflow.description[:200],
    )


def _schemas() -> list[Offered]:
    return [
        Offered(
            uri=Address(shelf=OfferShelf.SCHEMA, name=name).as_uri(), name=name, title="The form of a workflow of steps"
        )
        for name in _SCHEMAS
    ]


def _runs(actor: Actor) -> list[Offered]:
    if not actor.may(Permission.READ_RUNS):
        return []
    page = list_runs(actor=actor, filters=RunFilters(), page=PageRequest(limit=MAX_LIMIT))
    own = [run for run in page.items if run.created_by == actor.id][:RUNS_SHOWN]
    return [
        Offered(
            uri=Address(shelf=OfferShelf.RUN, name=to_text(Prefix.RUN, run.id)).as_uri(),
            name=to_text(Prefix.RUN, run.id),
            title=f"{run.workflow_title}: {run.goal or run.status.value}"[:120],
            description=run.status.value,
        )
        for run in own
    ]


def _printed(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
