"""Replies of the rail dialect: one JSON value, and the text that an agent reads, drawn from that value alone.

The value is what is recorded and replayed. The text is a function of it and of the number of its template, so an old reply
keeps its old text when the words change.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from sessions_app.engine.approvals import ANSWER_KIND
from sessions_app.engine.decisions import Outcome
from sessions_app.engine.log import NodeKind
from sessions_app.engine.obligations import NOTES_PLACEHOLDER
from sessions_app.engine.prompts import Pending, Question, pending_of
from sessions_app.engine.reply_facts import Branching, NotedFacts, Recap, RecapEntry, ReplyFacts, ResumeFacts
from sessions_app.engine.runs import NextIntent, StopKind
from sessions_app.engine.state import Blocked
from sessions_app.services.moves.speech import Speech, TokenPlace
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Autonomy, Program
from workrail_site.dialects.questions import asked_of_persons
from workrail_site.dialects.rail import resuming
from workrail_site.dialects.tokens import RAIL_TOKENS

TEMPLATE = 1
RECAP_POLICY = "kept the most recent entries"
# What the mode makes of words that are meant for a user. A question that only a user can answer is put as a checkpoint.
_IN_FULL_AUTO = {
    Autonomy.STOP_ON_USER_DEPS: "In this mode you answer for your user: find out or decide what the step would ask, and "
    "write into your notes what you assumed or left out. Stop only for what nobody but your user can give.",
    Autonomy.NEVER_STOP: "In this mode you answer for your user: find out or decide what the step would ask, and write "
    "into your notes what you assumed, left out or could not get. Do not stop.",
}


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
    body: dict[str, Any] = {
        "kind": "blocked" if snapshot.blocked is not None else "ok",
        "stateToken": tokens.state,
        "pending": pending_json(pending, program.id) if pending else None,
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
        "goal": facts.goal,
        "waitsForPerson": [{"checkpointId": name, "answerAt": address} for name, address in asked_of_persons(snapshot)],
        "stopped": snapshot.stop.as_json() if snapshot.stop else None,
        "answered": snapshot.answered.as_json() if snapshot.answered else None,
        "recap": _recap_json(facts.recap) if facts.recap else None,
        "branch": _branch_json(facts.branching) if facts.branching else None,
        "stepContext": dict(facts.step_context) if facts.step_context else None,
        "preconditions": list(program.preconditions) if starts else None,
        "clarificationPrompts": list(program.clarification_prompts) if starts else None,
        "references": _references_json(program) if starts or facts.recap else None,
    }
    body |= {key: value for key, value in optional.items() if value}
    return body | _blocked_json(snapshot.blocked)


def pending_json(pending: Pending, workflow_id: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "stepId": pending.step_id,
        "title": pending.title,
        "prompt": _prompt(pending, workflow_id),
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


def _prompt(pending: Pending, workflow_id: str) -> str:
    """With the calls that it leads to."""
    if pending.question is not None:
        return f"{pending.prompt}\n\n{_how_to_answer(pending.question)}"
    if pending.skill:
        read = f"Read the skill with inspect_workflow: workflowId {workflow_id}, part skill, skill {pending.skill}."
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


def _references_json(program: Program) -> list[dict[str, Any]]:
    return [
        {
            "id": reference.id,
            "title": reference.title,
            "source": reference.source,
            "purpose": reference.purpose,
            "authoritative": reference.authoritative,
        }
        for reference in program.references
    ]


def _noted_json(facts: NotedFacts) -> dict[str, Any]:
    body: dict[str, Any] = {
        "kind": "ok",
        "session": {"sessionId": to_text(Prefix.SESSION, facts.session_id)},
        "sessionToken": facts.token,
        "nextCall": {
            "tool": "checkpoint_workflow",
            "params": {"sessionToken": facts.token, "output": {"notesMarkdown": "<what should be remembered>"}},
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
    if blocked.followup:
        body["assessmentFollowup"] = {"guidance": blocked.followup}
    return body


def _next_call(facts: ReplyFacts, pending: Pending | None) -> dict[str, Any] | None:
    stop = facts.snapshot.stop
    if facts.snapshot.is_complete or not facts.tokens.ack or (stop is not None and stop.kind is not StopKind.PAUSED):
        return None
    params: dict[str, Any] = {"stateToken": facts.tokens.state, "ackToken": facts.tokens.ack}
    if pending is not None and pending.requirements:
        params["output"] = {"notesMarkdown": NOTES_PLACEHOLDER}
    return {"tool": "continue_workflow", "params": params}


# Text


def render_text(reply: Mapping[str, Any], *, template: int) -> str:
    """The reply in words. Every token stands on a line of its own."""
    if template != TEMPLATE:
        raise ValueError(f"No reply template {template}.")
    if "workflow" not in reply:
        return _session_text(reply)
    parts = [
        _recorded_text(reply),
        _stopped_text(reply),
        _blocked_text(reply),
        _answered_text(reply),
        _complete_text(reply),
        _recap_text(reply),
        _branch_text(reply),
        _opening_text(reply),
        _pending_text(reply),
        _persons_text(reply),
        _warnings_text(reply),
        _next_text(reply),
    ]
    return "\n\n".join(part for part in parts if part)


def _session_text(reply: Mapping[str, Any]) -> str:
    lines = [
        f"Session {reply['session']['sessionId']}: notes are kept here.",
        "To add to them, call checkpoint_workflow with this token, exactly as it stands:",
        "sessionToken:",
        reply["sessionToken"],
        "To begin a workflow in it, call start_workflow with its sessionId.",
    ]
    return "\n".join(lines)


def _recorded_text(reply: Mapping[str, Any]) -> str:
    return "# Recorded\n\nYour notes are kept. The run stands where it stood." if reply.get("recorded") else ""


def _blocked_text(reply: Mapping[str, Any]) -> str:
    if reply["kind"] != "blocked":
        return ""
    lines = ["# Blocked", "", "The step is not done. What is missing:"]
    for blocker in reply["blockers"]:
        lines.append(f"- {blocker['message']} [{blocker['code']}]")
        if blocker.get("suggestedFix"):
            lines.append(f"  Do: {blocker['suggestedFix']}")
    told = " ".join(blocker["message"] for blocker in reply["blockers"])
    lines.extend(f"- {issue}" for issue in reply["validation"]["issues"] if issue not in told)
    if "assessmentFollowup" in reply:
        lines.append(f"Follow up first: {reply['assessmentFollowup']['guidance']}")
    lines.append(_after_block(reply))
    return "\n".join(lines)


def _after_block(reply: Mapping[str, Any]) -> str:
    if not reply["retryable"]:
        return "A retry cannot mend this. Tell your user what stands here."
    then = "Once that is answered, call" if reply.get("waitsForPerson") else "Mend it, then call"
    return f"{then} with the tokens below; the tokens that you just used would only repeat this reply."


def _persons_text(reply: Mapping[str, Any]) -> str:
    return "\n".join(
        f"A signed-in person answers {asked['checkpointId']} at: {asked['answerAt']}"
        for asked in reply.get("waitsForPerson", ())
    )


def _stopped_text(reply: Mapping[str, Any]) -> str:
    stopped = reply.get("stopped")
    if not stopped:
        return ""
    lines = [f"# A person has {stopped['kind']} this run"]
    if stopped["reason"]:
        lines.extend(["", f"Their reason: {stopped['reason']}"])
    goes_on = "It goes on when somebody says so: tell your user, and wait."
    ended = "Stop the work on it and tell your user."
    return "\n".join([*lines, "", goes_on if stopped["kind"] == StopKind.PAUSED.value else ended])


def _answered_text(reply: Mapping[str, Any]) -> str:
    answered = reply.get("answered")
    if not answered:
        return ""
    lines = [f"A signed-in person answered {answered['checkpointId']}: {answered['label']} [{answered['optionId']}]"]
    if answered.get("reason"):
        lines.append(f"Their reason: {answered['reason']}")
    return "\n".join(lines)


def _complete_text(reply: Mapping[str, Any]) -> str:
    if not reply["isComplete"]:
        return ""
    return f"# Workflow complete\n\n{reply['workflow']['title']} has no more steps. Tell your user the result."


def _recap_text(reply: Mapping[str, Any]) -> str:
    recap = reply.get("recap")
    return _entries_text("## Recap of this run so far", recap) if recap else ""


def _entries_text(heading: str, recap: Mapping[str, Any]) -> str:
    if not recap["entries"] and not recap["truncated"]:
        return ""
    lines = [heading]
    if recap["truncated"]:
        lines.append(f"[TRUNCATED: {recap.get('omitted', 'some')} earlier entries left out; {recap['policy']}]")
    for entry in recap["entries"]:
        lines.extend(["", f"### {entry['title'] or entry['step']}", entry["notes"]])
    return "\n".join(lines)


def _branch_text(reply: Mapping[str, Any]) -> str:
    branch = reply.get("branch")
    if not branch:
        return ""
    lines = [
        "## This is a fork"
        if branch["forked"]
        else "## This step was acknowledged before; acknowledging it again makes a new branch",
        "Successors that it already has:",
    ]
    if branch.get("omittedSiblings"):
        lines.append(f"[TRUNCATED: {branch['omittedSiblings']} earlier ones left out; {RECAP_POLICY}]")
    for sibling in branch["siblings"]:
        summary = f": {' '.join(sibling['summary'].split())}" if sibling["summary"] else ""
        kind = " (an attempt that was blocked)" if sibling["kind"] == NodeKind.BLOCKED_ATTEMPT.value else ""
        lines.append(f"- {sibling['title'] or 'The end of the run'}{kind}{summary}")
    below = _entries_text("What was noted on the latest of them:", branch["downstreamRecap"])
    return "\n".join([*lines, *([below] if below else [])])


def _opening_text(reply: Mapping[str, Any]) -> str:
    lines: list[str] = []
    if reply.get("preconditions"):
        lines.extend(["Before you begin, make sure of:", *_bullets(reply["preconditions"])])
    if reply.get("clarificationPrompts"):
        lines.extend([_UNKNOWN[_is_full_auto(reply)], *_bullets(reply["clarificationPrompts"])])
    if reply.get("references"):
        lines.append("References:")
        lines.extend(f"- {r['title']} ({r['source']}): {r['purpose']}" for r in reply["references"])
    return "\n".join(lines)


def _pending_text(reply: Mapping[str, Any]) -> str:
    pending = reply["pending"]
    if pending is None:
        return ""
    lines = [f"# {pending['title']}", f"Step: {pending.get('stepKey') or pending['stepId']}"]
    if reply.get("goal"):
        lines.append(f"Goal: {reply['goal']}")
    if pending.get("loop"):
        lines.append(_round_text(pending["loop"]))
    if pending.get("agentRole"):
        lines.extend(["", f"Your role: {pending['agentRole']}"])
    lines.extend(["", pending["prompt"]])
    lines.extend(_section("Guidance:", pending.get("guidance")))
    lines.extend(_section("Throughout this workflow:", pending.get("workflowGuidance")))
    lines.extend(_section("To hand in:", pending.get("outputRequirements")))
    for function in pending.get("functions", ()):
        lines.extend(["", f"Function {function['name']}():", function["definition"]])
    if pending.get("askForFiles"):
        lines.extend(["", _FILES[_is_full_auto(reply)]])
    if pending["requireConfirmation"] and not pending.get("checkpoint"):
        who = pending.get("confirmedBy", "user")
        lines.extend(["", _CONFIRM_ALONE if who == "user" and _is_full_auto(reply) else _CONFIRM[who]])
    return "\n".join(lines)


def _round_text(loop: Mapping[str, Any]) -> str:
    about = f", about: {loop['item']}" if "item" in loop else ""
    return f"Round {loop['round']} of at most {loop['atMost']} in the loop {loop['id']}{about}"


def _is_full_auto(reply: Mapping[str, Any]) -> bool:
    return reply["preferences"]["autonomy"] in _IN_FULL_AUTO


_UNKNOWN = {
    False: "Ask your user where you do not know:",
    True: "Find out where you do not know, or decide and say in your notes what you assumed:",
}
_FILES = {
    False: "Ask your user for the files that this step needs if you cannot find them.",
    True: "Find the files that this step needs; say in your notes which you could not find.",
}
_CONFIRM = {
    "user": "Before you go on, have this step confirmed by the user.",
    "coordinator": "Before you go on, have this step confirmed by the coordinator.",
    "human": "This step is done when a signed-in person has approved it; your own acknowledgement does not pass.",
}


_CONFIRM_ALONE = "Before you go on, look at this step as your user would, and say in your notes what you decided."


def _alone(reply: Mapping[str, Any]) -> Iterator[str]:
    """What only a person can answer stays theirs whatever the mode, and a run that has ended asks nobody."""
    pending = reply["pending"]
    if pending is None or pending.get("checkpoint") or pending.get("confirmedBy") == "human":
        return
    if _is_full_auto(reply):
        yield _IN_FULL_AUTO[Autonomy(reply["preferences"]["autonomy"])]


def _section(heading: str, items: Sequence[str] | None) -> list[str]:
    return ["", heading, *_bullets(items)] if items else []


def _bullets(items: Sequence[str]) -> list[str]:
    return [f"- {item}" for item in items]


def _warnings_text(reply: Mapping[str, Any]) -> str:
    if not reply["warnings"]:
        return ""
    return "\n".join(["Warnings:", *(f"- {w['message']} [{w['code']}]" for w in reply["warnings"])])


def _next_text(reply: Mapping[str, Any]) -> str:
    mode = f"Mode: {reply['preferences']['autonomy']}, {reply['preferences']['riskPolicy']}."
    lines = ["---", mode, *_alone(reply)]
    if reply["nextCall"] is not None:
        lines.append("When the step is done, call continue_workflow with these tokens, exactly as they stand:")
    for label in ("stateToken", "ackToken", "checkpointToken"):
        if reply.get(label):
            lines.extend([f"{label}:", reply[label]])
    if reply.get("checkpointToken") and reply["nextCall"] is not None:
        lines.append(
            "To record work without finishing the step, call checkpoint_workflow with stateToken and checkpointToken."
        )
    return "\n".join(lines)
