"""Replies of the rail dialect: one JSON value, which is recorded and replayed. `wording` draws the text that an agent reads."""

from collections.abc import Iterator
from typing import Any, assert_never

from sessions_app.engine.approvals import ANSWER_KIND
from sessions_app.engine.decisions import Outcome, WarningCode
from sessions_app.engine.handing_in import form_of
from sessions_app.engine.prompts import Pending, Question, pending_of, what_holds_at
from sessions_app.engine.refusals import why_undirected
from sessions_app.engine.reply_facts import Branching, NotedFacts, Recap, RecapEntry, ReplyFacts, ResumeFacts
from sessions_app.engine.runs import NextIntent, StopKind
from sessions_app.engine.state import Blocked, Snapshot
from sessions_app.engine.submissions import MEMORY_PLACEHOLDER
from sessions_app.services.moves.speech import Speech, TokenPlace
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import walker
from workflows_app.engine.activities.references import readable_leading_skills
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import Reference
from workrail_site.dialects.questions import asked_of_persons
from workrail_site.dialects.rail import resuming
from workrail_site.dialects.rail.wording import RECAP_POLICY, TEMPLATE
from workrail_site.dialects.tokens import RAIL_TOKENS


def said(facts: ReplyFacts | NotedFacts | ResumeFacts) -> dict[str, Any]:
    match facts:
        case ReplyFacts():
            return reply_json(facts, pending_of(program=facts.program, snapshot=facts.snapshot))
        case NotedFacts():
            return _noted_json(facts)
        case ResumeFacts():
            return resuming.reply_json(facts)
        case _:
            assert_never(facts)


def token_places(reply: dict[str, Any]) -> Iterator[TokenPlace]:
    """Only tokens in their own places are touched: what stands in a text may have been written by anyone."""
    yield reply, RAIL_TOKENS
    yield (reply.get("nextCall") or {}).get("params") or {}, RAIL_TOKENS


RAIL = Speech(template=TEMPLATE, prints=frozenset(RAIL_TOKENS.values()), say=said, token_places=token_places)


def next_intent(facts: ReplyFacts, pending: Pending | None) -> NextIntent:
    if facts.snapshot.is_complete:
        return NextIntent.COMPLETE
    if facts.outcome is None:
        return NextIntent.REHYDRATE_ONLY
    if pending is not None and pending.require_confirmation and facts.snapshot.blocked is None:
        return NextIntent.AWAIT_USER_CONFIRMATION
    return NextIntent.PERFORM_PENDING_THEN_CONTINUE


def reply_json(facts: ReplyFacts, pending: Pending | None) -> dict[str, Any]:
    program, snapshot, tokens = facts.program, facts.snapshot, facts.tokens
    starts = facts.outcome is Outcome.STARTED
    # What holds throughout is told at the beginning, and to whoever asks where the run stands; an agent that goes on has it.
    anew = starts or facts.outcome is None
    body: dict[str, Any] = {
        "kind": "blocked" if snapshot.blocked is not None else "ok",
        "stateToken": tokens.state,
        "pending": _pending_json(facts, pending, anew=anew) if pending else None,
        "isComplete": snapshot.is_complete,
        "session": {
            "sessionId": to_text(Prefix.SESSION, facts.session_id),
            "runId": to_text(Prefix.RUN, facts.run_id),
        },
        "preferences": snapshot.preferences.as_json(),
        "nextIntent": next_intent(facts, pending).value,
        "nextCall": _next_call(facts, pending),
        "warnings": [warned.as_json() for warned in facts.warnings],
        "workflow": {"id": facts.workflow_id, "title": program.title, "workflowHash": facts.workflow_hash},
    }
    optional: dict[str, Any] = {
        "ackToken": tokens.ack,
        "checkpointToken": tokens.checkpoint,
        "recorded": facts.outcome is Outcome.BOOKMARKED,
        "goal": facts.goal if anew else "",
        "waitsForPerson": [{"checkpointId": name, "answerAt": address} for name, address in asked_of_persons(snapshot)],
        "stopped": snapshot.stop.as_json() if snapshot.stop else None,
        "movedElsewhere": _undirected_json(snapshot),
        "answered": snapshot.answered.as_json() if snapshot.answered else None,
        "recap": _recap_json(facts.recap) if facts.recap else None,
        "branch": _branch_json(facts.branching) if facts.branching else None,
        "stepContext": dict(facts.step_context) if facts.step_context else None,
    }
    if starts or facts.recap:
        optional |= _declared_json(facts, starts=starts)
    body |= {key: value for key, value in optional.items() if value}
    return body | _blocked_json(snapshot.blocked)


