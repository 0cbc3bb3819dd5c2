import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

_KINDS = ['run_started', 'run_waiting', 'run_blocked', 'run_paused', 'run_completed', 'run_rejected', 'run_cancelled', 'checkpoint_asked', 'checkpoint_overdue', 'checkpoint_answered', 'session_expiring', 'endpoint_switched_off']


class Migration(migrations.Migration):
    """Several addresses for a team. The one that a team has is copied; its table stays until the next release, for the
    version that is running meanwhile.
    """

    dependencies = [
        ('teams_app', '0005_audit_chain'),
    ]

    operations = [
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2048)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None)),
                ('secret', models.CharField(max_length=64)),
                ('set_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=512)),
                ('failing_since', models.DateTimeField(null=True)),
                ('switched_off_at', models.DateTimeField(null=True)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='endpoints', to='teams_app.team')),
            ],
            options={
                'verbose_name': 'address of notices',
                'verbose_name_plural': 'addresses of notices',
                'constraints': [models.CheckConstraint(condition=models.Q(('url__startswith', 'https://')), name='endpoint_is_https'), models.CheckConstraint(condition=models.Q(('kinds__contained_by', _KINDS), ('kinds__len__gt', 0)), name='endpoint_kinds')],
            },
        ),
        migrations.CreateModel(
            name='NoticeDelivery',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('notice_id', models.UUIDField()),
                ('kind', models.CharField(max_length=32)),
                ('body', models.BinaryField()),
                ('state', models.CharField(max_length=16)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('next_try_at', models.DateTimeField(null=True)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=512)),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='teams_app.endpoint')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(condition=models.Q(('next_try_at__isnull', False)), fields=['next_try_at'], name='delivery_due'), models.Index(fields=['endpoint', '-id'], name='delivery_of_endpoint'), models.Index(fields=['team_id', '-id'], name='delivery_list')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', _KINDS)), name='delivery_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('next_try_at__isnull', False), ('state', 'waiting')), models.Q(('next_try_at__isnull', True), ('state__in', ['delivered', 'given_up'])), _connector='OR'), name='delivery_waits_for_a_time')],
            },
        ),
        migrations.RunSQL(
            sql="INSERT INTO teams_app_endpoint (id, team_id, url, kinds, secret, set_at, delivered_at, failed_at, failure) "
            "SELECT team_id, team_id, url, '{checkpoint_asked}', secret, set_at, delivered_at, failed_at, failure "
            "FROM teams_app_webhook",
            reverse_sql=migrations.RunSQL.noop,
        ),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name='Webhook')]),
    ]
