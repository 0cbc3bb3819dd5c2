"""The hot write: one prepared statement. Everything that is not hot uses the ORM.

A write is one statement and therefore one transaction. It begins with the UPDATE of the session's row, which is the lock of
its one writer; when the log has grown since the read, that UPDATE finds no row and nothing at all is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import psycopg

from sessions_app.engine.log import EdgeCause, EdgeKind, Event, Head, NodeKind
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import AttemptKind, OutputChannel, RunStatus
from sessions_app.engine.state import Preferences
from sessions_app.engine.tokens import TokenSessionLockedError
from sessions_app.selectors.standings import prepared_cursor
from teams_app.engine.ids import birth_ms

LOCK_TIMEOUT_MS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    node_id: UUID
    parent_id: UUID | None
    kind: NodeKind
    edge_kind: EdgeKind | None
    edge_cause: EdgeCause | None
    snapshot: bytes
    snapshot_digest: str
    pending_key: str
    pending_title: str
    preferences: Preferences
    event_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    node_id: UUID
    nonce: bytes
    kind: AttemptKind
    to_node_id: UUID
    reply: bytes
    reply_template: int
    keys_generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOutput:
    output_id: UUID
    node_id: UUID | None
    to_node_id: UUID | None
    channel: OutputChannel
    body: str
    sha256: str
    artifact_kind: str = ""
    supersedes_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGap:
    gap_id: UUID
    node_id: UUID
    gap: Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    run_id: UUID
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    dialect: str
    goal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    title: str
    baseline: Preferences
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One transition as rows. `before` is the head that the decision was made on; `session` is set to begin one."""

    team_id: UUID
    session_id: UUID
    actor: str
    now: datetime
    before: Head
    after: Head
    events: Sequence[Event]
    session: NewSession | None = None
    observed: Mapping[str, str] | None = None
    run_id: UUID | None = None
    run: NewRun | None = None
    run_status: RunStatus | None = None
    tip_node_id: UUID | None = None
    nodes: Sequence[NewNode] = ()
    attempts: Sequence[NewAttempt] = ()
    outputs: Sequence[NewOutput] = ()
    gaps: Sequence[NewGap] = ()


_BEGIN = """
INSERT INTO sessions_app_worksession
  (id, team_id, title, parent_id, next_event_index, head_digest, git_branch, git_head_sha, repository, ticket,
   autonomy, risk_policy, created_by, created_at, last_activity_at)
VALUES (%(session)s, %(team)s, %(title)s, %(parent_session)s, %(next)s, %(head)s, %(git_branch)s, %(git_head_sha)s,
        %(repository)s, %(ticket)s, %(baseline_autonomy)s, %(baseline_risk)s, %(actor)s, %(now)s, %(now)s)
RETURNING id
"""

_GROW = """
UPDATE sessions_app_worksession SET
  next_event_index = %(next)s, head_digest = %(head)s, last_activity_at = %(now)s,
  git_branch = COALESCE(%(git_branch)s, git_branch), git_head_sha = COALESCE(%(git_head_sha)s, git_head_sha),
  repository = COALESCE(%(repository)s, repository), ticket = COALESCE(%(ticket)s, ticket)
WHERE id = %(session)s AND team_id = %(team)s AND next_event_index = %(expected)s AND head_digest = %(expected_head)s
RETURNING id
"""

