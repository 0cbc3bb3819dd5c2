"""What the navigation tools tell of definitions: workflows, their activities, checkpoints and transitions."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from sessions_app.engine.ways import valid_targets
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.references import SkillNames
from workflows_app.engine.activity_documents import activity_json, checkpoint_json, workflow_json, workflow_summary
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Family, Program
from workflows_app.engine.walker import TERMINAL_TARGETS
from workflows_app.selectors.catalog import count_published, list_published, read_published
from workrail_site.dialects.activities.resources import Asked, part_in
from workrail_site.dialects.navigation.library import RunLibrary
from workrail_site.dialects.navigation.printing import is_long, listed, told
from workrail_site.mcp.answers import MAX_REPLY_BYTES, ToolReply, as_many_as_fit
from workrail_site.mcp.calling import acting

SERVER = "workrail-navigation"
VERSION = "1"
# What a list keeps of each description, and of all of them together.
_DESCRIPTION_BYTES, _DESCRIPTIONS_BYTES = 300, 24_000
_PROBLEM_BYTES = 120
# What is told of the work of an activity, where it comes in parts, and the room for it beside what each part says of itself.
_WORK = ("steps", "loops")
_ROOM = MAX_REPLY_BYTES - 4 * 1024
_began = time.monotonic()


def workflows() -> ToolReply:
    actor = acting()
    found = list_published(actor=actor)
    room = min(_DESCRIPTION_BYTES, _DESCRIPTIONS_BYTES // max(1, len(found)))
    entries = [
        {
            "id": each.workflow_id,
            "title": each.title,
            "version": each.version,
            "description": fit_bytes(each.description, max_bytes=room),
        }
        for each in found
    ]
    return listed("workflows", entries, omitted=count_published(actor=actor) - len(found))


def workflow(workflow_id: str, *, library: RunLibrary) -> ToolReply:
    """Whole where it fits into a reply; else with its activities by name, each to be read by itself."""
    program = library.program(workflow_id)
    whole = told(workflow_json(program))
    if not is_long(whole):
        return whole
    first = {"workflow_id": workflow_id, "activity_id": _first_activity(program), **library.named}
    hint = {"tool": "get_workflow_activity", "parameters": first}
    return told({**workflow_summary(program), "summarized": True, "next_action": hint})


def _first_activity(program: Program) -> str:
    first = program.activity(program.initial_activity) or next(iter(program.activities), None)
    return first.id if first is not None else program.initial_activity


def activity_of(workflow_id: str, activity_id: str, *, library: RunLibrary) -> ToolReply:
    program = library.program(workflow_id)
    asked = part_in(activity_id)
    said = activity_json(program, _activity(program, asked.whole))
    return _in_parts(said, asked, tool="get_workflow_activity", beside={"workflow_id": workflow_id, **library.named})


def _in_parts(said: Mapping[str, Any], asked: Asked, *, tool: str, beside: Mapping[str, str]) -> ToolReply:
    """An activity whole where it fits into a reply; else its steps and loops in parts, the first of which has what else it says. What
    is to be done next is said with the last.
    """
    whole = told(said)
    parts = _parts_of(said) if is_long(whole) else [said]
    number = asked.number_among(parts)
    if len(parts) == 1:
        return whole
    onward = {"tool": tool, "parameters": {**beside, "activity_id": asked.after(number, parts)}}
    following = onward if number < len(parts) else said.get("next_action")
    this = {**parts[number - 1], "part": number, "parts": len(parts)}
    return told(this if following is None else {**this, "next_action": following})


def _parts_of(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of whole steps and loops as many as fit, in their order; what is longer than a reply stands alone."""
    parts: list[dict[str, Any]] = [{key: value for key, value in said.items() if key not in (*_WORK, "next_action")}]
    size = len(orjson.dumps(parts[0]))
    for key in _WORK:
        for item in said.get(key, ()):
            taken = len(orjson.dumps(item)) + 1
            if size and size + taken > _ROOM:
                parts.append({"id": said["id"], "name": said["name"]})
                size = 0
            parts[-1].setdefault(key, []).append(item)
            size += taken
    return parts


def checkpoint_of(workflow_id: str, activity_id: str, checkpoint_id: str, *, library: RunLibrary) -> ToolReply:
    activity = _activity(library.program(workflow_id), activity_id)
    known = {checkpoint.id: checkpoint for checkpoint in activity.checkpoints}
    if checkpoint_id not in known:
        raise NotFoundError(
            f"Checkpoint not found: {checkpoint_id}",
            suggestion=did_you_mean(checkpoint_id, known) or "Call get_workflow_activity for the checkpoints.",
        )
    return told(checkpoint_json(known[checkpoint_id]))


