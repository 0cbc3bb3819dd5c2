"""Replies of the rail dialect: one JSON value, and the text that an agent reads, drawn from that value alone.

The value is what is recorded and replayed. The text is a function of it and of the number of its template, so an old reply
keeps its old text when the words change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from sessions_app.engine import outputs
from sessions_app.engine.decisions import Outcome, Warned
from sessions_app.engine.log import NodeKind
from sessions_app.engine.obligations import NOTES_PLACEHOLDER
from sessions_app.engine.prompts import Pending
from sessions_app.engine.runs import NextIntent
from sessions_app.engine.state import Answered, Blocked, Preferences
from sessions_app.engine.tokens import Keyring, TokenKind, renew
from workflows_app.engine.program import Autonomy

TEMPLATE = 1
MAX_RECAP_BYTES = 24 * 1024
RECAP_POLICY = "kept the most recent entries"

# What the mode makes of words that are meant for a user. A question that only a user can answer is put as a checkpoint.
_IN_FULL_AUTO = {
    Autonomy.STOP_ON_USER_DEPS: "In this mode you answer for your user: find out or decide what the step would ask, and "
    "write into your notes what you assumed or left out. Stop only for what nobody but your user can give.",
    Autonomy.NEVER_STOP: "In this mode you answer for your user: find out or decide what the step would ask, and write "
    "into your notes what you assumed, left out or could not get. Do not stop.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """`ack` is empty when there is nothing to acknowledge."""

    state: str
    ack: str = ""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecapEntry:
    """Notes of one step, as they stand now."""

    step: str
    title: str
    notes: str

    def as_json(self) -> dict[str, str]:
        return {"step": self.step, "title": self.title, "notes": self.notes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recap:
    """`entries` are oldest first; the oldest are the ones left out when the budget is short."""

    entries: tuple[RecapEntry, ...] = ()
    omitted: int = 0
    # There are still older entries, and nobody counted them.
    further_back: bool = False

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "entries": [entry.as_json() for entry in self.entries],
            "truncated": self.omitted > 0 or self.further_back,
        }
        if body["truncated"]:
            body["policy"] = RECAP_POLICY
        if not self.further_back and self.omitted:
            body["omitted"] = self.omitted
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A successor that the acknowledged node already had."""

    node_id: str
    kind: str
    title: str
    summary: str

    def as_json(self) -> dict[str, str]:
        return {"nodeId": self.node_id, "kind": self.kind, "title": self.title, "summary": self.summary}


