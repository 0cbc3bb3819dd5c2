"""Where a session stands, by its log alone: the same after a restart, and whoever asks."""

from typing import Any

from sessions_app.engine.session_tokens import ParentContext
from sessions_app.engine.state import Snapshot
from sessions_app.selectors.session_tokens import read_last_answer
from sessions_app.services.moves.handed_over import children_of
from sessions_app.services.moves.session_tokens import Held
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text
from workrail_site.dialects.activities.speech import answer_of, waits_for_person


def status_of(*, actor: Actor, held: Held) -> dict[str, Any]:
    snapshot = held.snapshot
    optional: dict[str, Any] = {
        "pending_checkpoints": [question.checkpoint for question in held.pending],
        **waits_for_person(snapshot),
        "stopped": snapshot.stop.as_json() if snapshot.stop else None,
        **answer_of(snapshot),
        "last_checkpoint": read_last_answer(team_id=actor.team_id, run_id=held.handle.run_id),
        "parent": parent_json(held.handle.parent) if held.handle.parent else None,
        "children": [
            {
                "session_id": to_text(Prefix.SESSION, child.session_id),
                "workflow_id": child.workflow_id,
                "session_token": child.token,
            }
            for child in children_of(actor=actor, snapshot=snapshot)
        ],
    }
    return {
        "status": status_in_words(snapshot),
        "current_activity": snapshot.position.activity or "none",
        "completed_activities": list(snapshot.position.completed_activities),
        "workflow": {"id": held.program.id, "version": held.program.version, "title": held.program.title},
        "session_id": to_text(Prefix.SESSION, held.handle.session_id),
        "session_token": held.token,
        **{name: said for name, said in optional.items() if said},
    }


def parent_json(parent: ParentContext) -> dict[str, str]:
    return {
        "session_id": to_text(Prefix.SESSION, parent.session_id),
        "workflow_id": parent.workflow_id,
        "activity": parent.activity,
        "version": parent.version,
    }


def status_in_words(snapshot: Snapshot) -> str:
    if snapshot.stop is not None:
        return snapshot.stop.kind.value
    if snapshot.position.complete:
        return "completed"
    return "blocked" if snapshot.questions or snapshot.waits_for else "active"
