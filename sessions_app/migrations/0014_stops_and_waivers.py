from django.db import migrations, models


class Migration(migrations.Migration):
    """People stop runs, and are known by name where they have one never stop. Each check only widens what is allowed, so no
    row has to be looked at under a lock that stops writers.
    """

    dependencies = [
        ('sessions_app', '0013_later_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='teampreferences',
            name='waived_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
        migrations.AddField(
            model_name='worksession',
            name='waived_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name='event', name='event_kind_known'),
                migrations.RemoveConstraint(model_name='run', name='run_status_known'),
                migrations.RemoveConstraint(model_name='run', name='run_completed_when_complete'),
                migrations.AddConstraint(
                    model_name='event',
                    constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed', 'run_stopped', 'run_resumed', 'session_token_issued'])), name='event_kind_known'),
                ),
                migrations.AddConstraint(
                    model_name='run',
                    constraint=models.CheckConstraint(condition=models.Q(('status__in', ['in_progress', 'waiting', 'blocked', 'paused', 'complete', 'complete_with_gaps', 'rejected', 'cancelled'])), name='run_status_known'),
                ),
                migrations.AddConstraint(
                    model_name='run',
                    constraint=models.CheckConstraint(condition=models.Q(('completed_at__isnull', True), ('status__in', ['cancelled', 'complete', 'complete_with_gaps', 'rejected']), _connector='OR'), name='run_completed_when_ended'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    sql=[
                        "ALTER TABLE sessions_app_event DROP CONSTRAINT IF EXISTS event_kind_known",
                        """ALTER TABLE sessions_app_event ADD CONSTRAINT event_kind_known CHECK (kind IN ('session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed', 'run_stopped', 'run_resumed', 'session_token_issued')) NOT VALID""",
                        "ALTER TABLE sessions_app_run DROP CONSTRAINT IF EXISTS run_status_known",
                        """ALTER TABLE sessions_app_run ADD CONSTRAINT run_status_known CHECK (status IN ('in_progress', 'waiting', 'blocked', 'paused', 'complete', 'complete_with_gaps', 'rejected', 'cancelled')) NOT VALID""",
                        "ALTER TABLE sessions_app_run DROP CONSTRAINT IF EXISTS run_completed_when_complete",
                        "ALTER TABLE sessions_app_run DROP CONSTRAINT IF EXISTS run_completed_when_ended",
                        """ALTER TABLE sessions_app_run ADD CONSTRAINT run_completed_when_ended CHECK (completed_at IS NULL OR status IN ('cancelled', 'complete', 'complete_with_gaps', 'rejected')) NOT VALID""",
                    ],
                    reverse_sql=migrations.RunSQL.noop,
                ),
            ],
        ),
    ]
