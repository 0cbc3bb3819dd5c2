"""The limit: pgbench doing what an advance does to the tables, prepared, on the same server."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.db import connection

from workrail_site.bench.figures import Figure
from workrail_site.local.binaries import providers

SESSIONS = 256
# About what the five events of an advance with 1 kB of notes take in their row.
PACK_BYTES = 1200

_ID = "('00000000-0000-7000-8000-' || lpad(to_hex({n}), 12, '0'))::uuid"

# Rows that stand for sessions in the middle of their life; ids are made from numbers so that pgbench can name them.
_PREPARE = f"""
INSERT INTO sessions_app_worksession (id, team_id, title, next_event_index, head_digest, git_branch, git_head_sha,
  repository, ticket, autonomy, risk_policy, created_by, created_at, last_activity_at)
SELECT {_ID.format(n="n")}, '00000000-0000-7000-8000-000000000000', '', 5, 'sha256:' || repeat('0', 64), '', '', '', '',
  'guided', 'conservative', 'bench', now(), now() FROM generate_series(1, {SESSIONS}) n;
INSERT INTO sessions_app_snapshot (team_id, digest, data)
VALUES ('00000000-0000-7000-8000-000000000000', 'sha256:' || repeat('0', 64), convert_to(repeat('s', 300), 'UTF8'));
INSERT INTO sessions_app_run (id, team_id, session_id, workflow_id, workflow_title, workflow_hash, dialect, goal, status,
  tip_node_id, created_by, started_at, last_activity_at)
SELECT {_ID.format(n="n")}, '00000000-0000-7000-8000-000000000000', {_ID.format(n="n")}, 'bench.endless', 'Endless',
  'sha256:' || repeat('0', 64), 'rail', '', 'in_progress', {_ID.format(n="n")}, 'bench', now(), now()
FROM generate_series(1, {SESSIONS}) n;
INSERT INTO sessions_app_node (id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest,
  pending_key, pending_title, autonomy, risk_policy, event_index, created_at)
SELECT {_ID.format(n="n")}, '00000000-0000-7000-8000-000000000000', {_ID.format(n="n")}, {_ID.format(n="n")}, NULL, 'step',
  '', '', 'sha256:' || repeat('0', 64), 'step', 'Step', 'guided', 'conservative', 3, now()
FROM generate_series(1, {SESSIONS}) n;
"""

_SCRIPT = f"""
\\set n random(1, {SESSIONS})
SELECT n.id, n.session_id, n.run_id, n.parent_id, n.kind, n.event_index, sn.data, s.next_event_index, s.head_digest,
       r.workflow_id, r.workflow_title, r.workflow_hash, r.goal, r.status, r.tip_node_id,
       EXISTS (SELECT 1 FROM sessions_app_node c WHERE c.parent_id = n.id AND c.kind <> 'checkpoint'),
       EXISTS (SELECT 1 FROM sessions_app_gap g
               WHERE g.run_id = n.run_id AND g.severity = 'critical' AND g.resolved_by_id IS NULL)
