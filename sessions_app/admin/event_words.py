"""The events of the log as sentences. What an event holds is data of the log: what it lacks is left out of its sentence."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sessions_app.admin.naming import cut
from sessions_app.admin.places import ShownPlaces
from sessions_app.admin.states import VERDICT_LABELS, mode
from sessions_app.engine.log import EdgeCause, EventKind, NodeKind
from teams_app.engine.markdown import plain_words

Data = Mapping[str, Any]

_MOST_NAMES = 4
_MOST_CHARACTERS = 120

_EDGES = {
    EdgeCause.TIP_ADVANCE: "The way goes on here",
    EdgeCause.NON_TIP_ADVANCE: "Another branch goes off here",
    EdgeCause.CHECKPOINT_CREATED: "The bookmark stands beside the way",
}
_NODES = {
    NodeKind.STEP: "Reached",
    NodeKind.BOOKMARK: "Bookmarked at",
    NodeKind.BLOCKED_ATTEMPT: "Blocked at",
    NodeKind.GATE: "Stopped at",
}


def event_words(kind: EventKind, data: Data, places: ShownPlaces) -> str:
    return cut(_SENTENCES[kind](data, places), characters=_MOST_CHARACTERS)


def reason_words(entry: Data, places: ShownPlaces, known: Mapping[str, str]) -> str:
    """One reason of the log, which speaks of keys where people speak of titles. `known` are titles that say more."""
    text = str(entry.get("summary", ""))
    named = {str(ref): places.title(str(ref)) for ref in (entry.get("refs") or {}).values() if isinstance(ref, str)}
    for key, title in sorted({**named, **known}.items(), key=lambda each: -len(each[0])):
        if title != key:
            text = re.sub(rf"(?<![\w“]){re.escape(key)}(?![\w”])", f"“{title}”".replace("\\", r"\\"), text)
    return plain_words(places.in_titles(text))


def _said(plain: str, *path: str) -> Callable[[Data, ShownPlaces], str]:
    """The sentence, with what stands in the event at the path after a colon."""

    def words(data: Data, _: ShownPlaces) -> str:
        found: Any = data
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return f"{plain}: {found}" if path and found else plain

    return words


def _node(data: Data, places: ShownPlaces) -> str:
    begins = _NODES.get(data.get("nodeKind", ""), "Reached")
    pending = str(data.get("pending") or "")
    return f"{begins} “{places.title(pending)}”" if pending else f"{begins} the end"


def _edge(data: Data, _: ShownPlaces) -> str:
    cause = data.get("cause") or {}
    return _EDGES.get(cause.get("kind", ""), "The way goes on here")


def _advance(data: Data, _: ShownPlaces) -> str:
    blocked = (data.get("outcome") or {}).get("kind") == "blocked"
    return "What was handed in was refused" if blocked else "The step was handed in"


def _validation(data: Data, _: ShownPlaces) -> str:
    result = data.get("result") or {}
    if result.get("valid"):
        return "What was handed in is valid"
    issues = result.get("issues") or ["it is not valid"]
    return f"What was handed in lacks something: {issues[0]}"


def _output(data: Data, _: ShownPlaces) -> str:
    payload = data.get("payload") or {}
    if payload.get("payloadKind") == "notes":
        return "Notes were handed in"
    kind = payload.get("artifactKind")
    return f"A document was handed in: {kind}" if kind else "A document was handed in"


def _mode(data: Data, _: ShownPlaces) -> str:
    now = data.get("effective") or {}
    return f"The mode is {mode(str(now.get('autonomy', '')), str(now.get('riskPolicy', '')))}"


def _context(data: Data, _: ShownPlaces) -> str:
    names = sorted(data.get("delta") or ())
    rest = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"Variables set: {', '.join(names[:_MOST_NAMES])}{rest}" if names else "Variables set"


def _why(data: Data, places: ShownPlaces) -> str:
    entries: Sequence[Data] = data.get("entries") or ({},)
    return reason_words(entries[0], places, {}) or "Why this step"


def _capability(data: Data, _: ShownPlaces) -> str:
    return f"Told what it can: {data.get('capability', '')} is {data.get('status', '')}".replace("_", " ")


def _entered(data: Data, places: ShownPlaces) -> str:
    return f"Entered “{places.title(str(data.get('activityId', '')))}”"


def _answer(data: Data, _: ShownPlaces) -> str:
    option = str(data.get("optionId", ""))
    label = VERDICT_LABELS.get(option, option or "an answer")
    return f"Answered: {label}{f', “{reason}”' if (reason := data.get('reason')) else ''}"


def _stop(data: Data, _: ShownPlaces) -> str:
    word = "Paused" if data.get("kind") == "paused" else "Ended before its last step"
    return f"{word}{f', “{reason}”' if (reason := data.get('reason')) else ''}"


_SENTENCES: Mapping[EventKind, Callable[[Data, ShownPlaces], str]] = {
    EventKind.SESSION_CREATED: _said("The session began", "title"),
    EventKind.OBSERVATION_RECORDED: _said("Where the work is", "value"),
    EventKind.RUN_STARTED: _said("The run began", "goal"),
    EventKind.NODE_CREATED: _node,
    EventKind.EDGE_CREATED: _edge,
    EventKind.ADVANCE_RECORDED: _advance,
    EventKind.VALIDATION_PERFORMED: _validation,
    EventKind.NODE_OUTPUT_APPENDED: _output,
    EventKind.ASSESSMENT_RECORDED: _said("Assessed", "summary"),
    EventKind.ASSESSMENT_CONSEQUENCE_APPLIED: _said("The assessment had its consequence"),
    EventKind.PREFERENCES_CHANGED: _mode,
    EventKind.CAPABILITY_OBSERVED: _capability,
    EventKind.GAP_RECORDED: _said("Gap", "summary"),
    EventKind.CONTEXT_SET: _context,
    EventKind.DIVERGENCE_RECORDED: _said("Went another way than the step says", "summary"),
    EventKind.DECISION_TRACE_APPENDED: _why,
    EventKind.CHECKPOINT_PRESENTED: _said("Asked", "title"),
    EventKind.CHECKPOINT_ANSWERED: _answer,
    EventKind.ACTIVITY_ENTERED: _entered,
    EventKind.RUN_COMPLETED: _said("The run is done"),
    EventKind.RUN_STOPPED: _stop,
    EventKind.RUN_RESUMED: _said("The run goes on"),
    EventKind.BRANCH_PREFERRED: _said("A person prefers this branch", "reason"),
    EventKind.NAME_GIVEN: _said("Renamed", "title"),
    EventKind.HANDLE_ISSUED: _said("A token was handed to the agent"),
}
