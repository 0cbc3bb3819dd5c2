import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models


def _words(pending_kilobytes):
    return django.contrib.postgres.indexes.GinIndex(
        models.F('team_id'),
        django.contrib.postgres.search.SearchVector('body', config='simple'),
        condition=models.Q(('channel', 'recap')),
        gin_pending_list_limit=pending_kilobytes,
        name='output_notes_words',
    )


class Migration(migrations.Migration):
    """More notes wait until their words are sorted in: a word that many of them have is then written once for all."""

    dependencies = [
        ('sessions_app', '0022_packed_events'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex(model_name='output', name='output_notes_words'),
                migrations.AddIndex(model_name='output', index=_words(2048)),
            ],
            database_operations=[
                migrations.RunSQL(
                    'ALTER INDEX output_notes_words SET (gin_pending_list_limit = 2048)',
                    'ALTER INDEX output_notes_words SET (gin_pending_list_limit = 512)',
                ),
            ],
        ),
    ]
