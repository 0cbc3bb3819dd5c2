"""A run with all its nodes, read once: what its page draws, lists and sums up."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from django.db.models import (
    BigIntegerField,
    Case,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    Subquery,
    Sum,
    TextField,
    Value,
    When,
    Window,
)
from django.db.models.functions import JSONObject

from sessions_app.engine.log import NodeKind
from sessions_app.engine.obligations import DIVERGENCE_KIND
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.state import Snapshot, sound_snapshot
from sessions_app.engine.values import EventValue, GapValue, OutputValue, RunValue
from sessions_app.models import CheckpointRequest, Hold, Run, WorkSession
from sessions_app.selectors.checkpoints import CheckpointValue, checkpoint_value
from sessions_app.selectors.evidence import ChildRun
from sessions_app.selectors.gaps import gaps_of
from sessions_app.selectors.log_reading import read_log
from sessions_app.selectors.records import MAX_EVENTS_OF_ATTEMPT, outputs_of
from sessions_app.selectors.rows import event_value, gap_value, output_value, run_value
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError

# The newest of them; a run of more is told to be cut.
MOST_NODES = 5_000
MOST_SHOWN = 200
_MOST_COMPARED = 10_000
_MOST_COMPARED_BYTES = 4 * 1024 * 1024
_EXCERPT_CHARACTERS = 200

_NODES = """
SELECT n.id, n.parent_id, n.kind, n.edge_cause, n.pending_key, n.pending_title, n.event_index, n.created_at,
       n.autonomy, n.risk_policy, n.snapshot_digest,
       (SELECT a.actor FROM sessions_app_attempt a WHERE a.node_id = n.parent_id AND a.to_node_id = n.id LIMIT 1),
       (SELECT left(o.body, %(excerpt)s) FROM sessions_app_output o
        WHERE o.to_node_id = n.id AND o.channel = 'recap' ORDER BY o.event_index DESC, o.id DESC LIMIT 1),
       CASE WHEN n.id IN (%(chosen)s, %(tip)s) THEN
         (SELECT s.data FROM sessions_app_snapshot s WHERE s.team_id = n.team_id AND s.digest = n.snapshot_digest) END,
       CASE WHEN n.kind = 'blocked_attempt' THEN
         (SELECT convert_from(s.data, 'UTF8')::jsonb #> '{blocked,blockers,0}' FROM sessions_app_snapshot s
          WHERE s.team_id = n.team_id AND s.digest = n.snapshot_digest) END,
       n.id IN (SELECT o.node_id FROM sessions_app_output o WHERE o.run_id = %(run)s AND o.artifact_kind = %(diverged)s)
FROM sessions_app_node n
WHERE n.run_id = %(run)s
ORDER BY n.event_index DESC, n.id DESC
LIMIT %(most)s
"""

_RELATIVES = """
(SELECT NULL::uuid AS child, r.id, coalesce(nullif(r.name, ''), nullif(r.goal, ''), r.workflow_title), r.status, r.started_at, r.completed_at FROM sessions_app_run r
 WHERE r.team_id = %(team)s AND r.id IN
   (SELECT h.run_id FROM sessions_app_handle h WHERE h.parent_run_id = %(run)s AND h.team_id = %(team)s)
 ORDER BY r.started_at, r.id LIMIT %(most)s)
