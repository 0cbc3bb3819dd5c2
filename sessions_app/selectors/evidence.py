"""What there is to judge a question by: what came with it, what is missing, and what was answered before in its run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.values import GapValue, OutputValue, RunValue
from sessions_app.models import CheckpointRequest, Handle, Run, WorkSession
from sessions_app.selectors.checkpoints import CheckpointValue, checkpoint_value, staying_nodes
from sessions_app.selectors.gaps import gaps_of
from sessions_app.selectors.records import outputs_of
from sessions_app.selectors.rows import gap_value, output_value, run_value
from teams_app.engine.actors import Actor, Permission

MOST_SHOWN = 50
SEND_BACK = "send_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRun:
    id: UUID
    title: str
    status: RunStatus
    started_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`brought` came with the question; `before` came with the same question when it was asked last, if it was.

    `same` are the earlier askings of this question, `others` the other questions of the run that were answered, newest
    first. `newer` is the asking that stands for this one, if it was asked again. `brought_before` says that nothing came
    with it, and that what is shown was handed in last before.
    """

    run: RunValue
    session_title: str
    ticket: str
    brought: Sequence[OutputValue]
    brought_before: bool
    before: Sequence[OutputValue]
    same: Sequence[CheckpointValue]
    others: Sequence[CheckpointValue]
    newer: UUID | None
    gaps: Sequence[GapValue]
    children: Sequence[ChildRun]


def read_evidence(*, actor: Actor, question: CheckpointValue) -> Evidence:
    """At most nine queries. Whoever asks has read the question."""
    actor.require(Permission.READ_RUNS)
    run = Run.objects.annotate(
        # A session is read for its name only.
        session_title=Subquery(_session("title")),
        ticket=Subquery(_session("ticket")),
    ).get(pk=question.run_id, team_id=actor.team_id)
    rows = list(CheckpointRequest.objects.filter(run_id=run.pk).order_by("event_index")[: 4 * MOST_SHOWN])
    asked = next((row.event_index for row in rows if row.id == question.id), 0)
    same = [row for row in rows if row.instance_key == question.instance_key and row.id != question.id]
    earlier = [row for row in same if row.event_index < asked and was_asked_again(row)]
    newer = next((row.id for row in reversed(same) if row.event_index > asked), None)
    brought = _brought(actor, run.pk, question.id)
    before = _brought(actor, run.pk, earlier[-1].id, is_past=True) if earlier else []
    answered = [row for row in rows if row.state == CheckpointState.ANSWERED.value and row.id != question.id]
    return Evidence(
        run=run_value(run),
        session_title=run.session_title or "",
        ticket=run.ticket or "",
        brought=brought or _last_before(run.pk, asked),
        brought_before=not brought,
        before=before,
        same=[checkpoint_value(row, run) for row in earlier],
        others=[checkpoint_value(row, run) for row in reversed(answered)][:MOST_SHOWN],
        newer=newer,
        gaps=_open_gaps(run.pk),
        children=_children(actor, run.pk),
    )


def _session(column: str) -> Any:
    return WorkSession.objects.filter(pk=OuterRef("session_id")).values(column)[:1]


def was_asked_again(row: CheckpointRequest) -> bool:
    """On another branch the same is asked too; what was sent back, or reads differently now, is asked again."""
    return row.option_id == SEND_BACK or row.state == CheckpointState.STALE.value


def _brought(actor: Actor, run_id: UUID, question_id: UUID, *, is_past: bool = False) -> list[OutputValue]:
    """What was handed in at the question last; else what the call brought that led to it.

    Of what was asked in the past it is that call's, whatever has replaced it since.
    """
    nodes = staying_nodes(team_id=actor.team_id, request_id=question_id) or (question_id,)
    rows = outputs_of(run_id=run_id).filter(to_node_id__in=nodes).order_by("event_index", "id")
    found = [output_value(row, is_superseded=row.is_superseded) for row in rows[: 2 * MOST_SHOWN]]
    if is_past:
        return [output for output in found if output.to_node_id == question_id]
    stands = [output for output in found if not output.is_superseded]
    return [output for output in stands if output.to_node_id != question_id] or stands


def _last_before(run_id: UUID, event_index: int) -> list[OutputValue]:
    """What one call handed in last before the question."""
    rows = outputs_of(run_id=run_id).filter(event_index__lt=event_index or 2**31 - 1)
    last = rows.order_by("-event_index", "-id").values("to_node_id")[:1]
    found = rows.filter(to_node_id=Subquery(last)).order_by("event_index", "id")[:MOST_SHOWN]
    return [output_value(row, is_superseded=row.is_superseded) for row in found]


def _open_gaps(run_id: UUID) -> list[GapValue]:
    rows = gaps_of(run_id=run_id).filter(resolved_by_id__isnull=True, closes=False).order_by("event_index", "id")
    return [gap_value(row, closes=row.closes) for row in rows[:MOST_SHOWN]]


def _children(actor: Actor, run_id: UUID) -> list[ChildRun]:
    ids = Handle.objects.filter(team_id=actor.team_id, parent_run_id=run_id).values("run_id")
    rows = Run.objects.filter(pk__in=ids, team_id=actor.team_id).order_by("-started_at", "id")[:MOST_SHOWN]
    return [
        ChildRun(
            id=row.pk,
            title=row.workflow_title,
            status=RunStatus(row.status),
            started_at=row.started_at,
            completed_at=row.completed_at,
        )
        for row in rows
    ]