_ROWS = """
, events AS (
  INSERT INTO sessions_app_event
    (born_on, session_id, index, team_id, event_id, kind, run_id, node_id, dedupe, body, digest, created_at)
  SELECT %(born_on)s, s.id, e.index, %(team)s, e.event_id, e.kind, e.run_id, e.node_id, e.dedupe, e.body, e.digest, %(now)s
  FROM s, unnest(%(e_index)s::int[], %(e_id)s::uuid[], %(e_kind)s::text[], %(e_run)s::uuid[], %(e_node)s::uuid[],
                 %(e_dedupe)s::text[], %(e_body)s::bytea[], %(e_digest)s::text[])
       AS e(index, event_id, kind, run_id, node_id, dedupe, body, digest)
), snapshots AS (
  INSERT INTO sessions_app_snapshot (team_id, digest, data)
  SELECT DISTINCT ON (x.digest) %(team)s, x.digest, x.data
  FROM s, unnest(%(n_digest)s::text[], %(n_snapshot)s::bytea[]) AS x(digest, data)
  ON CONFLICT DO NOTHING
), nodes AS (
  INSERT INTO sessions_app_node
    (id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest, pending_key, pending_title,
     autonomy, risk_policy, event_index, created_at)
  SELECT x.id, %(team)s, s.id, %(run)s, x.parent_id, x.kind, x.edge_kind, x.edge_cause, x.digest, x.pending_key,
         x.pending_title, x.autonomy, x.risk_policy, x.event_index, %(now)s
  FROM s, unnest(%(n_id)s::uuid[], %(n_parent)s::uuid[], %(n_kind)s::text[], %(n_edge)s::text[], %(n_cause)s::text[],
                 %(n_digest)s::text[], %(n_key)s::text[], %(n_title)s::text[], %(n_autonomy)s::text[],
                 %(n_risk)s::text[], %(n_index)s::int[])
       AS x(id, parent_id, kind, edge_kind, edge_cause, digest, pending_key, pending_title, autonomy, risk_policy, event_index)
), attempts AS (
  INSERT INTO sessions_app_attempt
    (node_id, nonce, kind, team_id, session_id, to_node_id, event_index, reply, reply_template, keys_generation, actor,
     created_at)
  SELECT x.node_id, x.nonce, x.kind, %(team)s, s.id, x.to_node_id, %(expected)s, x.reply, x.template, x.generation, %(actor)s, %(now)s
  FROM s, unnest(%(a_node)s::uuid[], %(a_nonce)s::bytea[], %(a_kind)s::text[], %(a_to)s::uuid[], %(a_reply)s::bytea[],
                 %(a_template)s::int[], %(a_generation)s::int[])
       AS x(node_id, nonce, kind, to_node_id, reply, template, generation)
), outputs AS (
  INSERT INTO sessions_app_output
    (id, team_id, session_id, run_id, node_id, to_node_id, channel, body, artifact_kind, sha256, supersedes_id,
     event_index, created_at)
  SELECT x.id, %(team)s, s.id, %(run)s, x.node_id, x.to_node_id, x.channel, x.body, x.kind, x.sha256, x.supersedes, %(expected)s, %(now)s
  FROM s, unnest(%(o_id)s::uuid[], %(o_node)s::uuid[], %(o_to)s::uuid[], %(o_channel)s::text[], %(o_body)s::text[], %(o_kind)s::text[],
                 %(o_sha)s::text[], %(o_supersedes)s::uuid[])
       AS x(id, node_id, to_node_id, channel, body, kind, sha256, supersedes)
), gaps AS (
  INSERT INTO sessions_app_gap
    (id, team_id, session_id, run_id, node_id, severity, category, detail, summary, event_index, created_at)
  SELECT x.id, %(team)s, s.id, %(run)s, x.node_id, x.severity, x.category, x.detail, x.summary, %(expected)s, %(now)s
  FROM s, unnest(%(g_id)s::uuid[], %(g_node)s::uuid[], %(g_severity)s::text[], %(g_category)s::text[],
                 %(g_detail)s::text[], %(g_summary)s::text[]) AS x(id, node_id, severity, category, detail, summary)
)
"""

_NEW_RUN = """
, runs AS (
  INSERT INTO sessions_app_run
    (id, team_id, session_id, workflow_id, workflow_title, workflow_hash, dialect, goal, status, tip_node_id, created_by,
     started_at, last_activity_at, completed_at)
  SELECT %(run)s, %(team)s, s.id, %(workflow)s, %(workflow_title)s, %(workflow_hash)s, %(dialect)s, %(goal)s, %(status)s,
         %(tip)s, %(actor)s, %(now)s, %(now)s, %(completed)s FROM s
)
"""

_OLD_RUN = """
, runs AS (
  UPDATE sessions_app_run SET
    status = COALESCE(%(status)s, status), tip_node_id = COALESCE(%(tip)s, tip_node_id), last_activity_at = %(now)s,
    completed_at = CASE WHEN %(status)s IS NULL THEN completed_at ELSE %(completed)s END
  WHERE id = %(run)s AND EXISTS (SELECT 1 FROM s)
)
"""

_COUNT = "SELECT count(*) FROM s"

_STATEMENTS = {
    (begins, starts): f"WITH s AS ({_BEGIN if begins else _GROW}){_ROWS}{_NEW_RUN if starts else _OLD_RUN}{_COUNT}"
    for begins in (False, True)
    for starts in (False, True)
}


def append(plan: Append) -> bool:
    """Write one transition whole; False when another writer was first and nothing was written."""
    statement = _STATEMENTS[plan.session is not None, plan.run is not None]
    try:
        with prepared_cursor() as cursor:
            row = cursor.execute(statement, _parameters(plan)).fetchone()
    except psycopg.errors.LockNotAvailable as error:
        raise TokenSessionLockedError(
            "Another call is writing to this session.",
            suggestion="Wait a second and repeat the same call with the same tokens; it is answered once.",
        ) from error
    return row is not None and row[0] == 1


def birth_date(session_id: UUID) -> date:
    """The first day of the month in which the session was born: the partition of its events."""
    return datetime.fromtimestamp(birth_ms(session_id) / 1000, tz=UTC).date().replace(day=1)


