"""What a search for runs to resume is answered: one JSON value, and the text that an agent reads, drawn from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sessions_app.engine.reply_facts import Candidate, NotesCandidate, ResumeFacts
from sessions_app.engine.resume import Confidence, Match, Why
from sessions_app.engine.submissions import place_for
from teams_app.engine.ids import Prefix, to_text

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


_NOTHING_FOUND = "# No run has what you asked for. These were worked on lately"


def reply_json(facts: ResumeFacts) -> dict[str, Any]:
    """`totalEligible` counts the runs that could be named, no further than anybody wants to know."""
    body: dict[str, Any] = {
        "candidates": [_candidate_json(candidate) for candidate in facts.candidates],
        "totalEligible": facts.eligible,
        "totalEligibleIsBounded": facts.is_bounded,
    }
    if facts.found_nothing:
        body["foundNothing"] = True
    return body | ({"sessions": [_session_json(session) for session in facts.sessions]} if facts.sessions else {})


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    run = candidate.match.run
    return {
        "sessionId": to_text(Prefix.SESSION, run.session_id),
        "runId": to_text(Prefix.RUN, run.run_id),
        "workflowId": run.workflow_id,
        "sessionTitle": run.session_title,
        "gitBranch": run.git_branch or None,
        "stateToken": candidate.state_token,
        "snippet": candidate.snippet,
        "confidence": candidate.match.confidence.value,
        "matchExplanation": explain(candidate.match),
        "whyMatched": [why.value for why in candidate.match.why],
        "pendingStepId": candidate.pending_step_id or None,
        "isComplete": run.is_over,
        **({"stopped": run.stopped} if run.stopped else {}),
        "lastModifiedMs": int(run.last_activity_at.timestamp() * 1000),
        "nextCall": {"tool": "continue_workflow", "params": {"stateToken": candidate.state_token}},
    }


def _session_json(session: NotesCandidate) -> dict[str, Any]:
    """A session in which no workflow has begun: its notes, and how to go on there."""
    named = to_text(Prefix.SESSION, session.session_id)
    return {
        "sessionId": named,
        "sessionTitle": session.title,
        "gitBranch": session.git_branch or None,
        "ticket": session.ticket or None,
        "snippet": session.snippet,
        "lastModifiedMs": int(session.last_activity_at.timestamp() * 1000),
        "sessionToken": session.token,
        "nextCall": {"tool": "start_workflow", "params": {"workflowId": place_for("workflowId"), "sessionId": named}},
    }


def explain(match: Match) -> str:
    run = match.run
    words = {"ticket": run.ticket, "sha": run.git_head_sha[:12], "branch": run.git_branch, "workflow": run.workflow_id}
    said = [_SAID[why].format(**words) for why in match.why]
    text = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{text[0].upper()}{text[1:]}."


def render_text(reply: Mapping[str, Any]) -> str:
    """The reply in words. Every token stands on a line of its own."""
    candidates, sessions = reply["candidates"], reply.get("sessions", [])
    if not candidates and sessions:
        return _sessions_text(sessions)
    if not candidates:
        return (
            "No run of your team can be resumed. Begin one with start_workflow; list_workflows shows which there are."
        )
    is_merely_recent = bool(reply.get("foundNothing"))
    parts = [_NOTHING_FOUND if is_merely_recent else "# Runs to resume, the likeliest first"]
    parts.extend(_candidate_text(number, candidate) for number, candidate in enumerate(candidates, 1))
    parts.append(_advice(candidates))
    if sessions and is_merely_recent:
        # These do have what was asked for.
        parts.insert(0, _sessions_text(sessions))
    elif sessions:
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


def _state(candidate: Mapping[str, Any]) -> str:
    if "stopped" in candidate:
        return f"{candidate['stopped']} by a person"
    return "complete" if candidate["isComplete"] else f"waits at {candidate['pendingStepId'] or 'its first step'}"


def _candidate_text(number: int, candidate: Mapping[str, Any]) -> str:
    state = _state(candidate)
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
