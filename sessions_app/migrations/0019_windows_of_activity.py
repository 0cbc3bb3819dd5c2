from django.db import migrations, models

_WINDOW = "date_bin('10 minutes', %(expressions)s, TIMESTAMPTZ '2000-01-01 00:00:00+00')"
_TABLES = ("sessions_app_run", "sessions_app_worksession")


def _window():
    beginning = models.Func(models.F("last_activity_at"), template=_WINDOW)
    return models.GeneratedField(db_persist=True, expression=beginning, output_field=models.DateTimeField())


class Migration(migrations.Migration):
    """Runs and sessions get the window of their last activity, which changes seldom, and room for updates beside their rows.

    Postgres writes both tables anew: they have one row for each run and each session, and writers wait for it.
    """

    dependencies = [
        ('sessions_app', '0018_jobs_by_token'),
    ]

    operations = [
        migrations.RunSQL(
            sql=[f"ALTER TABLE {table} SET (fillfactor = 80)" for table in _TABLES],
            reverse_sql=[f"ALTER TABLE {table} RESET (fillfactor)" for table in _TABLES],
        ),
        migrations.AddField(model_name='run', name='activity_window', field=_window()),
        migrations.AddField(model_name='worksession', name='activity_window', field=_window()),
    ]
