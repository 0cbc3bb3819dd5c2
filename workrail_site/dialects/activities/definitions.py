"""Definitions as they are printed: whole where they fit into a reply, else with the call that tells the rest."""

from collections.abc import Mapping
from typing import Any

from sessions_app.engine.checkpoints import Authority, shown_at
from sessions_app.engine.handover import stays
from sessions_app.engine.questions import checkpoint_named, unknown_checkpoint
from sessions_app.engine.state import Snapshot
from sessions_app.engine.ways import ways_from
from sessions_app.services.moves.session_tokens import Held
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.references import leading_skills
from workflows_app.engine.activity_documents import (
    activity_json,
    checkpoint_json,
    overview_json,
    shortened,
    workflow_json,
)
from workflows_app.engine.filled import filled
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Parallel, Program, Step, walk_items
from workflows_app.engine.walker import end_name
from workrail_site.dialects.activities.printing import fits, next_call
from workrail_site.dialects.questions import asked_of_persons

# What a step of a very long activity keeps of its words: as much as fits.
_SHORTER_BYTES = (4_000, 1_500, 500, 150)


def whole_workflow(program: Program, *, room_for: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """None when it is too long for a reply with what else stands in it."""
    said = workflow_json(program)
    return said if fits({**said, "beside": room_for}) else None


def summarized(held: Held, *, with_modes: bool, tool: str) -> dict[str, Any]:
    """In place of a definition that is too long. `tool` tells the activity at hand by itself."""
    said = {**overview_json(held.program, with_modes=with_modes), "summarized": True}
    following = _telling_activity(held, tool)
    why = "The whole definition is longer than a reply. Each activity is told when it is entered."
    return {**said, "next_action": {**following, "reason": why}} if following else said


def _telling_activity(held: Held, tool: str) -> dict[str, Any]:
    """The call that tells the first activity, or that at hand; empty where none does without moving the run."""
    program, activity = held.program, held.activity
    if activity is None:
        return next_call("next_activity", token=held.token, activity_id=program.initial_activity)
    if held.snapshot.position.complete:
        return {}
    if tool != "next_activity":
        return next_call(tool, token=held.token)
    is_told = stays(program=program, snapshot=held.snapshot, activity_id=activity.id)
    return next_call(tool, token=held.token, activity_id=activity.id) if is_told else {}


def leading(held: Held) -> dict[str, Any]:
    """What whoever leads the workflow is to read beside its primary skill, and by which call."""
    names = leading_skills(held.program)
    if not names:
        return {}
    return {"leading_skills": {"ids": list(names), "next_action": next_call("get_skills", token=held.token)}}


def whole_activity(program: Program, activity: Activity, *, token: str) -> dict[str, Any]:
    """One that is too long for a reply has its steps shortened, and says by which call the first is told in full, as each is."""
    said, ending = activity_json(program, activity), _ending(program, activity, token)
    if fits(said):
        return {**said, **ending}
    first = next((item.id for item in walk_items(activity.body) if isinstance(item, Step | Parallel)), "")
    reason = "The steps are told in short here, and each in full by its id."
    hint = {**next_call("get_skill", token=token, step_id=first), "reason": reason}
    beside = {"summarized": True, **({"next_action": hint} if first else {})}
    shorter = ({**shortened(said, text_bytes=size), **beside} for size in _SHORTER_BYTES)
    return {**next((one for one in shorter if fits(one)), {"id": activity.id, **beside}), **ending}


def is_shortened(program: Program, activity: Activity) -> bool:
    return not fits(activity_json(program, activity))


def _ending(program: Program, activity: Activity, token: str) -> dict[str, Any]:
    """An activity without a way out is the last one, and only whoever did it knows when it is done."""
    if ways_from(activity):
        return {}
    return {"when_done": next_call("next_activity", token=token, activity_id=end_name(program))}


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
