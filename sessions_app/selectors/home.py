"""Sums for the first page of a team: what was finished, how workflows do, and how long people let agents wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import orjson
from django.db import connection

from sessions_app.selectors.activity import WINDOW_SQL
from teams_app.engine.actors import Actor, Permission

MOST_WORKFLOWS = 5

_ACTIVE = f"activity_window > %(since)s::timestamptz - {WINDOW_SQL} AND last_activity_at >= %(since)s"
_FINISHED = f"""
SELECT width_bucket(completed_at, %(midnights)s::timestamptz[]) AS place, status, count(*) AS runs FROM sessions_app_run
WHERE team_id = %(team)s AND status = ANY(%(ended)s) AND {_ACTIVE} AND completed_at >= %(since)s
GROUP BY 1, 2
"""  # noqa: S608  constants
_WORKFLOWS = f"""
SELECT workflow_id AS id, max(workflow_title) AS title, count(*) AS runs,
       count(*) FILTER (WHERE status LIKE 'complete%%') AS done,
       count(*) FILTER (WHERE status = ANY(%(ended)s)) AS ended,
       extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY completed_at - started_at)) AS median
FROM sessions_app_run WHERE team_id = %(team)s AND {_ACTIVE}
GROUP BY workflow_id ORDER BY 3 DESC, 1 LIMIT %(most)s
"""  # noqa: S608  as above
_WAITS = """
SELECT extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY answered_at - presented_at)),
       extract(epoch FROM percentile_cont(0.9) WITHIN GROUP (ORDER BY answered_at - presented_at)),
       count(*), count(*) FILTER (WHERE option_id IN ('send_back', 'reject'))
FROM sessions_app_checkpointrequest
WHERE team_id = %(team)s AND state = 'answered' AND answered_as = 'human' AND answered_at >= %(since)s
"""
# One statement for all of it: a page waits once.
_SUMS = f"""
SELECT (SELECT coalesce(json_agg(f), '[]')::text FROM ({_FINISHED}) f),
       (SELECT coalesce(json_agg(w ORDER BY w.runs DESC, w.id), '[]')::text FROM ({_WORKFLOWS}) w),
       waits.* FROM ({_WAITS}) waits
"""  # noqa: S608  as above
_ENDED = ["complete", "complete_with_gaps", "rejected", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSum:
    workflow_id: str
    title: str
    runs: int
    done: int
    ended: int
    median_s: float | None

    @property
    def percent(self) -> int | None:
        """Of those that have ended."""
        return round(100 * self.done / self.ended) if self.ended else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """`finished` counts by day and status; the waits are those of questions that a person answered."""

    finished: dict[tuple[date, str], int]
    workflows: Sequence[WorkflowSum]
    half_waited_s: float | None
    most_waited_s: float | None
    answered: int
    refused: int


def read_sums(*, actor: Actor, midnights: Sequence[datetime]) -> Sums:
    """One query. The days begin at these moments, in the zone of whoever reads; the database need not know it."""
    actor.require(Permission.READ_RUNS)
    asked: dict[str, Any] = {
        "team": actor.team_id,
        "since": midnights[0],
        "midnights": list(midnights),
        "ended": _ENDED,
        "most": MOST_WORKFLOWS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, asked)
        finished, workflows, half, most, answered, refused = cursor.fetchone()
    return Sums(
        finished={
            (midnights[each["place"] - 1].date(), each["status"]): each["runs"] for each in orjson.loads(finished)
        },
        workflows=[_workflow_sum(each) for each in orjson.loads(workflows)],
        half_waited_s=_number(half),
        most_waited_s=_number(most),
        answered=answered,
        refused=refused,
    )


def _workflow_sum(told: dict[str, Any]) -> WorkflowSum:
    return WorkflowSum(
        workflow_id=told["id"],
        title=told["title"],
        runs=told["runs"],
        done=told["done"],
        ended=told["ended"],
        median_s=_number(told["median"]),
    )


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
