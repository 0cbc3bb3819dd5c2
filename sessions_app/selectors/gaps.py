"""Gaps of runs, as whoever closes one must know them, and as people see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce, NullIf

from sessions_app.engine.log import Head
from sessions_app.engine.reasons import Detail, GapCategory, GapSeverity
from sessions_app.engine.runs import RunStatus
from sessions_app.models import Gap, LedgerEntry, Run, WorkSession
from sessions_app.selectors.standings import stored_head
from teams_app.engine.actors import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """`is_last` tells that the run has no other critical gap that is open; `completed_at` is the run's."""

    gap_id: UUID
    session_id: UUID
    run_id: UUID
    node_id: UUID
    category: GapCategory
    detail: Detail
    is_resolved: bool
    is_last: bool
    run_status: RunStatus
    completed_at: datetime | None
    head: Head


def find_gap(*, actor: Actor, gap_id: UUID) -> KnownGap | None:
    """One gap of the team with its run and the end of its session's log, as one statement saw them."""
    run = Run.objects.filter(pk=OuterRef("run_id"))
    session = WorkSession.objects.filter(pk=OuterRef("session_id"))
    # As for a standing.
    entered = LedgerEntry.objects.filter(team_id=OuterRef("team_id"), session_id=OuterRef("session_id"))
    others = Gap.objects.filter(
        ~Q(pk=OuterRef("pk")),
        run_id=OuterRef("run_id"),
        severity=GapSeverity.CRITICAL.value,
        resolved_by_id__isnull=True,
    )
    row = (
        Gap.objects.filter(pk=gap_id, team_id=actor.team_id)
        .annotate(
            run_status=Subquery(run.values("status")),
            completed_at=Subquery(run.values("completed_at")),
            next_index=Subquery(session.values("next_event_index")),
            head_digest=Subquery(session.values("head_digest")),
            head_seal=Coalesce(
                NullIf(Subquery(session.values("head_seal")), Value("", output_field=TextField())),
                Subquery(entered.values(taken=Value(" ", output_field=TextField()))[:1]),
                Value("", output_field=TextField()),
            ),
            other=Subquery(others.values("pk")[:1]),
            closed=F("resolved_by_id"),
        )
        .order_by("pk")
        .first()
    )
    if row is None:
        return None
    return KnownGap(
        gap_id=row.id,
        session_id=row.session_id,
        run_id=row.run_id,
        node_id=row.node_id,
        category=GapCategory(row.category),
        detail=Detail(row.detail),
        is_resolved=row.closed is not None,
        is_last=row.other is None,
        run_status=RunStatus(row.run_status),
        completed_at=row.completed_at,
        head=stored_head(row.session_id, (row.next_index, row.head_digest, actor.team_id, row.head_seal)),
    )


def gaps_of(*, run_id: UUID) -> QuerySet[Any]:
    """Whoever asks has read the run, and with it whether it may be seen. `closes` marks the entry that closed another."""
    closed = Gap.objects.filter(run_id=OuterRef("run_id"), resolved_by_id=OuterRef("pk"))
    return Gap.objects.filter(run_id=run_id).annotate(closes=Exists(closed))


def count_open_gaps(*, run_id: UUID) -> dict[GapSeverity, int]:
    rows = gaps_of(run_id=run_id).filter(resolved_by_id__isnull=True, closes=False)
    return {
        GapSeverity(severity): count for severity, count in rows.values_list("severity").annotate(count=Count("pk"))
    }
