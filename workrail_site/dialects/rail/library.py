"""Workflows as an agent chooses among them: the list, one of them in words, and its documents piece by piece."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import msgspec
import orjson

from teams_app.engine.errors import InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.pages import Page, PageRequest
from workflows_app.engine.activities.references import readable_leading_skills
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import Program, WorkflowKind
from workflows_app.engine.values import WorkflowState, WorkflowValue
from workflows_app.selectors.handed_out import AttachmentText, HandedOut, attachment_of, read_attachment
from workflows_app.selectors.previews import WorkflowPreview, find_pinned, preview_workflow, read_pinned
from workflows_app.selectors.sources import read_program, read_source
from workflows_app.selectors.workflows import WorkflowFilters, list_workflows, warnings_of_name
from workrail_site.dialects.inherited import told_whole
from workrail_site.dialects.rail.parameters import Part
from workrail_site.mcp.answers import PAGE_BYTES, ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.cursors import read_cursor, write_cursor

_SUMMARY_BYTES = 300
_LIST = "list_workflows"
_PROGRAM_FILE = "program.json"


# The list


def list_page(
    *, kind: WorkflowKind | None, search: str, tags: tuple[str, ...], limit: int, cursor: str | None
) -> ToolReply:
    """As many as fit into one page of bytes, however many were asked for."""
    actor = acting()
    filters = WorkflowFilters(text=search, tags=tags, kind=kind)
    after = read_cursor(purpose=_LIST, cursor=cursor)
    page = list_workflows(actor=actor, filters=filters, page=PageRequest(after=after, limit=limit))
    reply = _list_reply(page)
    while len(page.items) > 1 and _is_long(reply):
        fewer = PageRequest(after=after, limit=len(page.items) // 2)
        page = list_workflows(actor=actor, filters=filters, page=fewer)
        reply = _list_reply(page)
    return reply


def _is_long(reply: ToolReply) -> bool:
    return max(len(reply.text.encode()), len(orjson.dumps(reply.value))) > PAGE_BYTES


def _list_reply(page: Page[WorkflowValue]) -> ToolReply:
    next_cursor = None if page.next_position is None else write_cursor(purpose=_LIST, position=page.next_position)
    value = {"workflows": [_summary(each) for each in page.items], "nextCursor": next_cursor}
    return ToolReply(text=_list_text(page.items, next_cursor), value=value)


def _summary(workflow: WorkflowValue) -> dict[str, Any]:
    """`startable` is false for a draft, for one that was retired, and for a routine nobody published."""
    return {
        "workflowId": workflow.workflow_id,
        "title": workflow.title,
        "description": fit_bytes(workflow.description, max_bytes=_SUMMARY_BYTES),
        "version": workflow.version,
        "kind": workflow.kind.value,
        "idStatus": workflow.id_status.value,
        "state": workflow.state.value,
        "startable": workflow.state is WorkflowState.PUBLISHED,
        "bundled": workflow.bundled,
        "tags": list(workflow.tags),
        "problems": {"errors": workflow.error_count, "warnings": workflow.warning_count},
    }


def _list_text(workflows: Sequence[WorkflowValue], next_cursor: str | None) -> str:
    if not workflows:
        return "No workflow fits. Call list_workflows without arguments to see all."
    lines = [line for workflow in workflows for line in _list_lines(workflow)]
    lines.append("")
    lines.append("Start one with start_workflow and its workflowId. inspect_workflow tells more of it first.")
    if next_cursor is not None:
        lines.extend(["There are more. Call list_workflows with the same arguments and this cursor:", next_cursor])
    return "\n".join(lines)


def _list_lines(workflow: WorkflowValue) -> Iterable[str]:
    kind = "" if workflow.kind is WorkflowKind.WORKFLOW else f" ({workflow.kind.value})"
    yield f"- {workflow.workflow_id}{kind}: {workflow.title}"
    if workflow.description:
        yield f"  {fit_bytes(' '.join(workflow.description.split()), max_bytes=_SUMMARY_BYTES)}"
    if workflow.state is not WorkflowState.PUBLISHED:
        yield f"  Cannot be started: it is {workflow.state.value}."
    if workflow.error_count:
        yield f"  Its latest revision has {workflow.error_count} errors; inspect_workflow names them to its authors."


# One workflow


def inspect(
    *,
    workflow_id: str,
    part: Part,
    revision: int | None,
    workflow_hash: str | None,
    skill: str | None,
    cursor: str | None,
) -> ToolReply:
    actor = acting()
    match part:
        case Part.METADATA | Part.PREVIEW:
            preview = preview_workflow(actor=actor, workflow_id=workflow_id)
            return _described(preview, with_steps=part is Part.PREVIEW)
        case Part.SOURCE:
            source = read_source(actor=actor, workflow_id=workflow_id, number=revision)
            about = {"workflowId": source.workflow_id, "part": part.value, "revision": source.number}
            about |= _old_name(workflow_id)
            files = [LibraryDocument(path=path, text=_text_of(data)) for path, data in sorted(source.files.items())]
            return _documents(about, files, cursor)
        case Part.PROGRAM:
            program = read_program(actor=actor, workflow_id=workflow_id, number=revision)
            about = {"workflowId": program.id, "part": part.value} | _old_name(workflow_id)
            return _documents(about, [_document_of(program)], cursor)
        case Part.PINNED:
            pinned = _hash_of(workflow_hash)
            program = read_pinned(actor=actor, workflow_id=workflow_id.strip(), workflow_hash=pinned)
            about = {"workflowId": program.id, "part": part.value, "workflowHash": pinned}
            return _documents(about, [_document_of(program)], cursor)
        case Part.SKILL:
            named = _skill_named(skill)
            about = {"workflowId": workflow_id, "part": part.value, "skill": named}
            text = _skill_told(workflow_id, named, workflow_hash)
            return _documents(about | _old_name(workflow_id), [LibraryDocument(path=named, text=text)], cursor)
        case _:
            assert_never(part)


def _old_name(workflow_id: str) -> dict[str, Any]:
    """Whoever reads by an old name is told the new one."""
    problems = warnings_of_name(actor=acting(), workflow_id=workflow_id)
    return {"problems": [problem.as_json() for problem in problems]} if problems else {}


def _hash_of(workflow_hash: str | None) -> str:
    if workflow_hash is None:
        raise InvalidInputError(
            "The pinned program of which run? Its hash is missing.",
            suggestion="Send workflowHash from a reply of the run, at workflow.workflowHash.",
            details={"validationErrors": [{"path": "workflowHash", "message": "Required for part pinned."}]},
        )
    return workflow_hash.strip()


def _skill_told(workflow_id: str, named: str, workflow_hash: str | None) -> str:
    pinned = f", workflowHash {workflow_hash.strip()}" if workflow_hash and workflow_hash.strip() else ""
    place = f"workflowId {workflow_id.strip()}{pinned}, part skill"
    read = _skill_read(workflow_id, named, workflow_hash)
    return told_whole(
        read, how_to_read=f"Read what else they say with inspect_workflow: {place}, and the name as skill."
    )


def _skill_read(workflow_id: str, named: str, workflow_hash: str | None) -> AttachmentText:
    """As it is published, or as the program of a run has it, which goes on with that."""
    actor, pinned = acting(), (workflow_hash or "").strip()
    if pinned:
        program = find_pinned(actor=actor, workflow_id=workflow_id.strip(), workflow_hash=pinned)
        return attachment_of(actor=actor, program=program, held=HandedOut.SKILLS, name=named)
    try:
        return read_attachment(actor=actor, workflow_id=workflow_id, held=HandedOut.SKILLS, name=named)
    except (NotFoundError, PreconditionFailedError) as refusal:
        of_run = "If a run told you to read it, send the workflowHash of its reply as well, from workflow.workflowHash."
        refusal.suggestion = " ".join(part for part in (refusal.suggestion, of_run) if part)
        raise


def _skill_named(skill: str | None) -> str:
    if skill is None or not skill.strip():
        raise InvalidInputError(
            "Which skill? Its name is missing.",
            suggestion="Send skill, as the step names it.",
            details={"validationErrors": [{"path": "skill", "message": "Required for part skill."}]},
        )
    return skill.strip(" `")


def _described(preview: WorkflowPreview, *, with_steps: bool) -> ToolReply:
    workflow, revision = preview.workflow, preview.revision
    problems = [*preview.warnings, *revision.problems]
    value: dict[str, Any] = _summary(workflow) | {
        "description": workflow.description,
        "requestedId": preview.requested_id,
        "revision": revision.number,
        "latestRevision": workflow.latest_number,
        "workflowHash": preview.workflow_hash,
        "problems": [problem.as_json() for problem in problems],
    }
    if preview.program is not None:
        value |= _about(preview.program)
    if with_steps:
        value |= {
            "firstStep": _first_json(preview),
            "outline": None if preview.outline is None else [item.as_json() for item in preview.outline],
        }
    return ToolReply(text=_described_text(value, problems), value=value)


def _about(program: Program) -> dict[str, Any]:
    """What helps to choose and to prepare; empty fields are left out."""
    preferences = {
        "autonomy": program.recommended_autonomy,
        "riskPolicy": program.recommended_risk_policy,
    }
    facts: dict[str, Any] = {
        "about": program.about,
        "examples": list(program.examples),
        "preconditions": list(program.preconditions),
        "clarificationPrompts": list(program.clarification_prompts),
        "recommendedPreferences": {key: value.value for key, value in preferences.items() if value is not None},
        "capabilities": {key.value: need.value for key, need in program.capabilities.items()},
        "skills": list(readable_leading_skills(program)),
        "variables": [_variable_json(variable) for variable in program.variables],
        "references": [
            {"id": each.id, "title": each.title, "source": each.source, "purpose": each.purpose}
            for each in program.references
        ],
    }
    return {key: value for key, value in facts.items() if value}


def _variable_json(variable: Any) -> dict[str, Any]:
    said = {"name": variable.name, "type": variable.type.value, "required": variable.required}
    return said | ({"description": variable.description} if variable.description else {})


def _first_json(preview: WorkflowPreview) -> dict[str, str] | None:
    first = preview.first
    return None if first is None else {"stepId": first.step_id, "title": first.title, "prompt": first.prompt}


def _described_text(value: Mapping[str, Any], problems: Sequence[WorkflowProblem]) -> str:
    parts = [
        f"# {value['title']}\n{value['workflowId']}, version {value['version']}, {value['state']}",
        value["description"],
        value.get("about", ""),
        _listed("For example:", value.get("examples", ())),
        _listed("Make sure of this before you begin:", value.get("preconditions", ())),
        _listed("It will want to know:", value.get("clarificationPrompts", ())),
        _listed("Whoever leads it reads these skills (part skill):", value.get("skills", ())),
        _listed("It reads from the context:", [_variable_text(each) for each in value.get("variables", ())]),
        _listed("It uses:", [f"{name} ({need})" for name, need in value.get("capabilities", {}).items()]),
        _listed("References:", [f"{each['title']} ({each['source']})" for each in value.get("references", ())]),
        _recommended(value.get("recommendedPreferences", {})),
        _listed("Problems:", [_problem_text(problem) for problem in problems]),
        _first_text(value.get("firstStep")),
        _outline_text(value.get("outline")),
        f"To begin: start_workflow with workflowId {value['workflowId']}."
        if value["startable"]
        else f"It cannot be started: it is {value['state']}. A person with the role author publishes it.",
    ]
    return "\n\n".join(part for part in parts if part)


def _listed(heading: str, items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items]
    return "\n".join([heading, *lines]) if lines else ""


def _variable_text(variable: Mapping[str, Any]) -> str:
    needed = ", required" if variable["required"] else ""
    words = f": {variable['description']}" if "description" in variable else ""
    return f"{variable['name']} ({variable['type']}{needed}){words}"


def _recommended(preferences: Mapping[str, str]) -> str:
    return f"Recommended mode: {', '.join(preferences.values())}." if preferences else ""


def _problem_text(problem: WorkflowProblem) -> str:
    place = ", ".join(part for part in (problem.file, problem.path) if part)
    hint = f" {problem.suggestion}" if problem.suggestion else ""
    return f"{problem.severity.value}{f' at {place}' if place else ''}: {problem.message}{hint}"


def _first_text(first: Mapping[str, str] | None) -> str:
    return "" if first is None else f"## Its first step: {first['title']}\n\n{first['prompt']}"


def _outline_text(outline: Sequence[Mapping[str, Any]] | None) -> str:
    return "" if outline is None else "\n".join(["## All steps, for its authors", *_outline_lines(outline, "")])


def _outline_lines(items: Sequence[Mapping[str, Any]], indent: str) -> Iterable[str]:
    for item in items:
        kind = "" if item["kind"] == "step" else f" [{item['kind']}]"
        yield f"{indent}- {item['title']}{kind}"
        yield from _outline_lines(item.get("items", ()), f"{indent}  ")


# Documents, in pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDocument:
    path: str
    text: str


def _document_of(program: Program) -> LibraryDocument:
    return LibraryDocument(path=_PROGRAM_FILE, text=orjson.dumps(msgspec.to_builtins(program)).decode("utf-8"))


def _text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _documents(about: Mapping[str, Any], documents: Sequence[LibraryDocument], cursor: str | None) -> ToolReply:
    """From where the cursor stands, as much as one page of bytes holds. A cursor goes on in these very texts, and in no later ones."""
    purpose = f"inspect_workflow {about['part']} {_digest_of(documents)}"
    position = read_cursor(purpose=purpose, cursor=cursor)
    index, begin = (0, 0) if position is None else map(int, position.split(":"))
    pieces, following = cut_documents(documents, index=index, begin=begin, max_bytes=PAGE_BYTES)
    next_cursor = None if following is None else write_cursor(purpose=purpose, position=following)
    value = {**about, "files": pieces, "nextCursor": next_cursor}
    return ToolReply(text=_documents_text(about, pieces, next_cursor), value=value)


def _digest_of(documents: Sequence[LibraryDocument]) -> str:
    read = hashlib.sha256()
    for document in documents:
        read.update(f"{document.path}\n{len(document.text)}\n{document.text}".encode("utf-8", "surrogatepass"))
    return read.hexdigest()


def cut_documents(
    documents: Sequence[LibraryDocument], *, index: int, begin: int, max_bytes: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Pieces from character `begin` of document `index` on, and where the next page begins.

    JSON writes quotes and line ends in two bytes, so a piece is measured as it will be written.
    """
    pieces: list[dict[str, Any]] = []
    room = max_bytes
    for place in range(index, len(documents)):
        document = documents[place]
        start = begin if place == index else 0
        text = _fitting(document.text[start:], room)
        pieces.append({"path": document.path, "from": start, "characters": len(document.text), "text": text})
        if start + len(text) < len(document.text):
            return pieces, f"{place}:{start + len(text)}"
        room -= len(orjson.dumps(pieces[-1]))
        if room <= 0 and place + 1 < len(documents):
            return pieces, f"{place + 1}:0"
    return pieces, None


def _fitting(text: str, max_bytes: int) -> str:
    size = min(len(text), max_bytes)
    while size > 1 and len(orjson.dumps(text[:size])) > max_bytes:
        size = size * 3 // 4
    return text[: max(size, 1)]


def _documents_text(about: Mapping[str, Any], pieces: Sequence[Mapping[str, Any]], next_cursor: str | None) -> str:
    parts = [", ".join(f"{key} {value}" for key, value in about.items() if key != "problems")]
    parts += [f"{problem['message']} {problem['suggestion']}" for problem in about.get("problems", ())]
    for piece in pieces:
        whole = len(piece["text"]) == piece["characters"]
        where = "" if whole else f" (from character {piece['from']} of {piece['characters']})"
        parts.append(f"## {piece['path']}{where}\n{piece['text']}")
    if next_cursor is not None:
        parts.append(f"There is more. Call inspect_workflow with the same arguments and this cursor:\n{next_cursor}")
    return "\n\n".join(parts)
