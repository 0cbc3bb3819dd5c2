import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.functions.text
from django.contrib.postgres.operations import BtreeGinExtension, RemoveIndexConcurrently
from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """The words of one team are looked up without reading those of the others: the team goes into the indexes of words."""

    # An index built concurrently does not stop the writes of the version that is running.
    atomic = False

    dependencies = [
        ('sessions_app', '0001_sessions'),
    ]

    operations = [
        BtreeGinExtension(),
        AddIndexSafely(
            model_name='worksession',
            index=models.Index(models.F('team_id'), models.F('repository'), models.OrderBy(models.F('last_activity_at'), descending=True), condition=models.Q(('repository', ''), _negated=True), name='session_repository'),
        ),
        AddIndexSafely(
            model_name='worksession',
            index=models.Index(models.F('team_id'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('git_branch'), name='text_pattern_ops'), condition=models.Q(('git_branch', ''), _negated=True), name='session_branch'),
        ),
        AddIndexSafely(
            model_name='worksession',
            index=django.contrib.postgres.indexes.GinIndex(models.F('team_id'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('title'), name='gin_trgm_ops'), name='session_title_letters', gin_pending_list_limit=512),
        ),
        AddIndexSafely(
            model_name='run',
            index=django.contrib.postgres.indexes.GinIndex(models.F('team_id'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('goal'), name='gin_trgm_ops'), name='run_goal_letters', gin_pending_list_limit=512),
        ),
        AddIndexSafely(
            model_name='output',
            index=models.Index(models.F('team_id'), models.OrderBy(models.F('created_at'), descending=True), models.F('id'), condition=models.Q(('channel', 'recap')), name='output_recent_notes'),
        ),
        AddIndexSafely(
            model_name='output',
            index=django.contrib.postgres.indexes.GinIndex(models.F('team_id'), django.contrib.postgres.search.SearchVector('body', config='simple'), condition=models.Q(('channel', 'recap')), name='output_notes_words', gin_pending_list_limit=512),
        ),
        RemoveIndexConcurrently(model_name='worksession', name='session_branch_trigram'),
        RemoveIndexConcurrently(model_name='worksession', name='session_title_trigram'),
        RemoveIndexConcurrently(model_name='run', name='run_goal_trigram'),
        RemoveIndexConcurrently(model_name='output', name='output_notes_search'),
    ]