UNION ALL
(SELECT h.run_id, h.parent_run_id, '', '', NULL, NULL FROM sessions_app_handle h
 WHERE h.run_id = %(run)s AND h.team_id = %(team)s AND h.parent_run_id IS NOT NULL LIMIT 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """`by` made it; `excerpt` begins the notes that the same call handed in, for the step before it.

    `blocker` is the first reason of a blocked attempt, with its code. `is_diverged` says that the agent did otherwise than
    the step says, and told so.
    """

    id: UUID
    parent_id: UUID | None
    kind: NodeKind
    edge_cause: str
    pending_key: str
    title: str
    event_index: int
    created_at: datetime
    mode: tuple[str, str]
    snapshot_digest: str
    by: str
    excerpt: str
    blocker: Mapping[str, Any] | None
    is_diverged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionName:
    id: UUID
    title: str
    ticket: str
    git_branch: str
    event_count: int
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """`nodes` in the order of the log. `parent_run` is the run that triggered this one."""

    run: RunValue
    session: SessionName
    nodes: Sequence[GraphNode]
    is_cut: bool
    questions: Sequence[CheckpointValue]
    gaps: Sequence[GapValue]
    children: Sequence[ChildRun]
    parent_run: UUID | None
    chosen: GraphNode | None
    state: Snapshot | None
    tip_state: Snapshot | None


def read_graph(*, actor: Actor, run_id: UUID, chosen: UUID | None = None) -> Graph:
    """Five queries, however long the run is. Of the chosen node and of the tip the engine's state is read too."""
    actor.require(Permission.READ_RUNS)
    session = WorkSession.objects.filter(pk=OuterRef("session_id")).values(
        found=JSONObject(
            title=F("title"),
            ticket=F("ticket"),
            git_branch=F("git_branch"),
            event_count=F("next_event_index"),
            is_held=Exists(Hold.objects.filter(session_id=OuterRef("pk"))),
        )
    )
    run = (
        Run.objects.filter(pk=run_id, team_id=actor.team_id)
        .annotate(of_session=Subquery(session[:1]))
        .order_by("pk")
        .first()
    )
    if run is None:
        raise NotFoundError("There is no such run.", suggestion="List the runs of your team for their ids.")
    nodes, states = _nodes(run, chosen)
    questions = CheckpointRequest.objects.filter(run_id=run.pk).order_by("-event_index")[: 5 * MOST_SHOWN]
    gaps = gaps_of(run_id=run.pk).order_by("event_index", "id")[:MOST_SHOWN]
    children, parent = _relatives(actor, run)
    return Graph(
        run=run_value(run),
        session=SessionName(id=run.session_id, **run.of_session),
        nodes=nodes,
        is_cut=len(nodes) == MOST_NODES,
        questions=[checkpoint_value(row, run) for row in questions],
        gaps=[gap_value(row, closes=row.closes) for row in gaps],
        children=children,
        parent_run=parent,
        chosen=next((node for node in nodes if node.id == chosen), None),
        state=states.get(chosen) if chosen else None,
        tip_state=states.get(run.tip_node_id),
    )


def events_of_node(*, actor: Actor, graph: Graph, node: GraphNode) -> Sequence[EventValue]:
    """What the call that made a node wrote. One query."""
    actor.require(Permission.READ_RUNS)
    first, last = node.event_index - MAX_EVENTS_OF_ATTEMPT, node.event_index + MAX_EVENTS_OF_ATTEMPT
    near = read_log(session_id=graph.session.id, after=first - 1, until=last + 1)
    return [
        event_value(event) for event in near if event.row.created_at == node.created_at and event.run_id == graph.run.id
    ]


def outputs_at(*, actor: Actor, node: GraphNode, run_id: UUID) -> Sequence[OutputValue]:
    """What was handed in for the step of a node, or recorded with a bookmark. One query."""
    actor.require(Permission.READ_RUNS)
    own = Q(to_node_id=node.id) if node.kind is NodeKind.BOOKMARK else Q(node_id=node.id)
    rows = outputs_of(run_id=run_id).filter(own, team_id=actor.team_id)
    return [output_value(row, is_superseded=row.is_superseded) for row in rows.order_by("event_index", "id")[:50]]


def outputs_of_way(*, actor: Actor, run_id: UUID, node_ids: Collection[UUID]) -> Sequence[OutputValue]:
    """What the calls that made these nodes handed in. One query. Beyond so many bytes together they come without their bodies:
    their digests still say whether they are the same.
    """
    actor.require(Permission.READ_RUNS)
    rows = outputs_of(run_id=run_id).filter(team_id=actor.team_id, to_node_id__in=node_ids, is_superseded=False)
    size = Func(F("body"), function="octet_length", output_field=BigIntegerField())
    upto = Window(Sum(size), order_by=["event_index", "id"])
    rows = (
        rows.defer("body")
        .annotate(upto=upto)
        .annotate(
            read=Case(When(upto__lte=_MOST_COMPARED_BYTES, then=F("body")), default=Value(""), output_field=TextField())
        )
    )
    found = list(rows.order_by("event_index", "id")[:_MOST_COMPARED])
    for row in found:
        row.body = row.read
    return [output_value(row, is_superseded=False) for row in found]


def _nodes(run: Run, chosen: UUID | None) -> tuple[list[GraphNode], dict[UUID, Snapshot]]:
    asked: dict[str, Any] = {
        "run": run.pk,
        "excerpt": _EXCERPT_CHARACTERS,
        "most": MOST_NODES,
        "chosen": chosen,
        "tip": run.tip_node_id,
        "diverged": DIVERGENCE_KIND,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NODES, asked)
        rows = cursor.fetchall()
    states = {row[0]: sound_snapshot(data=bytes(row[13]), digest=row[10]) for row in rows if row[13] is not None}
    return [_node(row) for row in reversed(rows)], states


def _node(row: Sequence[Any]) -> GraphNode:
    return GraphNode(
        id=row[0],
        parent_id=row[1],
        kind=NodeKind(row[2]),
        edge_cause=row[3],
        pending_key=row[4],
        title=row[5] or row[4],
        event_index=row[6],
        created_at=row[7],
        mode=(row[8], row[9]),
        snapshot_digest=row[10],
        by=row[11] or "",
        excerpt=row[12] or "",
        blocker=orjson.loads(row[14]) if isinstance(row[14], str) else row[14],
        is_diverged=row[15],
    )


def _relatives(actor: Actor, run: Run) -> tuple[list[ChildRun], UUID | None]:
    """The runs that this one triggered, and the one that triggered it."""
    with connection.cursor() as cursor:
        cursor.execute(_RELATIVES, {"team": actor.team_id, "run": run.pk, "most": MOST_SHOWN})
        rows = cursor.fetchall()
    children = [
        ChildRun(id=row[1], title=row[2], status=RunStatus(row[3]), started_at=row[4], completed_at=row[5])
        for row in rows
        if row[0] != run.pk
    ]
    return children, next((row[1] for row in rows if row[0] == run.pk), None)
