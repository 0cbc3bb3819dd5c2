from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from teams_app.migrations.operations.indexes import AddIndexSafely


class Migration(migrations.Migration):
    """No index on the moment of the last activity is left: with one, no update of such a row would be HOT."""

    atomic = False

    dependencies = [
        ('sessions_app', '0019_windows_of_activity'),
    ]

    operations = [
        AddIndexSafely(
            model_name='run',
            index=models.Index(models.F('team_id'), models.OrderBy(models.F('activity_window'), descending=True), name='run_active'),
        ),
        AddIndexSafely(
            model_name='run',
            index=models.Index(models.F('team_id'), models.F('status'), models.OrderBy(models.F('activity_window'), descending=True), name='run_status_active'),
        ),
        AddIndexSafely(
            model_name='run',
            index=models.Index(models.F('team_id'), models.F('workflow_id'), models.OrderBy(models.F('activity_window'), descending=True), name='run_workflow_active'),
        ),
        AddIndexSafely(
            model_name='worksession',
            index=models.Index(models.F('team_id'), models.OrderBy(models.F('activity_window'), descending=True), name='session_active'),
        ),
        AddIndexSafely(
            model_name='worksession',
            index=models.Index(models.F('team_id'), models.F('repository'), models.OrderBy(models.F('activity_window'), descending=True), condition=models.Q(('repository', ''), _negated=True), name='session_repository_active'),
        ),
        RemoveIndexConcurrently(model_name='run', name='run_recent'),
        RemoveIndexConcurrently(model_name='run', name='run_by_status'),
        RemoveIndexConcurrently(model_name='run', name='run_of_workflow'),
        RemoveIndexConcurrently(model_name='worksession', name='session_recent'),
        RemoveIndexConcurrently(model_name='worksession', name='session_repository'),
    ]
