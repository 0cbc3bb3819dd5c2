from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """What was answered in one session is found without reading what was answered in all."""

    atomic = False

    dependencies = [
        ('sessions_app', '0008_seals'),
    ]

    operations = [
        AddIndexSafely(
            model_name='attempt',
            index=models.Index(fields=['session_id', 'event_index'], name='attempt_of_session'),
        ),
    ]
