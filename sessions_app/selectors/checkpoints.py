"""Questions that wait for people, and where their answers led."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions_app.engine.checkpoints import Authority, CheckpointState, Choice
from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest, Run
from sessions_app.selectors.runs import find_run
from sessions_app.selectors.sessions import no_session, team_sessions
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import Page, PageRequest, cut_page
from workflows_app.selectors.asked import asked, prepared_cursor

MOST_COUNTED = 1_000

_ANSWERED = """
SELECT a.id, a.kind, sn.data, a.snapshot_digest,
       EXISTS (SELECT 1 FROM sessions_app_node c WHERE c.parent_id = a.id AND c.kind <> 'checkpoint')
FROM sessions_app_checkpointrequest q
JOIN sessions_app_node a ON a.id = q.to_node_id AND a.run_id = q.run_id
JOIN sessions_app_snapshot sn ON sn.team_id = a.team_id AND sn.digest = a.snapshot_digest
WHERE q.id = $1 AND q.team_id = $2 AND q.state = 'answered' AND q.answered_as = 'human'
"""

# Blocked attempts and changes of mode stay at the question that they were made at.
_STAYING = """
WITH RECURSIVE waiting AS (
  SELECT n.id, n.pending_key, n.event_index FROM sessions_app_node n WHERE n.id = $1 AND n.team_id = $2
  UNION ALL
  SELECT c.id, c.pending_key, c.event_index
  FROM waiting w CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_node c
    WHERE c.parent_id = w.id AND c.pending_key = w.pending_key AND c.kind <> 'checkpoint' OFFSET 0
  ) c
)
"""
_WAITING = f"{_STAYING} SELECT id FROM waiting ORDER BY event_index DESC LIMIT 1"  # noqa: S608  two constants
_STAYING_IDS = f"{_STAYING} SELECT id FROM waiting ORDER BY event_index DESC LIMIT 100"  # noqa: S608  as above


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterAnswer:
    """The node that a person's answer made."""

    node_id: UUID
    node_kind: NodeKind
    snapshot: bytes
    snapshot_digest: str
    has_children: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointValue:
    """A question as it stands. Its id is that of the node at which it was asked."""

    id: UUID
    session_id: UUID
    run_id: UUID
    checkpoint_id: str
    instance_key: str
    title: str
    message: str
    options: tuple[Choice, ...]
    authority: Authority
    digest: str
    state: CheckpointState
    presented_at: datetime
    due_at: datetime | None
    claimed_by: str
    claimed_at: datetime | None
    answered_at: datetime | None
    answered_by: str
    answered_as: Authority | None
    option_id: str
    reason: str
    door: str
    workflow_title: str
    goal: str
    dialect: Dialect
    # What a person has called the run.
    run_name: str = ""

    def is_overdue(self, now: datetime) -> bool:
        return self.state is CheckpointState.OPEN and self.due_at is not None and self.due_at < now


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which questions a list shows; None shows all. `mine` are those that the actor has claimed, `claimed` those that
    anybody has, or nobody.
    """

    state: CheckpointState | None = CheckpointState.OPEN
    authority: Authority | None = None
    run_id: UUID | None = None
    session_id: UUID | None = None
    mine: bool = False
    claimed: bool | None = None
    overdue: bool = False
    dialect: Dialect | None = None
    asked_since: datetime | None = None
    asked_until: datetime | None = None


@asked
def read_answered(*, team_id: UUID, request_id: UUID) -> AfterAnswer | None:
    """Where a run stands after a person's answer; None while there is none."""
    row = prepared_cursor().execute(_ANSWERED, [request_id, team_id]).fetchone()
    if row is None:
        return None
    return AfterAnswer(
        node_id=row[0], node_kind=NodeKind(row[1]), snapshot=row[2], snapshot_digest=row[3], has_children=row[4]
    )


@asked
def waiting_node(*, team_id: UUID, request_id: UUID) -> UUID:
    """The node at which an answer is taken: the newest that still waits at the question."""
    row = prepared_cursor().execute(_WAITING, [request_id, team_id]).fetchone()
    return request_id if row is None else row[0]


def staying_nodes(*, team_id: UUID, request_id: UUID) -> tuple[UUID, ...]:
    """The node of a question and those that still wait at it, the newest first; none where a run is handed over."""
    rows = prepared_cursor().execute(_STAYING_IDS, [request_id, team_id]).fetchall()
    return tuple(row[0] for row in rows)


def list_checkpoints(*, actor: Actor, page: PageRequest, wanted: Wanted, now: datetime) -> Page[CheckpointValue]:
    """The inbox of the team: what is due first comes first, then what was asked first."""
    actor.require(Permission.READ_RUNS)
    if wanted.run_id is not None:
        find_run(actor, wanted.run_id)
    if wanted.session_id is not None and not team_sessions(actor).filter(pk=wanted.session_id).exists():
        raise no_session()
    rows = position_after(_wanted(actor, wanted, now), page.after).order_by("due_at", "id")
    found = list(rows[: page.limit + 1])
    runs = _runs_of(found)
    return cut_page(
        rows=found,
        limit=page.limit,
        value_of=lambda row: checkpoint_value(row, runs[row.run_id]),
        position_of=lambda row: f"{row.due_at.isoformat() if row.due_at else ''} {to_text(Prefix.CHECKPOINT, row.id)}",
    )


