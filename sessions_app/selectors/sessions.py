"""Sessions as the actor's team sees them. Another team's is the same as none."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from sessions_app.engine.run_query import RunSort
from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.engine.values import SessionValue
from sessions_app.models import Run, SearchedRun, SearchedSession, WorkSession
from sessions_app.selectors.activity import active_before, active_since
from sessions_app.selectors.found_words import sessions_with_words
from sessions_app.selectors.rows import session_value
from sessions_app.selectors.run_order import RunOrder
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.pages import Page, PageRequest, cut_page
from workflows_app.selectors.workflows import ids_named

_LATEST = RunOrder(sort=RunSort.CALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilters:
    """`text` is part of a title, or of the goal of a run; `git_branch` is a branch or how it begins, in any case."""

    status: RunStatus | None = None
    workflow_id: str = ""
    git_branch: str = ""
    ticket: str = ""
    repository: str = ""
    text: str = ""
    dialect: Dialect | None = None
    active_since: datetime | None = None
    active_until: datetime | None = None
    # Whether the text may be a ticket, how a branch begins, or words of notes too.
    anywhere: bool = False


def list_sessions(
    *, actor: Actor, filters: SessionFilters, page: PageRequest, order: RunOrder = _LATEST
) -> Page[SessionValue]:
    """The latest activity first, if no other order is asked for. Two queries."""
    actor.require(Permission.READ_RUNS)
    found = cut_page(
        rows=order.sorted(_filtered(actor, filters), after=page.after)[: page.limit + 1],
        limit=page.limit,
        value_of=lambda row: row,
        position_of=order.position_of,
    )
    counts = run_counts(row.id for row in found.items)
    return found.map(lambda row: session_value(row, runs=counts.get(row.id)))


def read_session(*, actor: Actor, session_id: UUID) -> SessionValue:
    """Two queries."""
    actor.require(Permission.READ_RUNS)
    row = team_sessions(actor).filter(pk=session_id).order_by("pk").first()
    if row is None:
        raise no_session()
    return session_value(row, runs=run_counts([row.id]).get(row.id))


def team_sessions(actor: Actor) -> QuerySet[WorkSession]:
    return WorkSession.objects.filter(team_id=actor.team_id)


def run_counts(session_ids: Iterable[UUID]) -> dict[UUID, dict[RunStatus, int]]:
    """How many runs of each status the sessions have, in one query."""
    counts: dict[UUID, dict[RunStatus, int]] = {}
    rows = Run.objects.filter(session_id__in=list(session_ids)).values_list("session_id", "status")
    for session_id, status, count in rows.annotate(count=Count("pk")):
        counts.setdefault(session_id, {})[RunStatus(status)] = count
    return counts


def sessions_with_text(*, actor: Actor, text: str) -> QuerySet[Any]:
    """The ids of those with the text in their title or in a goal. In one condition neither would go by its index."""
    by_title = SearchedSession.objects.filter(team_id=actor.team_id, title__icontains=text).values("pk")
    by_goal = SearchedRun.objects.filter(team_id=actor.team_id, goal__icontains=text).values("session_id")
    return by_title.union(by_goal)


def sessions_on_branch(*, actor: Actor, begins: str) -> QuerySet[Any]:
    """The ids of those whose branch begins so."""
    own = SearchedSession.objects.filter(~Q(git_branch=""), team_id=actor.team_id)
    return own.filter(git_branch__istartswith=begins).values("pk")


def no_session() -> NotFoundError:
    return NotFoundError("There is no such session.", suggestion="List the sessions of your team for their ids.")


def _filtered(actor: Actor, filters: SessionFilters) -> QuerySet[WorkSession]:
    rows = team_sessions(actor)
    if filters.git_branch:
        rows = rows.filter(pk__in=sessions_on_branch(actor=actor, begins=filters.git_branch))
    if filters.ticket:
        rows = rows.filter(~Q(ticket=""), ticket=filters.ticket)
    if filters.repository:
        rows = rows.filter(~Q(repository=""), repository=filters.repository)
    if filters.active_since is not None:
        rows = rows.filter(active_since(filters.active_since))
    if filters.active_until is not None:
        rows = rows.filter(active_before(filters.active_until))
    if filters.status is not None or filters.workflow_id or filters.dialect is not None:
        rows = rows.filter(Exists(_runs_of(actor, filters)))
    if not filters.text:
        return rows
    if filters.anywhere:
        return rows.filter(sessions_with_words(actor=actor, text=filters.text))
    return rows.filter(pk__in=sessions_with_text(actor=actor, text=filters.text))


def _runs_of(actor: Actor, filters: SessionFilters) -> QuerySet[Run]:
    """Runs of one session that are as the filters say: one run must have both."""
    runs = Run.objects.filter(session_id=OuterRef("pk"), team_id=OuterRef("team_id"))
    if filters.status is not None:
        runs = runs.filter(status=filters.status.value)
    if filters.dialect is not None:
        runs = runs.filter(dialect=filters.dialect.value)
    return runs.filter(workflow_id__in=ids_named(actor, filters.workflow_id)) if filters.workflow_id else runs
