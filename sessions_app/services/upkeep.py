"""What keeps the tables in order: partitions made ahead, projections built again from the log."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import overload
from uuid import UUID

from django.db import OperationalError, connection, transaction

from sessions_app.engine.projections import GapView, HandleView, OutputView, QuestionView, RunView, SessionView, project
from sessions_app.engine.runs import ObservationKey
from sessions_app.models import CheckpointRequest, Event, Gap, Handle, Output, Run, WorkSession
from sessions_app.selectors.integrity import to_ms
from sessions_app.selectors.standings import birth_date
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError

MONTHS_AHEAD = 3
_DAYS_TO_NEXT_MONTH = 32
_DROPPING_TIMEOUT = "2000"
_PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'sessions_app_event'::regclass ORDER BY c.relname
"""
_MONTH = re.compile(r"sessions_app_event_([0-9]{4})_([0-9]{2})")


def ensure_partitions(*, actor: Actor, today: date) -> tuple[str, ...]:
    """Make the event partitions of this month and the next ones; returns the names of those that were missing.

    A month whose sessions are already in the default partition keeps it: moving them would lock the log.
    """
    require_system(actor)
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
    """Write again what the log says of a session's columns, runs, outputs, gaps and checkpoints; returns how many rows were different."""
    require_system(actor)
    with transaction.atomic(durable=True):
        # The lock of the session's one writer: the log does not grow while it is read.
        locked = WorkSession.objects.select_for_update(no_key=True).get(pk=session_id)
        rows = Event.objects.filter(born_on=birth_date(locked.id), session_id=locked.id).order_by("index")
        view = project(bytes(body) for body in rows.values_list("body", flat=True).iterator(chunk_size=2000))
        changed = _restore(locked, _session_columns(view))
        changed += sum(_restore_run(run) for run in view.runs.values())
        changed += _restore_outputs(locked, view)
        changed += sum(_restore_gaps(locked, run) for run in view.runs.values())
        changed += sum(_restore_questions(locked, run) for run in view.runs.values())
        changed += _restore_handles(locked, view)
    return changed


def _session_columns(view: SessionView) -> Mapping[str, str]:
    """What the log does not tell stays as it is."""
    observed = {key.value: view.observed.get(key, "") for key in ObservationKey}
    if view.baseline is None:
        return observed
    baseline = view.baseline
    return observed | {
        "autonomy": baseline.autonomy.value,
        "risk_policy": baseline.risk_policy.value,
        "waived_by": baseline.waived_by,
    }


def _restore_run(view: RunView) -> int:
    run = Run.objects.filter(pk=view.run_id).order_by("pk").first()
    tip = view.tip
    if run is None or tip is None:
        return 0
    wanted: dict[str, object] = {"status": view.status.value, "tip_node_id": tip.node_id}
    if to_ms(run.completed_at) != view.completed_ms:
        wanted["completed_at"] = _moment(view.completed_ms)
    return _restore(run, wanted)


def _restore_outputs(session: WorkSession, view: SessionView) -> int:
    stored = {row.id: row for row in Output.objects.filter(session_id=session.id)}
    told = {output.output_id: output for output in view.every_output()}
    strange = stored.keys() - told.keys()
    if strange:
        Output.objects.filter(pk__in=strange).delete()
    return len(strange) + sum(_restore_output(session, stored.get(id_), output) for id_, output in told.items())


def _restore_output(session: WorkSession, row: Output | None, view: OutputView) -> int:
    wanted: dict[str, object] = {
        "run_id": view.run_id,
        "node_id": view.node_id,
        "to_node_id": view.to_node_id,
        "channel": view.channel.value,
        "body": view.body,
        "sha256": view.sha256,
        "artifact_kind": view.artifact_kind[:128],
        "supersedes_id": view.supersedes,
        "event_index": view.event_index,
    }
    if row is not None:
        return _restore(row, wanted)
    born = {"id": view.output_id, "team_id": session.team_id, "session_id": session.id}
    Output.objects.create(**born, created_at=_moment(view.created_ms), **wanted)
    return 1


def _restore_gaps(session: WorkSession, run: RunView) -> int:
    stored = {row.id: row for row in Gap.objects.filter(run_id=run.run_id)}
    strange = stored.keys() - {gap.gap_id for gap in run.gaps}
    if strange:
        Gap.objects.filter(pk__in=strange).delete()
    return len(strange) + sum(_restore_gap(session, run, stored.get(gap.gap_id), gap) for gap in run.gaps)


