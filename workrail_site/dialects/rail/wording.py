"""The words of a reply of the rail, drawn from its value alone. An old reply keeps its old words, by its template."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import StopKind
from workflows_app.engine.program import Autonomy

TEMPLATE = 2
_BEFORE = 1
RECAP_POLICY = "kept the most recent entries"

# What the mode makes of words that are meant for a user. A question that only a user can answer is put as a checkpoint.
_IN_FULL_AUTO = {
    Autonomy.STOP_ON_USER_DEPS: "In this mode you answer for your user: find out or decide what the step would ask, and "
    "write into your notes what you assumed or left out. Stop only for what nobody but your user can give.",
    Autonomy.NEVER_STOP: "In this mode you answer for your user: find out or decide what the step would ask, and write "
    "into your notes what you assumed, left out or could not get. Do not stop.",
}


def render_text(reply: Mapping[str, Any], *, template: int) -> str:
    """The reply in words. Every token stands on a line of its own."""
    if template not in {TEMPLATE, _BEFORE}:
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
        _next_text(reply) if template == TEMPLATE else _next_text_before(reply),
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
    if not reply["isComplete"] or reply.get("stopped"):
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
    if pending.get("toldBefore"):
        lines.extend(
            ["", "The step itself is as you were told it; continue_workflow with the stateToken alone tells it again."]
        )
    else:
        lines.extend(["", pending["prompt"]])
    lines.extend(_section("Guidance:", pending.get("guidance")))
    lines.extend(_section("Throughout this workflow:", pending.get("workflowGuidance")))
    if pending.get("workflowGuidanceStands"):
        lines.extend(["", "What was told to hold throughout this workflow still holds."])
    lines.extend(_section("Throughout this activity:", pending.get("activityGuidance")))
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
    within = f"\nThis is within: {_round_text(loop['within'])}" if "within" in loop else ""
    return f"Round {loop['round']} of {_how_many(loop)} in the loop {loop['id']}{about}{within}"


def _how_many(loop: Mapping[str, Any]) -> str:
    """A list that is longer than the limit is told as both, before the limit strikes."""
    most, total = loop["atMost"], loop.get("total")
    if total is None:
        return f"at most {most}"
    return str(total) if total <= most else f"{total}, of which at most {most} are run,"


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
    lines = ["---", f"Mode: {reply['preferences']['autonomy']}, {reply['preferences']['riskPolicy']}.", *_alone(reply)]
    waits = reply["nextCall"] is not None
    elsewhere = reply.get("movedElsewhere")
    if elsewhere:
        lines.append(f"{elsewhere['message']} {elsewhere['suggestion']}")
        lines.extend(f"Waits for: {run}" for run in elsewhere.get("waitsFor", ()))
    if waits:
        lines.append("When the step is done, call continue_workflow with these, copied exactly:")
    for label in ("stateToken", "ackToken", "checkpointToken"):
        if not reply.get(label) or (elsewhere and label == "ackToken"):
            continue
        if waits and label == "checkpointToken":
            lines.append("To note work before that, call checkpoint_workflow with the stateToken and:")
        lines.extend([f"{label}:", reply[label]])
    return "\n".join(lines)


def _next_text_before(reply: Mapping[str, Any]) -> str:
    """In the words of the template before, for replies that were recorded with it."""
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
