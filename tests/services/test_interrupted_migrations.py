"""An upgrade that is killed at any statement goes on when it is run again."""

import ast
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

OURS = ("teams_app", "workflows_app", "sessions_app", "traces_app")
ROOT = Path(__file__).resolve().parents[2]


class KilledError(Exception):
    pass


def unsafe_migrations():
    """Those that are no transaction, so that what they did stays when they are killed."""
    disk = MigrationLoader(None).disk_migrations
    return sorted(key for key, migration in disk.items() if key[0] in OURS and not migration.atomic)


# Migrations go past a pool: docs/scaling.md.
pytestmark = pytest.mark.own_connection


@pytest.fixture
def scratch(django_db_blocker):
    """An empty database of its own, migrated by nobody yet."""
    name = f"{connection.settings_dict['NAME'] or 'workrail'}_scratch"
    if name.startswith("test_test_"):
        name = name.removeprefix("test_")
    with django_db_blocker.unblock():
        owner = {**connection.get_connection_params()}
        owner.pop("cursor_factory", None)
        owner.pop("context", None)
        with psycopg.connect(**{**owner, "dbname": "postgres"}, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{name}"')
            admin.execute(f'CREATE DATABASE "{name}"')
            settings_before = connection.settings_dict["NAME"]
            connection.close()
            connection.settings_dict["NAME"] = name
            try:
                yield connection
            finally:
                connection.close()
                connection.settings_dict["NAME"] = settings_before
                admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def killed_after(statements):
    """Every statement that changes something counts; the one after the last allowed is not run any more."""
    left = statements

    def count(execute, sql, params, many, context):
        nonlocal left
        if not str(sql).lstrip().upper().startswith("SELECT"):
            if left == 0:
                raise KilledError
            left -= 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)


def invalid_indexes():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid"
        )
        return [name for (name,) in cursor.fetchall()]


def test_a_migration_that_is_no_transaction_may_be_killed_between_any_two_statements(scratch):
    leaves = MigrationLoader(connection).graph.leaf_nodes()
    assert unsafe_migrations()
    for key in unsafe_migrations():
        executor = MigrationExecutor(connection)
        executor.migrate(list(executor.loader.graph.node_map[key].parents))
        kills = 0
        while True:
            try:
                with killed_after(kills):
                    migrate([key])
            except KilledError:
                kills += 1
                connection.close()
                assert kills < 200
                continue
            break
        assert kills > 1
        assert invalid_indexes() == []
    migrate(leaves)
    assert MigrationExecutor(connection).migration_plan(leaves) == []


def test_an_index_whose_build_was_killed_is_built_anew(scratch):
    """As a kill in the middle of a concurrent build leaves it: there, and not valid."""
    migrate([("sessions_app", "0009_attempts_by_session")])
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX attempt_of_session")
    params = {**connection.get_connection_params(), "dbname": connection.settings_dict["NAME"]}
    for name in ("cursor_factory", "context"):
        params.pop(name, None)
    with psycopg.connect(**params) as writer:
        # A writer that the build must wait for, longer than it is let.
        writer.execute("INSERT INTO sessions_app_tokenkey VALUES (1, '', '', now())")
        writer.execute("LOCK TABLE sessions_app_attempt IN ROW EXCLUSIVE MODE")
        with psycopg.connect(**params, autocommit=True) as builder:
            builder.execute("SET statement_timeout = '200ms'")
            with pytest.raises(psycopg.errors.QueryCanceled):
                builder.execute(
                    "CREATE INDEX CONCURRENTLY attempt_of_session ON sessions_app_attempt (session_id, event_index)"
                )
        writer.rollback()
    assert invalid_indexes() == ["attempt_of_session"]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE name = '0009_attempts_by_session'")

    migrate([("sessions_app", "0009_attempts_by_session")])

    assert invalid_indexes() == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexname = 'attempt_of_session'")
        assert cursor.fetchone() == (1,)


def calls_in(path):
    tree = ast.parse(path.read_text())
    return {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }


def test_no_migration_builds_an_index_that_cannot_be_built_again():
    migrations = [path for app in OURS for path in (ROOT / app / "migrations").glob("0*.py")]
    assert len(migrations) > 8

    plain = [path.name for path in migrations if "AddIndexConcurrently" in calls_in(path)]

    assert plain == []


def test_a_migration_that_is_no_transaction_does_only_what_can_be_done_again():
    again = {"AddIndexSafely", "RemoveIndexConcurrently", "BtreeGinExtension", "TrigramExtension", "AlterModelOptions"}
    disk = MigrationLoader(None).disk_migrations

    done = {type(operation).__name__ for key in unsafe_migrations() for operation in disk[key].operations}

    assert done - again == set()


def test_an_index_on_a_table_that_grows_is_built_beside_its_writes():
    """After the first migration of an app, its large tables have rows: an index within a transaction would stop all writes."""
    large = {"event", "node", "attempt", "output", "worksession", "run", "traceevent", "snapshot"}
    disk = MigrationLoader(None).disk_migrations
    stopping = [
        f"{key}: {operation.index.name}"
        for key, migration in disk.items()
        if key[0] in OURS and not migration.initial
        for operation in migration.operations
        if type(operation).__name__ == "AddIndex" and operation.model_name_lower in large
    ]
    assert stopping == []
