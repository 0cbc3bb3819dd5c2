"""Which sessions are over their time, with what decides it. A session and what its runs triggered are one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from sessions_app.engine.checkpoints import Authority, CheckpointState
from sessions_app.engine.expiry import WARNED_BEFORE, ExpiryRule, Judged, Known, Rules, judge
from sessions_app.engine.runs import RunStatus
from sessions_app.models import CheckpointRequest, ExpiryWarning, Handle, Hold, Retention, Run, WorkSession
from sessions_app.selectors.activity import OLDEST_FIRST, active_before, ahead

_AT_A_TIME = 200
_ENDED = frozenset({"complete", "complete_with_gaps", "rejected", "cancelled"})


def rules_of(*, team_id: UUID) -> Rules:
    days = settings.SESSION_IDLE_DAYS or None
    of_team = ExpiryRule(idle_days=days, archives=False)
    of_workflows: dict[str, ExpiryRule] = {}
    for row in Retention.objects.filter(team_id=team_id):
        rule = ExpiryRule(idle_days=row.idle_days, archives=row.archives)
        if row.workflow_id:
            of_workflows[row.workflow_id] = rule
        else:
            of_team = rule
    return Rules(of_team=of_team, of_workflows=of_workflows)


def teams_with_sessions() -> list[UUID]:
    """By one look at the index of each team, however many sessions it has."""
    found: list[UUID] = []
    last = UUID(int=0)
    while True:
        rows = WorkSession.objects.filter(team_id__gt=last).order_by("team_id").values_list("team_id", flat=True)
        following = rows.first()
        if following is None:
            return found
        found.append(following)
        last = following


def judged_sessions(*, team_id: UUID, now: datetime) -> Iterator[Judged]:
    """Those that are idle for long, the longest first; each is judged as it stands when it is its turn."""
    rules = rules_of(team_id=team_id)
    if rules.shortest_days is None:
        return
    cutoff = now - timedelta(days=rules.shortest_days) + WARNED_BEFORE
    after: tuple[datetime, UUID] | None = None
    while True:
        page = list(_idle_roots(team_id, cutoff, after)[:_AT_A_TIME])
        for row in page:
            yield judge(known=known_of(row), rules=rules, now=now)
        if len(page) < _AT_A_TIME:
            return
        after = (page[-1].last_activity_at, page[-1].id)


def root_sessions(*, team_id: UUID) -> Iterator[UUID]:
    """All of a team but those that another one's runs triggered and that go with it."""
    parent = WorkSession.objects.filter(pk=OuterRef("parent_id"))
    rows = WorkSession.objects.filter(~Exists(parent), team_id=team_id).order_by("pk")
    yield from rows.values_list("pk", flat=True).iterator(chunk_size=_AT_A_TIME)


def known_of(root: WorkSession) -> Known:
    rows = [root, *_descendants(root)]
    ids = [row.id for row in rows]
    runs = list(Run.objects.filter(session_id__in=ids).values_list("id", "workflow_id", "status"))
    run_ids = [run_id for run_id, _, _ in runs]
    asked = CheckpointRequest.objects.filter(
        run_id__in=run_ids, state=CheckpointState.OPEN.value, authority=Authority.HUMAN.value
    )
    warned = ExpiryWarning.objects.filter(session_id=root.id).values_list("warned_at", flat=True)
    return Known(
        root=root.id,
        sessions=tuple(ids),
        workflow_ids=tuple(sorted({workflow_id for _, workflow_id, _ in runs})),
        last_activity_at=max(row.last_activity_at for row in rows),
        held=Hold.objects.filter(session_id__in=ids).exists(),
        waits=asked.exists(),
        unfinished=any(RunStatus(status).value not in _ENDED for _, _, status in runs),
        warned_at=warned.first(),
    )


def _idle_roots(team_id: UUID, cutoff: datetime, after: tuple[datetime, UUID] | None) -> QuerySet[WorkSession]:
    """A session whose parent is still there goes with that."""
    parent = WorkSession.objects.filter(pk=OuterRef("parent_id"))
    rows = WorkSession.objects.filter(~Exists(parent), active_before(cutoff), team_id=team_id)
    if after is not None:
        rows = rows.filter(ahead(*after))
    return rows.order_by(*OLDEST_FIRST)


def _descendants(root: WorkSession) -> list[WorkSession]:
    found: dict[UUID, WorkSession] = {}
    layer = [root]
    while layer:
        run_ids = list(Run.objects.filter(session_id__in=[row.id for row in layer]).values_list("id", flat=True))
        held = Handle.objects.filter(team_id=root.team_id, parent_run_id__in=run_ids).values("session_id")
        children = WorkSession.objects.filter(team_id=root.team_id, pk__in=held).exclude(pk__in=[root.id, *found])
        layer = list(children.order_by("id"))
        found |= {row.id: row for row in layer}
    return list(found.values())
