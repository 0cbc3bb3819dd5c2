"""The table of what was done: one row for each tool call, appended and never changed."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from sessions_app.engine.runs import Dialect
from traces_app.engine.calls import TraceOutcome


class TraceEvent(models.Model):
    """Partitioned by its id, which begins with the millisecond in which the call ended; a trigger refuses change.

    Places (session, run) have no foreign key: the trace is kept for a time of its own, and its writing waits for nobody.
    """

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    workflow_id = models.CharField(max_length=128, blank=True)
    dialect = models.CharField(max_length=16)
    tool = models.CharField(max_length=64)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=100)
    agent_id = models.CharField(max_length=128, blank=True)
    activity = models.CharField(max_length=256, blank=True)
    step_key = models.CharField(max_length=1024, blank=True)
    started_at = models.DateTimeField()
    duration_us = models.PositiveBigIntegerField()
    outcome = models.CharField(max_length=8)
    error_code = models.CharField(max_length=64, blank=True)
    warnings = models.JSONField()
    arguments = models.JSONField()
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name = "tool call"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(outcome__in=[outcome.value for outcome in TraceOutcome]), name="trace_outcome_known"
            ),
            models.CheckConstraint(
                condition=Q(dialect__in=[dialect.value for dialect in Dialect]), name="trace_dialect_known"
            ),
            models.CheckConstraint(
                condition=Q(outcome=TraceOutcome.OK.value, error_code="")
                | (~Q(outcome=TraceOutcome.OK.value) & ~Q(error_code="")),
                name="trace_error_when_not_ok",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team_id", "run_id", "id"], name="trace_of_run", condition=Q(run_id__isnull=False)),
            models.Index(
                fields=["team_id", "session_id", "id"], name="trace_of_session", condition=Q(session_id__isnull=False)
            ),
            models.Index(fields=["team_id", "-id"], name="trace_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.outcome}"
