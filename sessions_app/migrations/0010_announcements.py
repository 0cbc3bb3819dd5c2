from django.db import migrations, models


class Migration(migrations.Migration):

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
        migrations.AddIndex(
            model_name='announcement',
            index=models.Index(fields=['at', 'id'], name='announcement_order'),
        ),
        migrations.AddConstraint(
            model_name='announcement',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['run_started', 'run_waiting', 'run_blocked', 'run_paused', 'run_completed', 'run_rejected', 'run_cancelled', 'checkpoint_asked', 'checkpoint_overdue', 'checkpoint_answered', 'session_expiring', 'endpoint_switched_off'])), name='announcement_kind_known'),
        ),
    ]
