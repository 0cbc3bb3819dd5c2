"""Runs as the actor's team sees them, and the tree of one."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery

from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.engine.state import Snapshot, sound_snapshot
from sessions_app.engine.tree import Tree, lay_out
from sessions_app.engine.values import NodeValue, RunDetail, RunValue
from sessions_app.models import Handle, Node, Run, SearchedRun, Snapshot as SnapshotRow, WorkSession
from sessions_app.selectors.activity import (
    NEWEST_FIRST,
    active_before,
    active_since,
    activity_position,
    behind,
    read_activity_position,
)
from sessions_app.selectors.gaps import count_open_gaps
from sessions_app.selectors.rows import node_value, run_value
from sessions_app.selectors.sessions import no_session, read_session, team_sessions
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.pages import Page, PageRequest, cut_page
from workflows_app.selectors.workflows import ids_named

MAX_TREE_NODES = 400
MAX_WORKFLOWS = 200

# The way from the tip up to the oldest node that is shown.
_WAY = """
WITH RECURSIVE way AS (
  SELECT n.id, n.parent_id, n.event_index FROM sessions_app_node n WHERE n.id = %(tip)s AND n.team_id = %(team)s
  UNION ALL
  SELECT p.id, p.parent_id, p.event_index FROM way w JOIN sessions_app_node p ON p.id = w.parent_id
  WHERE p.event_index >= %(oldest)s
)
SELECT id FROM way WHERE event_index <= %(newest)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """What a run can be called by, and the program that names its steps."""

    goal: str
    name: str
    session_title: str
    workflow_title: str
    workflow_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilters:
    status: RunStatus | None = None
    workflow_id: str = ""
    session_id: UUID | None = None
    text: str = ""
    dialect: Dialect | None = None
    # Of the last activity, the first moment and the one before which it was.
    active_since: datetime | None = None
    active_until: datetime | None = None
    # Runs that this one has triggered.
    parent_run_id: UUID | None = None


def list_runs(*, actor: Actor, filters: RunFilters, page: PageRequest) -> Page[RunValue]:
    """The latest activity first. One query, one more to tell a session without runs from one that is not there, and one for the
    other name of a workflow.
    """
    actor.require(Permission.READ_RUNS)
    _require_session(actor, filters.session_id)
    if filters.parent_run_id is not None:
        find_run(actor, filters.parent_run_id)
    rows = _filtered(actor, filters)
    if page.after is not None:
        rows = rows.filter(behind(*read_activity_position(page.after)))
    return cut_page(
        rows=rows.order_by(*NEWEST_FIRST)[: page.limit + 1],
        limit=page.limit,
        value_of=run_value,
        position_of=activity_position,
    )


def read_run(*, actor: Actor, run_id: UUID) -> RunDetail:
    """With its session, its tip and its open gaps. Five queries, one more to say why it is blocked."""
    actor.require(Permission.READ_RUNS)
    run = find_run(actor, run_id)
    tip = Node.objects.get(pk=run.tip_node_id)
    is_blocked = tip.kind == NodeKind.BLOCKED_ATTEMPT.value
    return RunDetail(
        run=run_value(run),
        session=read_session(actor=actor, session_id=run.session_id),
        tip=node_value(tip),
        open_gaps=count_open_gaps(run_id=run.id),
        blocked=read_snapshot(tip).blocked if is_blocked else None,
    )


def name_runs(*, actor: Actor, ids: Collection[UUID]) -> dict[UUID, RunName]:
    """What these runs are called, of those of the team. One query."""
    actor.require(Permission.READ_RUNS)
    session = WorkSession.objects.filter(pk=OuterRef("session_id")).values("title")
    rows = Run.objects.filter(team_id=actor.team_id, pk__in=ids).annotate(of_session=Subquery(session[:1]))
    return {
        row.pk: RunName(
            goal=row.goal,
            name=row.name,
            session_title=row.of_session or "",
            workflow_title=row.workflow_title,
            workflow_hash=row.workflow_hash,
        )
        for row in rows.order_by("pk")
    }


def read_snapshot(node: Node) -> Snapshot:
    found = SnapshotRow.objects.filter(team_id=node.team_id, digest=node.snapshot_digest)
    data = found.order_by("digest").values_list("data", flat=True).first()
    return sound_snapshot(data=bytes(data or b""), digest=node.snapshot_digest)


def read_tree(*, actor: Actor, run_id: UUID, before: int | None = None) -> Tree:
    """The newest nodes of a run as a tree, or those that came before an event. Two queries, three for older nodes."""
    actor.require(Permission.READ_RUNS)
    run = find_run(actor, run_id)
    rows = Node.objects.filter(run_id=run.id)
    if before is not None:
        rows = rows.filter(event_index__lt=before)
    nodes = [node_value(row) for row in rows.order_by("-event_index", "id")[: MAX_TREE_NODES + 1]]
    shown = nodes[:MAX_TREE_NODES]
    way = _way(actor, run, shown) if before is not None and shown else frozenset()
    return Tree(
        lines=lay_out(nodes=shown, tip=run.tip_node_id, way=way),
        before=shown[-1].event_index if len(nodes) > MAX_TREE_NODES else None,
    )


def find_run(actor: Actor, run_id: UUID) -> Run:
    row = Run.objects.filter(pk=run_id, team_id=actor.team_id).order_by("pk").first()
    if row is None:
        raise NotFoundError("There is no such run.", suggestion="List the runs of your team for their ids.")
    return row


def _filtered(actor: Actor, filters: RunFilters) -> QuerySet[Run]:
    rows = Run.objects.filter(team_id=actor.team_id)
    if filters.status is not None:
        rows = rows.filter(status=filters.status.value)
    if filters.workflow_id:
        rows = rows.filter(workflow_id__in=ids_named(actor, filters.workflow_id))
    if filters.session_id is not None:
        rows = rows.filter(session_id=filters.session_id)
    if filters.dialect is not None:
        rows = rows.filter(dialect=filters.dialect.value)
    if filters.active_since is not None:
        rows = rows.filter(active_since(filters.active_since))
    if filters.active_until is not None:
        rows = rows.filter(active_before(filters.active_until))
    if filters.parent_run_id is not None:
        children = Handle.objects.filter(team_id=actor.team_id, parent_run_id=filters.parent_run_id)
        rows = rows.filter(pk__in=children.values("run_id"))
    if not filters.text:
        return rows
    found = SearchedRun.objects.filter(team_id=actor.team_id, goal__icontains=filters.text)
    return rows.filter(pk__in=found.values("pk"))


def _require_session(actor: Actor, session_id: UUID | None) -> None:
    if session_id is not None and not team_sessions(actor).filter(pk=session_id).exists():
        raise no_session()


def _way(actor: Actor, run: Run, shown: list[NodeValue]) -> frozenset[UUID]:
    parameters: dict[str, Any] = {
        "tip": run.tip_node_id,
        "team": actor.team_id,
        "newest": shown[0].event_index,
        "oldest": shown[-1].event_index,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAY, parameters)
        return frozenset(row[0] for row in cursor.fetchall())
