from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('sessions_app', '0026_functions_find_only_our_tables'),
    ]

    operations = [
        AddIndexSafely(
            model_name='bundlejob',
            index=models.Index(condition=models.Q(('session_id__isnull', False)), fields=['session_id'], name='bundle_job_of_session'),
        ),
    ]