def _pending_json(facts: ReplyFacts, pending: Pending, *, anew: bool) -> dict[str, Any]:
    """Of a step that is only not done yet, what names it and what is asked of people; the rest was told with its tokens."""
    whole = pending_json(pending, _place_of_skills(facts))
    if facts.snapshot.blocked is not None and not anew:
        return {"toldBefore": True, **{name: said for name, said in whole.items() if name in _NAMES_OF_A_STEP}}
    if not anew and whole.pop("workflowGuidance", None) and pending.question is None:
        whole["workflowGuidanceStands"] = True
    if anew and (leading := _leading(facts)):
        whole["workflowGuidance"] = [*whole.get("workflowGuidance", ()), leading]
    if (anew or _is_another_visit(facts)) and (holds := _holding(facts)):
        whole["activityGuidance"] = holds
    return whole


def _is_another_visit(facts: ReplyFacts) -> bool:
    """What holds in an activity is told with the first that is to be done there."""
    if facts.before is None:
        return False
    before, now = facts.before.position, facts.snapshot.position
    return (before.activity, before.visit) != (now.activity, now.visit)


def _holding(facts: ReplyFacts) -> list[str]:
    read = f"Read one with inspect_workflow: {_place_of_skills(facts)}, and its name as skill."
    return what_holds_at(program=facts.program, snapshot=facts.snapshot, how_to_read=read)


def _leading(facts: ReplyFacts) -> str:
    names = readable_leading_skills(facts.program)
    read = f"Read one with inspect_workflow: {_place_of_skills(facts)}, and its name as skill."
    return f"Skills of whoever leads this workflow: {', '.join(names)}. {read}" if names else ""


def _place_of_skills(facts: ReplyFacts) -> str:
    """Of a run that goes on with another program than the one that is published, that program is named."""
    is_other = any(warned.code is WarningCode.WORKFLOW_CHANGED for warned in facts.warnings)
    pinned = f", workflowHash {facts.workflow_hash}" if is_other else ""
    return f"workflowId {facts.program.id}{pinned}, part skill"


_NAMES_OF_A_STEP = frozenset(
    {"stepId", "stepKey", "title", "requireConfirmation", "confirmedBy", "activityId", "loop", "checkpoint"}
)


def pending_json(pending: Pending, place_of_skills: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "stepId": pending.step_id,
        "title": pending.title,
        "prompt": _prompt(pending, place_of_skills),
        "requireConfirmation": pending.require_confirmation,
    }
    optional: dict[str, Any] = {
        "stepKey": pending.key if pending.key != pending.step_id else "",
        "agentRole": pending.agent_role,
        "guidance": list(pending.guidance),
        "workflowGuidance": list(pending.workflow_guidance),
        "outputRequirements": list(pending.requirements),
        "functions": [{"name": each.name, "definition": each.definition} for each in pending.functions],
        "confirmedBy": pending.confirmed_by,
        "askForFiles": pending.ask_for_files,
        "modelTier": pending.model_tier,
        "activityId": pending.activity,
        "loop": pending.loop,
        "checkpoint": _question_json(pending.question) if pending.question else None,
    }
    return body | {key: value for key, value in optional.items() if value}


def _prompt(pending: Pending, place_of_skills: str) -> str:
    """With the calls that it leads to."""
    if pending.question is not None:
        return f"{pending.prompt}\n\n{_how_to_answer(pending.question)}"
    if pending.skill:
        read = f"Read the skill with inspect_workflow: {place_of_skills}, skill {pending.skill}."
        return f"{pending.prompt}\n\n{read}" if pending.prompt else read
    return pending.prompt


def _how_to_answer(question: Question) -> str:
    if question.human:
        return "Only a signed-in person can answer this, in the Studio. Tell your user that it waits, then acknowledge."
    return (
        "Show this question to your user word for word and wait for the answer. Then acknowledge with an artifact "
        f'{{"kind": "{ANSWER_KIND}", "checkpointId": "{question.checkpoint_id}", "optionId": "<the option chosen>"}}. '
        "Do not answer it yourself."
    )


