"""Tables of what is being done. `Event` is the truth; the rest is derived from it or names a place in it.

Rows of the hot path (sessions, runs, nodes, attempts, events, outputs, gaps, snapshots) have no foreign-key constraint in the
database: plans of such checks that were cached on an empty table stay bad. `verify_store` checks what they would have.
"""

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Left, Upper

from sessions_app.engine.bundles import BundleJobKind, BundleJobState
from sessions_app.engine.checkpoints import Authority, CheckpointState
from sessions_app.engine.expiry import MAX_IDLE_DAYS
from sessions_app.engine.ledger import EntryKind
from sessions_app.engine.log import EdgeCause, EdgeKind, NodeKind
from sessions_app.engine.reasons import GapCategory, GapSeverity
from sessions_app.engine.run_query import MAX_QUERY_CHARACTERS, MAX_VIEW_NAME_CHARACTERS, ViewedList
from sessions_app.engine.runs import ENDED, AttemptKind, Dialect, OutputChannel, RunStatus
from teams_app.engine.webhooks import NoticeKind
from workflows_app.engine.program import Autonomy, RiskPolicy

_DIGEST_CHARACTERS = 71
_SEAL_CHARACTERS = 64
# What an index of words has not sorted in yet is read by every search, and sorted in by whoever fills it up.
_PENDING_KILOBYTES = 512
# Notes come with nearly every call, and what is sorted in together is written once: most words stand in many of them.
_PENDING_NOTES_KILOBYTES = 2048


def _activity_window() -> models.GeneratedField:
    """The beginning of the window of `engine.runs.ACTIVITY_WINDOW` in which the last activity fell. Postgres keeps it."""
    beginning = Func(
        F("last_activity_at"),
        template="date_bin('10 minutes', %(expressions)s, TIMESTAMPTZ '2000-01-01 00:00:00+00')",
    )
    return models.GeneratedField(expression=beginning, output_field=models.DateTimeField(), db_persist=True)


