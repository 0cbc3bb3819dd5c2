"""How long the trace is kept: months ahead get a partition, months that are over their time lose it, the rest is deleted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError
from teams_app.services.endings import ended_teams
from traces_app.engine.spans import smallest_id
from traces_app.models import TraceEvent

MONTHS_AHEAD = 3
_PREFIX = "traces_app_traceevent_"
_DAYS_TO_NEXT_MONTH = 32
_DELETED_AT_ONCE = 5_000
# Making and dropping waits for those who read; others must not wait behind it for long.
_LOCK_TIMEOUT_MS = 2_000

_PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'traces_app_traceevent'::regclass ORDER BY c.relname
"""
_DELETE = """
DELETE FROM traces_app_traceevent WHERE id IN (
    SELECT id FROM traces_app_traceevent WHERE id < %s ORDER BY id LIMIT %s
) AND id < %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTraces:
    made: tuple[str, ...]
    dropped: tuple[str, ...]
    deleted_calls: int


def keep_traces(*, actor: Actor, now: datetime) -> KeptTraces:
    """What is older than WORKRAIL_TRACE_DAYS goes: whole months with their partition, single calls one by one."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError(
            "Upkeep belongs to the server, not to a team.", suggestion="The schedule does it once a day."
        )
    cutoff = now - timedelta(days=settings.TRACE_DAYS)
    known = _partitions()
    today = now.astimezone(UTC).date()
    made = tuple(name for name, month in _months_ahead(today) if name not in known and _make(name, month))
    dropped = tuple(name for name in known if _is_over(name, cutoff) and _drop(name))
    deleted = _delete(_id_at(cutoff)) + sum(map(_forget_team, ended_teams(actor=actor)))
    return KeptTraces(made=made, dropped=dropped, deleted_calls=deleted)


def _forget_team(team_id: UUID) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('workrail.trace_retention', 'on', true)")
        count, _ = TraceEvent.objects.filter(team_id=team_id).delete()
    return count


def forget_sessions(*, actor: Actor, session_ids: Sequence[UUID]) -> int:
    """Delete the calls of sessions that were deleted; returns how many there were."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Traces of a session go with it.", suggestion="Delete the session.")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('workrail.trace_retention', 'on', true)")
        count, _ = TraceEvent.objects.filter(team_id=actor.team_id, session_id__in=session_ids).delete()
    return count


def _months_ahead(today: date) -> Iterator[tuple[str, date]]:
    month = today.replace(day=1)
    for _ in range(MONTHS_AHEAD + 1):
        yield f"{_PREFIX}{month:%Y_%m}", month
        month = _following(month)


def _following(month: date) -> date:
    return (month + timedelta(days=_DAYS_TO_NEXT_MONTH)).replace(day=1)


def _is_over(name: str, cutoff: datetime) -> bool:
    """Whether the youngest call of the month is older than the cutoff. The default partition is never over."""
    try:
        month = datetime.strptime(name.removeprefix(_PREFIX), "%Y_%m").replace(tzinfo=UTC)
    except ValueError:
        return False
    return (month + timedelta(days=_DAYS_TO_NEXT_MONTH)).replace(day=1) <= cutoff


def _partitions() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS)
        return [str(row[0]) for row in cursor.fetchall()]


def _make(name: str, month: date) -> bool:
    """A month whose calls are already in the default partition keeps them there: moving them would lock the trace."""
    first, last = _id_of(month), _id_of(_following(month))
    if TraceEvent.objects.filter(id__gte=first, id__lt=last).exists():
        return False
    _define("SELECT workrail_make_partition('traces_app_traceevent', %s, %s, %s)", name, str(first), str(last))
    return True


def _drop(name: str) -> bool:
    _define("SELECT workrail_drop_partition(%s)", name)
    return True


def _define(sql: str, *parameters: str) -> None:
    """By a function of the owner: the role that does upkeep owns nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(_LOCK_TIMEOUT_MS)])
        cursor.execute(sql, parameters)


def _delete(before: UUID) -> int:
    """In portions, each its own transaction: the trace stays writable meanwhile."""
    deleted = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            # The trigger lets only such a transaction delete.
            cursor.execute("SELECT set_config('workrail.trace_retention', 'on', true)")
            cursor.execute(_DELETE, [before, _DELETED_AT_ONCE, before])
            portion = int(cursor.rowcount)
        deleted += portion
        if portion < _DELETED_AT_ONCE:
            return deleted


def _id_of(month: date) -> UUID:
    return _id_at(datetime(month.year, month.month, 1, tzinfo=UTC))


def _id_at(moment: datetime) -> UUID:
    return smallest_id(unix_ms=int(moment.timestamp() * 1000))
