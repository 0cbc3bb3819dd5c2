"""Replies of the navigation dialect: one JSON value; its text is that value, indented.

The order of the keys is part of the contract, and so is that `checkpoint` is null where none waits.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import orjson

from sessions_app.engine import landscape, stops
from sessions_app.engine.actions import Action, AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.checkpoints import shown_at
from sessions_app.engine.children import passed_on
from sessions_app.engine.decisions import Outcome, Warned, WarningCode
from sessions_app.engine.landscape import Landscape, Waiting
from sessions_app.engine.refusals import why_undirected
from sessions_app.engine.reply_facts import AwaitedRun, ReplyFacts
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import TokenKind
from sessions_app.engine.ways import Exit
from sessions_app.services.moves.speech import Speech, TokenPlace
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import walker
from workflows_app.engine.activities.references import readable_leading_skills
from workflows_app.engine.people import asks_person
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import Checkpoint, Effect, Loop, Parallel, Program, Step, Trigger
from workflows_app.engine.rounds import Round, in_words
from workrail_site.dialects.effects import effect_json
from workrail_site.dialects.questions import asked_of_persons
from workrail_site.dialects.tokens import NAVIGATION_TOKENS

TEMPLATE = 2
# The reserved name among the variables that a triggered workflow begins with: the state of the run that triggers it.
PARENT_STATE = "parent_state"
# Beside it stand variables, whose names may be any.
_PARENT = {PARENT_STATE: TokenKind.STATE}
_ONLY_PERSONS = "Answered by a signed-in person only, in the Studio. Then nav_situation tells where the run goes on."
_READ_ITS_OWN = (
    "To read what this run goes by, name its state with get_workflow_activity, get_skill, get_resource and the like."
)
_RETURNS = "; the run that triggered it goes on: call nav_situation with the state of that run"


def situation(facts: ReplyFacts) -> dict[str, Any]:
    """Where the run stands and what can be done. Of an action it is told what came of it, and of a refused one why.

    While the run waits for others that it triggered nothing can be done.
    """
    program, snapshot, state, refusal = facts.program, facts.snapshot, facts.tokens.state, facts.refusal
    if snapshot.is_handed_over:
        return _elsewhere(facts)
    land = landscape.shown(program=program, snapshot=snapshot)
    is_blocked = facts.action is not None and facts.outcome is Outcome.BLOCKED
    body: dict[str, Any] = {
        "success": refusal is None and not is_blocked,
        "position": _position(program, land),
        "message": _failed(refusal) if refusal else _message(facts) or _line(land, snapshot, facts.awaited),
        "availableActions": _offered(facts, land),
        "checkpoint": None if land.checkpoint is None else checkpoint_view(land.checkpoint),
        "state": state,
    }
    if refusal is not None:
        body["error"] = {"code": refusal.code, "message": refusal.message}
    if snapshot.blocked is not None:
        body["blockers"] = [blocker.as_json() for blocker in snapshot.blocked.blockers]
    if persons := _persons(snapshot):
        body["waitsForPerson"] = persons
    told = snapshot.answered or (facts.before.answered if facts.before else None)
    if told is not None:
        body["answered"] = told.as_json()
    if snapshot.stop is not None:
        body["stopped"] = snapshot.stop.as_json()
    if land.waiting is Waiting.NOTHING:
        body["complete"] = True
    if facts.before is not None and (effect := _effect_of(facts, facts.before)) is not None:
        body["effects"] = effect_json(effect, variables=_left_by(effect, program, facts.before))
    if facts.warnings:
        body["warnings"] = [_warned(warned) for warned in facts.warnings]
    return body | _leading(facts)


def _leading(facts: ReplyFacts) -> dict[str, Any]:
    """Whoever begins a run, or comes back to it, is told what those who lead the workflow read, and by which call the first of it."""
    names = readable_leading_skills(facts.program) if facts.action is None else ()
    if not names:
        return {}
    named = {"skill_id": names[0], "workflow_id": facts.program.id, "state": facts.tokens.state}
    first = {"tool": "get_skill", "parameters": named}
    return {"leadingSkills": {"ids": list(names), "next_action": first}}


def _elsewhere(facts: ReplyFacts) -> dict[str, Any]:
    """Of a run whose activities are handed over: where it stands, and that nothing here moves it."""
    program, snapshot, refusal = facts.program, facts.snapshot, facts.refusal
    activity, why = program.activity(snapshot.position.activity), why_undirected(snapshot)
    place = {} if activity is None else {"activity": {"id": activity.id, "name": activity.title or activity.id}}
    body: dict[str, Any] = {
        "success": refusal is None,
        "position": {"workflow": program.id, **place},
        "message": _failed(refusal) if refusal else _line_elsewhere(snapshot, why),
        "availableActions": {"required": [], "optional": [], "blocked": []},
        "checkpoint": None,
        "state": facts.tokens.state,
    }
    if refusal is not None:
        body["error"] = {"code": refusal.code, "message": refusal.message}
    if why is not None and not snapshot.is_complete and snapshot.stop is None:
        body["movedElsewhere"] = {"code": why.code, "message": why.message, "suggestion": why.suggestion}
    if persons := _persons(snapshot):
        body["waitsForPerson"] = persons
    if snapshot.stop is not None:
        body["stopped"] = snapshot.stop.as_json()
    if snapshot.is_complete:
        body["complete"] = True
    if facts.warnings:
        body["warnings"] = [_warned(warned) for warned in facts.warnings]
    return body


def _warned(warned: Warned) -> dict[str, str]:
    """Of a run that goes on with another program than the published one, how that is read."""
    if warned.code is not WarningCode.WORKFLOW_CHANGED:
        return warned.as_json()
    return {**warned.as_json(), "suggestion": _READ_ITS_OWN}


def _line_elsewhere(snapshot: Snapshot, why: WorkrailError | None) -> str:
    if snapshot.stop is not None:
        return stops.refusal(snapshot.stop).message
    return "The workflow is complete" if snapshot.is_complete or why is None else f"{why.message} {why.suggestion}"


def token_places(reply: dict[str, Any]) -> Iterator[TokenPlace]:
    """Beside the state of the run the same among the variables that triggered workflows are offered to begin with, and in the call that
    reads a skill.
    """
    yield reply, NAVIGATION_TOKENS
    if "leadingSkills" in reply:
        yield reply["leadingSkills"]["next_action"]["parameters"], NAVIGATION_TOKENS
    offered = (reply.get("availableActions") or {}).get("optional") or []
    yield from ((each["initial_variables"], _PARENT) for each in offered if "initial_variables" in each)


NAVIGATION = Speech(
    template=TEMPLATE, prints=frozenset(NAVIGATION_TOKENS.values()), say=situation, token_places=token_places
)


def pending_checkpoint(program: Program, snapshot: Snapshot) -> dict[str, Any]:
    """What `nav_checkpoint` tells: the question that waits, or the approval of a step, and where a person answers it if only they
    may.
    """
    if snapshot.is_handed_over:
        return _pending_elsewhere(snapshot)
    checkpoint = landscape.surveyed(program=program, snapshot=snapshot).checkpoint
    approval = None if snapshot.work is None else shown_at(program=program, snapshot=snapshot)
    if checkpoint is not None:
        view = checkpoint_view(checkpoint)
    elif approval is not None:
        options = [option.as_json() for option in approval.options]
        view = {"id": approval.checkpoint_id, "message": approval.message, "options": options}
    else:
        return {"active": False, "message": "No checkpoint waits for an answer."}
    persons = _persons(snapshot)
    only = {"message": _ONLY_PERSONS, "waitsForPerson": persons} if persons else {}
    return {"active": True, "checkpoint": view, **only}


def _pending_elsewhere(snapshot: Snapshot) -> dict[str, Any]:
    """Questions of activities that are handed over are asked and answered where the run is driven; people answer in the Studio."""
    persons = _persons(snapshot)
    said: dict[str, Any] = {"active": False, "message": _line_elsewhere(snapshot, why_undirected(snapshot))}
    return {**said, "waitsForPerson": persons} if persons else said


def _persons(snapshot: Snapshot) -> list[dict[str, str]]:
    return [{"checkpoint": name, "answerAt": address} for name, address in asked_of_persons(snapshot)]


def _message(facts: ReplyFacts) -> str:
    if facts.outcome is Outcome.STARTED:
        return _started(facts.program, facts.snapshot, returns=facts.returns)
    if facts.before is not None and facts.action is not None:
        return _acted(facts.before, facts.snapshot, facts.action, returns=facts.returns)
    return ""


def _started(program: Program, snapshot: Snapshot, *, returns: bool) -> str:
    ended = (
        f" There is nothing to do in it: it is complete{_RETURNS if returns else ''}."
        if snapshot.position.complete
        else ""
    )
    return f"Started workflow '{program.title}' at activity '{snapshot.position.activity}'{ended}"


def _acted(before: Snapshot, after: Snapshot, action: Action, *, returns: bool) -> str:
    """What the action has come to, that the run ended with it, and that the run which triggered it goes on."""
    if after.blocked is not None:
        return f"Not done: {' '.join(blocker.message for blocker in after.blocked.blockers)}"
    said = _done(before, after, action)
    return f"{said}; the workflow is complete{_RETURNS if returns else ''}" if after.position.complete else said


def _left_by(effect: Effect, program: Program, before: Snapshot) -> dict[str, Any]:
    scope = walker.scope_at(program=program, position=before.position, variables=before.variables)
    return walker.set_by_option(effect=effect, variables=scope)


def _effect_of(facts: ReplyFacts, before: Snapshot) -> Effect | None:
    """The effect of the option that was chosen."""
    if not isinstance(facts.action, RespondToCheckpoint):
        return None
    checkpoint = landscape.surveyed(program=facts.program, snapshot=before).checkpoint
    options = checkpoint.options if checkpoint else ()
    return next((option.effect for option in options if option.id == facts.action.option_id), None)


def checkpoint_view(checkpoint: Checkpoint) -> dict[str, Any]:
    options = [
        {"id": option.id, "label": option.label, **({"description": option.description} if option.description else {})}
        for option in checkpoint.options
    ]
    return {"id": checkpoint.id, "message": checkpoint.message, "options": options}


def render_text(reply: Mapping[str, Any]) -> str:
    return orjson.dumps(reply, option=orjson.OPT_INDENT_2).decode("utf-8")


def _failed(refusal: WorkrailError) -> str:
    hint = f" {refusal.suggestion}" if refusal.suggestion else ""
    return f"Action failed: {refusal.message}{hint}"


# Position


def _position(program: Program, land: Landscape) -> dict[str, Any]:
    activity = land.activity
    body: dict[str, Any] = {
        "workflow": program.id,
        "activity": {"id": activity.id, "name": activity.title or activity.id},
    }
    if land.step is not None:
        body["step"] = {"id": land.step.id, "index": _index(land, land.step), "name": land.step.title}
    if land.rounds:
        body["loop"] = _round_json(land.rounds)
    return body


def _index(land: Landscape, step: Step | Parallel) -> int:
    body = land.round.loop.body if land.round else land.activity.body
    steps = [item.id for item in body if isinstance(item, Step | Parallel)]
    return steps.index(step.id) + 1


def _round_json(rounds: Sequence[Round]) -> dict[str, Any]:
    """The innermost, within those around it."""
    *around, at = rounds
    body: dict[str, Any] = {"id": at.loop.id, "name": at.loop.title or at.loop.id, "iteration": at.iteration}
    body["atMost"] = at.loop.max_iterations
    if at.total is not None:
        body["total"] = at.total
    if at.item is not None:
        body["item"] = in_words(at.item)
    return {**body, "within": _round_json(around)} if around else body


def _line(land: Landscape, snapshot: Snapshot, awaited: Sequence[AwaitedRun]) -> str:
    """The situation in one line."""
    if snapshot.stop is not None:
        return f"Activity: {land.activity.title or land.activity.id} | {stops.refusal(snapshot.stop).message}"
    if land.waiting is Waiting.NOTHING:
        return f"Activity: {land.activity.title} | The workflow is complete"
    parts = [f"Activity: {land.activity.title or land.activity.id}"]
    if land.step is not None:
        parts.append(f"Step {_index(land, land.step)}: {land.step.title}")
    if land.round is not None:
        of = "" if land.round.total is None else f" of {land.round.total}"
        parts.append(f"Loop: {land.round.loop.title} (iteration {land.round.iteration}{of})")
    if land.checkpoint is not None:
        parts.append(f"Checkpoint: {land.checkpoint.message}")
    if awaited:
        parts.append(f"Waits for: {', '.join(each.workflow for each in awaited)}")
    return " | ".join(parts)


# What can be done


def _offered(facts: ReplyFacts, land: Landscape) -> dict[str, list[dict[str, Any]]]:
    """Nothing where nothing would be accepted."""
    if facts.snapshot.stop is not None or land.waiting is Waiting.NOTHING:
        return {"required": [], "optional": [], "blocked": []}
    if facts.awaited:
        return _suspended(facts.awaited)
    return _available(facts.program, facts.snapshot, land, facts.tokens.state)


def _available(program: Program, snapshot: Snapshot, land: Landscape, state: str) -> dict[str, list[dict[str, Any]]]:
    if land.checkpoint is not None:
        return _at_checkpoint(land.checkpoint)
    waits = snapshot.work is not None
    required, optional = ([], []) if waits else _steps(land)
    turns, leaves = _loops(land)
    ways = [_way(way) for way in land.ways if way.is_open]
    holding = [way for way in ways if way["holds"]]
    return {
        "required": [*required, *turns, *holding],
        "optional": [
            *optional,
            *leaves,
            *(way for way in ways if not way["holds"]),
            *_triggers(program, snapshot, land, state),
            *([{"action": "get_resource"}] if program.resources else []),
        ],
        "blocked": [
            *(_for_persons(land) if waits else ()),
            *_spent_loop(land),
            *(_blocked_way(way) for way in land.ways if not way.is_open),
        ],
    }


def _suspended(awaited: Sequence[AwaitedRun]) -> dict[str, list[dict[str, Any]]]:
    reason = "The run waits for this one, which its activity triggered. Complete it: go on with its state."
    waits = [
        {"action": "nav_situation", "workflow": each.workflow, "state": each.state, "reason": reason}
        for each in awaited
    ]
    return {"required": [], "optional": [], "blocked": waits}


def _at_checkpoint(checkpoint: Checkpoint) -> dict[str, list[dict[str, Any]]]:
    answer = {"action": "respond_to_checkpoint", "checkpoint": checkpoint.id}
    waits = {"action": "complete_step", "reason": f"Checkpoint {checkpoint.id} waits for an answer."}
    if checkpoint.human:
        only = {**answer, "reason": "Answered by a signed-in person only, in the Studio."}
        return {"required": [], "optional": [], "blocked": [only, waits]}
    return {"required": [{**answer, "description": checkpoint.message}], "optional": [], "blocked": [waits]}


def _steps(land: Landscape) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The step at hand must be done; the others may be."""
    required: list[dict[str, Any]] = []
    optional: list[dict[str, Any]] = []
    for step in land.may_do:
        must = land.step is not None and step.id == land.step.id and not _is_optional(land, step)
        said = {"action": "complete_step", "step": step.id, "name": step.title}
        approved = {"approval": "A signed-in person approves what you hand in."} if step.id in land.needs_person else {}
        (required if must else optional).append(said | approved)
    return required, optional


