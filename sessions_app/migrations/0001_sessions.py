import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.functions.text
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

# Written by hand: Django makes no partitioned tables. A partition is a month of births; `sessions_app.services.partitions`
# makes them ahead, and the default one takes what comes before it did.
EVENT_TABLE = """
CREATE TABLE sessions_app_event (
    born_on date NOT NULL,
    session_id uuid NOT NULL,
    index integer NOT NULL CHECK (index >= 0),
    team_id uuid NOT NULL,
    event_id uuid NOT NULL,
    kind varchar(40) NOT NULL,
    run_id uuid NULL,
    node_id uuid NULL,
    dedupe varchar(256) NOT NULL,
    body bytea NOT NULL,
    digest varchar(71) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT event_has_place PRIMARY KEY (born_on, session_id, index),
    CONSTRAINT event_says_once UNIQUE (born_on, session_id, dedupe),
    CONSTRAINT event_kind_known CHECK (kind IN ('session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed'))
) PARTITION BY RANGE (born_on);
CREATE TABLE sessions_app_event_later PARTITION OF sessions_app_event DEFAULT;
CREATE FUNCTION sessions_app_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The log is append-only: an event is neither changed nor deleted.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER event_is_append_only BEFORE UPDATE OR DELETE ON sessions_app_event
    FOR EACH ROW EXECUTE FUNCTION sessions_app_event_is_append_only();
"""
EVENT_TABLE_GONE = """
DROP TABLE sessions_app_event;
DROP FUNCTION sessions_app_event_is_append_only();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        TrigramExtension(),
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('pk', models.CompositePrimaryKey('team_id', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('digest', models.CharField(max_length=71)),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='TokenKey',
            fields=[
                ('generation', models.PositiveIntegerField(primary_key=True, serialize=False)),
                ('salt', models.BinaryField(max_length=32)),
                ('created_by', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('pk', models.CompositePrimaryKey('node_id', 'nonce', blank=True, editable=False, primary_key=True, serialize=False)),
                ('node_id', models.UUIDField()),
                ('nonce', models.BinaryField(max_length=8)),
                ('kind', models.CharField(max_length=16)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('to_node_id', models.UUIDField()),
                ('event_index', models.PositiveIntegerField()),
                ('reply', models.BinaryField()),
                ('reply_template', models.PositiveSmallIntegerField()),
                ('keys_generation', models.PositiveIntegerField()),
                ('actor', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['ack', 'checkpoint'])), name='attempt_kind_known')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(EVENT_TABLE, EVENT_TABLE_GONE)],
            state_operations=[
                migrations.CreateModel(
                    name='Event',
                    fields=[
                        ('pk', models.CompositePrimaryKey('born_on', 'session_id', 'index', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('born_on', models.DateField()),
                        ('session_id', models.UUIDField()),
                        ('index', models.PositiveIntegerField()),
                        ('team_id', models.UUIDField()),
                        ('event_id', models.UUIDField()),
                        ('kind', models.CharField(max_length=40)),
                        ('run_id', models.UUIDField(null=True)),
                        ('node_id', models.UUIDField(null=True)),
                        ('dedupe', models.CharField(max_length=256)),
                        ('body', models.BinaryField()),
                        ('digest', models.CharField(max_length=71)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('born_on', 'session_id', 'dedupe'), name='event_says_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed'])), name='event_kind_known')],
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField()),
                ('node_id', models.UUIDField()),
                ('severity', models.CharField(max_length=16)),
                ('category', models.CharField(max_length=32)),
                ('detail', models.CharField(max_length=48)),
                ('summary', models.TextField()),
                ('resolved_by_id', models.UUIDField(null=True)),
                ('event_index', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['run_id', 'event_index'], name='gap_of_run')],
                'constraints': [models.CheckConstraint(condition=models.Q(('severity__in', ['info', 'warning', 'critical'])), name='gap_severity_known'), models.CheckConstraint(condition=models.Q(('category__in', ['user_only_dependency', 'contract_violation', 'capability_missing', 'unexpected'])), name='gap_category_known')],
            },
        ),
        migrations.CreateModel(
            name='Node',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField()),
                ('parent_id', models.UUIDField(null=True)),
                ('kind', models.CharField(max_length=16)),
                ('edge_kind', models.CharField(blank=True, max_length=16)),
                ('edge_cause', models.CharField(blank=True, max_length=24)),
                ('snapshot_digest', models.CharField(max_length=71)),
                ('pending_key', models.CharField(blank=True, max_length=1024)),
                ('pending_title', models.CharField(blank=True, max_length=256)),
                ('autonomy', models.CharField(max_length=32)),
                ('risk_policy', models.CharField(max_length=16)),
                ('event_index', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['parent_id'], name='node_children'), models.Index(fields=['run_id', 'event_index'], name='node_of_run')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['step', 'checkpoint', 'blocked_attempt', 'gate_checkpoint'])), name='node_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('edge_cause', ''), ('edge_kind', ''), ('parent_id__isnull', True)), models.Q(('edge_cause__in', ['tip_advance', 'non_tip_advance', 'checkpoint_created']), ('edge_kind__in', ['acked_step', 'checkpoint']), ('parent_id__isnull', False)), _connector='OR'), name='node_has_edge_unless_root')],
            },
        ),
        migrations.CreateModel(
            name='Output',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField(null=True)),
                ('node_id', models.UUIDField(null=True)),
                ('to_node_id', models.UUIDField(null=True)),
                ('channel', models.CharField(max_length=16)),
                ('body', models.TextField()),
                ('artifact_kind', models.CharField(blank=True, max_length=128)),
                ('sha256', models.CharField(max_length=71)),
                ('supersedes_id', models.UUIDField(null=True)),
                ('event_index', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['to_node_id'], name='output_of_branch'), models.Index(fields=['run_id', 'event_index'], name='output_of_run'), models.Index(models.F('team_id'), models.F('session_id'), models.OrderBy(models.F('event_index'), descending=True), name='output_of_session'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('body', config='simple'), condition=models.Q(('channel', 'recap')), name='output_notes_search')],
                'constraints': [models.CheckConstraint(condition=models.Q(('channel__in', ['recap', 'artifact'])), name='output_channel_known')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('workflow_id', models.CharField(max_length=128)),
                ('workflow_title', models.CharField(max_length=256)),
                ('workflow_hash', models.CharField(max_length=71)),
                ('dialect', models.CharField(max_length=16)),
                ('goal', models.CharField(blank=True, max_length=2048)),
                ('status', models.CharField(max_length=24)),
                ('tip_node_id', models.UUIDField()),
                ('created_by', models.CharField(max_length=128)),
                ('started_at', models.DateTimeField()),
                ('last_activity_at', models.DateTimeField()),
                ('completed_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['session_id', 'started_at'], name='run_of_session'), models.Index(models.F('team_id'), models.OrderBy(models.F('last_activity_at'), descending=True), models.F('id'), name='run_recent'), models.Index(models.F('team_id'), models.F('status'), models.OrderBy(models.F('last_activity_at'), descending=True), name='run_by_status'), models.Index(models.F('team_id'), models.F('workflow_id'), models.OrderBy(models.F('last_activity_at'), descending=True), name='run_of_workflow'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('goal'), name='gin_trgm_ops'), name='run_goal_trigram')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['in_progress', 'blocked', 'complete', 'complete_with_gaps'])), name='run_status_known'), models.CheckConstraint(condition=models.Q(('dialect__in', ['rail', 'lookup', 'navigation', 'session', 'orchestrator'])), name='run_dialect_known'), models.CheckConstraint(condition=models.Q(('completed_at__isnull', True), ('status__in', ['complete', 'complete_with_gaps']), _connector='OR'), name='run_completed_when_complete')],
            },
        ),
        migrations.CreateModel(
            name='TeamPreferences',
            fields=[
                ('team_id', models.UUIDField(primary_key=True, serialize=False)),
                ('autonomy', models.CharField(max_length=32)),
                ('risk_policy', models.CharField(max_length=16)),
                ('updated_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('autonomy__in', ['guided', 'full_auto_stop_on_user_deps', 'full_auto_never_stop'])), name='team_preferences_autonomy_known'), models.CheckConstraint(condition=models.Q(('risk_policy__in', ['conservative', 'balanced', 'aggressive'])), name='team_preferences_risk_policy_known')],
            },
        ),
        migrations.CreateModel(
            name='WorkSession',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('title', models.CharField(blank=True, max_length=256)),
                ('parent_id', models.UUIDField(null=True)),
                ('next_event_index', models.PositiveIntegerField()),
                ('head_digest', models.CharField(max_length=71)),
                ('git_branch', models.CharField(blank=True, max_length=256)),
                ('git_head_sha', models.CharField(blank=True, max_length=64)),
                ('repository', models.CharField(blank=True, max_length=512)),
                ('ticket', models.CharField(blank=True, max_length=128)),
                ('autonomy', models.CharField(max_length=32)),
                ('risk_policy', models.CharField(max_length=16)),
                ('created_by', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField()),
                ('last_activity_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(models.F('team_id'), models.OrderBy(models.F('last_activity_at'), descending=True), models.F('id'), name='session_recent'), models.Index(condition=models.Q(('git_head_sha', ''), _negated=True), fields=['team_id', 'git_head_sha'], name='session_head_sha'), models.Index(condition=models.Q(('ticket', ''), _negated=True), fields=['team_id', 'ticket'], name='session_ticket'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('git_branch'), name='gin_trgm_ops'), name='session_branch_trigram'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('title'), name='gin_trgm_ops'), name='session_title_trigram')],
                'constraints': [models.CheckConstraint(condition=models.Q(('next_event_index__gt', 0)), name='session_has_events'), models.CheckConstraint(condition=models.Q(('autonomy__in', ['guided', 'full_auto_stop_on_user_deps', 'full_auto_never_stop'])), name='session_autonomy_known'), models.CheckConstraint(condition=models.Q(('risk_policy__in', ['conservative', 'balanced', 'aggressive'])), name='session_risk_policy_known')],
            },
        ),
    ]
