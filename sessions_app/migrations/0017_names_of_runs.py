import django.contrib.postgres.indexes
import django.db.models.functions.text
from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """Runs are found by the names that people gave them. Only those that have one are in the index."""

    atomic = False

    dependencies = [
        ('sessions_app', '0016_names'),
    ]

    operations = [
        AddIndexSafely(
            model_name='run',
            index=django.contrib.postgres.indexes.GinIndex(models.F('team_id'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('name'), name='gin_trgm_ops'), condition=models.Q(('name', ''), _negated=True), gin_pending_list_limit=512, name='run_name_letters'),
        ),
    ]
