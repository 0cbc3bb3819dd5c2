"""What the session tools tell of workflows, skills and resources, never more than a reply holds."""

from collections.abc import Sequence
from typing import Any

from sessions_app.services.moves.session_tokens import Held
from workflows_app.engine.activity_documents import overview_json
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.values import WorkflowValue
from workrail_site.dialects.activities.definitions import leading, summarized, whole_workflow
from workrail_site.dialects.activities.printing import fits, next_call
from workrail_site.dialects.activities.resources import ResourceReading
from workrail_site.dialects.activities.skills import ReadSkill, beginning

# What a list keeps of each description: as much as lets the whole list fit.
_DESCRIPTION_BYTES = (300, 120)


def entries_of(workflows: Sequence[WorkflowValue]) -> list[dict[str, Any]]:
    """Of very many the descriptions are shortened, and then left out."""
    for size in _DESCRIPTION_BYTES:
        told = [
            {**_entry(each), "description": fit_bytes(each.description, max_bytes=size), "tags": list(each.tags)}
            for each in workflows
        ]
        if fits(told):
            return told
    return [_entry(each) for each in workflows]


def _entry(workflow: WorkflowValue) -> dict[str, Any]:
    return {"id": workflow.workflow_id, "title": workflow.title, "version": workflow.version}


def workflow_json_of(held: Held, *, summary: bool) -> dict[str, Any]:
    if summary:
        return {**overview_json(held.program, with_modes=False), **leading(held)}
    beside = leading(held)
    whole = whole_workflow(held.program, room_for=beside)
    return {**(whole or summarized(held, with_modes=True, tool="next_activity")), **beside}


def skills_json(skills: list[ReadSkill], *, failed: list[str], held: Held) -> dict[str, Any]:
    """By id, as many as fit, with rules that several inherit once; the others are named as get_skill takes them."""
    told: dict[str, Any] = {}
    whole: list[ReadSkill] = []
    omitted: list[str] = []
    for skill in skills:
        document = beginning(skill, token=held.token, told=whole).bundled(within=held.program.id)
        if fits({**told, skill.id: document}):
            told[skill.id] = document
            whole += [skill] if "part" not in document else []
        else:
            omitted.append(skill.reference)
    said: dict[str, Any] = {"scope": "workflow", "skills": told}
    if failed:
        said["failed_skills"] = failed
    if omitted:
        following = next_call("get_skill", token=held.token, step_id=omitted[0])
        said |= {"omitted_skills": omitted, "next_action": following}
    return said


def resource_json(reading: ResourceReading, *, token: str) -> dict[str, Any]:
    said: dict[str, Any] = {
        "index": reading.asked,
        "id": reading.found.id,
        "version": reading.found.version,
        "content": reading.content,
    }
    if reading.parts > 1:
        said |= {"part": reading.part, "parts": reading.parts}
    if reading.next:
        said["next_action"] = next_call("get_resource", token=token, resource_index=reading.next)
    return said