@asked
def read_checkpoint(*, actor: Actor, request_id: UUID) -> CheckpointValue:
    actor.require(Permission.READ_RUNS)
    return told_checkpoint(actor=actor, request_id=request_id)


def told_checkpoint(*, actor: Actor, request_id: UUID) -> CheckpointValue:
    """For whoever is told of the question with a run that they drive: it asks no right besides."""
    row = _of_team(actor).filter(pk=request_id).order_by("pk").first()
    if row is None:
        raise NotFoundError(
            "There is no such checkpoint.", suggestion="List the checkpoints of the team for their ids."
        )
    return checkpoint_value(row, _runs_of([row])[row.run_id])


def read_checkpoints(*, actor: Actor, ids: Collection[UUID]) -> list[CheckpointValue]:
    """Those of the team among them. Two queries."""
    actor.require(Permission.READ_RUNS)
    rows = list(_of_team(actor).filter(pk__in=ids).order_by("pk"))
    runs = _runs_of(rows)
    return [checkpoint_value(row, runs[row.run_id]) for row in rows]


def count_open(*, actor: Actor) -> int:
    """How many questions wait for an answer, as far as anybody counts."""
    actor.require(Permission.READ_RUNS)
    return _of_team(actor).filter(state=CheckpointState.OPEN.value)[:MOST_COUNTED].count()


def checkpoint_value(row: CheckpointRequest, run: Run) -> CheckpointValue:
    return CheckpointValue(
        id=row.id,
        session_id=row.session_id,
        run_id=row.run_id,
        checkpoint_id=row.checkpoint_id,
        instance_key=row.instance_key,
        title=row.title,
        message=row.message,
        options=tuple(_choice(option) for option in row.options),
        authority=Authority(row.authority),
        digest=row.digest,
        state=CheckpointState(row.state),
        presented_at=row.presented_at,
        due_at=row.due_at,
        claimed_by=row.claimed_by,
        claimed_at=row.claimed_at,
        answered_at=row.answered_at,
        answered_by=row.answered_by,
        answered_as=Authority(row.answered_as) if row.answered_as else None,
        option_id=row.option_id,
        reason=row.reason,
        door=row.door,
        workflow_title=run.workflow_title,
        goal=run.goal,
        run_name=run.name,
        dialect=Dialect(run.dialect),
    )


def _choice(option: dict[str, Any]) -> Choice:
    return Choice(id=option["id"], label=option["label"], description=option["description"])


def _of_team(actor: Actor) -> QuerySet[CheckpointRequest]:
    return CheckpointRequest.objects.filter(team_id=actor.team_id)


def _wanted(actor: Actor, wanted: Wanted, now: datetime) -> QuerySet[CheckpointRequest]:
    rows = _of_team(actor)
    if wanted.state is not None:
        rows = rows.filter(state=wanted.state.value)
    if wanted.authority is not None:
        rows = rows.filter(authority=wanted.authority.value)
    if wanted.run_id is not None:
        rows = rows.filter(run_id=wanted.run_id)
    if wanted.session_id is not None:
        # By its runs, which an index finds.
        rows = rows.filter(run_id__in=Run.objects.filter(session_id=wanted.session_id).values("id"))
    if wanted.dialect is not None:
        rows = rows.filter(
            run_id__in=Run.objects.filter(dialect=wanted.dialect.value, team_id=actor.team_id).values("id")
        )
    if wanted.asked_since is not None:
        rows = rows.filter(presented_at__gte=wanted.asked_since)
    if wanted.asked_until is not None:
        rows = rows.filter(presented_at__lt=wanted.asked_until)
    if wanted.mine:
        rows = rows.filter(claimed_by=actor.id)
    if wanted.claimed is not None:
        rows = rows.exclude(claimed_by="") if wanted.claimed else rows.filter(claimed_by="")
    return rows.filter(due_at__lt=now, state=CheckpointState.OPEN.value) if wanted.overdue else rows


def _runs_of(rows: list[CheckpointRequest]) -> dict[UUID, Run]:
    return Run.objects.in_bulk({row.run_id for row in rows})


def position_after(rows: QuerySet[Any], position: str | None) -> QuerySet[Any]:
    """Rows without a due time come last, as Postgres sorts them."""
    if position is None:
        return rows
    due, _, name = position.partition(" ")
    last = from_text(Prefix.CHECKPOINT, name)
    if last is None:
        raise InvalidInputError("The cursor is not one of this list.", suggestion="Begin without a cursor.")
    if not due:
        return rows.filter(due_at__isnull=True, id__gt=last)
    moment = datetime.fromisoformat(due)
    return rows.filter(Q(due_at__gt=moment) | Q(due_at=moment, id__gt=last) | Q(due_at__isnull=True))
