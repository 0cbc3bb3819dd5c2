"""What a search for runs to resume is answered: one JSON value, and the text that an agent reads, drawn from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine.outputs import cut_text
from sessions_app.engine.resume import Confidence, Match, Why, stem
from teams_app.engine.ids import Prefix, to_text

MAX_SNIPPET_BYTES = 2048
_CUT = "…"
_BEFORE_WORD_CHARACTERS = 200

_SAID = {
    Why.RUN_ID: "its id was given",
    Why.SESSION_ID: "the id of its session was given",
    Why.TICKET: "it belongs to the ticket {ticket}",
    Why.HEAD_SHA: "it was at commit {sha}",
    Why.BRANCH: "it is on the branch {branch}",
    Why.TITLE: "its title or goal has every telling word of the query",
    Why.BRANCH_PREFIX: "its branch {branch} is close to the one given",
    Why.NOTES: "its notes or artifacts have every telling word of the query",
    Why.TITLE_PARTLY: "its title or goal has some words of the query",
    Why.NOTES_PARTLY: "its notes or artifacts have some words of the query",
    Why.WORKFLOW_ID: "it runs the workflow {workflow}",
    Why.REPOSITORY: "it is in the same repository",
    Why.RECENT: "it was worked on lately",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One answer: a run at its tip."""

    match: Match
    state_token: str
    pending_step_id: str
    snippet: str

    def as_json(self) -> dict[str, Any]:
        run = self.match.run
        return {
            "sessionId": to_text(Prefix.SESSION, run.session_id),
            "runId": to_text(Prefix.RUN, run.run_id),
            "workflowId": run.workflow_id,
            "sessionTitle": run.session_title,
            "gitBranch": run.git_branch or None,
            "stateToken": self.state_token,
            "snippet": self.snippet,
            "confidence": self.match.confidence.value,
            "matchExplanation": explain(self.match),
            "whyMatched": [why.value for why in self.match.why],
            "pendingStepId": self.pending_step_id or None,
            "isComplete": run.is_complete,
            "lastModifiedMs": int(run.last_activity_at.timestamp() * 1000),
            "nextCall": {"tool": "continue_workflow", "params": {"stateToken": self.state_token}},
        }


def explain(match: Match) -> str:
    run = match.run
    words = {"ticket": run.ticket, "sha": run.git_head_sha[:12], "branch": run.git_branch, "workflow": run.workflow_id}
    said = [_SAID[why].format(**words) for why in match.why]
    text = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{text[0].upper()}{text[1:]}."


def snippet_of(notes: str, words: Iterable[str]) -> str:
    """As much of the notes as fits, from a little before the first of the words when it would not be in sight."""
    text = notes.strip()
    size = len(text.encode("utf-8"))
    if size <= MAX_SNIPPET_BYTES:
        return text
    normal = text.lower()
    places = [place for place in (normal.find(stem(word)) for word in words) if place >= 0]
    begin = max(0, min(places, default=0) - _BEFORE_WORD_CHARACTERS)
    if begin:
        room = MAX_SNIPPET_BYTES - len(_CUT.encode("utf-8"))
        return _CUT + cut_text(text[begin:].lstrip(), max_bytes=room, marker=_CUT)
    return cut_text(text, max_bytes=MAX_SNIPPET_BYTES, marker=_CUT)


def reply_json(candidates: Sequence[Candidate], *, eligible: int, is_bounded: bool) -> dict[str, Any]:
    """`totalEligible` counts the runs that could be named, no further than anybody wants to know."""
    return {
        "candidates": [candidate.as_json() for candidate in candidates],
        "totalEligible": eligible,
        "totalEligibleIsBounded": is_bounded,
    }


def session_json(
    *,
    session_id: UUID,
    title: str,
    git_branch: str,
    ticket: str,
    snippet: str,
    last_activity_at: datetime,
    session_token: str,
) -> dict[str, Any]:
    """A session in which no workflow has begun: its notes, and how to go on there."""
    named = to_text(Prefix.SESSION, session_id)
    return {
        "sessionId": named,
        "sessionTitle": title,
        "gitBranch": git_branch or None,
        "ticket": ticket or None,
        "snippet": snippet,
        "lastModifiedMs": int(last_activity_at.timestamp() * 1000),
        "sessionToken": session_token,
        "nextCall": {"tool": "start_workflow", "params": {"sessionId": named}},
    }


def render_text(reply: Mapping[str, Any]) -> str:
    """The reply in words. Every token stands on a line of its own."""
    candidates, sessions = reply["candidates"], reply.get("sessions", [])
    if not candidates and sessions:
        return _sessions_text(sessions)
    if not candidates:
        return (
            "No run of your team can be resumed. Begin one with start_workflow; list_workflows shows which there are."
        )
    parts = ["# Runs to resume, the likeliest first"]
    parts.extend(_candidate_text(number, candidate) for number, candidate in enumerate(candidates, 1))
    parts.append(_advice(candidates))
    if sessions:
        parts.append(_sessions_text(sessions))
    return "\n\n".join(parts)


def _sessions_text(sessions: Sequence[Mapping[str, Any]]) -> str:
    parts = ["# Sessions with notes, in which no workflow has begun"]
    for session in sessions:
        lines = [f"## {' '.join(session['sessionTitle'].split()) or session['sessionId']}"]
        lines.append(f"sessionId: {session['sessionId']}")
        if session["snippet"]:
            lines.extend(["Its latest notes:", *(f"> {line}" for line in session["snippet"].splitlines())])
        lines.extend(["sessionToken:", session["sessionToken"]])
        parts.append("\n".join(lines))
    parts.append(
        "Call start_workflow with the sessionId to begin there, or checkpoint_workflow with the sessionToken to note more."
    )
    return "\n\n".join(parts)


def _candidate_text(number: int, candidate: Mapping[str, Any]) -> str:
    state = "complete" if candidate["isComplete"] else f"waits at {candidate['pendingStepId'] or 'its first step'}"
    branch = f", branch {candidate['gitBranch']}" if candidate["gitBranch"] else ""
    lines = [
        f"## {number}. {' '.join(candidate['sessionTitle'].split()) or candidate['workflowId']}",
        f"{candidate['workflowId']}{branch}; {state}. Match: {candidate['confidence']}. {candidate['matchExplanation']}",
        f"runId: {candidate['runId']}",
    ]
    if candidate["snippet"]:
        lines.extend(["Its latest notes:", *(f"> {line}" for line in candidate["snippet"].splitlines())])
    lines.extend(["stateToken:", candidate["stateToken"]])
    return "\n".join(lines)


def _advice(candidates: Sequence[Mapping[str, Any]]) -> str:
    strong = [candidate for candidate in candidates if candidate["confidence"] == Confidence.STRONG.value]
    if len(strong) == 1:
        return "Call continue_workflow with the stateToken of the first one alone; it answers the pending step and a recap."
    return (
        "Ask your user which one is meant, unless you know. Then call continue_workflow with its stateToken alone; "
        "it answers the pending step and a recap."
    )
