"""`next_activity` of both dialects: the recorded reply, and the token for what was called in the activity that was left."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sessions_app.engine.decisions import EnterActivity
from sessions_app.engine.manifests import ActivityOutcome, ManifestEntry
from sessions_app.engine.submissions import said_in
from traces_app.services.reading import trace_token_of
from workrail_site.dialects.activities.parameters import ActivityEntry, StepEntry
from workrail_site.dialects.activities.printing import echoed, meta_of, told
from workrail_site.dialects.activities.speech import STRETCH
from workrail_site.mcp.answers import ToolReply


def move_to(
    activity_id: str,
    claim: str | None,
    steps: Sequence[StepEntry] | None,
    activities: Sequence[ActivityEntry] | None,
    *,
    asks_on_entry: bool = False,
) -> EnterActivity:
    """An absent manifest is none; an empty one says that nothing was done."""
    return EnterActivity(
        activity_id=activity_id.strip(),
        claim=claim,
        manifest=None if steps is None else tuple(_entry(entry) for entry in steps),
        outcomes=None if activities is None else tuple(_outcome(entry) for entry in activities),
        asks_on_entry=asks_on_entry,
    )


def entered(reply: dict[str, Any], *, run_id: UUID, definition: dict[str, Any]) -> ToolReply:
    """`definition` is what the dialect tells of the activity. The same call again prints the same."""
    stretch, token, warnings = reply.get(STRETCH), reply["session_token"], reply.get("warnings", [])
    trace_token = "" if stretch is None else _trace_token(run_id, stretch, token)
    traced = {"trace_token": trace_token} if trace_token else {}
    dropped = {STRETCH, "session_token", "warnings", *(("activity_id", "name") if definition else ())}
    kept = {key: said for key, said in reply.items() if key not in dropped}
    value = {**definition, **kept, **echoed(token=token, warnings=warnings), **traced}
    return told(value, meta=meta_of(token=token, warnings=warnings, trace_token=trace_token))


def _trace_token(run_id: UUID, stretch: dict[str, Any], token: str) -> str:
    since, until = _moment(stretch["from_ms"]), _moment(stretch["until_ms"])
    return trace_token_of(run_id=run_id, since=since, until=until, beside=token)


def _moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, tz=UTC)


def _entry(entry: StepEntry) -> ManifestEntry:
    return ManifestEntry(
        step_id=entry.step_id.strip(),
        output=said_in(entry.output),
        artifacts=tuple(entry.artifacts or ()),
        context=entry.context,
    )


def _outcome(entry: ActivityEntry) -> ActivityOutcome:
    return ActivityOutcome(
        activity_id=entry.activity_id.strip(),
        outcome=entry.outcome,
        transition_condition=entry.transition_condition or "",
    )
