"""Runs as their list shows them: by a query, in keyset pages, in the order that is asked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.log import NodeKind
from sessions_app.engine.run_query import RunQuery, RunWord
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.values import RunValue
from sessions_app.models import CheckpointRequest, Gap, Node, Run, WorkSession
from sessions_app.selectors.activity import WINDOW_SQL, active_before, active_since
from sessions_app.selectors.found_words import runs_with_word
from sessions_app.selectors.rows import run_value
from sessions_app.selectors.run_order import RunOrder
from sessions_app.selectors.sessions import sessions_on_branch
from teams_app import selectors as teams
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.pages import Page, PageRequest, cut_page
from workflows_app.selectors.workflows import ids_named

MOST_COUNTED = 1_000
MOST_BRANCHED_NODES = 400
_ENDED = ("complete", "complete_with_gaps", "rejected", "cancelled")
_BY_WORD = {
    RunWord.PAUSED: "paused",
    RunWord.DONE: "complete",
    RunWord.GAPS: "complete_with_gaps",
    RunWord.REJECTED: "rejected",
    RunWord.CANCELLED: "cancelled",
}

_COUNTS = f"""
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM sessions_app_run
     WHERE team_id = %(team)s AND status = ANY(%(open)s) LIMIT %(most)s) a),
  (SELECT count(*) FROM (SELECT DISTINCT run_id FROM sessions_app_checkpointrequest
     WHERE team_id = %(team)s AND state = 'open' LIMIT %(most)s) b),
  (SELECT count(*) FROM (SELECT 1 FROM sessions_app_run r
     WHERE team_id = %(team)s AND (status = 'blocked' OR (status = 'in_progress'
            AND activity_window < %(idle)s AND last_activity_at < %(idle)s))
       AND NOT EXISTS (SELECT 1 FROM sessions_app_checkpointrequest q WHERE q.run_id = r.id AND q.state = 'open')
     LIMIT %(most)s) c),
  (SELECT count(*) FROM (SELECT 1 FROM sessions_app_run r
     WHERE team_id = %(team)s AND status = 'blocked'
       AND NOT EXISTS (SELECT 1 FROM sessions_app_checkpointrequest q WHERE q.run_id = r.id AND q.state = 'open')
     LIMIT %(most)s) d),
  (SELECT count(DISTINCT created_by) FROM (SELECT created_by FROM sessions_app_run r
     WHERE team_id = %(team)s AND status = 'in_progress' AND activity_window > %(idle)s::timestamptz - {WINDOW_SQL} AND last_activity_at >= %(idle)s
       AND NOT EXISTS (SELECT 1 FROM sessions_app_checkpointrequest q WHERE q.run_id = r.id AND q.state = 'open')
     LIMIT %(most)s) e)
"""  # noqa: S608  constants
_BRANCHES = """
SELECT r.id, c.ends
FROM unnest(%(runs)s::uuid[]) r(id) CROSS JOIN LATERAL (
  WITH known AS MATERIALIZED (
    SELECT n.id, n.parent_id FROM sessions_app_node n
    WHERE n.run_id = r.id AND n.team_id = %(team)s AND n.kind <> %(bookmark)s LIMIT %(most)s + 1)
  SELECT count(*) AS nodes, count(*) FILTER (WHERE id NOT IN (SELECT parent_id FROM known WHERE parent_id IS NOT NULL)) AS ends
  FROM known) c
WHERE c.ends > 1 AND c.nodes <= %(most)s
"""
_REASONS = """
SELECT n.run_id, convert_from(s.data, 'UTF8')::jsonb #>> '{blocked,blockers,0,message}'
FROM sessions_app_node n JOIN sessions_app_snapshot s ON s.team_id = n.team_id AND s.digest = n.snapshot_digest
WHERE n.team_id = %(team)s AND n.id = ANY(%(tips)s) AND n.kind = 'blocked_attempt'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """`now_at` is the title of what is pending, `pending_key` its place; `waits` tells that a question of the run is open."""

    run: RunValue
    session_title: str
    ticket: str
    now_at: str
    pending_key: str
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """`agents` are those whose runs go on."""

    open: int
    waiting: int
    stuck: int
    blocked: int
    agents: int

    @property
    def idle(self) -> int:
        return max(0, self.stuck - self.blocked)


def count_runs(*, actor: Actor, now: datetime, idle_after: timedelta) -> RunCounts:
    """As far as anybody counts. One query."""
    actor.require(Permission.READ_RUNS)
    open_ones = [status.value for status in RunStatus if status.value not in _ENDED]
    asked: dict[str, Any] = {
        "team": actor.team_id,
        "open": open_ones,
        "idle": now - idle_after,
        "most": MOST_COUNTED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, asked)
        row = cursor.fetchone()
    return RunCounts(open=row[0], waiting=row[1], stuck=row[2], blocked=row[3], agents=row[4])


def list_run_rows(
    *,
    actor: Actor,
    query: RunQuery,
    page: PageRequest,
    now: datetime,
    idle_after: timedelta,
    session_id: UUID | None = None,
) -> Page[ListedRun]:
    """One query, and one more for each word, and where an agent or a workflow is named."""
    actor.require(Permission.READ_RUNS)
    rows = _asked(actor, query, now=now, idle_after=idle_after)
    if session_id is not None:
        rows = rows.filter(session_id=session_id)
    order = RunOrder(sort=query.sort, is_reversed=query.is_reversed)
    return cut_page(
        rows=order.sorted(_shown(rows), after=page.after)[: page.limit + 1],
        limit=page.limit,
        value_of=_run_row,
        position_of=order.position_of,
    )


