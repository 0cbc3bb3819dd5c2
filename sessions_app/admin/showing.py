"""What the Studio's pages of runs show, made ready so that a template only prints it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from sessions_app.admin import states
from sessions_app.admin.event_words import event_words
from sessions_app.admin.places import ShownPlaces
from sessions_app.engine.drafts import gap_name
from sessions_app.engine.reasons import Detail, GapSeverity
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.values import (
    EventValue,
    GapValue,
    NodeValue,
    OutputValue,
    SessionValue,
)
from sessions_app.selectors.retention import HoldValue
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.markdown import render_markdown
from teams_app.engine.times import absolute_words

_EXCERPT_CHARACTERS = 180
_SHOWN_JSON_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    label: str
    text: str = ""
    url: str = ""
    is_code: bool = False
    at: datetime | None = None


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
    says: str
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
        Fact(label="Ticket", text=session.ticket),
        Fact(label="Branch", text=session.git_branch, is_code=True),
        Fact(label="Commit", text=session.git_head_sha[:12], is_code=True),
        Fact(label="Repository", text=session.repository),
        Fact(label="Next runs begin", text=states.mode(session.preferences.autonomy, session.preferences.risk_policy)),
        Fact(label="Begun", text=f"by {by}" if by else "", at=session.created_at),
        Fact(label="Last call", at=session.last_activity_at),
        Fact(label="Held from expiry", text=held),
    ]
    return [fact for fact in facts if fact.text or fact.at]


def shown_output(output: OutputValue) -> ShownOutput:
    is_notes = output.channel is OutputChannel.RECAP
    return ShownOutput(
        title="Notes" if is_notes else output.artifact_kind or "Artifact",
        notes=notes_html(output.body) if is_notes else None,
        text="" if is_notes else pretty(output.body.encode()),
        is_superseded=output.is_superseded,
        at=output.created_at,
    )


def is_unnoted(gap: GapValue) -> bool:
    """A step that was acknowledged without notes where no notes are asked for: told of, and no reason to look."""
    return gap.detail is Detail.MISSING_REQUIRED_NOTES and gap.severity is GapSeverity.INFO


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


def shown_event(event: EventValue, places: ShownPlaces) -> ShownEvent:
    return ShownEvent(
        index=event.index,
        says=event_words(event.kind, orjson.loads(event.body)["data"], places),
        at=event.created_at,
        text=pretty(event.body),
        digest=event.digest,
    )


def title_of(node: NodeValue) -> str:
    if node.pending_title:
        return node.pending_title
    return node.pending_key or "The end"


def moment(at: datetime) -> str:
    """In the zone of whoever reads."""
    return absolute_words(timezone.localtime(at))


def pretty(data: bytes) -> str:
    text = orjson.dumps(orjson.loads(data), option=orjson.OPT_INDENT_2).decode()
    if len(text) <= _SHOWN_JSON_CHARACTERS:
        return text
    return f"{text[:_SHOWN_JSON_CHARACTERS]}\n… the rest is left out here; REST has all of it"