def _known(field: str, closed: type, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{field}__in": [member.value for member in closed]}), name=name)  # type: ignore[attr-defined]  # closed is a StrEnum


class WorkSession(models.Model):
    """One workstream (a ticket, a pull request, a chat). Its row is the lock that admits one writer at a time."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    title = models.CharField(max_length=256, blank=True)
    parent_id = models.UUIDField(null=True)
    next_event_index = models.PositiveIntegerField()
    head_digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    # Of the head, by a key that the database does not hold; empty where a release before that wrote last.
    # As long as what hangs on it.
    head_seal = models.TextField(blank=True, db_default="")
    git_branch = models.CharField(max_length=256, blank=True)
    git_head_sha = models.CharField(max_length=64, blank=True)
    repository = models.CharField(max_length=512, blank=True)
    ticket = models.CharField(max_length=128, blank=True)
    autonomy = models.CharField(max_length=32)
    risk_policy = models.CharField(max_length=16)
    # The person who had runs of this session never stop.
    waived_by = models.CharField(max_length=128, blank=True, default="", db_default="")
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    # Of no index: with one, no update of the row would be HOT.
    last_activity_at = models.DateTimeField()
    activity_window = _activity_window()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(next_event_index__gt=0), name="session_has_events"),
            _known("autonomy", Autonomy, "session_autonomy_known"),
            _known("risk_policy", RiskPolicy, "session_risk_policy_known"),
        ]
        indexes: ClassVar = [
            models.Index(F("team_id"), F("activity_window").desc(), name="session_active"),
            models.Index(fields=["team_id", "git_head_sha"], name="session_head_sha", condition=~Q(git_head_sha="")),
            models.Index(fields=["team_id", "ticket"], name="session_ticket", condition=~Q(ticket="")),
            models.Index(
                F("team_id"),
                F("repository"),
                F("activity_window").desc(),
                name="session_repository_active",
                condition=~Q(repository=""),
            ),
            models.Index(
                F("team_id"),
                OpClass(Upper("git_branch"), name="text_pattern_ops"),
                name="session_branch",
                condition=~Q(git_branch=""),
            ),
            GinIndex(
                F("team_id"),
                OpClass(Upper("title"), name="gin_trgm_ops"),
                name="session_title_letters",
                gin_pending_list_limit=_PENDING_KILOBYTES,
            ),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Run(models.Model):
    """One execution of one program. Status and tip are projections of the log, kept for lists."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    workflow_id = models.CharField(max_length=128)
    workflow_title = models.CharField(max_length=256)
    workflow_hash = models.CharField(max_length=_DIGEST_CHARACTERS)
    dialect = models.CharField(max_length=16)
    goal = models.CharField(max_length=2048, blank=True)
    # What a person has called it; without one it goes by its goal.
    name = models.CharField(max_length=256, blank=True, default="", db_default="")
    status = models.CharField(max_length=24)
    tip_node_id = models.UUIDField()
    created_by = models.CharField(max_length=128)
    started_at = models.DateTimeField()
    # Of no index, as that of sessions.
    last_activity_at = models.DateTimeField()
    activity_window = _activity_window()
    completed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            _known("status", RunStatus, "run_status_known"),
            _known("dialect", Dialect, "run_dialect_known"),
            models.CheckConstraint(
                condition=Q(completed_at__isnull=True) | Q(status__in=sorted(status.value for status in ENDED)),
                name="run_completed_when_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["session_id", "started_at"], name="run_of_session"),
            models.Index(F("team_id"), F("activity_window").desc(), name="run_active"),
            models.Index(F("team_id"), F("status"), F("activity_window").desc(), name="run_status_active"),
            models.Index(F("team_id"), F("workflow_id"), F("activity_window").desc(), name="run_workflow_active"),
            GinIndex(
                F("team_id"),
                OpClass(Upper("goal"), name="gin_trgm_ops"),
                name="run_goal_letters",
                gin_pending_list_limit=_PENDING_KILOBYTES,
            ),
            GinIndex(
                F("team_id"),
                OpClass(Upper("name"), name="gin_trgm_ops"),
                name="run_name_letters",
                gin_pending_list_limit=_PENDING_KILOBYTES,
                condition=~Q(name=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.status}"


class Node(models.Model):
    """An immutable point in a run, with the snapshot that it stands for and the preferences in force there."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField()
    parent_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=16)
    edge_kind = models.CharField(max_length=16, blank=True)
    edge_cause = models.CharField(max_length=24, blank=True)
    snapshot_digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    pending_key = models.CharField(max_length=1024, blank=True)
    pending_title = models.CharField(max_length=256, blank=True)
    autonomy = models.CharField(max_length=32)
    risk_policy = models.CharField(max_length=16)
    event_index = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            _known("kind", NodeKind, "node_kind_known"),
            models.CheckConstraint(
                condition=Q(parent_id__isnull=True, edge_kind="", edge_cause="")
                | Q(
                    parent_id__isnull=False,
                    edge_kind__in=[kind.value for kind in EdgeKind],
                    edge_cause__in=[cause.value for cause in EdgeCause],
                ),
                name="node_has_edge_unless_root",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["parent_id"], name="node_children"),
            models.Index(fields=["run_id", "event_index"], name="node_of_run"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pending_key}"


class Snapshot(models.Model):
    """Canonical bytes of the engine's state, by content, one store for each team."""

    pk = models.CompositePrimaryKey("team_id", "digest")
    team_id = models.UUIDField()
    digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.digest


class Attempt(models.Model):
    """One use of an ack or checkpoint token. `reply` is what was answered; a replay answers it again, byte for byte."""

    pk = models.CompositePrimaryKey("node_id", "nonce")
    node_id = models.UUIDField()
    nonce = models.BinaryField(max_length=8)
    kind = models.CharField(max_length=16)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    to_node_id = models.UUIDField()
    event_index = models.PositiveIntegerField()
    reply = models.BinaryField()
    reply_template = models.PositiveSmallIntegerField()
    keys_generation = models.PositiveIntegerField()
    actor = models.CharField(max_length=128)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [_known("kind", AttemptKind, "attempt_kind_known")]
        indexes: ClassVar = [models.Index(fields=["session_id", "event_index"], name="attempt_of_session")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.node_id}"


class Event(models.Model):
    """Events that were written together, packed (`engine.deflation`). `index` and `digest` are those of the last, `count` says how many.

    Partitioned by the month in which the session was born; a trigger refuses change.
    """

    pk = models.CompositePrimaryKey("born_on", "session_id", "index")
    born_on = models.DateField()
    session_id = models.UUIDField()
    index = models.PositiveIntegerField()
    count = models.PositiveSmallIntegerField(db_default=1)
    team_id = models.UUIDField()
    body = models.BinaryField()
    digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    created_at = models.DateTimeField()
    # Of the transition that ends with them: who made it, and what it was answered.
    seal = models.TextField(null=True)  # noqa: DJ001  of a long import most end nothing, and a null takes no room
    # What releases before have written beside the body of each event. They agree with it, or are nothing.
    event_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=40, null=True)  # noqa: DJ001  as above
    run_id = models.UUIDField(null=True)
    node_id = models.UUIDField(null=True)
    dedupe = models.CharField(max_length=256, null=True)  # noqa: DJ001  as above

    def __str__(self) -> str:
        return f"{self.count} events up to {self.index}"


class Output(models.Model):
    """Durable notes and artifacts, attached to the node that they were handed in for; notes of a session have no run."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField(null=True)
    node_id = models.UUIDField(null=True)
    # The node that the same call made: tells on which branch the notes were taken when a node has several successors.
    to_node_id = models.UUIDField(null=True)
    channel = models.CharField(max_length=16)
    body = models.TextField()
    artifact_kind = models.CharField(max_length=128, blank=True)
    sha256 = models.CharField(max_length=_DIGEST_CHARACTERS)
    supersedes_id = models.UUIDField(null=True)
    event_index = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [_known("channel", OutputChannel, "output_channel_known")]
        indexes: ClassVar = [
            models.Index(fields=["to_node_id"], name="output_of_branch"),
            models.Index(fields=["run_id", "event_index"], name="output_of_run"),
            models.Index(F("team_id"), F("session_id"), F("event_index").desc(), name="output_of_session"),
            models.Index(
                F("team_id"),
                F("created_at").desc(),
                F("id"),
                name="output_recent_notes",
                condition=Q(channel=OutputChannel.RECAP.value),
            ),
            GinIndex(
                F("team_id"),
                SearchVector("body", config="simple"),
                name="output_notes_words",
                gin_pending_list_limit=_PENDING_NOTES_KILOBYTES,
                condition=Q(channel=OutputChannel.RECAP.value),
            ),
            # Of the beginning only: Postgres refuses the words of a text that is too long.
            GinIndex(
                F("team_id"),
                SearchVector(Left("body", 16384), config="simple"),
                name="output_artifact_words",
                gin_pending_list_limit=_PENDING_KILOBYTES,
                condition=Q(channel=OutputChannel.ARTIFACT.value),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel} of {self.node_id}"


class Gap(models.Model):
    """Something missing that a run went on without. `resolved_by_id` names the gap event that closed it."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField()
    node_id = models.UUIDField()
    severity = models.CharField(max_length=16)
    category = models.CharField(max_length=32)
    detail = models.CharField(max_length=48)
    summary = models.TextField()
    resolved_by_id = models.UUIDField(null=True)
    event_index = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            _known("severity", GapSeverity, "gap_severity_known"),
            _known("category", GapCategory, "gap_category_known"),
        ]
        indexes: ClassVar = [models.Index(fields=["run_id", "event_index"], name="gap_of_run")]

    def __str__(self) -> str:
        return f"{self.severity} {self.detail}"


class CheckpointRequest(models.Model):
    """A question that waits for a person, named by the node at which it was asked. All but the claim and the notice is told by the log."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField()
    checkpoint_id = models.CharField(max_length=256)
    instance_key = models.CharField(max_length=1024)
    title = models.CharField(max_length=256)
    message = models.TextField()
    options = models.JSONField()
    authority = models.CharField(max_length=16)
    digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    event_index = models.PositiveIntegerField()
    presented_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    claimed_by = models.CharField(max_length=128, blank=True)
    claimed_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=16)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.CharField(max_length=128, blank=True)
    answered_as = models.CharField(max_length=16, blank=True)
    option_id = models.CharField(max_length=256, blank=True)
    reason = models.TextField(blank=True)
    door = models.CharField(max_length=16, blank=True)
    # The node that the answer made.
    to_node_id = models.UUIDField(null=True)
    announced_at = models.DateTimeField(null=True)
    overdue_told_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "checkpoint"
        constraints: ClassVar = [
            _known("state", CheckpointState, "checkpoint_state_known"),
            _known("authority", Authority, "checkpoint_authority_known"),
            models.CheckConstraint(
                condition=Q(state=CheckpointState.ANSWERED.value, answered_at__isnull=False, to_node_id__isnull=False)
                | Q(~Q(state=CheckpointState.ANSWERED.value), answered_at__isnull=True, to_node_id__isnull=True),
                name="checkpoint_answered_when_answered",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team_id", "state", "due_at", "id"], name="checkpoint_inbox"),
            models.Index(fields=["team_id", "due_at", "id"], name="checkpoint_by_due"),
            models.Index(fields=["run_id"], name="checkpoint_of_run"),
            # Of all teams: whoever tells of what is overdue asks every few seconds.
            models.Index(
                fields=["due_at"],
                name="checkpoint_untold",
                condition=Q(state=CheckpointState.OPEN.value, due_at__isnull=False, overdue_told_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.checkpoint_id} {self.state}"


class Handle(models.Model):
    """Who holds a session token: one agent of one run. The token's position is not here; it is where the run stands."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField()
    dialect = models.CharField(max_length=16)
    agent_id = models.CharField(max_length=128, blank=True)
    # Of a child: the run that it was dispatched from, and where that stood then.
    parent_run_id = models.UUIDField(null=True)
    parent_session_id = models.UUIDField(null=True)
    parent_workflow_id = models.CharField(max_length=128, blank=True)
    parent_activity = models.CharField(max_length=256, blank=True)
    parent_version = models.CharField(max_length=64, blank=True)
    event_index = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            _known("dialect", Dialect, "handle_dialect_known"),
            models.CheckConstraint(
                condition=Q(parent_run_id__isnull=True, parent_session_id__isnull=True)
                | Q(parent_run_id__isnull=False, parent_session_id__isnull=False),
                name="handle_parent_whole",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["run_id"], name="handle_of_run"),
            models.Index(fields=["parent_run_id"], name="handle_of_parent", condition=Q(parent_run_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id or 'an agent'} of {self.run_id}"


class Announcement(models.Model):
    """The outbox: written in the statement of the transition that it tells of, and removed when its notices are queued."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    run_id = models.UUIDField(null=True)
    request_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=32)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [_known("kind", NoticeKind, "announcement_kind_known")]
        indexes: ClassVar = [models.Index(fields=["at", "id"], name="announcement_order")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.run_id}"


class Ledger(models.Model):
    """How far a team's ledger goes. Its row is the lock of whoever enters something; no call of an agent waits for it."""

    team_id = models.UUIDField(primary_key=True)
    next_number = models.PositiveIntegerField()
    head_digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    # Sessions born before this have been looked at.
    entered_until = models.DateTimeField()
    # With the ends before it whose seals did not hold when it went on from them.
    seal = models.TextField()

    def __str__(self) -> str:
        return f"{self.next_number} entries of {self.team_id}"


class LedgerEntry(models.Model):
    """One line of a team's ledger, chained to the one before: that a session began, or that it was deleted and why."""

    pk = models.CompositePrimaryKey("team_id", "number")
    team_id = models.UUIDField()
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    session_id = models.UUIDField()
    # Of what was there before: the head at which it was adopted, or that it had when it was deleted.
    next_event_index = models.PositiveIntegerField()
    head_digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    reason = models.CharField(max_length=256, blank=True)
    entered_at = models.DateTimeField()
    digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    seal = models.CharField(max_length=_SEAL_CHARACTERS)

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints: ClassVar = [
            _known("kind", EntryKind, "ledger_entry_kind_known"),
            models.UniqueConstraint(fields=["team_id", "session_id", "kind"], name="ledger_entry_once"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.kind}"


class BundleJob(models.Model):
    """An export or import that a worker does. Its file is in parts, so that any machine can write and read it."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    session_id = models.UUIDField(null=True)
    # Who asked, as the worker acts for them.
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=256)
    actor_role = models.CharField(max_length=16, blank=True)
    # The token by which they asked, if it was by one.
    token_id = models.CharField(max_length=64, blank=True, db_default="")
    token_name = models.CharField(max_length=100, blank=True, db_default="")
    done_events = models.PositiveIntegerField(default=0)
    total_events = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    # What an import has come to, or why it was refused.
    result = models.JSONField(null=True)
    # Which try of which worker it is; another one's word does not count.
    attempt_id = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = "export or import"
        verbose_name_plural = "exports and imports"
        constraints: ClassVar = [
            _known("kind", BundleJobKind, "bundle_job_kind_known"),
            _known("state", BundleJobState, "bundle_job_state_known"),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True, state__in=["waiting", "running"])
                | Q(finished_at__isnull=False, state__in=["done", "failed"]),
                name="bundle_job_finished_when_finished",
            ),
        ]
        indexes: ClassVar = [
            models.Index(F("team_id"), F("id").desc(), name="bundle_job_recent"),
            models.Index(fields=["touched_at"], name="bundle_job_open", condition=Q(finished_at__isnull=True)),
            models.Index(fields=["expires_at"], name="bundle_job_expiry"),
            models.Index(fields=["session_id"], name="bundle_job_of_session", condition=Q(session_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class BundlePart(models.Model):
    """A piece of a job's file."""

    pk = models.CompositePrimaryKey("job_id", "index")
    job_id = models.UUIDField()
    index = models.PositiveIntegerField()
    data = models.BinaryField()

    def __str__(self) -> str:
        return f"part {self.index} of {self.job_id}"


class Retention(models.Model):
    """How long a team keeps sessions: all of them where no workflow is named. No number of days is for ever."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    workflow_id = models.CharField(max_length=128, blank=True)
    idle_days = models.PositiveIntegerField(null=True)
    archives = models.BooleanField(default=False)
    changed_by = models.CharField(max_length=128)
    changed_at = models.DateTimeField()

    class Meta:
        verbose_name = "rule of retention"
        verbose_name_plural = "retention"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team_id", "workflow_id"], name="retention_once"),
            models.CheckConstraint(
                condition=Q(idle_days__isnull=True) | Q(idle_days__gt=0, idle_days__lte=MAX_IDLE_DAYS),
                name="retention_in_days",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id or 'all'}: {self.idle_days} days"


class Hold(models.Model):
    """A session that is not deleted whatever the rules say, until somebody lets it go."""

    session_id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    reason = models.CharField(max_length=256)
    held_by = models.CharField(max_length=128)
    held_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"hold of {self.session_id}"


class SavedView(models.Model):
    """A query of a list under a name: a person's own, or shared with their team."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    viewed = models.CharField(max_length=16)
    name = models.CharField(max_length=MAX_VIEW_NAME_CHARACTERS)
    query = models.CharField(max_length=MAX_QUERY_CHARACTERS, blank=True)
    owner = models.CharField(max_length=64)
    is_shared = models.BooleanField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            _known("viewed", ViewedList, "saved_view_list_known"),
            models.UniqueConstraint(fields=["team_id", "viewed", "owner", "name"], name="saved_view_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ExpiryWarning(models.Model):
    """That a team was told that unfinished work will go."""

    session_id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    warned_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"warning of {self.session_id}"


class TokenKey(models.Model):
    """A generation of the signing key: the key itself is derived from the server's secret and this salt."""

    generation = models.PositiveIntegerField(primary_key=True)
    salt = models.BinaryField(max_length=32)
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"generation {self.generation}"


class TeamPreferences(models.Model):
    """A team's defaults; copied into a session's baseline when it begins, so a change never reaches back."""

    team_id = models.UUIDField(primary_key=True)
    autonomy = models.CharField(max_length=32)
    risk_policy = models.CharField(max_length=16)
    waived_by = models.CharField(max_length=128, blank=True, default="", db_default="")
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=128, blank=True, default="", db_default="")

    class Meta:
        constraints: ClassVar = [
            _known("autonomy", Autonomy, "team_preferences_autonomy_known"),
            _known("risk_policy", RiskPolicy, "team_preferences_risk_policy_known"),
        ]

    def __str__(self) -> str:
        return f"{self.autonomy}, {self.risk_policy}"


class SearchedSession(models.Model):
    """A view of sessions for what is looked for by letters, which goes by no index where a policy limits the rows first."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    title = models.CharField(max_length=256)
    git_branch = models.CharField(max_length=256)

    class Meta:
        managed = False

    def __str__(self) -> str:
        return self.title


class SearchedRun(models.Model):
    """As `SearchedSession`, of runs."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    session_id = models.UUIDField()
    goal = models.CharField(max_length=2048)

    class Meta:
        managed = False

    def __str__(self) -> str:
        return self.goal
