"""`start_session` of both dialects: what began, or what was taken up, and the token for all other calls."""

from typing import Any

from sessions_app.services.handles import Begun
from workrail_site.dialects.activities.printing import meta_of, told
from workrail_site.dialects.activities.standing import note
from workrail_site.mcp.answers import ToolReply


def started(begun: Begun) -> ToolReply:
    """Whoever comes back is told where the session stands."""
    held = begun.held
    note(held, warning=begun.warning)
    warnings = [begun.warning] if begun.warning else []
    flags = {"inherited": begun.inherited, "adopted": begun.adopted, "recovered": begun.recovered}
    value: dict[str, Any] = {
        "workflow": {
            "id": held.standing.workflow_id,
            "version": held.program.version,
            "title": held.program.title,
            "description": held.program.description,
        },
        "session_token": held.token,
        **{name: True for name, is_so in flags.items() if is_so},
    }
    if begun.inherited or begun.adopted:
        value |= {
            "current_activity": held.snapshot.position.activity or "none",
            "pending_checkpoints": [question.checkpoint for question in held.pending],
        }
    if begun.warning:
        value["warning"] = begun.warning
    return told(value, meta=meta_of(token=held.token, warnings=warnings))
