"""Snapshots, programs and files of workflows that nothing refers to any more are deleted, while calls go on.

A call that finds a snapshot in its place does not lock it. So what looks unreferenced is deleted first, which makes later
calls wait for this transaction; then every call that was under way is waited for; and then it is looked at again. What has
come to be referred to meanwhile makes the whole be undone.
"""

import time
from dataclasses import dataclass

from django.db import connection, transaction

from sessions_app.services.expiry.deletion import history_may_go
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor
from workflows_app.services.pinned import claimed_files, forget_files, forget_programs, unclaimed_programs

_AT_ONCE = 1000
_WAITING_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.02

_FIND = """
SELECT s.team_id, s.digest FROM sessions_app_snapshot s
WHERE NOT EXISTS (SELECT 1 FROM sessions_app_node n WHERE n.team_id = s.team_id AND n.snapshot_digest = s.digest)
LIMIT %s
"""
_DELETE = """
DELETE FROM sessions_app_snapshot s USING unnest(%s::uuid[], %s::text[]) AS given (team_id, digest)
WHERE s.team_id = given.team_id AND s.digest = given.digest
"""
_REFERRED = """
SELECT count(*) FROM sessions_app_node n JOIN unnest(%s::uuid[], %s::text[]) AS given (team_id, digest)
ON n.team_id = given.team_id AND n.snapshot_digest = given.digest
"""
# Whoever has written holds a lock on its own transaction until that ends; a snapshot would not tell of the latest ones. Those locks are
# of no database, and what another one of the same server does is no call.
_UNDER_WAY = """
SELECT coalesce(array_agg(l.transactionid::text), '{}') FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock' AND l.pid <> pg_backend_pid()
AND a.datname = current_database()
"""
_RUN_OF = "SELECT DISTINCT workflow_hash FROM sessions_app_run WHERE workflow_hash = ANY(%s)"


class _ReferredError(Exception):
    """A call was quicker; the next turn looks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    snapshots: int
    programs: int
    files: int


def collect_unreferenced(*, actor: Actor) -> Collected:
    """Safe to stop anywhere and to run twice; reads all nodes, so once a week is enough."""
    require_system(actor)
    snapshots = 0
    while found := _unreferenced():
        if not _deleted(found):
            break
        snapshots += len(found)
    return Collected(snapshots=snapshots, programs=_collect_programs(actor), files=_collect_files(actor))


def _unreferenced() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [_AT_ONCE])
        return [(str(team_id), digest) for team_id, digest in cursor.fetchall()]


def _deleted(found: list[tuple[str, str]]) -> bool:
    given = [[team_id for team_id, _ in found], [digest for _, digest in found]]
    try:
        with history_may_go(), connection.cursor() as cursor:
            cursor.execute(_DELETE, given)
            _wait_for_calls()
            cursor.execute(_REFERRED, given)
            _require_none(cursor.fetchone())
    except _ReferredError:
        return False
    return True


def _collect_programs(actor: Actor) -> int:
    """An import may be about to bring the same program; it waits for this transaction, or this one for it."""
    unclaimed = unclaimed_programs(actor=actor, most=_AT_ONCE)
    try:
        with transaction.atomic(durable=True):
            forgotten = forget_programs(actor=actor, hashes=sorted(set(unclaimed) - _pinned(unclaimed)))
            _wait_for_calls()
            _require_none((len(_pinned(forgotten)),))
    except _ReferredError:
        return 0
    return len(forgotten)


def _collect_files(actor: Actor) -> int:
    """As programs: an import that has found one in its place holds it up."""
    try:
        with transaction.atomic(durable=True):
            gone = forget_files(actor=actor, most=_AT_ONCE)
            _wait_for_calls()
            _require_none((len(claimed_files(actor=actor, digests=gone)),))
    except _ReferredError:
        return 0
    return len(gone)


def _require_none(counted: tuple[int, ...] | None) -> None:
    """Raises, so that the deletion is undone."""
    if counted is None or counted[0]:
        raise _ReferredError


def _pinned(hashes: list[str]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(_RUN_OF, [hashes])
        return {row[0] for row in cursor.fetchall()}


def _wait_for_calls() -> None:
    """For those that had begun to write when this was called. One that waits for us is not waited for for ever."""
    until = time.monotonic() + _WAITING_SECONDS
    waited_for = _under_way()
    while waited_for & _under_way():
        if time.monotonic() > until:
            raise _ReferredError
        time.sleep(_LOOK_AGAIN_SECONDS)


def _under_way() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(_UNDER_WAY)
        row = cursor.fetchone()
        return set(row[0]) if row else set()
