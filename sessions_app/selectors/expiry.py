"""Which sessions are over their time, with what decides it. A session and what its runs triggered are one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
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
    """Those that are idle for long, the longest first. They are read by the page: whoever acts on one judges it again."""
    rules = rules_of(team_id=team_id)
    if rules.shortest_days is None:
        return
    cutoff = now - timedelta(days=rules.shortest_days) + WARNED_BEFORE
    after: tuple[datetime, UUID] | None = None
    while True:
        page = list(_idle_roots(team_id, cutoff, after)[:_AT_A_TIME])
        for known in _known_of_all(page):
            yield judge(known=known, rules=rules, now=now)
        if len(page) < _AT_A_TIME:
            return
        after = (page[-1].last_activity_at, page[-1].id)


def root_sessions(*, team_id: UUID) -> Iterator[UUID]:
    """All of a team but those that another one's runs triggered and that go with it."""
    parent = WorkSession.objects.filter(pk=OuterRef("parent_id"))
    rows = WorkSession.objects.filter(~Exists(parent), team_id=team_id).order_by("pk")
    yield from rows.values_list("pk", flat=True).iterator(chunk_size=_AT_A_TIME)


def known_of(root: WorkSession) -> Known:
    return _known_of_all([root])[0]


def _known_of_all(roots: Sequence[WorkSession]) -> list[Known]:
    """In their order, with as many statements for many as for one. They are of one team."""
    if not roots:
        return []
    family, runs = _family_of(roots)
    ids = [session_id for rows in family.values() for session_id in rows]
    held = set(Hold.objects.filter(session_id__in=ids).values_list("session_id", flat=True))
    run_ids = [run.id for run in runs]
    open_questions = CheckpointRequest.objects.filter(
        run_id__in=run_ids, state=CheckpointState.OPEN.value, authority=Authority.HUMAN.value
    )
    asked = set(open_questions.values_list("run_id", flat=True))
    warned = dict(ExpiryWarning.objects.filter(session_id__in=family).values_list("session_id", "warned_at"))
    by_session = defaultdict(list)
    for run in runs:
        by_session[run.session_id].append(run)
    return [
        _known(root, family[root.id], by_session, held=held, asked=asked, warned_at=warned.get(root.id))
        for root in roots
    ]


def _known(
    root: WorkSession,
    members: Mapping[UUID, WorkSession],
    by_session: Mapping[UUID, Sequence[Run]],
    *,
    held: AbstractSet[UUID],
    asked: AbstractSet[UUID],
    warned_at: datetime | None,
) -> Known:
    runs = [run for session_id in members for run in by_session.get(session_id, ())]
    return Known(
        root=root.id,
        sessions=tuple(members),
        workflow_ids=tuple(sorted({run.workflow_id for run in runs})),
        last_activity_at=max(row.last_activity_at for row in members.values()),
        held=not held.isdisjoint(members),
        waits=any(run.id in asked for run in runs),
        unfinished=any(RunStatus(run.status).value not in _ENDED for run in runs),
        warned_at=warned_at,
    )


def _idle_roots(team_id: UUID, cutoff: datetime, after: tuple[datetime, UUID] | None) -> QuerySet[WorkSession]:
    """A session whose parent is still there goes with that."""
    parent = WorkSession.objects.filter(pk=OuterRef("parent_id"))
    rows = WorkSession.objects.filter(~Exists(parent), active_before(cutoff), team_id=team_id)
    if after is not None:
        rows = rows.filter(ahead(*after))
    return rows.order_by(*OLDEST_FIRST)


def _family_of(roots: Sequence[WorkSession]) -> tuple[dict[UUID, dict[UUID, WorkSession]], list[Run]]:
    """Of each root itself and what its runs triggered, layer by layer, and the runs of them all."""
    family = {root.id: {root.id: root} for root in roots}
    layer = {root.id: {root.id} for root in roots}
    runs: dict[UUID, Run] = {}
    while layer:
        found = (
            Run.objects.filter(session_id__in=layer).order_by("pk").only("id", "session_id", "workflow_id", "status")
        )
        runs |= {run.id: run for run in found}
        session_of: dict[UUID | None, UUID] = {run.id: run.session_id for run in found}
        reached: defaultdict[UUID, set[UUID]] = defaultdict(set)
        held = Handle.objects.filter(team_id=roots[0].team_id, parent_run_id__in=session_of).order_by("pk")
        for session_id, parent_id in held.values_list("session_id", "parent_run_id"):
            above = layer[session_of[parent_id]]
            reached[session_id] |= {root_id for root_id in above if session_id not in family[root_id]}
        layer = _placed(reached, family, team_id=roots[0].team_id)
    return family, list(runs.values())


def _placed(
    reached: Mapping[UUID, set[UUID]], family: Mapping[UUID, dict[UUID, WorkSession]], *, team_id: UUID
) -> dict[UUID, set[UUID]]:
    """Those that are there, each now among what is of the roots that lead to it."""
    wanted = [session_id for session_id, root_ids in reached.items() if root_ids]
    rows = WorkSession.objects.filter(team_id=team_id, pk__in=wanted).order_by("id") if wanted else ()
    for row in rows:
        for root_id in reached[row.id]:
            family[root_id][row.id] = row
    return {row.id: reached[row.id] for row in rows}