FROM sessions_app_node n
JOIN sessions_app_worksession s ON s.id = n.session_id
JOIN sessions_app_run r ON r.id = n.run_id
JOIN sessions_app_snapshot sn ON sn.team_id = n.team_id AND sn.digest = n.snapshot_digest
LEFT JOIN sessions_app_attempt a ON a.node_id = n.id AND a.nonce = '\\x0000'::bytea
WHERE n.id = {_ID.format(n=":n::int")} AND n.team_id = '00000000-0000-7000-8000-000000000000';
WITH s AS (
  UPDATE sessions_app_worksession SET next_event_index = next_event_index + 5, last_activity_at = now()
  WHERE id = {_ID.format(n=":n::int")} RETURNING id, next_event_index - 5 AS base, gen_random_uuid() AS node
), runs AS (
  UPDATE sessions_app_run SET last_activity_at = now() WHERE id = {_ID.format(n=":n::int")}
), events AS (
  INSERT INTO sessions_app_event (born_on, session_id, index, count, team_id, body, digest, created_at, seal)
  SELECT '1970-01-01', s.id, s.base + 4, 5, '00000000-0000-7000-8000-000000000000', convert_to(repeat('e', {PACK_BYTES}), 'UTF8'),
    'sha256:' || repeat('0', 64), now(), repeat('0', 180)
  FROM s
), snapshots AS (
  INSERT INTO sessions_app_snapshot (team_id, digest, data)
  SELECT '00000000-0000-7000-8000-000000000000', 'sha256:' || encode(sha256(s.node::text::bytea), 'hex'),
    convert_to(repeat('s', 300), 'UTF8') FROM s ON CONFLICT DO NOTHING
), nodes AS (
  INSERT INTO sessions_app_node (id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest,
    pending_key, pending_title, autonomy, risk_policy, event_index, created_at)
  SELECT s.node, '00000000-0000-7000-8000-000000000000', s.id, s.id, gen_random_uuid(), 'step', 'acked_step', 'tip_advance',
    'sha256:' || repeat('0', 64), 'rounds@0::step-1', 'Step 1', 'guided', 'conservative', s.base, now() FROM s
), attempts AS (
  INSERT INTO sessions_app_attempt (team_id, session_id, event_index, actor, created_at, node_id, nonce, kind, to_node_id,
    reply, reply_template, keys_generation)
  SELECT '00000000-0000-7000-8000-000000000000', s.id, s.base, 'bench', now(), s.node, '\\x0000000000000001'::bytea, 'ack',
    s.node, convert_to(repeat('r', 1900), 'UTF8'), 1, 0 FROM s
), outputs AS (
  INSERT INTO sessions_app_output (team_id, session_id, run_id, event_index, created_at, id, node_id, to_node_id, channel,
    body, artifact_kind, sha256)
  SELECT '00000000-0000-7000-8000-000000000000', s.id, s.id, s.base, now(), gen_random_uuid(), s.node, s.node, 'recap',
    repeat('What was done, what was found and what comes next, in a few words. ', 15), '', 'sha256:' || repeat('0', 64) FROM s
)
SELECT count(*) FROM s;
"""
# Some are kept for superusers, and some for whoever looks on.
_FREE = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - 5
  - (SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL)
"""


def prepare_limit() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_PREPARE)


def measure_limit(*, program: str, database: str, clients: Sequence[int], seconds: int) -> list[Figure]:
    """One figure for each number of clients."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "advance.sql"
        script.write_text(_in_lines(_SCRIPT), "utf-8")
        return [_measure(program, database, script, count, seconds) for count in clients]


def that_fit(clients: Sequence[int]) -> list[int]:
    """Those numbers of clients that may have a connection each, beside the ones that are there."""
    with connection.cursor() as cursor:
        cursor.execute(_FREE)
        (free,) = cursor.fetchone()
    return [count for count in clients if count <= free]


def find_pgbench() -> str | None:
    """The program of the embedded server, else one on the path."""
    for provider in providers(environ=os.environ):
        for programs in provider.postgres():
            path = Path(programs.program("pgbench"))
            if path.exists():
                return str(path)
    return shutil.which("pgbench")


def _measure(program: str, database: str, script: Path, clients: int, seconds: int) -> Figure:
    settings = connection.settings_dict
    command = [program, "-n", "-M", "prepared", "-f", str(script), "-c", str(clients), "-j", str(min(clients, 2))]
    command += ["-T", str(seconds), "-h", str(settings["HOST"]), "-U", str(settings["USER"])]
    if settings["PORT"]:
        command += ["-p", str(settings["PORT"])]
    done = subprocess.run([*command, database], capture_output=True, text=True, check=True)
    rate = float(_found(r"tps = ([0-9.]+)", done.stdout))
    latency = float(_found(r"latency average = ([0-9.]+) ms", done.stdout))
    return Figure(
        name="pgbench, same statements",
        clients=clients,
        calls=int(rate * seconds),
        seconds=seconds,
        latencies_ms=[latency, latency],
    )


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"pgbench said something unexpected: {text}")
    return match[1]


def _in_lines(script: str) -> str:
    """A meta command ends with its line; statements end with their semicolon."""
    return script.strip() + "\n"
