import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('teams_app', '0002_audit_is_append_only'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='webhook', serialize=False, to='teams_app.team')),
                ('url', models.CharField(max_length=2048)),
                ('secret', models.CharField(max_length=64)),
                ('set_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=512)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('url__startswith', 'https://')), name='webhook_is_https')],
            },
        ),
    ]
