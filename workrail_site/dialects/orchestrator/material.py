"""What the orchestrator tools hand out as it was written: skills, activities and definitions as TOON, under a few lines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sessions_app.engine import stops
from sessions_app.engine.handover_refusals import CheckpointNotPendingError, refuse_complete
from sessions_app.services.moves.session_tokens import Held
from teams_app.engine.errors import InvalidInputError, NotFoundError
from workflows_app.engine.activity_documents import overview_json
from workflows_app.engine.toon_text import toon_text
from workrail_site.dialects.activities.definitions import leading, question_json, summarized, whole_workflow
from workrail_site.dialects.activities.printing import as_call, echoed, fits, headed, meta_of, next_call, tokened
from workrail_site.dialects.activities.resources import ResourceReading, part_in
from workrail_site.dialects.activities.skills import ReadSkill, Shelf, beginning, in_parts
from workrail_site.dialects.activities.speech import answer_of
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting

FENCE = "\n\n---\n\n"


def skill_reply(skill: ReadSkill, *, held: Held, warnings: Sequence[str]) -> ToolReply:
    headers = {"session_token": held.token, "resources": skill.indexes(within=held.program.id)}
    value = {"skill": skill.bundled(within=held.program.id)}
    return headed(skill.text, headers=headers, value=value, token=held.token, warnings=warnings)


def skills_reply(
    primary: ReadSkill | None, leading: tuple[list[ReadSkill], list[str]], *, held: Held, warnings: Sequence[str]
) -> ToolReply:
    """The one that leads the workflow, and as many as fit of the others that whoever leads it reads. One that its workflow names and
    nobody has is said to be missing.
    """
    others, missing = leading
    failed = [*([held.program.primary_skill] if primary is None and held.program.primary_skill else []), *missing]
    told: dict[str, Any] = {}
    whole: list[ReadSkill] = []
    texts: list[str] = []
    omitted: list[str] = []
    for skill in [*([] if primary is None else [primary]), *others]:
        first = beginning(skill, token=held.token, told=whole)
        document = first.bundled(within=held.program.id)
        if told and not (fits({**told, skill.id: document}) and fits([*texts, first.text])):
            omitted.append(skill.reference)
            continue
        told[skill.id] = document
        texts.append(first.text.strip())
        whole += [skill] if "part" not in document else []
    onward = next_call("get_skill", token=held.token, step_id=omitted[0]) if omitted else {}
    headers = {"scope": "workflow", "session_token": held.token, "failed_skills": ", ".join(failed)}
    headers |= {"omitted_skills": ", ".join(omitted), "next": as_call(onward) if onward else ""}
    value = {"scope": "workflow", "skills": told, **({"failed_skills": failed} if failed else {})}
    if omitted:
        value |= {"omitted_skills": omitted, "next_action": onward}
    text = f"---\n\n{FENCE.join(texts)}\n\n---" if texts else ""
    return headed(text, headers=headers, value=value, token=held.token, warnings=warnings)


def workflow_reply(skill: ReadSkill | None, *, held: Held, summary: bool, warnings: Sequence[str]) -> ToolReply:
    """First how to lead it, then what it is."""
    skill = None if skill is None else _beside(skill, held)
    said = None if summary else whole_workflow(held.program, room_for=None if skill is None else skill.document)
    if said is None:
        said = overview_json(held.program, with_modes=True)
        said = said if summary else summarized(held, with_modes=True, tool="get_activity")
    beside = echoed(token=held.token, warnings=warnings)
    value = {**said, **leading(held), **beside}
    text = toon_text(value)
    if skill is not None:
        text = f"{skill.text.strip()}{FENCE}{text}"
        value = {"primary_skill": skill.bundled(within=held.program.id), **value}
    return ToolReply(text=text, value=value, meta=meta_of(token=held.token, warnings=warnings))


def _beside(skill: ReadSkill, held: Held) -> ReadSkill:
    """The skill, or by which call it is read, where it leaves no room for what the workflow is."""
    overview = overview_json(held.program, with_modes=True)
    if fits([skill.document, overview]) and fits([skill.text, toon_text(overview)]):
        return skill
    onward = next_call("get_skills", token=held.token)
    text = f"[The primary skill {skill.id} is too long to stand here. Read it with get_skills before you begin.]"
    return replace(skill, document={"id": skill.id, "next_action": onward}, text=text)


def resource_reply(reading: ResourceReading, *, held: Held, warnings: Sequence[str]) -> ToolReply:
    found = reading.found
    onward = next_call("get_resource", token=held.token, resource_id=reading.next) if reading.next else {}
    headers = {
        "resource_id": reading.asked,
        "id": found.id,
        "version": found.version,
        "part": f"{reading.part} of {reading.parts}" if reading.parts > 1 else "",
        "next": as_call(onward) if onward else "",
        "session_token": held.token,
    }
    said: dict[str, Any] = {"id": found.id, "version": found.version, "content": reading.content}
    if reading.parts > 1:
        said |= {"part": reading.part, "parts": reading.parts}
    if onward:
        said["next_action"] = onward
    value = {"resource_id": reading.asked, **said}
    return headed(reading.content, headers=headers, value=value, token=held.token, warnings=warnings)


def skill_of(held: Held, step_id: str | None) -> ReadSkill:
    """Of the step, of the activity, or before the first one of the workflow."""
    shelf = Shelf(actor=acting(), program=held.program)
    asked = part_in(step_id or "")
    if "/" in asked.whole:
        return in_parts(shelf.require(asked.whole), asked, token=held.token)
    if held.activity is not None:
        skill = shelf.of_step(held.activity, asked.whole) if asked.whole else shelf.of_activity(held.activity)
        return in_parts(skill, asked, token=held.token)
    named = shelf.named(asked.whole) if asked.whole else None
    if named is not None:
        return in_parts(named, asked, token=held.token)
    if asked.whole:
        raise InvalidInputError(
            "Cannot provide step_id when no activity is active.",
            suggestion="Leave step_id out for the skill of the workflow, or call next_activity first.",
        )
    primary = shelf.primary()
    if primary is None:
        raise NotFoundError(
            f"Workflow '{held.program.id}' does not define a primary skill that can be read.",
            suggestion="Go on with get_workflow.",
        )
    return in_parts(primary, asked, token=held.token)


def presented(held: Held, *, warnings: Sequence[str]) -> ToolReply:
    """The open question; in this dialect there is one at most, and none in a run that a person has ended."""
    if held.snapshot.stop is not None and not held.pending:
        raise stops.refusal(held.snapshot.stop)
    refuse_complete(held.snapshot)
    if held.activity is None or not held.pending:
        raise CheckpointNotPendingError(
            "The session does not have an active checkpoint.",
            suggestion="If it was answered, the worker goes on with resume_checkpoint; else yield_checkpoint asks one.",
        )
    said = question_json(
        program=held.program, activity=held.activity, snapshot=held.snapshot, name=held.pending[0].checkpoint
    )
    return tokened({**said, "checkpoint_handle": held.token}, token=held.token, warnings=warnings)


def resumed(held: Held) -> ToolReply:
    message = "The checkpoint is resolved. Go on with the work, by the effect that the orchestrator handed to you."
    return tokened({"status": "resumed", "message": message, **answer_of(held.snapshot)}, token=held.token)
