"""How much a team has stored, and whether it may store more.

What is written is counted in the process that writes it and added to the team's row now and then: a counter that every
write touched would be a queue for all sessions of the team. A task measures the tables once a day, which puts the row right.
"""

import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg import sql

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import PreconditionFailedError, RateLimitedError, StorageFullError, retry_after
from teams_app.models import TeamStorage

_MIB = 1024 * 1024
_ADDED_AFTER_BYTES = 4 * _MIB
_ADDED_AFTER_SECONDS = 30.0
_READ_AGAIN_SECONDS = 5.0
_WINDOW_SECONDS = 60.0
_MOST_TEAMS = 10_000
# What hangs on a row of a team: that row's table, and the column that names it.
_HANGING = {"sessions_app_bundlepart": ("sessions_app_bundlejob", "job_id")}
# A number, a moment or half an id.
_FIXED_BYTES = 8

_ADD = """
INSERT INTO teams_app_teamstorage AS known (team_id, stored_bytes, measured_at) VALUES (%s, %s, %s)
ON CONFLICT (team_id) DO UPDATE SET stored_bytes = known.stored_bytes + EXCLUDED.stored_bytes RETURNING stored_bytes
"""


@dataclass(slots=True)
class _Count:
    """Of one team in this process: `total` as the row last had it, `pending` not yet in the row."""

    total: int = 0
    pending: int = 0
    pending_since: float = 0.0
    read_at: float = 0.0
    window_began: float = 0.0
    window_bytes: int = 0


_counts: dict[UUID, _Count] = {}
_lock = threading.Lock()


def refuse_beyond(*, held: int, most: int, what: str) -> None:
    """Before a row that is read with all of its kind: `held` are those that stay."""
    if held >= most:
        raise PreconditionFailedError(
            f"Your team has {most} {what}, and no more are kept.", suggestion="Remove one that is not needed any more."
        )


def require_room(*, team_id: UUID) -> None:
    """Before a write. Raises StorageFullError beyond the team's quota, RateLimitedError when too much came in a minute."""
    count = _counts.get(team_id)
    if count is None:
        # Nothing is known of it yet; what it writes now will be charged.
        return
    is_fast = _is_beyond(count.window_bytes, settings.TEAM_STORAGE_MIB_PER_MINUTE)
    is_full = _is_beyond(count.total + count.pending, settings.TEAM_STORAGE_MIB)
    if not is_fast and not is_full:
        return
    now = time.monotonic()
    left_ms = int((count.window_began + _WINDOW_SECONDS - now) * 1000)
    is_fast = is_fast and left_ms > 0
    is_old = now - count.read_at > _READ_AGAIN_SECONDS
    if is_fast:
        raise RateLimitedError(
            f"Your team has stored more than {settings.TEAM_STORAGE_MIB_PER_MINUTE} MiB within a minute.",
            suggestion="Wait until the minute has passed. Keep large material in the workspace and pass its path.",
            details={"limitMibPerMinute": settings.TEAM_STORAGE_MIB_PER_MINUTE},
            retry=retry_after(ms=left_ms),
        )
    if is_full and not (is_old and _has_room_again(team_id, now)):
        raise StorageFullError(
            f"Your team has stored {settings.TEAM_STORAGE_MIB} MiB, which is all that it may.",
            suggestion="Tell your user: an owner of the team exports and deletes old sessions, or whoever runs this server "
            "gives the team more. What is stored can still be read.",
            details={"limitMib": settings.TEAM_STORAGE_MIB},
        )


def is_full(*, team_id: UUID) -> bool:
    """As far as this process knows."""
    count = _counts.get(team_id)
    return count is not None and _is_beyond(count.total + count.pending, settings.TEAM_STORAGE_MIB)


def charge(*, team_id: UUID, stored_bytes: int) -> None:
    """After a write."""
    now = time.monotonic()
    with _lock:
        count = _count_of(team_id)
        if now - count.window_began > _WINDOW_SECONDS:
            count.window_began, count.window_bytes = now, 0
        count.window_bytes += stored_bytes
        count.pending_since = count.pending_since or now
        count.pending += stored_bytes
        if count.pending < _ADDED_AFTER_BYTES and now - count.pending_since < _ADDED_AFTER_SECONDS:
            return
        added, count.pending, count.pending_since = count.pending, 0, 0.0
        count.total += added
    total = _add(team_id, added)
    with _lock:
        count.total, count.read_at = total, now


def size_of(values: Collection[object]) -> int:
    """About what these take as columns."""
    long = [len(value) for value in values if value.__class__ is str or value.__class__ is bytes]
    return sum(long) + _FIXED_BYTES * (len(values) - len(long))


def stored_bytes(*, actor: Actor) -> int:
    actor.require(Permission.READ_TEAM)
    return _known(actor.team_id)


def measure_storage(*, actor: Actor, now: datetime) -> int:
    """The teams' rows as the tables are. Returns how many teams there are. Only the system measures all teams."""
    actor.require(Permission.MANAGE_TEAM)
    totals: dict[UUID, int] = {}
    for measuring in _measuring():
        with connection.cursor() as cursor:
            cursor.execute(measuring.as_string())
            for team_id, size in cursor.fetchall():
                totals[team_id] = totals.get(team_id, 0) + int(size)
    rows = [TeamStorage(team_id=team_id, stored_bytes=size, measured_at=now) for team_id, size in totals.items()]
    TeamStorage.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["team"], update_fields=["stored_bytes", "measured_at"]
    )
    return len(rows)


def _measuring() -> Iterator[sql.Composed]:
    own = sql.SQL("SELECT team_id, sum(pg_column_size(t.*)) FROM {} t WHERE team_id IS NOT NULL GROUP BY team_id")
    yield from (own.format(sql.Identifier(table)) for table in _tables_of_teams())
    hanging = sql.SQL(
        "SELECT o.team_id, sum(pg_column_size(t.*)) FROM {} t JOIN {} o ON o.id = t.{} GROUP BY o.team_id"
    )
    for table, (owner, column) in _HANGING.items():
        yield hanging.format(sql.Identifier(table), sql.Identifier(owner), sql.Identifier(column))


def _tables_of_teams() -> list[str]:
    metas = [model._meta for model in apps.get_models() if model is not TeamStorage]  # noqa: SLF001  Django's documented way
    of_tables = [meta for meta in metas if meta.managed]
    return sorted(
        {meta.db_table for meta in of_tables if "team_id" in {field.column for field in meta.concrete_fields}}
    )


def _count_of(team_id: UUID) -> _Count:
    if len(_counts) > _MOST_TEAMS:
        _counts.clear()
    return _counts.setdefault(team_id, _Count())


def _is_beyond(count: int, limit_mib: int) -> bool:
    return 0 < limit_mib * _MIB <= count


def _has_room_again(team_id: UUID, now: float) -> bool:
    total = _known(team_id)
    with _lock:
        count = _count_of(team_id)
        count.total, count.read_at = total, now
        return not _is_beyond(count.total + count.pending, settings.TEAM_STORAGE_MIB)


def _known(team_id: UUID) -> int:
    row = TeamStorage.objects.filter(team_id=team_id).first()
    return 0 if row is None else row.stored_bytes


def _add(team_id: UUID, added: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [team_id, added, timezone.now()])
        return int(cursor.fetchone()[0])
