"""What the Studio's pages of runs show, made ready so that a template only prints it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from sessions_app.engine.drafts import gap_name
from sessions_app.engine.log import EdgeCause, NodeKind
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.state import Preferences
from sessions_app.engine.tree import TreeLine
from sessions_app.engine.values import (
    EventValue,
    GapValue,
    NodeDetail,
    NodeValue,
    OutputValue,
    RunValue,
    SessionValue,
)
from sessions_app.selectors.retention import HoldValue
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.markdown import plain_words, render_markdown
from teams_app.engine.times import absolute_words

_DEEPEST_INDENT = 12
_EXCERPT_CHARACTERS = 180
_SHOWN_JSON_CHARACTERS = 100_000

KINDS = {
    NodeKind.STEP: "step",
    NodeKind.CHECKPOINT: "bookmark",
    NodeKind.BLOCKED_ATTEMPT: "blocked",
    NodeKind.GATE: "gate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    label: str
    text: str
    url: str = ""
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """One node in the tree of its run."""

    title: str
    url: str
    indent: str
    kind: str
    tags: tuple[str, ...]
    excerpts: tuple[str, ...]
    at: datetime
    is_tip: bool
    is_on_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOutput:
    """Notes as HTML, or an artifact as indented JSON."""

    title: str
    notes: SafeString | None
    text: str
    is_superseded: bool
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGap:
    name: str
    severity: str
    detail: str
    summary: str
    state: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvent:
    index: int
    kind: str
    at: datetime
    text: str
    digest: str


def notes_html(text: str) -> SafeString:
    return mark_safe(render_markdown(text))  # noqa: S308  the one function that makes HTML of words has cleaned it


def session_url(session_id: UUID) -> str:
    return reverse("admin:sessions_app_worksession_change", args=(session_id,))


def run_url(run_id: UUID) -> str:
    return reverse("admin:sessions_app_run_change", args=(run_id,))


def node_url(run_id: UUID, node_id: UUID) -> str:
    return f"{run_url(run_id)}?node={to_text(Prefix.NODE, node_id)}"


def checkpoint_url(request_id: UUID) -> str:
    return reverse("admin:sessions_app_checkpointrequest_change", args=(request_id,))


def session_facts(session: SessionValue, *, names: Mapping[str, str], hold: HoldValue | None) -> list[Fact]:
    by = names.get(session.created_by, "")
    held = f"“{hold.reason}” {names.get(hold.held_by, '')}, {moment(hold.held_at)}" if hold else ""
    facts = [
        Fact(label="Session", text=to_text(Prefix.SESSION, session.id), is_code=True),
        Fact(label="Ticket", text=session.ticket),
        Fact(label="Branch", text=session.git_branch, is_code=True),
        Fact(label="Commit", text=session.git_head_sha[:12], is_code=True),
        Fact(label="Repository", text=session.repository),
        Fact(label="Next runs begin", text=mode(session.preferences.autonomy, session.preferences.risk_policy)),
        Fact(label="Begun", text=f"{moment(session.created_at)}{f' by {by}' if by else ''}"),
        Fact(label="Last activity", text=moment(session.last_activity_at)),
        Fact(label="Held from expiry", text=held),
    ]
    return [fact for fact in facts if fact.text]


def run_facts(run: RunValue, session: SessionValue, tip: NodeValue) -> list[Fact]:
    facts = [
        Fact(label="Run", text=to_text(Prefix.RUN, run.id), is_code=True),
        Fact(label="Session", text=session.title or to_text(Prefix.SESSION, session.id), url=session_url(session.id)),
        Fact(label="Workflow", text=run.workflow_id, is_code=True),
        Fact(label="Now at", text=tip.pending_title or title_of(tip), url=node_url(run.id, tip.id)),
        Fact(label="Mode", text=mode(tip.preferences.autonomy, tip.preferences.risk_policy)),
        Fact(label="Through", text=run.dialect.value),
        Fact(label="Begun", text=f"{moment(run.started_at)} by {run.created_by}"),
        Fact(label="Last activity", text=moment(run.last_activity_at)),
        Fact(label="Completed", text=moment(run.completed_at) if run.completed_at else ""),
        Fact(label="Program", text=run.workflow_hash, is_code=True),
    ]
    return [fact for fact in facts if fact.text]


def node_facts(detail: NodeDetail) -> list[Fact]:
    node = detail.node
    parent = node.parent_id
    facts = [
        Fact(label="Node", text=to_text(Prefix.NODE, node.id), is_code=True),
        Fact(label="Step", text=node.pending_key, is_code=True),
        Fact(label="Kind", text=KINDS[node.kind]),
        Fact(
            label="Came of",
            text="an earlier node" if parent else "",
            url=node_url(node.run_id, parent) if parent else "",
        ),
        Fact(label="By", text=_cause(node.edge_cause)),
        Fact(label="Mode", text=mode(node.preferences.autonomy, node.preferences.risk_policy)),
        Fact(label="Made", text=moment(node.created_at)),
        Fact(label="Event", text=str(node.event_index)),
        Fact(label="Snapshot", text=node.snapshot_digest, is_code=True),
    ]
    capabilities = [f"{name.value}: {seen.status.value}" for name, seen in detail.capabilities.items()]
    return [fact for fact in facts if fact.text] + (
        [Fact(label="Capabilities", text=", ".join(capabilities))] if capabilities else []
    )


def shown_tree(lines: Sequence[TreeLine], notes: Iterable[tuple[UUID, UUID, str]]) -> list[ShownLine]:
    """Notes stand with the step that they finished; those that led aside, with the branch that they began."""
    depths = {line.node.id: line.depth for line in lines}
    preferences = {line.node.id: line.node.preferences for line in lines}
    excerpts: dict[UUID, list[str]] = {}
    for at, to, body in notes:
        goes_straight_on = depths.get(at) == depths.get(to)
        excerpts.setdefault(at if goes_straight_on else to, []).append(excerpt_of(plain_words(body)))
    return [_shown_line(line, preferences, excerpts.get(line.node.id, ())) for line in lines]


def _shown_line(line: TreeLine, preferences: Mapping[UUID, Preferences], excerpts: Iterable[str]) -> ShownLine:
    node = line.node
    return ShownLine(
        title=title_of(node),
        url=node_url(node.run_id, node.id),
        indent=f"indent-{min(line.depth, _DEEPEST_INDENT)}",
        kind=KINDS[node.kind],
        tags=tuple(_tags(line, preferences)),
        excerpts=tuple(excerpts),
        at=node.created_at,
        is_tip=line.is_tip,
        is_on_way=line.is_on_way,
    )


def shown_output(output: OutputValue) -> ShownOutput:
    is_notes = output.channel is OutputChannel.RECAP
    return ShownOutput(
        title="Notes" if is_notes else output.artifact_kind or "Artifact",
        notes=notes_html(output.body) if is_notes else None,
        text="" if is_notes else pretty(output.body.encode()),
        is_superseded=output.is_superseded,
        at=output.created_at,
    )


def shown_gap(gap: GapValue) -> ShownGap:
    open_state = "closes another" if gap.closes else "open"
    return ShownGap(
        name=gap_name(gap.id),
        severity=gap.severity.value,
        detail=gap.detail.value.replace("_", " "),
        summary=gap.summary,
        state=open_state if gap.resolved_by_id is None else "closed",
        url=node_url(gap.run_id, gap.node_id),
    )


def shown_event(event: EventValue) -> ShownEvent:
    return ShownEvent(
        index=event.index,
        kind=event.kind.value.replace("_", " "),
        at=event.created_at,
        text=pretty(event.body),
        digest=event.digest,
    )


def shown_context(context: Mapping[str, Any]) -> str:
    return pretty(orjson.dumps(dict(context))) if context else ""


def title_of(node: NodeValue) -> str:
    if node.pending_title:
        return node.pending_title
    return node.pending_key or "The end"


def excerpt_of(notes: str, *, characters: int = _EXCERPT_CHARACTERS) -> str:
    """The first words, on one line."""
    text = " ".join(notes.split())
    return text if len(text) <= characters else f"{text[:characters].rstrip()}…"


def words(name: str) -> str:
    return name.replace("_", " ")


def mode(autonomy: str, risk_policy: str) -> str:
    return f"{words(autonomy)}, {risk_policy}"


def moment(at: datetime) -> str:
    """In the zone of whoever reads."""
    return absolute_words(timezone.localtime(at))


def pretty(data: bytes) -> str:
    text = orjson.dumps(orjson.loads(data), option=orjson.OPT_INDENT_2).decode()
    if len(text) <= _SHOWN_JSON_CHARACTERS:
        return text
    return f"{text[:_SHOWN_JSON_CHARACTERS]}\n… the rest is left out here; REST has all of it"


def _tags(line: TreeLine, preferences: Mapping[UUID, Preferences]) -> Sequence[str]:
    """A change of mode makes a node with the same step; what it is there for is said."""
    tags = [] if line.branches <= 1 else [f"{line.branches} branches"]
    now, parent = line.node.preferences, line.node.parent_id
    if parent is not None and preferences.get(parent, now) != now:
        tags.append(f"mode: {mode(now.autonomy, now.risk_policy)}")
    if line.node.kind is NodeKind.STEP and not line.node.pending_key:
        tags.append("complete")
    return tags


def _cause(cause: EdgeCause | None) -> str:
    match cause:
        case EdgeCause.TIP_ADVANCE:
            return "going on"
        case EdgeCause.NON_TIP_ADVANCE:
            return "going back and taking another way"
        case EdgeCause.CHECKPOINT_CREATED:
            return "noting work on the way"
        case _:
            return ""
