from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """Questions of every state are listed by when they are due, without sorting all that a team was ever asked."""

    # An index built concurrently does not stop the writes of the version that is running.
    atomic = False

    dependencies = [
        ('sessions_app', '0003_checkpoints'),
    ]

    operations = [
        migrations.AlterModelOptions(name='checkpointrequest', options={'verbose_name': 'checkpoint'}),
        AddIndexSafely(
            model_name='checkpointrequest',
            index=models.Index(fields=['team_id', 'due_at', 'id'], name='checkpoint_by_due'),
        ),
    ]