def _is_optional(land: Landscape, step: Step | Parallel) -> bool:
    return isinstance(step, Step) and not step.required and not asks_person(land.activity, step)


def _loops(land: Landscape) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    loop = land.loop
    if loop is None:
        return [], []
    turns = [_turn(land, loop)] if land.may_turn_loop else []
    leave = {"action": "complete_step", "step": loop.id, "name": f"Leave the loop: {loop.title or loop.id}"}
    leaves = [leave] if land.may_leave_loop else []
    # Beyond its limit a loop can only be left.
    return (turns, leaves) if turns else (leaves, [])


def _spent_loop(land: Landscape) -> list[dict[str, Any]]:
    """The loop that can be neither turned nor left as things stand."""
    loop, failure = land.loop, land.turn_failure
    if loop is None or failure is None or land.may_leave_loop:
        return []
    reason = f"{failure.message} {landscape.how_to_leave(loop, failure)}"
    return [{"action": "advance_loop", "loop": loop.id, "name": loop.title or loop.id, "reason": reason}]


def _turn(land: Landscape, loop: Loop) -> dict[str, Any]:
    said: dict[str, Any] = {"action": "advance_loop", "loop": loop.id, "name": loop.title or loop.id}
    if land.needs_items:
        said["needs"] = ["loop_items"]
    return said


