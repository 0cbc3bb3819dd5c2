from django.db import migrations, models

# Written by hand: Django makes no partitioned tables. A partition is a month of calls: ids begin with the millisecond in
# which a call ended. The first months are made here, the task `traces_app.tasks.keep_traces` makes those that follow, and
# the default partition takes what has no month.
TRACE_TABLE = """
CREATE TABLE traces_app_traceevent (
    id uuid NOT NULL,
    team_id uuid NOT NULL,
    session_id uuid NULL,
    run_id uuid NULL,
    workflow_id varchar(128) NOT NULL,
    dialect varchar(16) NOT NULL,
    tool varchar(64) NOT NULL,
    actor_id varchar(64) NOT NULL,
    actor_name varchar(100) NOT NULL,
    agent_id varchar(128) NOT NULL,
    activity varchar(256) NOT NULL,
    step_key varchar(1024) NOT NULL,
    started_at timestamptz NOT NULL,
    duration_us bigint NOT NULL CHECK (duration_us >= 0),
    outcome varchar(8) NOT NULL,
    error_code varchar(64) NOT NULL,
    warnings jsonb NOT NULL,
    arguments jsonb NOT NULL,
    request_id varchar(64) NOT NULL,
    CONSTRAINT trace_has_id PRIMARY KEY (id),
    CONSTRAINT trace_outcome_known CHECK (outcome IN ('ok', 'refused', 'failed')),
    CONSTRAINT trace_dialect_known CHECK (dialect IN ('rail', 'lookup', 'navigation', 'session', 'orchestrator')),
    CONSTRAINT trace_error_when_not_ok CHECK ((outcome = 'ok') = (error_code = ''))
) PARTITION BY RANGE (id);
CREATE TABLE traces_app_traceevent_later PARTITION OF traces_app_traceevent DEFAULT;
CREATE INDEX trace_of_run ON traces_app_traceevent (team_id, run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX trace_of_session ON traces_app_traceevent (team_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX trace_recent ON traces_app_traceevent (team_id, id DESC);
CREATE FUNCTION traces_app_trace_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('workrail.trace_retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The trace is append-only: a call is neither changed nor deleted before its time.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER trace_is_append_only BEFORE UPDATE OR DELETE ON traces_app_traceevent
    FOR EACH ROW EXECUTE FUNCTION traces_app_trace_is_append_only();
DO $$
DECLARE
    first timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
BEGIN
    FOR ahead IN 0..3 LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF traces_app_traceevent FOR VALUES FROM (%L) TO (%L)',
            'traces_app_traceevent_' || to_char(first, 'YYYY_MM'),
            lpad(to_hex((extract(epoch FROM first) * 1000)::bigint), 12, '0') || repeat('0', 20),
            lpad(to_hex((extract(epoch FROM first + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20)
        );
        first := first + interval '1 month';
    END LOOP;
END $$;
"""
TRACE_TABLE_GONE = """
DROP TABLE traces_app_traceevent;
DROP FUNCTION traces_app_trace_is_append_only();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TRACE_TABLE, TRACE_TABLE_GONE)],
            state_operations=[
                migrations.CreateModel(
                    name='TraceEvent',
                    fields=[
                        ('id', models.UUIDField(primary_key=True, serialize=False)),
                        ('team_id', models.UUIDField()),
                        ('session_id', models.UUIDField(null=True)),
                        ('run_id', models.UUIDField(null=True)),
                        ('workflow_id', models.CharField(blank=True, max_length=128)),
                        ('dialect', models.CharField(max_length=16)),
                        ('tool', models.CharField(max_length=64)),
                        ('actor_id', models.CharField(max_length=64)),
                        ('actor_name', models.CharField(max_length=100)),
                        ('agent_id', models.CharField(blank=True, max_length=128)),
                        ('activity', models.CharField(blank=True, max_length=256)),
                        ('step_key', models.CharField(blank=True, max_length=1024)),
                        ('started_at', models.DateTimeField()),
                        ('duration_us', models.PositiveBigIntegerField()),
                        ('outcome', models.CharField(max_length=8)),
                        ('error_code', models.CharField(blank=True, max_length=64)),
                        ('warnings', models.JSONField()),
                        ('arguments', models.JSONField()),
                        ('request_id', models.CharField(blank=True, max_length=64)),
                    ],
                    options={
                        'verbose_name': 'tool call',
                        'indexes': [models.Index(condition=models.Q(('run_id__isnull', False)), fields=['team_id', 'run_id', 'id'], name='trace_of_run'), models.Index(condition=models.Q(('session_id__isnull', False)), fields=['team_id', 'session_id', 'id'], name='trace_of_session'), models.Index(fields=['team_id', '-id'], name='trace_recent')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('outcome__in', ['ok', 'refused', 'failed'])), name='trace_outcome_known'), models.CheckConstraint(condition=models.Q(('dialect__in', ['rail', 'lookup', 'navigation', 'session', 'orchestrator'])), name='trace_dialect_known'), models.CheckConstraint(condition=models.Q(models.Q(('error_code', ''), ('outcome', 'ok')), models.Q(models.Q(('outcome', 'ok'), _negated=True), models.Q(('error_code', ''), _negated=True)), _connector='OR'), name='trace_error_when_not_ok')],
                    },
                ),
            ],
        ),
    ]
