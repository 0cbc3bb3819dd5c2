import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Entries of the audit log are chained and sealed. Those that are there already are adopted with the next one."""

    dependencies = [
        ('teams_app', '0004_invitations'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditentry',
            name='number',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='digest',
            field=models.CharField(blank=True, db_default='', max_length=71),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='seal',
            field=models.CharField(blank=True, db_default='', max_length=64),
        ),
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='teams_app.team')),
                ('next_number', models.PositiveIntegerField()),
                ('digest', models.CharField(max_length=71)),
                ('adopted', models.PositiveIntegerField()),
                ('adopted_digest', models.CharField(max_length=71)),
                ('seal', models.CharField(max_length=64)),
            ],
        ),
        # The log of a team is short: it is indexed within the transaction.
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('number__isnull', False)), fields=['team', 'number'], name='audit_chain'),
        ),
    ]
