"""Tables as full as those of a large installation: rows of many sessions, written by Postgres itself, because services would take hours.

They are skewed as real ones are: one team has nearly everything, few goals are said by many, one run has thousands of nodes, and
most sessions have no ticket. No chain holds over these rows; they are what other sessions are read among.
"""

from django.db import connection

NODES = 5
# One run of the crowd has so many nodes: averages that the planner keeps are then far from what most runs have.
LONG_RUN_NODES = 4_000
_DIGEST = "sha256:" + "0" * 64

_IDS = """
CREATE FUNCTION pg_temp.v7(ms bigint, seed text) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$
  SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(seed), 1, 3) || '8' || substr(md5(seed), 4, 15))::uuid
$$;
CREATE TEMP TABLE born ON COMMIT DROP AS
SELECT i, at, ms, pg_temp.v7(ms, 's' || i) AS session, pg_temp.v7(ms, 'r' || i) AS run,
       CASE WHEN i %% 10 < 8 THEN %(team)s::uuid ELSE md5('team' || i %% 40)::uuid END AS team,
       CASE WHEN i = 1 THEN %(long)s ELSE %(nodes)s END AS nodes
FROM (SELECT i, %(now)s::timestamptz - (%(count)s - i) * interval '90 seconds' AS at FROM generate_series(1, %(count)s) i) x,
     LATERAL (SELECT (extract(epoch FROM at) * 1000)::bigint AS ms) y;
"""
_SESSIONS = """
INSERT INTO sessions_app_worksession (id, team_id, title, parent_id, next_event_index, head_digest, git_branch, git_head_sha,
  repository, ticket, autonomy, risk_policy, created_by, created_at, last_activity_at)
SELECT session, team, 'Work ' || md5(i::text) || CASE WHEN i %% 3 = 0 THEN ' checkout' ELSE '' END, NULL, 20, %(digest)s,
  'feature/' || CASE WHEN i %% 5 = 0 THEN 'common-' ELSE '' END || substr(md5('b' || i), 1, 10), md5('c' || i),
  'https://git.example.org/' || i %% 20, CASE WHEN i %% 4 = 0 THEN 'SHOP-' || i ELSE '' END, 'guided', 'conservative',
  'key_crowd', at, at
FROM born;
INSERT INTO sessions_app_run (id, team_id, session_id, workflow_id, workflow_title, workflow_hash, dialect, goal, status,
  tip_node_id, created_by, started_at, last_activity_at, completed_at)
SELECT run, team, session, 'team.workflow-' || i %% 7, 'Workflow', %(digest)s, 'rail',
  CASE WHEN i %% 2 = 0 THEN 'Mend the checkout of the shop' ELSE 'Look into ' || md5('g' || i) END,
  CASE i %% 5 WHEN 0 THEN 'in_progress' WHEN 1 THEN 'blocked' ELSE 'complete' END,
  pg_temp.v7(ms, 'n' || i || '-' || nodes - 1), 'key_crowd', at, at, CASE WHEN i %% 5 > 1 THEN at END
FROM born;
"""
_NODES = """
INSERT INTO sessions_app_node (id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest,
  pending_key, pending_title, autonomy, risk_policy, event_index, created_at)
SELECT pg_temp.v7(ms, 'n' || i || '-' || k), team, session, run, CASE WHEN k > 0 THEN pg_temp.v7(ms, 'n' || i || '-' || k - 1) END,
  'step', CASE WHEN k > 0 THEN 'acked_step' ELSE '' END, CASE WHEN k > 0 THEN 'tip_advance' ELSE '' END, %(digest)s,
  'step-' || k, 'Step ' || k, 'guided', 'conservative', k * 4, at
FROM born, LATERAL generate_series(0, nodes - 1) k;
INSERT INTO sessions_app_attempt (node_id, nonce, kind, team_id, session_id, to_node_id, event_index, reply, reply_template,
  keys_generation, actor, created_at)
SELECT n.id, decode(substr(md5(n.id::text), 1, 16), 'hex'), 'ack', n.team_id, n.session_id, n.id, n.event_index,
  convert_to(repeat('x', 300), 'UTF8'), 1, 0, 'key_crowd', n.created_at
FROM sessions_app_node n;
INSERT INTO sessions_app_output (id, team_id, session_id, run_id, node_id, to_node_id, channel, body, artifact_kind, sha256,
  supersedes_id, event_index, created_at)
SELECT md5('o' || n.id)::uuid, n.team_id, n.session_id, n.run_id, n.parent_id, n.id, 'recap',
  'Looked at ' || md5(n.id::text) || ' of the checkout' || CASE WHEN n.event_index = 4 THEN ' and the basket' ELSE '' END,
  '', %(digest)s, NULL, n.event_index, n.created_at
FROM sessions_app_node n WHERE n.parent_id IS NOT NULL;
"""
_REST = """
INSERT INTO sessions_app_gap (id, team_id, session_id, run_id, node_id, severity, category, detail, summary, resolved_by_id,
  event_index, created_at)
SELECT md5('g' || i)::uuid, team, session, run, run, 'critical', 'unexpected', 'invariant_violation', 'A gap', NULL, 3, at
FROM born WHERE i %% 20 = 0;
INSERT INTO sessions_app_checkpointrequest (id, team_id, session_id, run_id, checkpoint_id, instance_key, title, message, options,
  authority, digest, event_index, presented_at, due_at, claimed_by, claimed_at, state, answered_at, answered_by, answered_as,
  option_id, reason, door, to_node_id, announced_at)
SELECT pg_temp.v7(ms, 'q' || i), team, session, run, 'ask', 'ask', 'Ask', 'May it?', '[]', 'human', %(digest)s, 3, at,
  CASE WHEN i %% 6 = 0 THEN at + interval '1 hour' END, '', NULL, CASE WHEN i %% 90 = 0 THEN 'open' ELSE 'answered' END,
  CASE WHEN i %% 90 = 0 THEN NULL ELSE at END, '', '', '', '', '',
  CASE WHEN i %% 90 = 0 THEN NULL ELSE pg_temp.v7(ms, 'n' || i || '-1') END, NULL
FROM born WHERE i %% 3 = 0;
INSERT INTO sessions_app_handle (id, team_id, session_id, run_id, dialect, agent_id, parent_run_id, parent_session_id,
  parent_workflow_id, parent_activity, parent_version, event_index, created_at)
SELECT pg_temp.v7(ms, 'h' || i), team, session, run, 'orchestrator', '', NULL, NULL, '', '', '', 3, at FROM born WHERE i %% 3 = 0;
INSERT INTO sessions_app_event (born_on, session_id, index, team_id, event_id, kind, run_id, node_id, dedupe, body, digest, created_at)
SELECT date_trunc('month', at AT TIME ZONE 'UTC')::date, session, k, team, md5(i || 'e' || k)::uuid,
  CASE WHEN k %% 4 = 1 THEN 'observation_recorded' ELSE 'advance_recorded' END, run, NULL, 'd' || k,
  convert_to(repeat('y', 120), 'UTF8'), %(digest)s, at
FROM born, LATERAL generate_series(0, CASE WHEN i = 1 THEN nodes ELSE 7 END) k;
"""
_TABLES = ("worksession", "run", "node", "attempt", "output", "gap", "checkpointrequest", "handle", "event")


def fill(*, team_id, count, now):
    """So many sessions; four of five are the team's. The statistics are up to date, as autovacuum keeps them."""
    parameters = {
        "team": team_id,
        "count": count,
        "now": now,
        "digest": _DIGEST,
        "nodes": NODES,
        "long": LONG_RUN_NODES,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"BEGIN; {_IDS} {_SESSIONS} {_NODES} {_REST} COMMIT", parameters)
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(f'sessions_app_{table}' for table in _TABLES)}")
