"""What runs of one workflow tell of it: how many, on which programs, where they are now, how long each step takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Q

from sessions_app.engine.runs import RunStatus
from sessions_app.models import Node, Run
from sessions_app.selectors.activity import NEWEST_FIRST
from teams_app.engine.actors import Actor, Permission

# The newest runs say how a workflow does; older ones went by older revisions.
MOST_RUNS = 200

# An attempt after which a person is asked was no failed one: its node has a question of its name.
_PASSED = """
SELECT n.pending_key, count(*), count(*) FILTER (WHERE c.kind = 'blocked_attempt' AND q.id IS NULL),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM c.created_at - n.created_at))
           FILTER (WHERE c.kind <> 'blocked_attempt')
FROM (SELECT id FROM sessions_app_run WHERE team_id = %s AND workflow_id = %s
      ORDER BY activity_window DESC, last_activity_at DESC LIMIT %s) r
JOIN sessions_app_node n ON n.run_id = r.id
JOIN sessions_app_node c ON c.parent_id = n.id AND c.edge_cause <> 'checkpoint_created'
LEFT JOIN sessions_app_checkpointrequest q ON q.id = c.id AND q.run_id = c.run_id
WHERE n.pending_key <> ''
GROUP BY n.pending_key
"""


_SUMS = """
SELECT count(*) FILTER (WHERE completed_at IS NOT NULL OR status IN ('rejected', 'cancelled')),
       count(*) FILTER (WHERE status IN ('complete', 'complete_with_gaps')),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - started_at))
           FILTER (WHERE status IN ('complete', 'complete_with_gaps'))
FROM (SELECT status, started_at, completed_at FROM sessions_app_run WHERE team_id = %s AND workflow_id = %s
      ORDER BY activity_window DESC, last_activity_at DESC LIMIT %s) r
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """`now` is how many runs stand there. `median_s` is None while nothing has passed the step."""

    now: int = 0
    attempts: int = 0
    blocked: int = 0
    median_s: float | None = None

    @property
    def percent(self) -> int:
        return round(100 * self.blocked / self.attempts) if self.attempts else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRuns:
    """`ended`, `done` and the median time of those that are done are of the newest runs; `stuck` is by the item at which runs are
    blocked. `running` is by the hash of the program that they are pinned to.
    """

    total: int
    ended: int
    done: int
    median_s: float | None
    stuck: Mapping[str, int]
    running: Mapping[str, int]
    steps: Mapping[str, StepFacts]


def read_workflow_runs(*, actor: Actor, workflow_id: str) -> WorkflowRuns:
    actor.require(Permission.READ_RUNS)
    mine = Run.objects.filter(team_id=actor.team_id, workflow_id=workflow_id)
    on_the_way = mine.filter(Q(completed_at__isnull=True) & ~Q(status__in=["rejected", "cancelled"]))
    counted = on_the_way.order_by().values_list("workflow_hash").annotate(runs=Count("id"))
    newest = dict(on_the_way.order_by(*NEWEST_FIRST).values_list("tip_node_id", "status")[:MOST_RUNS])
    tips = Node.objects.filter(id__in=list(newest))
    now: dict[str, int] = {}
    stuck: dict[str, int] = {}
    for tip_id, key in tips.values_list("id", "pending_key"):
        now[item_of(key)] = now.get(item_of(key), 0) + 1
        if newest[tip_id] == RunStatus.BLOCKED.value:
            stuck[item_of(key)] = stuck.get(item_of(key), 0) + 1
    ended, done, median_s = _sums(actor, workflow_id)
    return WorkflowRuns(
        total=mine.order_by()[: 10 * MOST_RUNS].count(),
        ended=ended,
        done=done,
        median_s=median_s,
        stuck=stuck,
        running=dict(counted),
        steps=_steps(_passed(actor, workflow_id), now),
    )


def _sums(actor: Actor, workflow_id: str) -> tuple[int, int, float | None]:
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [actor.team_id, workflow_id, MOST_RUNS])
        ended, done, median_s = cursor.fetchone()
    return ended, done, None if median_s is None else float(median_s)


def item_of(pending_key: str) -> str:
    """The item of the workflow, whichever round it is in."""
    return pending_key.rpartition("::")[2]


def _passed(actor: Actor, workflow_id: str) -> list[tuple[str, int, int, float | None]]:
    with connection.cursor() as cursor:
        cursor.execute(_PASSED, [actor.team_id, workflow_id, MOST_RUNS])
        rows: list[tuple[str, int, int, float | None]] = cursor.fetchall()
    return rows


def _steps(passed: list[tuple[str, int, int, float | None]], now: Mapping[str, int]) -> dict[str, StepFacts]:
    """Rounds of a loop count together; of their medians the middle one stands for all."""
    gathered: dict[str, list[tuple[int, int, float | None]]] = {}
    for key, attempts, blocked, median_s in passed:
        gathered.setdefault(item_of(key), []).append((attempts, blocked, median_s))
    found: dict[str, StepFacts] = {}
    for item_id in {*gathered, *now}:
        rows = gathered.get(item_id, [])
        medians = sorted(median for _, _, median in rows if median is not None)
        found[item_id] = StepFacts(
            now=now.get(item_id, 0),
            attempts=sum(attempts for attempts, _, _ in rows),
            blocked=sum(blocked for _, blocked, _ in rows),
            median_s=medians[len(medians) // 2] if medians else None,
        )
    return found
