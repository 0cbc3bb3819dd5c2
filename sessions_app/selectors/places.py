"""Where ids belong, many at once: for what is recorded beside the log and only later asked for its place."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models import Run, WorkSession
from teams_app.engine.actors import Actor

_NODES = """
SELECT n.team_id, n.id, n.session_id, n.run_id, r.workflow_id, r.workflow_hash, n.pending_key
FROM unnest(%(teams)s::uuid[], %(ids)s::uuid[]) AS asked (team_id, id)
JOIN sessions_app_node n ON n.id = asked.id AND n.team_id = asked.team_id
JOIN sessions_app_run r ON r.id = n.run_id
"""
_RUNS = """
SELECT r.team_id, r.id, r.session_id, r.id, r.workflow_id, r.workflow_hash, ''
FROM unnest(%(teams)s::uuid[], %(ids)s::uuid[]) AS asked (team_id, id)
JOIN sessions_app_run r ON r.id = asked.id AND r.team_id = asked.team_id
"""
_SESSIONS = """
SELECT s.team_id, s.id
FROM unnest(%(teams)s::uuid[], %(ids)s::uuid[]) AS asked (team_id, id)
JOIN sessions_app_worksession s ON s.id = asked.id AND s.team_id = asked.team_id
"""

# A row is named by its team and its id, so that nobody's id finds the row of another team.
Named = tuple[UUID, UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """`pending_key` is what is at hand at a node; of a run as a whole nothing is."""

    session_id: UUID
    run_id: UUID
    workflow_id: str
    workflow_hash: str
    pending_key: str


def places_of_nodes(*, nodes: Collection[Named]) -> dict[Named, NodePlace]:
    return _places(_NODES, nodes)


def places_of_runs(*, runs: Collection[Named]) -> dict[Named, NodePlace]:
    return _places(_RUNS, runs)


def known_sessions(*, sessions: Collection[Named]) -> frozenset[Named]:
    return frozenset((row[0], row[1]) for row in _rows(_SESSIONS, sessions))


def has_session(*, actor: Actor, session_id: UUID) -> bool:
    return WorkSession.objects.filter(pk=session_id, team_id=actor.team_id).exists()


def runs_among(*, actor: Actor, run_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Those of the ids that are runs of the actor's team, with their sessions."""
    return dict(Run.objects.filter(pk__in=run_ids, team_id=actor.team_id).values_list("id", "session_id"))


def _places(sql: str, asked: Collection[Named]) -> dict[Named, NodePlace]:
    return {
        (row[0], row[1]): NodePlace(
            session_id=row[2], run_id=row[3], workflow_id=row[4], workflow_hash=row[5], pending_key=row[6]
        )
        for row in _rows(sql, asked)
    }


def _rows(sql: str, asked: Collection[Named]) -> list[tuple[Any, ...]]:
    if not asked:
        return []
    pairs = list(asked)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"teams": [team_id for team_id, _ in pairs], "ids": [row_id for _, row_id in pairs]})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
