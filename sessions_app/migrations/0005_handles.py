from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0004_checkpoint_lists'),
    ]

    operations = [
        migrations.CreateModel(
            name='Handle',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField()),
                ('dialect', models.CharField(max_length=16)),
                ('agent_id', models.CharField(blank=True, max_length=128)),
                ('parent_run_id', models.UUIDField(null=True)),
                ('parent_session_id', models.UUIDField(null=True)),
                ('parent_workflow_id', models.CharField(blank=True, max_length=128)),
                ('parent_activity', models.CharField(blank=True, max_length=256)),
                ('parent_version', models.CharField(blank=True, max_length=64)),
                ('event_index', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
            ],
        ),
        # The new kind only widens what is allowed, so no row has to be looked at under a lock that stops writers.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(
                    model_name='event',
                    name='event_kind_known',
                ),
                migrations.AddConstraint(
                    model_name='event',
                    constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed', 'session_token_issued'])), name='event_kind_known'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    sql=[
                        "ALTER TABLE sessions_app_event DROP CONSTRAINT event_kind_known",
                        "ALTER TABLE sessions_app_event ADD CONSTRAINT event_kind_known CHECK (kind IN "
                        "('session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', "
                        "'advance_recorded', 'validation_performed', 'node_output_appended', 'assessment_recorded', "
                        "'assessment_consequence_applied', 'preferences_changed', 'capability_observed', 'gap_recorded', "
                        "'context_set', 'divergence_recorded', 'decision_trace_appended', 'checkpoint_presented', "
                        "'checkpoint_answered', 'activity_entered', 'run_completed', 'session_token_issued')) NOT VALID",
                    ],
                    reverse_sql=migrations.RunSQL.noop,
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='handle',
            index=models.Index(fields=['run_id'], name='handle_of_run'),
        ),
        migrations.AddIndex(
            model_name='handle',
            index=models.Index(condition=models.Q(('parent_run_id__isnull', False)), fields=['parent_run_id'], name='handle_of_parent'),
        ),
        migrations.AddConstraint(
            model_name='handle',
            constraint=models.CheckConstraint(condition=models.Q(('dialect__in', ['rail', 'lookup', 'navigation', 'session', 'orchestrator'])), name='handle_dialect_known'),
        ),
        migrations.AddConstraint(
            model_name='handle',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('parent_run_id__isnull', True), ('parent_session_id__isnull', True)), models.Q(('parent_run_id__isnull', False), ('parent_session_id__isnull', False)), _connector='OR'), name='handle_parent_whole'),
        ),
    ]
