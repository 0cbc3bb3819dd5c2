"""Names and events that do not hang on a run's decision: what a session begins with and keeps."""

from typing import Any
from uuid import UUID

from sessions_app.engine import outputs
from sessions_app.engine.log import EventDraft, EventKind, Head
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.state import Preferences
from teams_app.engine.ids import Prefix, to_text


def gap_name(gap_id: UUID) -> str:
    """A gap as the log names it."""
    return f"gap_{gap_id.hex}"


def session_draft(*, session_id: UUID, title: str, parent_id: UUID | None, baseline: Preferences) -> EventDraft:
    """`baseline` is what the runs of the session begin with, whatever its team prefers later."""
    data: dict[str, Any] = {"title": title, "preferences": baseline.as_json()}
    if parent_id is not None:
        data["parentSessionId"] = to_text(Prefix.SESSION, parent_id)
    return EventDraft(
        kind=EventKind.SESSION_CREATED,
        dedupe=f"session_created:{to_text(Prefix.SESSION, session_id)}",
        data=data,
    )


def name_draft(*, name: str, run_id: UUID | None, head: Head) -> EventDraft:
    """What a person calls the session, or a run of it. It is no move of the run."""
    data = {"title": name}
    if run_id is not None:
        data["runId"] = to_text(Prefix.RUN, run_id)
    return EventDraft(kind=EventKind.NAME_GIVEN, dedupe=f"{EventKind.NAME_GIVEN.value}:{head.next_index}", data=data)


def session_output_draft(
    *, output_id: UUID, channel: OutputChannel, body: str, sha256: str, kind: str = ""
) -> EventDraft:
    """Notes of a session that belong to no run."""
    name = outputs.output_name(channel=channel, output_id=output_id)
    return EventDraft(
        kind=EventKind.NODE_OUTPUT_APPENDED,
        dedupe=f"{EventKind.NODE_OUTPUT_APPENDED.value}:{name}",
        data={
            "outputId": name,
            "outputChannel": channel.value,
            "payload": outputs.payload(channel=channel, body=body, sha256=sha256, kind=kind),
        },
    )


def gap_draft(*, gap_id: UUID, gap: Gap, run_id: UUID, node_id: UUID) -> EventDraft:
    name = gap_name(gap_id)
    return EventDraft(
        kind=EventKind.GAP_RECORDED,
        dedupe=f"{EventKind.GAP_RECORDED.value}:{name}",
        data={"gapId": name, **gap.as_data()},
        run_id=run_id,
        node_id=node_id,
    )