def read_reasons(*, actor: Actor, runs: Iterable[RunValue]) -> dict[UUID, str]:
    """Why each of these runs is blocked, of those that are. One query, and none for none."""
    actor.require(Permission.READ_RUNS)
    tips = [run.tip_node_id for run in runs if run.status is RunStatus.BLOCKED]
    if not tips:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_REASONS, {"team": actor.team_id, "tips": tips})
        return {run_id: message for run_id, message in cursor.fetchall() if message}


def count_branches(*, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, int]:
    """Of those runs that have more than one branch, how many; not of very long ones, of which a list would read too much.
    One query, and none for none.
    """
    actor.require(Permission.READ_RUNS)
    asked: dict[str, Any] = {
        "runs": list(ids),
        "team": actor.team_id,
        "bookmark": NodeKind.BOOKMARK.value,
        "most": MOST_BRANCHED_NODES,
    }
    if not asked["runs"]:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_BRANCHES, asked)
        return dict(cursor.fetchall())


def _shown(rows: QuerySet[Any]) -> QuerySet[Any]:
    tip = Node.objects.filter(pk=OuterRef("tip_node_id")).values(
        found=JSONObject(title=F("pending_title"), key=F("pending_key"))
    )
    session = WorkSession.objects.filter(pk=OuterRef("session_id")).values(
        found=JSONObject(title=F("title"), ticket=F("ticket"))
    )
    shown: QuerySet[Any] = rows.annotate(at_tip=Subquery(tip[:1]), of_session=Subquery(session[:1]), waits=_waits())
    return shown


def _asks(actor: Actor) -> Func:
    """As `_waits`, where it is all that is wanted: from the open questions to their runs. From the runs to their questions Postgres
    would walk through all that do not wait, since it takes those that do for evenly spread.
    """
    open_ones = CheckpointRequest.objects.filter(team_id=actor.team_id, state=CheckpointState.OPEN.value)
    return Func(
        F("pk"),
        ArraySubquery(open_ones.values("run_id")),
        template="%(expressions)s)",
        arg_joiner=" = ANY(",
        output_field=BooleanField(),
    )


def _waits() -> Exists:
    return Exists(CheckpointRequest.objects.filter(run_id=OuterRef("pk"), state=CheckpointState.OPEN.value))


def _run_row(row: Any) -> ListedRun:
    return ListedRun(
        run=run_value(row),
        session_title=row.of_session["title"],
        ticket=row.of_session["ticket"],
        now_at=(row.at_tip or {}).get("title", ""),
        pending_key=(row.at_tip or {}).get("key", ""),
        waits=row.waits,
    )


def _asked(actor: Actor, query: RunQuery, *, now: datetime, idle_after: timedelta) -> QuerySet[Run]:
    rows: QuerySet[Run] = Run.objects.filter(team_id=actor.team_id)
    if query.status is not None:
        rows = _in_state(actor, rows, query.status, idle=now - idle_after)
    if query.workflow:
        rows = rows.filter(_of_workflow(actor, query.workflow))
    if query.agent:
        rows = rows.filter(created_by__in=teams.actors_named(actor=actor, text=query.agent))
    if query.has_gap:
        rows = rows.filter(Exists(Gap.objects.filter(run_id=OuterRef("pk"), resolved_by_id__isnull=True)))
    if query.since is not None:
        rows = rows.filter(active_since(query.since))
    if query.ticket or query.branch:
        rows = rows.filter(session_id__in=_sessions(actor, query))
    for word in query.words:
        rows = rows.filter(runs_with_word(actor=actor, word=word))
    return rows


def _of_workflow(actor: Actor, text: str) -> Q:
    stem = text.removesuffix("*")
    return Q(workflow_id__startswith=stem) if stem != text else Q(workflow_id__in=ids_named(actor, text))


def _in_state(actor: Actor, rows: QuerySet[Run], word: RunWord, *, idle: datetime) -> QuerySet[Run]:
    """A run that waits for a person is waiting, whatever else it is."""
    going = Q(status=RunStatus.IN_PROGRESS.value)
    match word:
        case RunWord.OPEN:
            return rows.exclude(status__in=_ENDED)
        case RunWord.WAITING:
            return rows.filter(_asks(actor)).exclude(status__in=_ENDED)
        case RunWord.RUNNING:
            return rows.filter(going, ~_waits(), active_since(idle))
        case RunWord.IDLE:
            return rows.filter(going, ~_waits(), active_before(idle))
        case RunWord.BLOCKED:
            return rows.filter(~_waits(), status=RunStatus.BLOCKED.value)
        case RunWord.STUCK:
            stuck = Q(status=RunStatus.BLOCKED.value) | (going & active_before(idle))
            return rows.filter(stuck, ~_waits())
        case RunWord.PAUSED | RunWord.DONE | RunWord.GAPS | RunWord.REJECTED | RunWord.CANCELLED:
            return rows.filter(status=_BY_WORD[word])


def _sessions(actor: Actor, query: RunQuery) -> QuerySet[Any]:
    rows = WorkSession.objects.filter(team_id=actor.team_id)
    if query.ticket:
        rows = rows.filter(~Q(ticket=""), ticket=query.ticket)
    if query.branch:
        rows = rows.filter(pk__in=sessions_on_branch(actor=actor, begins=query.branch))
    return rows.values("pk")
