"""What a session token stands for now, in one statement: its holder, and the run where it stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.engine.runs import Dialect
from sessions_app.engine.session_tokens import Handle, ParentContext
from sessions_app.selectors.standings import STANDING, Standing, standing_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, to_text
from workflows_app.selectors.asked import asked, prepared_cursor

_COLUMNS = """h.id, h.session_id, h.run_id, h.dialect, h.agent_id, h.parent_run_id, h.parent_session_id,
       h.parent_workflow_id, h.parent_activity, h.parent_version"""
_COUNT = 10

_READ_HOLDER = f"""
SELECT {_COLUMNS},
       {STANDING}
FROM sessions_app_handle h
JOIN sessions_app_run r ON r.id = h.run_id
JOIN sessions_app_node n ON n.id = r.tip_node_id
JOIN sessions_app_worksession s ON s.id = h.session_id
LEFT JOIN sessions_app_attempt a ON a.node_id = h.id AND a.nonce = $2
WHERE h.id = $1 AND h.team_id = $3
"""  # noqa: S608  constants only

_READ_CHILDREN = f"""
SELECT {_COLUMNS}, r.workflow_id, s.next_event_index, r.tip_node_id
FROM sessions_app_handle h
JOIN sessions_app_run r ON r.id = h.run_id
JOIN sessions_app_worksession s ON s.id = h.session_id
WHERE h.team_id = $1 AND h.run_id = ANY($2) AND h.parent_run_id IS NOT NULL
ORDER BY h.id
"""  # noqa: S608  constants only

_READ_BEGUN = """
SELECT h.session_id, r.workflow_id, h.parent_activity, r.started_at
FROM sessions_app_handle h
JOIN sessions_app_run r ON r.id = h.run_id
WHERE h.team_id = $1 AND h.parent_run_id = $2
ORDER BY r.started_at, h.id LIMIT 100
"""

_READ_LAST_ANSWER = """
SELECT q.instance_key, q.checkpoint_id, q.option_id, q.answered_as, q.answered_at
FROM sessions_app_checkpointrequest q
WHERE q.run_id = $1 AND q.team_id = $2 AND q.state = 'answered'
ORDER BY q.answered_at DESC, q.event_index DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    handle: Handle
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildHandle:
    """A run that another one waits for, with a holder of it."""

    handle: Handle
    workflow_id: str
    next_event_index: int
    tip_node_id: UUID


@asked
def read_holder(*, team_id: UUID, handle_id: UUID, nonce: bytes = b"") -> Holder | None:
    """The holder with the tip of its run, and what was recorded for this attempt; None when the team has no such holder."""
    row = prepared_cursor().execute(_READ_HOLDER, [handle_id, nonce, team_id]).fetchone()
    if row is None:
        return None
    return Holder(handle=_handle(row), standing=standing_of(row[_COUNT:]))


@asked
def read_children(*, team_id: UUID, run_ids: Sequence[UUID]) -> tuple[ChildHandle, ...]:
    if not run_ids:
        return ()
    rows = prepared_cursor().execute(_READ_CHILDREN, [team_id, list(run_ids)]).fetchall()
    return tuple(
        ChildHandle(
            handle=_handle(row),
            workflow_id=row[_COUNT],
            next_event_index=row[_COUNT + 1],
            tip_node_id=row[_COUNT + 2],
        )
        for row in rows
    )


def begun_children(*, actor: Actor, run_id: UUID) -> list[dict[str, str]]:
    """The runs that this one has dispatched, the first first, each once however many agents hold it."""
    actor.require(Permission.READ_RUNS)
    rows = prepared_cursor().execute(_READ_BEGUN, [actor.team_id, run_id]).fetchall()
    told = {
        session_id: {
            "session_id": to_text(Prefix.SESSION, session_id),
            "workflow_id": workflow_id,
            "activity": activity,
            "started_at": started_at.isoformat(),
        }
        for session_id, workflow_id, activity, started_at in rows
    }
    return list(told.values())


def read_last_answer(*, team_id: UUID, run_id: UUID) -> dict[str, str] | None:
    """The question of the run that was answered last, whoever answered it through whichever door."""
    row = prepared_cursor().execute(_READ_LAST_ANSWER, [run_id, team_id]).fetchone()
    if row is None:
        return None
    activity, _, _ = str(row[0]).partition("@")
    return {
        "activity_id": activity,
        "checkpoint_id": row[1],
        "option_id": row[2],
        "authority": row[3],
        "timestamp": row[4].isoformat(),
    }


def _handle(row: Sequence[Any]) -> Handle:
    parent = None
    if row[5] is not None:
        parent = ParentContext(run_id=row[5], session_id=row[6], workflow_id=row[7], activity=row[8], version=row[9])
    return Handle(id=row[0], session_id=row[1], run_id=row[2], dialect=Dialect(row[3]), agent_id=row[4], parent=parent)
