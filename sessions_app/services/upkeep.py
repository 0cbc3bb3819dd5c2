"""What keeps the tables in order: partitions made ahead, projections built again from the log."""

from collections.abc import Mapping
from datetime import date
from uuid import UUID

from django.db import connection, transaction

from sessions_app.engine.projections import RunView, project
from sessions_app.engine.runs import ObservationKey
from sessions_app.models import Event, Run, WorkSession
from sessions_app.selectors.standings import birth_date
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError

MONTHS_AHEAD = 3
_DAYS_TO_NEXT_MONTH = 32


def ensure_partitions(*, actor: Actor, today: date) -> tuple[str, ...]:
    """Make the event partitions of this month and the next ones; returns the names of those that were missing.

    A month whose sessions are already in the default partition keeps it: moving them would lock the log.
    """
    _require_system(actor)
    made: list[str] = []
    month = today.replace(day=1)
    for _ in range(MONTHS_AHEAD + 1):
        following = _next_month(month)
        name = f"sessions_app_event_{month:%Y_%m}"
        with transaction.atomic():
            if not _exists(name) and not Event.objects.filter(born_on=month).exists():
                _make(name, month, following)
                made.append(name)
        month = following
    return tuple(made)


def rebuild_projections(*, actor: Actor, session_id: UUID) -> int:
    """Write again what the log says of a session's columns and runs; returns how many rows were different."""
    _require_system(actor)
    with transaction.atomic(durable=True):
        # The lock of the session's one writer: the log does not grow while it is read.
        locked = WorkSession.objects.select_for_update(no_key=True).get(pk=session_id)
        rows = Event.objects.filter(born_on=birth_date(locked.id), session_id=locked.id).order_by("index")
        view = project(bytes(body) for body in rows.values_list("body", flat=True).iterator(chunk_size=2000))
        changed = _restore_session(locked, view.observed)
        for run in view.runs.values():
            changed += _restore_run(run)
    return changed


def _restore_session(session: WorkSession, observed: dict[ObservationKey, str]) -> int:
    wanted = {
        "git_branch": observed.get(ObservationKey.GIT_BRANCH, ""),
        "git_head_sha": observed.get(ObservationKey.GIT_HEAD_SHA, ""),
        "repository": observed.get(ObservationKey.REPOSITORY, ""),
        "ticket": observed.get(ObservationKey.TICKET, ""),
    }
    return _restore(session, wanted)


def _restore_run(view: RunView) -> int:
    run = Run.objects.filter(pk=view.run_id).order_by("pk").first()
    tip = view.tip
    if run is None or tip is None:
        return 0
    return _restore(run, {"status": view.status.value, "tip_node_id": tip.node_id})


def _restore(row: WorkSession | Run, wanted: Mapping[str, object]) -> int:
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
    with connection.schema_editor() as editor:
        editor.execute(
            f"CREATE TABLE {editor.quote_name(name)} PARTITION OF sessions_app_event FOR VALUES FROM (%s) TO (%s)",
            [first.isoformat(), last.isoformat()],
        )


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError(
            "Upkeep belongs to the server, not to a team.", suggestion="Run the command on the server."
        )