def _restore_gap(session: WorkSession, run: RunView, row: Gap | None, view: GapView) -> int:
    wanted: dict[str, object] = {
        "node_id": view.node_id,
        "severity": view.severity.value,
        "category": view.category,
        "detail": view.detail,
        "summary": view.summary,
        "resolved_by_id": view.resolved_by,
        "event_index": view.event_index,
    }
    if row is not None:
        return _restore(row, wanted)
    born = {"id": view.gap_id, "team_id": session.team_id, "session_id": session.id, "run_id": run.run_id}
    Gap.objects.create(**born, created_at=_moment(view.created_ms), **wanted)
    return 1


def _restore_questions(session: WorkSession, run: RunView) -> int:
    stored = {row.id: row for row in CheckpointRequest.objects.filter(run_id=run.run_id)}
    strange = stored.keys() - run.questions.keys()
    if strange:
        CheckpointRequest.objects.filter(pk__in=strange).delete()
    restored = sum(_restore_question(session, run, stored.get(id_), view) for id_, view in run.questions.items())
    return len(strange) + restored


def _restore_question(session: WorkSession, run: RunView, row: CheckpointRequest | None, view: QuestionView) -> int:
    shown = view.shown
    wanted: dict[str, object] = {
        "checkpoint_id": shown["checkpointId"],
        "instance_key": shown["instance"],
        "title": shown["title"],
        "message": shown["message"],
        "options": shown["options"],
        "authority": shown["authority"],
        "digest": shown["digest"],
        "event_index": view.event_index,
        "state": run.state_of(view).value,
        "answered_by": view.answered_by,
        "answered_as": view.answered_as,
        "option_id": view.option_id,
        "reason": view.reason,
        "door": view.door,
        "to_node_id": view.to_node_id,
    }
    times = {"presented_at": view.presented_ms, "due_at": view.due_ms, "answered_at": view.answered_ms}
    wanted |= {name: _moment(ms) for name, ms in times.items() if row is None or to_ms(getattr(row, name)) != ms}
    if row is not None:
        return _restore(row, wanted)
    born = {"id": view.request_id, "team_id": session.team_id, "session_id": session.id, "run_id": run.run_id}
    CheckpointRequest.objects.create(**born, **wanted)
    return 1


def _restore_handles(session: WorkSession, view: SessionView) -> int:
    stored = {row.id: row for row in Handle.objects.filter(session_id=session.id)}
    strange = stored.keys() - view.handles.keys()
    if strange:
        Handle.objects.filter(pk__in=strange).delete()
    return len(strange) + sum(_restore_handle(session, stored.get(id_), told) for id_, told in view.handles.items())


def _restore_handle(session: WorkSession, row: Handle | None, view: HandleView) -> int:
    handle, parent = view.handle, view.handle.parent
    wanted: dict[str, object] = {
        "run_id": handle.run_id,
        "dialect": handle.dialect.value,
        "agent_id": handle.agent_id,
        "parent_run_id": parent.run_id if parent else None,
        "parent_session_id": parent.session_id if parent else None,
        "parent_workflow_id": parent.workflow_id if parent else "",
        "parent_activity": parent.activity if parent else "",
        "parent_version": parent.version if parent else "",
        "event_index": view.event_index,
    }
    if row is not None:
        return _restore(row, wanted)
    born = {"id": handle.id, "team_id": session.team_id, "session_id": session.id}
    Handle.objects.create(**born, created_at=_moment(view.created_ms), **wanted)
    return 1


def _restore(row: WorkSession | Run | Output | Gap | CheckpointRequest | Handle, wanted: Mapping[str, object]) -> int:
    wrong = [name for name, value in wanted.items() if getattr(row, name) != value]
    if not wrong:
        return 0
    for name in wrong:
        setattr(row, name, wanted[name])
    row.save(update_fields=wrong)
    return 1


@overload
def _moment(unix_ms: int) -> datetime: ...
@overload
def _moment(unix_ms: None) -> None: ...
def _moment(unix_ms: int | None) -> datetime | None:
    """The log keeps milliseconds; a moment of the tables that falls into the right one is right."""
    return None if unix_ms is None else datetime.fromtimestamp(unix_ms / 1000, tz=UTC)


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
