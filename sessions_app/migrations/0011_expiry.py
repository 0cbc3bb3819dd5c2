from django.db import migrations, models


# History goes only where a transaction says that it is the one that deletes sessions.
MAY_GO = """
CREATE OR REPLACE FUNCTION sessions_app_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('workrail.expiry', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The log is append-only: an event is neither changed nor deleted.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
MAY_NOT = """
CREATE OR REPLACE FUNCTION sessions_app_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The log is append-only: an event is neither changed nor deleted.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0010_announcements'),
    ]

    operations = [
        migrations.RunSQL(MAY_GO, MAY_NOT),
        migrations.CreateModel(
            name='ExpiryWarning',
            fields=[
                ('session_id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('warned_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('session_id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('reason', models.CharField(max_length=256)),
                ('held_by', models.CharField(max_length=128)),
                ('held_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Retention',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('workflow_id', models.CharField(blank=True, max_length=128)),
                ('idle_days', models.PositiveIntegerField(null=True)),
                ('archives', models.BooleanField(default=False)),
                ('changed_by', models.CharField(max_length=128)),
                ('changed_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'rule of retention',
                'verbose_name_plural': 'retention',
            },
        ),
        migrations.RemoveConstraint(
            model_name='bundlejob',
            name='bundle_job_kind_known',
        ),
        migrations.AddConstraint(
            model_name='bundlejob',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['export', 'import', 'archive'])), name='bundle_job_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='retention',
            constraint=models.UniqueConstraint(fields=('team_id', 'workflow_id'), name='retention_once'),
        ),
        migrations.AddConstraint(
            model_name='retention',
            constraint=models.CheckConstraint(condition=models.Q(('idle_days__isnull', True), models.Q(('idle_days__gt', 0), ('idle_days__lte', 3650)), _connector='OR'), name='retention_in_days'),
        ),
    ]
