"""What keeps the tables in order: partitions made ahead, projections built again from the log."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Model

from sessions_app.engine.projections import ProjectedSession, project
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.tables import TABLES, Table
from sessions_app.models import CheckpointRequest, Event, Gap, Handle, Node, Output, Run, WorkSession
from sessions_app.selectors.log_reading import read_log
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError

MONTHS_AHEAD = 3
_DAYS_TO_NEXT_MONTH = 32
_DROPPING_TIMEOUT = "2000"
_PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'sessions_app_event'::regclass ORDER BY c.relname
"""
_MODELS: Mapping[str, Any] = {
    "runs": Run,
    "nodes": Node,
    "outputs": Output,
    "gaps": Gap,
    "questions": CheckpointRequest,
    "handles": Handle,
}
_MONTH = re.compile(r"sessions_app_event_([0-9]{4})_([0-9]{2})")


def ensure_partitions(*, actor: Actor, today: date) -> tuple[str, ...]:
    """Make the event partitions of this month and the next ones; returns the names of those that were missing.

    A month whose sessions are already in the default partition keeps it: moving them would lock the log.
    """
    require_system(actor)
    made: list[str] = []
    month = today.replace(day=1)
    for _ in range(MONTHS_AHEAD + 1):
        made += ensure_partition(actor=actor, month=month)
        month = _next_month(month)
    return tuple(made)


def ensure_partition(*, actor: Actor, month: date) -> tuple[str, ...]:
    """Of the month that begins on that day; its name if it was missing."""
    require_system(actor)
    name = f"sessions_app_event_{month:%Y_%m}"
    with transaction.atomic():
        if _exists(name) or Event.objects.filter(born_on=month).exists():
            return ()
        _make(name, month, _next_month(month))
    return (name,)


def drop_empty_partitions(*, actor: Actor, today: date) -> tuple[str, ...]:
    """Drop the partitions of past months whose sessions are all gone; returns their names. The default one stays.

    Whoever waits for a lock here stops others behind it, so it waits shortly, and the next turn tries again.
    """
    require_system(actor)
    dropped: list[str] = []
    for name in _past_partitions(today):
        with contextlib.suppress(OperationalError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [_DROPPING_TIMEOUT])
            # By a function of the owner: the role that does upkeep owns nothing.
            cursor.execute("SELECT workrail_drop_partition(%s)", [name])
            if cursor.fetchone() == (True,):
                dropped.append(name)
    return tuple(dropped)


def _past_partitions(today: date) -> Iterator[str]:
    """Of months before the last one: sessions are not born so late."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS)
        names = [str(row[0]) for row in cursor.fetchall()]
    last = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    for name in names:
        found = _MONTH.fullmatch(name)
        month = date(int(found[1]), int(found[2]), 1) if found else last
        if month < last:
            yield name


def rebuild_projections(*, actor: Actor, session_id: UUID) -> int:
    """Write again what the log says of a session and of the tables beside it; returns how many rows were different."""
    require_system(actor)
    with transaction.atomic(durable=True):
        # The lock of the session's one writer: the log does not grow while it is read.
        locked = WorkSession.objects.select_for_update(no_key=True).get(pk=session_id)
        born: dict[int, datetime] = {}
        view = project(_bodies(locked.id, born))
        changed = _restore(locked, _session_columns(view))
        changed += sum(_restore_table(locked, name, view, born) for name in TABLES)
    return changed


def _bodies(session_id: UUID, born: dict[int, datetime]) -> Iterator[bytes]:
    for event in read_log(session_id=session_id):
        born[event.index] = event.row.created_at
        yield event.body


def _session_columns(view: ProjectedSession) -> Mapping[str, object]:
    """What the log does not tell stays as it is."""
    observed = {key.value: view.observed.get(key, "") for key in ObservationKey}
    told: dict[str, object] = {"title": view.title, "parent_id": view.parent_id, **observed}
    if view.baseline is None:
        return told
    baseline = view.baseline
    return told | {
        "autonomy": baseline.autonomy.value,
        "risk_policy": baseline.risk_policy.value,
        "waived_by": baseline.waived_by,
    }


def _restore_table(session: WorkSession, name: str, view: ProjectedSession, born: Mapping[int, datetime]) -> int:
    """A row that is gone is made again where the log tells all of it; one that the log does not know goes where it could be."""
    table, model = TABLES[name], _MODELS[name]
    stored = {row.pk: row for row in model.objects.filter(session_id=session.id)}
    told = {row.id: row for row in table.told(view)}
    strange = stored.keys() - told.keys() if table.is_told_whole else set()
    if strange:
        model.objects.filter(pk__in=strange).delete()
    changed = len(strange)
    for id_, row in told.items():
        wanted = _wanted(table, row, born)
        if id_ in stored:
            changed += _restore(stored[id_], _differing(table, stored[id_], wanted))
        elif table.is_told_whole:
            beside = {column: value for column, value in table.beside.items() if value is not None}
            model.objects.create(team_id=session.team_id, session_id=session.id, **beside, **wanted)
            changed += 1
    return changed


def _wanted(table: Table[Any], told: Any, born: Mapping[int, datetime]) -> dict[str, object]:
    wanted = {column.name: getattr(told, column.name) for column in table.checked}
    return {**wanted, table.born: born[told.event_index]} if table.born else wanted


def _differing(table: Table[Any], row: Any, wanted: Mapping[str, object]) -> dict[str, object]:
    same = {column.name for column in table.checked if column.is_same(getattr(row, column.name), wanted[column.name])}
    return {name: value for name, value in wanted.items() if name not in same - {table.born}}


def _restore(row: Model, wanted: Mapping[str, object]) -> int:
    wrong = [name for name, value in wanted.items() if getattr(row, name) != value]
    if not wrong:
        return 0
    for name in wrong:
        setattr(row, name, wanted[name])
    row.save(update_fields=wrong)
    return 1


def _next_month(month: date) -> date:
    return date.fromordinal(month.toordinal() + _DAYS_TO_NEXT_MONTH).replace(day=1)


def _exists(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        row = cursor.fetchone()
    return bool(row and row[0])


def _make(name: str, first: date, last: date) -> None:
    """By a function of the owner: the role that does upkeep owns nothing."""
    with connection.cursor() as cursor:
        bounds = [first.isoformat(), last.isoformat()]
        cursor.execute("SELECT workrail_make_partition('sessions_app_event', %s, %s, %s)", [name, *bounds])


def require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError(
            "Upkeep belongs to the server, not to a team.", suggestion="Run the command on the server."
        )
