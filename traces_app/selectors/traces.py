"""Reads of the trace. Each filters by the actor's team: another team's session or run is the same as none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from sessions_app.engine.runs import Dialect
from sessions_app.selectors.places import has_session, runs_among
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import birth_ms
from teams_app.engine.pages import Page, PageRequest, cut_page
from traces_app.engine.calls import TraceCall, TraceOutcome
from traces_app.engine.spans import Stretch, smallest_id
from traces_app.models import TraceEvent

# What reads a trace is no work that a trace tells of.
_READS_THE_TRACE = "get_trace"


# Filters and searches go through so many of a team's newest calls: an index for each of them would cost every call.
MOST_SEARCHED = 20_000
_CALLS = """
SELECT actor_id, count(*) FROM (
  SELECT actor_id FROM traces_app_traceevent WHERE team_id = %s AND id >= %s ORDER BY id DESC LIMIT %s) newest
GROUP BY actor_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest calls, the oldest of them first, and how many there are in all."""

    calls: Sequence[TraceCall]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """Calls by the id under which their agent acts. They are not all where there are more than are searched."""

    by_actor: Mapping[str, int]
    are_all: bool


def count_calls(*, actor: Actor, since: datetime) -> CallCounts:
    """Those that ended since then, of the newest that a search looks through. One query."""
    actor.require(Permission.READ_TRACES)
    asked: list[Any] = [actor.team_id, smallest_id(unix_ms=int(since.timestamp() * 1000)), MOST_SEARCHED]
    with connection.cursor() as cursor:
        cursor.execute(_CALLS, asked)
        counted = dict(cursor.fetchall())
    return CallCounts(by_actor=counted, are_all=sum(counted.values()) < MOST_SEARCHED)


def trace_of_session(*, actor: Actor, session_id: UUID, page: PageRequest) -> Page[TraceCall]:
    """Every call that belongs to the session, its runs' included, the oldest first."""
    require_session(actor=actor, session_id=session_id)
    return _page(_of_session(actor, session_id), page)


def trace_of_run(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[TraceCall]:
    """The oldest first."""
    require_run(actor=actor, run_id=run_id)
    return _page(_of_run(actor, run_id), page)


def newest_of_session(
    *, actor: Actor, session_id: UUID, limit: int, with_reads: bool = True, before: UUID | None = None
) -> Newest:
    require_session(actor=actor, session_id=session_id)
    return _newest(_earlier(_shown(_of_session(actor, session_id), with_reads=with_reads), before), limit)


def newest_of_run(
    *,
    actor: Actor,
    run_id: UUID,
    limit: int,
    with_reads: bool = True,
    before: UUID | None = None,
) -> Newest:
    require_run(actor=actor, run_id=run_id)
    return _newest(_earlier(_shown(_of_run(actor, run_id), with_reads=with_reads), before), limit)


def calls_between(
    *, actor: Actor, run_id: UUID, since: datetime, until: datetime | None, limit: int
) -> Sequence[TraceCall]:
    """The newest calls that began after one moment and not after the other. One query: a run of another team has none."""
    actor.require(Permission.READ_TRACES)
    # Ids tell when a call ended, which is after it began.
    first = smallest_id(unix_ms=int(since.timestamp() * 1000))
    rows = TraceEvent.objects.filter(team_id=actor.team_id, run_id=run_id, id__gte=first, started_at__gt=since)
    rows = rows if until is None else rows.filter(started_at__lte=until)
    return [_value(row) for row in rows.order_by("-id")[:limit]]


def oldest_searched(*, actor: Actor) -> UUID | None:
    """The call up to which a search looks back; None when the team has fewer. It reads the index alone."""
    actor.require(Permission.READ_TRACES)
    ids = TraceEvent.objects.filter(team_id=actor.team_id).order_by("-id").values_list("id", flat=True)
    return ids[MOST_SEARCHED : MOST_SEARCHED + 1].first()


def newest_of_stretches(*, actor: Actor, stretches: Sequence[Stretch], limit: int) -> Newest:
    """The calls that ended in one of the stretches. A run of another team has none."""
    if not stretches:
        return Newest(calls=(), count=0)
    asked = Q(pk__in=())
    for stretch in stretches:
        asked |= Q(run_id=stretch.run_id, id__gte=stretch.first_id, id__lt=stretch.end_id)
    rows = TraceEvent.objects.filter(asked, team_id=actor.team_id)
    return _newest(_shown(rows, with_reads=False), limit)


def require_session(*, actor: Actor, session_id: UUID) -> None:
    actor.require(Permission.READ_TRACES)
    if not has_session(actor=actor, session_id=session_id):
        raise NotFoundError(
            "There is no such session in your team.", suggestion="List the sessions of your team for their ids."
        )


def require_run(*, actor: Actor, run_id: UUID) -> UUID:
    """The session of the run."""
    actor.require(Permission.READ_TRACES)
    session_id = runs_among(actor=actor, run_ids=[run_id]).get(run_id)
    if session_id is None:
        raise NotFoundError(
            "There is no such run in your team.", suggestion="List the runs of your team for their ids."
        )
    return session_id


def _of_session(actor: Actor, session_id: UUID) -> QuerySet[TraceEvent]:
    return TraceEvent.objects.filter(team_id=actor.team_id, session_id=session_id, id__gte=_birth(session_id))


def _of_run(actor: Actor, run_id: UUID) -> QuerySet[TraceEvent]:
    return TraceEvent.objects.filter(team_id=actor.team_id, run_id=run_id, id__gte=_birth(run_id))


def _birth(row_id: UUID) -> UUID:
    """Nothing is told of a row before it was born, so months before that need not be looked at."""
    return smallest_id(unix_ms=birth_ms(row_id))


def _shown(rows: QuerySet[TraceEvent], *, with_reads: bool) -> QuerySet[TraceEvent]:
    return rows if with_reads else rows.exclude(tool=_READS_THE_TRACE)


def _page(rows: QuerySet[TraceEvent], page: PageRequest) -> Page[TraceCall]:
    if page.after is not None:
        rows = rows.filter(id__gt=UUID(page.after))
    return cut_page(
        rows=rows.order_by("id")[: page.limit + 1],
        limit=page.limit,
        value_of=_value,
        position_of=lambda row: str(row.pk),
    )


def _earlier(rows: QuerySet[TraceEvent], before: UUID | None) -> QuerySet[TraceEvent]:
    return rows if before is None else rows.filter(id__lt=before)


def _newest(rows: QuerySet[TraceEvent], limit: int) -> Newest:
    found = [_value(row) for row in rows.order_by("-id")[: limit + 1]]
    count = len(found) if len(found) <= limit else rows.count()
    return Newest(calls=tuple(reversed(found[:limit])), count=count)


def _value(row: TraceEvent) -> TraceCall:
    return TraceCall(
        id=row.pk,
        session_id=row.session_id,
        run_id=row.run_id,
        workflow_id=row.workflow_id,
        dialect=Dialect(row.dialect),
        tool=row.tool,
        actor_id=row.actor_id,
        actor_name=row.actor_name,
        agent_id=row.agent_id,
        activity=row.activity,
        step_key=row.step_key,
        started_at=row.started_at,
        duration_us=row.duration_us,
        outcome=TraceOutcome(row.outcome),
        error_code=row.error_code,
        warnings=tuple(row.warnings),
        arguments=row.arguments,
        request_id=row.request_id,
    )