def _parameters(plan: Append) -> dict[str, Any]:
    observed = plan.observed or {}
    absent = "" if plan.session is not None else None
    status = plan.run_status.value if plan.run_status is not None else None
    complete = plan.run_status in {RunStatus.COMPLETE, RunStatus.COMPLETE_WITH_GAPS}
    return {
        "team": plan.team_id,
        "session": plan.session_id,
        "born_on": birth_date(plan.session_id),
        "actor": plan.actor,
        "now": plan.now,
        "expected": plan.before.next_index,
        "expected_head": plan.before.digest,
        "next": plan.after.next_index,
        "head": plan.after.digest,
        "run": plan.run_id,
        "status": status,
        "tip": plan.tip_node_id,
        "completed": plan.now if complete else None,
        **{key: observed.get(key, absent) for key in ("git_branch", "git_head_sha", "repository", "ticket")},
        **_session_parameters(plan.session),
        **_run_parameters(plan.run),
        **_event_parameters(plan.events),
        **_node_parameters(plan.nodes),
        **_attempt_parameters(plan.attempts),
        **_output_parameters(plan.outputs),
        **_gap_parameters(plan.gaps),
    }


def _session_parameters(session: NewSession | None) -> dict[str, Any]:
    if session is None:
        return {}
    return {
        "title": session.title,
        "parent_session": session.parent_id,
        "baseline_autonomy": session.baseline.autonomy.value,
        "baseline_risk": session.baseline.risk_policy.value,
    }


def _run_parameters(run: NewRun | None) -> dict[str, Any]:
    if run is None:
        return {}
    return {
        "workflow": run.workflow_id,
        "workflow_title": run.workflow_title,
        "workflow_hash": run.workflow_hash,
        "dialect": run.dialect,
        "goal": run.goal,
    }


def _event_parameters(events: Sequence[Event]) -> dict[str, Any]:
    return {
        "e_index": [event.index for event in events],
        "e_id": [event.event_id for event in events],
        "e_kind": [event.kind.value for event in events],
        "e_run": [event.run_id for event in events],
        "e_node": [event.node_id for event in events],
        "e_dedupe": [event.dedupe for event in events],
        "e_body": [event.body for event in events],
        "e_digest": [event.digest for event in events],
    }


def _node_parameters(nodes: Sequence[NewNode]) -> dict[str, Any]:
    return {
        "n_id": [node.node_id for node in nodes],
        "n_parent": [node.parent_id for node in nodes],
        "n_kind": [node.kind.value for node in nodes],
        "n_edge": [node.edge_kind.value if node.edge_kind else "" for node in nodes],
        "n_cause": [node.edge_cause.value if node.edge_cause else "" for node in nodes],
        "n_digest": [node.snapshot_digest for node in nodes],
        "n_snapshot": [node.snapshot for node in nodes],
        "n_key": [node.pending_key for node in nodes],
        "n_title": [node.pending_title for node in nodes],
        "n_autonomy": [node.preferences.autonomy.value for node in nodes],
        "n_risk": [node.preferences.risk_policy.value for node in nodes],
        "n_index": [node.event_index for node in nodes],
    }


def _attempt_parameters(attempts: Sequence[NewAttempt]) -> dict[str, Any]:
    return {
        "a_node": [attempt.node_id for attempt in attempts],
        "a_nonce": [attempt.nonce for attempt in attempts],
        "a_kind": [attempt.kind.value for attempt in attempts],
        "a_to": [attempt.to_node_id for attempt in attempts],
        "a_reply": [attempt.reply for attempt in attempts],
        "a_template": [attempt.reply_template for attempt in attempts],
        "a_generation": [attempt.keys_generation for attempt in attempts],
    }


def _output_parameters(outputs: Sequence[NewOutput]) -> dict[str, Any]:
    return {
        "o_id": [output.output_id for output in outputs],
        "o_node": [output.node_id for output in outputs],
        "o_to": [output.to_node_id for output in outputs],
        "o_channel": [output.channel.value for output in outputs],
        "o_body": [output.body for output in outputs],
        "o_kind": [output.artifact_kind for output in outputs],
        "o_sha": [output.sha256 for output in outputs],
        "o_supersedes": [output.supersedes_id for output in outputs],
    }


def _gap_parameters(gaps: Sequence[NewGap]) -> dict[str, Any]:
    return {
        "g_id": [new.gap_id for new in gaps],
        "g_node": [new.node_id for new in gaps],
        "g_severity": [new.gap.severity.value for new in gaps],
        "g_category": [new.gap.category.value for new in gaps],
        "g_detail": [new.gap.detail.value for new in gaps],
        "g_summary": [new.gap.summary for new in gaps],
    }
