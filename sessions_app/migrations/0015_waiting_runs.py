from django.db import migrations


class Migration(migrations.Migration):
    """Runs that stand at a question are called waiting, also those that came to it before the word was there."""

    dependencies = [
        ('sessions_app', '0014_stops_and_waivers'),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE sessions_app_run r SET status = 'waiting' WHERE r.status IN ('in_progress', 'blocked') AND EXISTS ("
            "SELECT 1 FROM sessions_app_checkpointrequest q WHERE q.run_id = r.id AND q.state = 'open')",
            migrations.RunSQL.noop,
        ),
    ]