def transition(workflow_id: str, from_activity: str, to_activity: str, *, library: RunLibrary) -> ToolReply:
    """Whether the definition knows the way. Whether it is open in a run, its state decides."""
    program = library.program(workflow_id)
    source = program.activity(from_activity)
    if source is None:
        return told({"valid": False, "reason": f"Source activity not found: {from_activity}"})
    if program.activity(to_activity) is None and to_activity not in TERMINAL_TARGETS:
        return told({"valid": False, "reason": f"Target activity not found: {to_activity}"})
    targets = valid_targets(program, source)
    if to_activity in targets:
        return told({"valid": True})
    return told({"valid": False, "reason": f"No valid transition. Valid: {', '.join(targets) or 'none'}"})


def health() -> ToolReply:
    return told(
        {
            "status": "healthy",
            "server": SERVER,
            "version": VERSION,
            "workflows_available": count_published(actor=acting()),
            "uptime_seconds": int(time.monotonic() - _began),
        }
    )


# Activities of all workflows


def activities() -> ToolReply:
    """Where an agent begins: every activity of every activity workflow, and the words by which it is recognised. Of very many the
    problems are told in short.
    """
    found = [(program, activity) for program in guides() for activity in program.activities]
    whole = _index(found, problem_bytes=None)
    return as_many_as_fit(found, partial(_index, problem_bytes=_PROBLEM_BYTES)) if is_long(whole) else whole


def _index(found: Sequence[tuple[Program, Activity]], *, problem_bytes: int | None) -> ToolReply:
    quick: dict[str, str] = {}
    for _program, activity in found:
        quick |= {words.lower(): activity.id for words in activity.recognition}
    return told(
        {
            "description": "Goals that a user may have, each with the skill that leads through it.",
            "usage": "Match the user's words against quick_match or the problems, then load the primary skill.",
            "next_action": {"tool": "get_rules", "parameters": {}},
            "activities": [_entry(program, activity, problem_bytes) for program, activity in found],
            "quick_match": quick,
        }
    )


def activity(activity_id: str) -> ToolReply:
    """The first of that name: the workflows are asked in the order of their ids."""
    asked = part_in(activity_id)
    for program in guides():
        found = program.activity(asked.whole)
        if found is not None:
            said = {**activity_json(program, found), "workflowId": program.id, "next_action": _next(program, found)}
            return _in_parts(said, asked, tool="get_activity", beside={})
    known = [activity.id for program in guides() for activity in program.activities]
    raise NotFoundError(
        f"Activity not found: {activity_id}",
        suggestion=did_you_mean(activity_id, known) or "Call get_activities for the index.",
    )


def guides() -> tuple[Program, ...]:
    """The activity workflows. A workflow of steps has a single nameless activity, which nobody looks for."""
    actor = acting()
    return tuple(
        read_published(actor=actor, workflow_id=each.workflow_id)
        for each in list_published(actor=actor)
        if each.family is Family.ACTIVITIES
    )


def _entry(program: Program, activity: Activity, problem_bytes: int | None) -> dict[str, Any]:
    problem = activity.problem or activity.description or activity.title
    return {
        "id": activity.id,
        "workflowId": program.id,
        "problem": problem if problem_bytes is None else fit_bytes(problem, max_bytes=problem_bytes),
        "primary_skill": _primary_skill(program, activity) or program.primary_skill,
        "next_action": _next(program, activity, fallback=program.primary_skill),
    }


def _next(program: Program, activity: Activity, *, fallback: str = "") -> dict[str, Any]:
    """The skill as this workflow reads it: another one may have a skill of the same name."""
    skill = _primary_skill(program, activity) or fallback
    if not skill:
        return {"tool": "get_skills", "parameters": {}}
    return {"tool": "get_skill", "parameters": {"skill_id": skill, "workflow_id": program.id}}


def _primary_skill(program: Program, activity: Activity) -> str:
    return SkillNames(program).read_as(activity.primary_skill, home=activity.borrowed_from)


def _activity(program: Program, activity_id: str) -> Activity:
    found = program.activity(activity_id)
    if found is None:
        raise NotFoundError(
            f"Activity not found: {activity_id}",
            suggestion=did_you_mean(activity_id, [known.id for known in program.activities]) or "Call get_workflow.",
        )
    return found
