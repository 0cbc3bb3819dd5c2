import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.functions.text
from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """Runs are found by the words of their artifacts too, and questions that are overdue by when they were due."""

    atomic = False

    dependencies = [
        ('sessions_app', '0012_narrow_ways'),
    ]

    operations = [
        AddIndexSafely(
            model_name='checkpointrequest',
            index=models.Index(condition=models.Q(('due_at__isnull', False), ('overdue_told_at__isnull', True), ('state', 'open')), fields=['due_at'], name='checkpoint_untold'),
        ),
        AddIndexSafely(
            model_name='output',
            index=django.contrib.postgres.indexes.GinIndex(models.F('team_id'), django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Left('body', 16384), config='simple'), condition=models.Q(('channel', 'artifact')), gin_pending_list_limit=512, name='output_artifact_words'),
        ),
    ]
