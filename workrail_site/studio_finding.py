"""The find box: an id of anything leads to its page, if it is in the team of whoever asks."""

from collections.abc import Callable
from uuid import UUID

from django.urls import reverse

from sessions_app.admin import showing
from sessions_app.selectors import checkpoints, nodes, runs, sessions
from teams_app.engine.actors import Actor
from teams_app.engine.errors import ForbiddenError, NotFoundError
from teams_app.engine.ids import Prefix, from_text


def _session(actor: Actor, row_id: UUID) -> str:
    return showing.session_url(sessions.read_session(actor=actor, session_id=row_id).id)


def _run(actor: Actor, row_id: UUID) -> str:
    return showing.run_url(runs.read_run(actor=actor, run_id=row_id).run.id)


def _node(actor: Actor, row_id: UUID) -> str:
    return showing.node_url(nodes.read_node(actor=actor, node_id=row_id).run.id, row_id)


def _checkpoint(actor: Actor, row_id: UUID) -> str:
    return showing.checkpoint_url(checkpoints.read_checkpoint(actor=actor, request_id=row_id).id)


def _row(view: str) -> Callable[[Actor, UUID], str]:
    """The page itself looks whether the row is there and of the team."""
    return lambda _, row_id: reverse(f"admin:{view}_change", args=(row_id,))


_PLACES: dict[Prefix, Callable[[Actor, UUID], str]] = {
    Prefix.SESSION: _session,
    Prefix.RUN: _run,
    Prefix.NODE: _node,
    Prefix.CHECKPOINT: _checkpoint,
    Prefix.WORKFLOW: _row("workflows_app_workflow"),
    Prefix.REVISION: _row("workflows_app_revision"),
    Prefix.MEMBERSHIP: _row("teams_app_membership"),
    Prefix.KEY: _row("teams_app_agentkey"),
    Prefix.AUDIT: _row("teams_app_auditentry"),
    Prefix.TRACE: _row("traces_app_traceevent"),
    Prefix.TEAM: _row("teams_app_team"),
}


def is_id(text: str) -> bool:
    return any(from_text(prefix, text) is not None for prefix in _PLACES)


def find(*, actor: Actor, text: str) -> str | None:
    """The address of what the id names; None where the team has no such thing."""
    for prefix, place in _PLACES.items():
        row_id = from_text(prefix, text)
        if row_id is not None:
            try:
                return place(actor, row_id)
            except (NotFoundError, ForbiddenError):
                return None
    return None
