from django.db import migrations, models

_KINDS = [
    'session_created', 'observation_recorded', 'run_started', 'node_created', 'edge_created', 'advance_recorded',
    'validation_performed', 'node_output_appended', 'assessment_recorded', 'assessment_consequence_applied',
    'preferences_changed', 'capability_observed', 'gap_recorded', 'context_set', 'divergence_recorded',
    'decision_trace_appended', 'checkpoint_presented', 'checkpoint_answered', 'activity_entered', 'run_completed',
    'run_stopped', 'run_resumed', 'name_given', 'session_token_issued',
]  # fmt: skip


class Migration(migrations.Migration):
    """People name runs and sessions, and keep views of lists under names. The check of events only widens what is allowed,
    so no row has to be looked at under a lock that stops writers.
    """

    dependencies = [
        ('sessions_app', '0015_waiting_runs'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('viewed', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=40)),
                ('query', models.CharField(blank=True, max_length=400)),
                ('owner', models.CharField(max_length=64)),
                ('is_shared', models.BooleanField()),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.AddConstraint(
            model_name='savedview',
            constraint=models.CheckConstraint(condition=models.Q(('viewed__in', ['runs', 'sessions'])), name='saved_view_list_known'),
        ),
        migrations.AddConstraint(
            model_name='savedview',
            constraint=models.UniqueConstraint(fields=('team_id', 'viewed', 'owner', 'name'), name='saved_view_once'),
        ),
        migrations.AddField(
            model_name='run',
            name='name',
            field=models.CharField(blank=True, db_default='', default='', max_length=256),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name='event', name='event_kind_known'),
                migrations.AddConstraint(
                    model_name='event',
                    constraint=models.CheckConstraint(condition=models.Q(('kind__in', _KINDS)), name='event_kind_known'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    sql=[
                        "ALTER TABLE sessions_app_event DROP CONSTRAINT IF EXISTS event_kind_known",
                        "ALTER TABLE sessions_app_event ADD CONSTRAINT event_kind_known CHECK (kind IN ("
                        + ", ".join(f"'{kind}'" for kind in _KINDS)
                        + ")) NOT VALID",
                    ],
                    reverse_sql=migrations.RunSQL.noop,
                ),
            ],
        ),
    ]