def _way(way: Exit) -> dict[str, Any]:
    said: dict[str, Any] = {"action": "transition", "activity": way.target}
    if way.condition:
        said["condition"] = way.condition
    return said | {"holds": way.holds}


def _blocked_way(way: Exit) -> dict[str, Any]:
    return _way(way) | {"reason": way.why_closed}


def _for_persons(land: Landscape) -> list[dict[str, Any]]:
    reason = "Waits for a signed-in person, who approves in the Studio what you handed in."
    return [
        {"action": "complete_step", "step": step.id, "reason": reason}
        for step in land.may_do
        if step.id in land.needs_person
    ]


def _triggers(program: Program, snapshot: Snapshot, land: Landscape, state: str) -> list[dict[str, Any]]:
    """Workflows that the activity or the step at hand starts; each is a run of its own, begun with `nav_start`."""
    own = land.step.triggers if isinstance(land.step, Step) else ()
    triggers = (*land.activity.triggers, *own)
    filling = Filling(walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables))
    return [
        _trigger(trigger, passed_on(trigger, program=program, parent=snapshot), state, filling) for trigger in triggers
    ]


def _trigger(trigger: Trigger, given: dict[str, Any], state: str, filling: Filling) -> dict[str, Any]:
    """Begun with these variables it knows what it is given, and this run waits for it."""
    said: dict[str, Any] = {"action": "nav_start", "workflow": trigger.workflow}
    if trigger.description:
        said["description"] = filling.render(trigger.description)
    if trigger.pass_context:
        said |= {"passContext": list(trigger.pass_context), "known": list(given)}
    return said | {"initial_variables": {**given, PARENT_STATE: state}}