@dataclass(frozen=True, slots=True, kw_only=True)
class Branching:
    """What an agent that rewound has lost: the successors of its node and what happened below the latest of them.

    `siblings` are the newest successors, oldest first; `omitted` tells how many older ones there are.
    """

    forked: bool
    siblings: tuple[Sibling, ...]
    downstream: Recap
    omitted: int = 0

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "forked": self.forked,
            "siblings": [sibling.as_json() for sibling in self.siblings],
            "downstreamRecap": self.downstream.as_json(),
        }
        return body | ({"omittedSiblings": self.omitted} if self.omitted else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts:
    outcome: Outcome | None
    workflow_id: str
    workflow_hash: str
    workflow_title: str
    session_id: str
    run_id: str
    goal: str
    preferences: Preferences
    pending: Pending | None
    complete: bool
    tokens: Tokens
    warnings: Sequence[Warned] = ()
    blocked: Blocked | None = None
    answered: Answered | None = None
    recap: Recap | None = None
    branching: Branching | None = None
    step_context: Mapping[str, Any] | None = None
    preconditions: Sequence[str] = ()
    clarification_prompts: Sequence[str] = ()
    references: Sequence[Mapping[str, Any]] = ()


def budgeted(entries: Sequence[RecapEntry], *, max_bytes: int = MAX_RECAP_BYTES, further_back: bool = False) -> Recap:
    """As many of the newest entries as fit, oldest first; a single one that is too large is cut."""
    kept: list[RecapEntry] = []
    room = max_bytes
    for entry in reversed(entries):
        size = len(entry.notes.encode("utf-8")) + len(entry.title.encode("utf-8")) + len(entry.step.encode("utf-8"))
        if size > room:
            if not kept:
                cut = outputs.cut_text(entry.notes, max_bytes=max(0, room - (size - len(entry.notes.encode("utf-8")))))
                kept.append(RecapEntry(step=entry.step, title=entry.title, notes=cut))
            break
        kept.append(entry)
        room -= size
    kept.reverse()
    return Recap(entries=tuple(kept), omitted=len(entries) - len(kept), further_back=further_back)


def with_history(facts: ReplyFacts, *, recap: Recap, branching: Branching | None) -> ReplyFacts:
    """The same reply for an agent that may have lost its chat."""
    return replace(facts, recap=recap, branching=branching)


def next_intent(facts: ReplyFacts) -> NextIntent:
    if facts.complete:
        return NextIntent.COMPLETE
    if facts.outcome is None:
        return NextIntent.REHYDRATE_ONLY
    if facts.pending is not None and facts.pending.require_confirmation and facts.blocked is None:
        return NextIntent.AWAIT_USER_CONFIRMATION
    return NextIntent.PERFORM_PENDING_THEN_CONTINUE


def reply_json(facts: ReplyFacts) -> dict[str, Any]:
    body: dict[str, Any] = {
        "kind": "blocked" if facts.blocked is not None else "ok",
        "stateToken": facts.tokens.state,
        "pending": facts.pending.as_json() if facts.pending else None,
        "isComplete": facts.complete,
        "session": {"sessionId": facts.session_id, "runId": facts.run_id},
        "preferences": facts.preferences.as_json(),
        "nextIntent": next_intent(facts).value,
        "nextCall": _next_call(facts),
        "warnings": [warned.as_json() for warned in facts.warnings],
        "workflow": {"id": facts.workflow_id, "title": facts.workflow_title, "workflowHash": facts.workflow_hash},
    }
    optional: dict[str, Any] = {
        "ackToken": facts.tokens.ack,
        "checkpointToken": facts.tokens.checkpoint,
        "recorded": facts.outcome is Outcome.BOOKMARKED,
        "goal": facts.goal,
        "answered": facts.answered.as_json() if facts.answered else None,
        "recap": facts.recap.as_json() if facts.recap else None,
        "branch": facts.branching.as_json() if facts.branching else None,
        "stepContext": dict(facts.step_context) if facts.step_context else None,
        "preconditions": list(facts.preconditions),
        "clarificationPrompts": list(facts.clarification_prompts),
        "references": [dict(reference) for reference in facts.references],
    }
    body |= {key: value for key, value in optional.items() if value}
    return body | _blocked_json(facts.blocked)


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


def _next_call(facts: ReplyFacts) -> dict[str, Any] | None:
    if facts.complete or not facts.tokens.ack:
        return None
    params: dict[str, Any] = {"stateToken": facts.tokens.state, "ackToken": facts.tokens.ack}
    if facts.pending is not None and facts.pending.requirements:
        params["output"] = {"notesMarkdown": NOTES_PLACEHOLDER}
    return {"tool": "continue_workflow", "params": params}


_TOKENS = {
    "stateToken": TokenKind.STATE,
    "ackToken": TokenKind.ACK,
    "checkpointToken": TokenKind.CHECKPOINT,
    "sessionToken": TokenKind.SESSION,
    # As the navigation dialect calls it.
    "state": TokenKind.STATE,
}
# Beside it stand variables, whose names may be any.
_PARENT = {"parent_state": TokenKind.STATE}


def renewed(*, data: bytes, keyring: Keyring) -> bytes:
    """A recorded reply: the same bytes while its tokens are trusted, else the same reply with them signed anew.

    Only tokens in their own places are touched: what stands in a text may have been written by anyone.
    """
    reply: dict[str, Any] = orjson.loads(data)
    call = reply.get("nextCall") or {}
    changed = [_renew(place, keyring, _TOKENS) for place in (reply, call.get("params") or {})]
    changed += [_renew(given, keyring, _PARENT) for given in _given_to_triggered(reply)]
    return orjson.dumps(reply) if any(changed) else data


def _given_to_triggered(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """What the navigation dialect offers to begin a triggered workflow with: the run's own state among variables."""
    offered = (reply.get("availableActions") or {}).get("optional") or []
    return [each["initial_variables"] for each in offered if "initial_variables" in each]


def _renew(place: dict[str, Any], keyring: Keyring, kinds: Mapping[str, TokenKind]) -> bool:
    before = {name: place[name] for name in kinds if place.get(name)}
    place |= {name: renew(keyring=keyring, kind=kinds[name], text=text) for name, text in before.items()}
    return any(place[name] != text for name, text in before.items())


# Text


def render_text(reply: Mapping[str, Any], *, template: int) -> str:
    """The reply in words. Every token stands on a line of its own."""
    if template != TEMPLATE:
        raise ValueError(f"No reply template {template}.")
    if "workflow" not in reply:
        return _session_text(reply)
    parts = [
        _recorded_text(reply),
        _blocked_text(reply),
        _answered_text(reply),
        _complete_text(reply),
        _recap_text(reply),
        _branch_text(reply),
        _opening_text(reply),
        _pending_text(reply),
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
    lines.append(
        "Mend it, then call with the tokens below; the tokens that you just used would only repeat this reply."
        if reply["retryable"]
        else "A retry cannot mend this. Tell your user what stands here."
    )
    return "\n".join(lines)


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
