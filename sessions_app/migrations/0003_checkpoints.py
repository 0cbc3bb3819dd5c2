from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0002_resume_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='CheckpointRequest',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('session_id', models.UUIDField()),
                ('run_id', models.UUIDField()),
                ('checkpoint_id', models.CharField(max_length=256)),
                ('instance_key', models.CharField(max_length=1024)),
                ('title', models.CharField(max_length=256)),
                ('message', models.TextField()),
                ('options', models.JSONField()),
                ('authority', models.CharField(max_length=16)),
                ('digest', models.CharField(max_length=71)),
                ('event_index', models.PositiveIntegerField()),
                ('presented_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(null=True)),
                ('claimed_by', models.CharField(blank=True, max_length=128)),
                ('claimed_at', models.DateTimeField(null=True)),
                ('state', models.CharField(max_length=16)),
                ('answered_at', models.DateTimeField(null=True)),
                ('answered_by', models.CharField(blank=True, max_length=128)),
                ('answered_as', models.CharField(blank=True, max_length=16)),
                ('option_id', models.CharField(blank=True, max_length=256)),
                ('reason', models.TextField(blank=True)),
                ('door', models.CharField(blank=True, max_length=16)),
                ('to_node_id', models.UUIDField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['team_id', 'state', 'due_at', 'id'], name='checkpoint_inbox'), models.Index(fields=['run_id'], name='checkpoint_of_run')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['open', 'answered', 'withdrawn', 'stale'])), name='checkpoint_state_known'), models.CheckConstraint(condition=models.Q(('authority__in', ['relayed', 'human', 'default'])), name='checkpoint_authority_known'), models.CheckConstraint(condition=models.Q(models.Q(('answered_at__isnull', False), ('state', 'answered'), ('to_node_id__isnull', False)), models.Q(models.Q(('state', 'answered'), _negated=True), ('answered_at__isnull', True), ('to_node_id__isnull', True)), _connector='OR'), name='checkpoint_answered_when_answered')],
            },
        ),
    ]
