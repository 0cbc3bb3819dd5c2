import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


@pytest.mark.django_db
def test_the_database_of_the_tests_is_a_migrated_postgres():
    executor = MigrationExecutor(connection)

    assert connection.vendor == "postgresql"
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


@pytest.mark.django_db
def test_the_redis_of_the_tests_is_empty_at_first(redis_client):
    assert redis_client.dbsize() == 0
