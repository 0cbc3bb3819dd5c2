from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # An index built concurrently does not stop the writes of the version that is running.
    atomic = False

    dependencies = [
        ('sessions_app', '0009_attempts_by_session'),
    ]

    operations = [
        migrations.CreateModel(
            name='Announcement',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField(null=True)),
                ('request_id', models.UUIDField(null=True)),
                ('kind', models.CharField(max_length=32)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='checkpointrequest',
            name='overdue_told_at',
            field=models.DateTimeField(null=True),
        ),
        AddIndexConcurrently(
            model_name='checkpointrequest',
            index=models.Index(condition=models.Q(('due_at__isnull', False), ('overdue_told_at__isnull', True), ('state', 'open')), fields=['due_at'], name='checkpoint_untold'),
        ),
        migrations.AddIndex(
            model_name='announcement',
            index=models.Index(fields=['at', 'id'], name='announcement_order'),
        ),
        migrations.AddConstraint(
            model_name='announcement',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['run_started', 'run_waiting', 'run_blocked', 'run_paused', 'run_completed', 'run_rejected', 'run_cancelled', 'checkpoint_asked', 'checkpoint_overdue', 'checkpoint_answered', 'session_expiring', 'endpoint_switched_off'])), name='announcement_kind_known'),
        ),
    ]