def _question_json(question: Question) -> dict[str, Any]:
    return {
        "checkpointId": question.checkpoint_id,
        "message": question.message,
        "options": [{"id": id_, "label": label, "description": text} for id_, label, text in question.options],
        "authority": "human" if question.human else "relayed",
    }


def _recap_json(recap: Recap) -> dict[str, Any]:
    body: dict[str, Any] = {
        "entries": [_entry_json(entry) for entry in recap.entries],
        "truncated": recap.omitted > 0 or recap.further_back,
    }
    if body["truncated"]:
        body["policy"] = RECAP_POLICY
    if not recap.further_back and recap.omitted:
        body["omitted"] = recap.omitted
    return body


def _entry_json(entry: RecapEntry) -> dict[str, str]:
    return {"step": entry.step, "title": entry.title, "notes": entry.notes}


def _branch_json(branching: Branching) -> dict[str, Any]:
    siblings = [
        {"nodeId": each.node_id, "kind": each.kind, "title": each.title, "summary": each.summary}
        for each in branching.siblings
    ]
    body = {"forked": branching.forked, "siblings": siblings, "downstreamRecap": _recap_json(branching.downstream)}
    return body | ({"omittedSiblings": branching.omitted} if branching.omitted else {})


def _declared_json(facts: ReplyFacts, *, starts: bool) -> dict[str, Any]:
    """What the workflow says of itself, with the values of the run in place."""
    program, snapshot = facts.program, facts.snapshot
    filling = Filling(walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables))
    return {
        "preconditions": [filling.render(text) for text in program.preconditions if starts],
        "clarificationPrompts": [filling.render(text) for text in program.clarification_prompts if starts],
        "references": [_reference_json(reference, filling) for reference in program.references],
    }


def _reference_json(reference: Reference, filling: Filling) -> dict[str, Any]:
    return {
        "id": reference.id,
        "title": filling.render(reference.title),
        "source": filling.render(reference.source),
        "purpose": filling.render(reference.purpose),
        "authoritative": reference.authoritative,
    }


def _noted_json(facts: NotedFacts) -> dict[str, Any]:
    body: dict[str, Any] = {
        "kind": "ok",
        "session": {"sessionId": to_text(Prefix.SESSION, facts.session_id)},
        "sessionToken": facts.token,
        "nextCall": {
            "tool": "checkpoint_workflow",
            "params": {"sessionToken": facts.token, "output": {"notesMarkdown": MEMORY_PLACEHOLDER}},
        },
    }
    return body | ({"preferences": facts.preferences.as_json()} if facts.preferences else {})


def _blocked_json(blocked: Blocked | None) -> dict[str, Any]:
    if blocked is None:
        return {}
    body: dict[str, Any] = {
        "blockers": [blocker.as_json() for blocker in blocked.blockers],
        "retryable": blocked.retryable,
        "validation": {"issues": list(blocked.issues), "suggestions": list(blocked.suggestions)},
    }
    if blocked.retryable:
        body["retryBy"] = "The tokens of nextCall; those that you just used would only repeat this reply."
    if blocked.followup:
        body["assessmentFollowup"] = {"guidance": blocked.followup}
    return body


def _undirected_json(snapshot: Snapshot) -> dict[str, Any] | None:
    """Why no acknowledgement moves the run, and what does: one whose activities are handed over, or that waits for another."""
    why = None if snapshot.is_complete or snapshot.stop is not None else why_undirected(snapshot)
    if why is None:
        return None
    return {"code": why.code, "message": why.message, "suggestion": why.suggestion, **why.details}


def _next_call(facts: ReplyFacts, pending: Pending | None) -> dict[str, Any] | None:
    stop = facts.snapshot.stop
    if why_undirected(facts.snapshot) is not None:
        return None
    if facts.snapshot.is_complete or not facts.tokens.ack or (stop is not None and stop.kind is not StopKind.PAUSED):
        return None
    params: dict[str, Any] = {"stateToken": facts.tokens.state, "ackToken": facts.tokens.ack}
    if pending is not None:
        params |= form_of(program=facts.program, snapshot=facts.snapshot, pending=pending)
    return {"tool": "continue_workflow", "params": params}
