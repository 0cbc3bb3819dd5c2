import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """E-mails about notices, to the members who asked for them."""

    dependencies = [
        ('teams_app', '0009_connected_clients'),
    ]

    operations = [
        migrations.CreateModel(
            name='MailWish',
            fields=[
                ('membership', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mail_wish', serialize=False, to='teams_app.membership')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None)),
                ('chosen_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'wish for mails',
                'verbose_name_plural': 'wishes for mails',
                'constraints': [models.CheckConstraint(condition=models.Q(('kinds__contained_by', ['run_started', 'run_waiting', 'run_blocked', 'run_paused', 'run_completed', 'run_rejected', 'run_cancelled', 'checkpoint_asked', 'checkpoint_overdue', 'checkpoint_answered', 'session_expiring', 'endpoint_switched_off']), ('kinds__len__gt', 0)), name='mail_wish_kinds')],
            },
        ),
        migrations.CreateModel(
            name='NoticeMail',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('notice_id', models.UUIDField()),
                ('kind', models.CharField(max_length=32)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('state', models.CharField(max_length=16)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('next_try_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=512)),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'mail',
                'indexes': [models.Index(condition=models.Q(('next_try_at__isnull', False)), fields=['next_try_at'], name='mail_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['run_started', 'run_waiting', 'run_blocked', 'run_paused', 'run_completed', 'run_rejected', 'run_cancelled', 'checkpoint_asked', 'checkpoint_overdue', 'checkpoint_answered', 'session_expiring', 'endpoint_switched_off'])), name='mail_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('next_try_at__isnull', False), ('state', 'waiting')), models.Q(('next_try_at__isnull', True), ('state__in', ['delivered', 'given_up'])), _connector='OR'), name='mail_waits_for_a_time'), models.UniqueConstraint(fields=('person', 'notice_id'), name='mail_once')],
            },
        ),
    ]