# What was done


def _done(before: Snapshot, after: Snapshot, action: Action) -> str:
    match action:
        case CompleteStep():
            return f"Completed step '{action.step_id}'"
        case RespondToCheckpoint():
            return f"Responded to checkpoint '{action.checkpoint_id}' with '{action.option_id}'{_moved(before, after)}"
        case TakeTransition():
            arrived = after.position.activity
            passed = "" if arrived == action.activity_id else f", which is passed over: now at '{arrived}'"
            return f"Transitioned to activity '{action.activity_id}'{'' if after.position.complete else passed}"
        case AdvanceLoop():
            return _turned(before, after, action.loop_id)
        case _:
            assert_never(action)


def _moved(before: Snapshot, after: Snapshot) -> str:
    entered = after.position.visits != before.position.visits
    return f" and entered activity '{after.position.activity}'" if entered else ""


def _turned(before: Snapshot, after: Snapshot, loop_id: str) -> str:
    inside = {frame.loop for frame in before.position.frames}
    frame = next((frame for frame in after.position.frames if frame.loop == loop_id), None)
    if frame is None:
        return f"Finished loop '{loop_id}'"
    return (
        f"Advanced loop '{loop_id}' to iteration {frame.iteration + 1}"
        if loop_id in inside
        else f"Started loop '{loop_id}'"
    )
