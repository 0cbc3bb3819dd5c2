"""`start_session` of both dialects: what began, or what was taken up, and the token for all other calls."""

from typing import Any

from sessions_app.services.moves.session_tokens import Begun
from teams_app.engine.errors import InvalidInputError
from workrail_site.dialects.activities.definitions import leading
from workrail_site.dialects.activities.printing import meta_of, told
from workrail_site.dialects.activities.speech import answer_of, waits_for_person
from workrail_site.dialects.activities.standing import note, notices_of
from workrail_site.dialects.activities.status import status_in_words
from workrail_site.mcp.answers import ToolReply


def refuse_two_tokens(session_token: str | None, parent_session_token: str | None) -> None:
    if (session_token or "").strip() and (parent_session_token or "").strip():
        raise InvalidInputError(
            "A session that goes on has the parent that it began with; another one cannot be given to it.",
            suggestion="Leave parent_session_token out to go on, or session_token to begin a child.",
            details={"parameter": "parent_session_token"},
        )


def started(begun: Begun) -> ToolReply:
    """Whoever comes back is told where the session stands."""
    held = begun.held
    comes_back = begun.inherited or begun.adopted
    warnings = [*filter(None, [begun.warning]), *(notices_of(held) if comes_back else ())]
    note(held, warning=begun.warning)
    flags = {"inherited": begun.inherited, "adopted": begun.adopted, "recovered": begun.recovered}
    value: dict[str, Any] = {
        "workflow": {
            "id": held.standing.workflow_id,
            "version": held.program.version,
            "title": held.program.title,
            "description": held.program.description,
        },
        "session_token": held.token,
        **leading(held),
        **{name: True for name, is_so in flags.items() if is_so},
    }
    if comes_back:
        value |= {
            "status": status_in_words(held.snapshot),
            "current_activity": held.snapshot.position.activity or "none",
            "pending_checkpoints": [question.checkpoint for question in held.pending],
            **waits_for_person(held.snapshot),
            **answer_of(held.snapshot),
        }
    if warnings:
        value["warning"] = " ".join(warnings)
    return told(value, meta=meta_of(token=held.token, warnings=warnings))
