"""What the navigation tools tell of skills, rules, resources and templates, and where all of it is found."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.references import META, find_among, find_skill, resource_names
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.engine.values import WorkflowValue
from workflows_app.selectors.catalog import count_published, list_published
from workflows_app.selectors.handed_out import (
    InheritedTechnique,
    inherited_by,
    is_technique,
    linked_by,
    skill_elsewhere,
)
from workflows_app.selectors.programs import load_content
from workrail_site.dialects.activities.resources import part_in, parts_of
from workrail_site.dialects.inherited import document_with, with_inherited, with_linked
from workrail_site.dialects.navigation.definitions import guides
from workrail_site.dialects.navigation.library import RunLibrary, owned_by
from workrail_site.dialects.navigation.printing import is_long, listed, told
from workrail_site.mcp.answers import ToolReply, as_many_as_fit
from workrail_site.mcp.calling import acting

_CAPABILITY_BYTES = 120

# Skills


def skills() -> ToolReply:
    """Of very many, what each can do is told in short."""
    held = [(program, skill) for program in guides() for skill in _own_skills(program)]
    whole = _capabilities(held, capability_bytes=None)
    return as_many_as_fit(held, partial(_capabilities, capability_bytes=_CAPABILITY_BYTES)) if is_long(whole) else whole


def _capabilities(held: Sequence[tuple[Program, Attachment]], *, capability_bytes: int | None) -> ToolReply:
    own: dict[str, list[dict[str, Any]]] = {}
    for program, each in held:
        own.setdefault(program.id, []).append(_capability(each, capability_bytes))
    return told(
        {
            "description": "What the skills can do. A universal one serves every workflow.",
            "usage": "Load one with get_skill. A workflow's own skill goes before a universal one of the same id.",
            "universal": own.pop(META, []),
            "workflow_specific": own,
        }
    )


def skill_list(workflow_id: str | None, *, library: RunLibrary) -> ToolReply:
    """With a workflow, or a run of it, its own beside the universal ones, else all in a flat list."""
    program = library.run if workflow_id is None else library.program(workflow_id)
    if program is None:
        return listed("skills", [_skill(skill, program) for program in guides() for skill in _own_skills(program)])
    universal = [_skill(skill) for known in guides() if known.id == META for skill in _own_skills(known)]
    own = [] if program.id == META else [_skill(skill, program) for skill in _own_skills(program)]
    return as_many_as_fit(
        [*own, *universal],
        lambda kept: told({"universal": list(kept[len(own) :]), "workflow": list(kept[: len(own)])}),
    )


def skill(skill_id: str, workflow_id: str | None, *, library: RunLibrary) -> ToolReply:
    """The workflow's own first, then the universal one; without a workflow, then any workflow's. One that does not fit into a reply
    comes in parts of its text.
    """
    asked = part_in(skill_id)
    program, found = _find(asked.whole, workflow_id, library)
    if program is None or found is None:
        raise NotFoundError(
            f"Skill not found: {skill_id}",
            suggestion="Call list_skills for the ids, with the workflow_id if you have one.",
        )
    content = load_content(found.digest, ContentKind.SKILL)
    inherited = inherited_by(actor=acting(), program=program, skill=found)
    named = library.named if workflow_id is None else {"workflow_id": workflow_id, **library.named}
    reader = workflow_id if workflow_id is not None and library.borrower(workflow_id) is None else program.id
    beside_state = ", the same state" if library.named else ""
    onward = f"Read what else they say with get_skill: workflow_id {reader}{beside_state}, and the name as skill_id."
    text = with_inherited(content.text, inherited, called=_name, how_to_read=onward)
    linked = linked_by(actor=acting(), program=program, skill=found)
    text, document = with_linked(text, linked), content.document
    beside = {"linked_resources": [{"workflow_id": owner, "index": name} for owner, name in linked]} if linked else {}
    whole = (
        told((document_with(document, inherited, called=_name) if is_technique(found) else document) | beside)
        if isinstance(document, dict)
        else ToolReply(text=text, value={"content": text})
    )
    parts = parts_of(text) if is_long(whole) else [text]
    number = asked.number_among(parts)
    following = {**named, "skill_id": asked.after(number, parts)} if number < len(parts) else {}
    return (
        whole
        if len(parts) == 1
        else _part(_place(found.index, found), parts, number, tool="get_skill", following=following)
    )


def _name(inherited: InheritedTechnique) -> str:
    return inherited.name


def _find(skill_id: str, workflow_id: str | None, library: RunLibrary) -> tuple[Program | None, Attachment | None]:
    """With the program that knows it. What a run was lent is as it was when the run began."""
    if workflow_id is not None:
        borrower = library.borrower(workflow_id)
        lent = None if borrower is None else _lent(borrower, library.owners(workflow_id), skill_id)
        if borrower is not None and lent is not None:
            return borrower, lent
        return _find_in(library.program(workflow_id), skill_id)
    if library.run is not None:
        program, found = _find_in(library.run, skill_id)
        if found is not None:
            return program, found
    return _first(sorted(guides(), key=lambda program: program.id != META), skill_id)


def _lent(borrower: Program, owners: Iterable[str], skill_id: str) -> Attachment | None:
    found = (find_skill(program=borrower, reference=f"{owner}/{skill_id}") for owner in owners)
    return next((skill for skill in found if skill is not None), None)


def _find_in(program: Program, skill_id: str) -> tuple[Program, Attachment | None]:
    found = find_skill(program=program, reference=skill_id) or find_among(program.skills, skill_id)
    return program, found or skill_elsewhere(actor=acting(), program=program, name=skill_id)


def _first(programs: Iterable[Program], skill_id: str) -> tuple[Program | None, Attachment | None]:
    found = ((program, find_skill(program=program, reference=skill_id)) for program in programs)
    return next(((program, skill) for program, skill in found if skill is not None), (None, None))


def _own_skills(program: Program) -> list[Attachment]:
    return [skill for skill in program.skills if skill.owner == program.id]


def _capability(skill: Attachment, capability_bytes: int | None) -> dict[str, Any]:
    said = skill.summary if capability_bytes is None else fit_bytes(skill.summary, max_bytes=capability_bytes)
    return {"id": skill.id, "version": skill.version, "capability": said}


def _skill(skill: Attachment, program: Program | None = None) -> dict[str, Any]:
    """`path` is the place of the file within the folder of its workflow."""
    said: dict[str, Any] = {
        "index": skill.index,
        "id": skill.id,
        "name": skill.title or skill.id,
        "path": f"{skill.owner}/skills/{skill.index}-{skill.id}.{skill.format}",
    }
    return said if program is None or program.id == META else said | {"workflowId": program.id}


# Rules


def rules() -> ToolReply:
    """The rules that hold for every workflow; they are kept by `meta`."""
    digest = next((program.global_rules for program in guides() if program.id == META), "")
    if not digest:
        raise NotFoundError("Global rules not found", suggestion="Read the rules of the workflow with get_workflow.")
    document = load_content(digest, ContentKind.RULES).document
    return told(document if isinstance(document, dict) else {"rules": document})


# Resources and templates


def resources(workflow_id: str, *, library: RunLibrary) -> ToolReply:
    program = library.program(workflow_id)
    return listed("resources", _places(owned_by(program.id, program, ContentKind.RESOURCE)))


def resource(workflow_id: str, index: str, *, library: RunLibrary) -> ToolReply:
    tools = ("list_workflow_resources", "get_resource")
    return _content(library, workflow_id, ContentKind.RESOURCE, index, tools=tools)


def templates(workflow_id: str, *, library: RunLibrary) -> ToolReply:
    program = library.program(workflow_id)
    return listed("templates", _places(owned_by(program.id, program, ContentKind.TEMPLATE)))


def template(workflow_id: str, index: str, *, library: RunLibrary) -> ToolReply:
    tools = ("list_templates", "get_template")
    return _content(library, workflow_id, ContentKind.TEMPLATE, index, tools=tools)


def _content(
    library: RunLibrary, workflow_id: str, kind: ContentKind, index: str, *, tools: tuple[str, str]
) -> ToolReply:
    """The text as authored; one that does not fit into a reply comes in parts."""
    lists, reads = tools
    asked = part_in(index)
    read = library.find(workflow_id, kind, asked.whole)
    if read is None:
        raise NotFoundError(
            f"{kind.value.capitalize()} not found: {index} in workflow {workflow_id}", suggestion=f"Call {lists}."
        )
    found, name = read
    text = load_content(found.digest, kind).text
    place = _place(name, found)
    reply = ToolReply(text=text, value={**place, "content": text})
    parts = parts_of(text) if is_long(reply) else [text]
    number = asked.number_among(parts)
    onward = {"workflow_id": workflow_id, "index": asked.after(number, parts), **library.named}
    following = onward if number < len(parts) else {}
    return reply if len(parts) == 1 else _part(place, parts, number, tool=reads, following=following)


def _part(
    place: Mapping[str, str], parts: Sequence[str], number: int, *, tool: str, following: Mapping[str, str]
) -> ToolReply:
    text, of = parts[number - 1], f"part {number} of {len(parts)}"
    value = {**place, "content": text, "part": number, "parts": len(parts)}
    if not following:
        return ToolReply(text=f"{text}\n\n[This was {of}.]", value=value)
    key = "skill_id" if "skill_id" in following else "index"
    goes_on = f"[This was {of}. The next: {tool} with {key} {following[key]}]"
    return ToolReply(
        text=f"{text}\n\n{goes_on}", value={**value, "next_action": {"tool": tool, "parameters": dict(following)}}
    )


def _places(held: Iterable[Attachment]) -> list[dict[str, str]]:
    return [_place(name, item) for item, name in resource_names(held).items()]


def _place(index: str, item: Attachment) -> dict[str, str]:
    return {"index": index, "name": item.id, "title": item.title or item.id, "format": item.format}


# Everything


def discover() -> ToolReply:
    actor = acting()
    published = list_published(actor=actor)
    programs = {program.id: program for program in guides()}
    count = sum(len(each.activities) for each in programs.values())
    activities = {"tool": "get_activities", "parameters": {}, "count": count}
    meta = programs.get(META)
    universal = [_capability(skill, None) for skill in _own_skills(meta)] if meta else []

    def say(kept: Sequence[WorkflowValue]) -> ToolReply:
        held = {each.workflow_id: _held(found) for each in kept if (found := programs.get(each.workflow_id))}
        named = [{"id": each.workflow_id, "title": each.title, "version": each.version} for each in kept]
        return told({"activities": activities, "universal_skills": universal, "workflows": named, **held})

    return as_many_as_fit(published, say, omitted=count_published(actor=actor) - len(published))


def _held(program: Program) -> dict[str, Any]:
    named = {"parameters": {"workflow_id": program.id}}
    said: dict[str, Any] = {
        "resources": {
            "count": len(owned_by(program.id, program, ContentKind.RESOURCE)),
            "tool": "list_workflow_resources",
            **named,
        },
        "templates": {
            "count": len(owned_by(program.id, program, ContentKind.TEMPLATE)),
            "tool": "list_templates",
            **named,
        },
    }
    skills = [skill.id for skill in _own_skills(program)]
    return said | ({"skills": skills} if skills and program.id != META else {})
