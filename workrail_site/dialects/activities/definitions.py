"""Definitions as they are printed: whole where they fit into a reply, else with the call that tells the rest."""

from collections.abc import Mapping
from typing import Any

from sessions_app.engine.checkpoints import Authority, shown_at
from sessions_app.engine.questions import checkpoint_named, unknown_checkpoint
from sessions_app.engine.state import Snapshot
from sessions_app.engine.ways import ways_from
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activity_documents import (
    activity_json,
    checkpoint_json,
    overview_json,
    shortened,
    workflow_json,
)
from workflows_app.engine.filled import filled
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Program
from workflows_app.engine.walker import end_name
from workrail_site.dialects.activities.printing import fits
from workrail_site.dialects.questions import asked_of_persons

# What a step of a very long activity keeps of its words: as much as fits.
_SHORTER_BYTES = (4_000, 1_500, 500, 150)


def whole_workflow(program: Program, *, room_for: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """None when it is too long for a reply with what else stands in it."""
    said = workflow_json(program)
    return said if fits({**said, "beside": room_for}) else None


def summarized(program: Program, *, with_modes: bool, tool: str) -> dict[str, Any]:
    """In place of a definition that is too long. `tool` tells each activity by itself."""
    hint = {
        "tool": tool,
        "reason": "The whole definition is longer than a reply. Each activity is told when it is entered.",
    }
    return {**overview_json(program, with_modes=with_modes), "summarized": True, "next_action": hint}


def whole_activity(program: Program, activity: Activity) -> dict[str, Any]:
    """One that is too long for a reply has its steps shortened, and says by which call each is told in full."""
    said = _definition(program, activity)
    if fits(said):
        return said
    hint = {"tool": "get_skill", "parameters": {"step_id": "<a step of this activity>"}}
    shorter = ({**shortened(said, text_bytes=size), "summarized": True, "next_action": hint} for size in _SHORTER_BYTES)
    return next((one for one in shorter if fits(one)), {"id": activity.id, "summarized": True, "next_action": hint})


def is_shortened(program: Program, activity: Activity) -> bool:
    return not fits(_definition(program, activity))


def _definition(program: Program, activity: Activity) -> dict[str, Any]:
    return {**activity_json(program, activity), **_ending(program, activity)}


def _ending(program: Program, activity: Activity) -> dict[str, Any]:
    """An activity without a way out is the last one, and only whoever did it knows when it is done."""
    if ways_from(activity):
        return {}
    return {"when_done": {"tool": "next_activity", "parameters": {"activity_id": end_name(program)}}}


def activity_of(program: Program, activity_id: str) -> Activity:
    found = program.activity(activity_id)
    if found is None:
        known = [activity.id for activity in program.activities]
        raise NotFoundError(
            f"Activity not found: {activity_id[:80]}",
            suggestion=did_you_mean(activity_id, known) or f"{program.id} has: {', '.join(known)}.",
        )
    return found


def question_json(*, program: Program, activity: Activity, snapshot: Snapshot, name: str) -> dict[str, Any]:
    """A checkpoint with the values of the run in its message, and the effects that its options have; or the approval of the
    step whose work waits for a person. Where only a person answers an open one, it has the address at which they do.
    """
    said = _question_json(program=program, activity=activity, snapshot=snapshot, name=name)
    address = dict(asked_of_persons(snapshot)).get(said["id"])
    return said if address is None else {**said, "answer_at": address}


def _question_json(*, program: Program, activity: Activity, snapshot: Snapshot, name: str) -> dict[str, Any]:
    checkpoint = checkpoint_named(activity, name)
    if checkpoint is not None:
        return checkpoint_json(filled(checkpoint, variables=snapshot.variables))
    approval = shown_at(program=program, snapshot=snapshot) if snapshot.work is not None else None
    if approval is None or approval.checkpoint_id != name:
        raise unknown_checkpoint(program, activity, snapshot, name)
    return {
        "id": approval.checkpoint_id,
        "name": approval.title,
        "message": approval.message,
        "required": True,
        "blocking": True,
        "options": [option.as_json() for option in approval.options],
        "human": approval.authority is Authority.HUMAN,
    }
