"""An upgrade that is killed at any statement goes on when it is run again."""

import ast
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
import pytest
from django.core.management import call_command
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
def killed_before_it_is_recorded():
    def count(execute, sql, params, many, context):
        if str(sql).startswith('INSERT INTO "django_migrations"'):
            raise KilledError
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield


def test_no_migration_is_there_and_not_recorded(scratch):
    """Django records one whose constraints and indexes come last after it has committed."""
    left = [key for key in MigrationExecutor(connection).loader.disk_migrations if key[0] in OURS]
    plan = MigrationExecutor(connection).migration_plan(MigrationLoader(connection).graph.leaf_nodes())
    assert len(left) > 40
    for migration, _ in plan:
        if not migration.atomic:
            continue
        with pytest.raises(KilledError), killed_before_it_is_recorded():
            call_command("migrate", migration.app_label, migration.name, verbosity=0)
        connection.close()
        call_command("migrate", migration.app_label, migration.name, verbosity=0)
    call_command("migrate", verbosity=0)
    assert MigrationExecutor(connection).migration_plan(MigrationLoader(connection).graph.leaf_nodes()) == []


@pytest.mark.django_db(transaction=True)
def test_two_upgrades_at_once_are_one(scratch):
    environ = os.environ | {"DATABASE_URL": url_of(connection), "DJANGO_SETTINGS_MODULE": "workrail_site.settings"}
    command = [sys.executable, str(ROOT / "manage.py"), "migrate", "--no-input", "--verbosity", "0"]
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]

    said = [each.communicate(timeout=120)[0] for each in both]

    assert [each.returncode for each in both] == [0, 0], said
    assert MigrationExecutor(connection).migration_plan(MigrationLoader(connection).graph.leaf_nodes()) == []


def url_of(database):
    settings = database.settings_dict
    query = urlencode({"host": settings["HOST"]} | ({"port": settings["PORT"]} if settings["PORT"] else {}))
    return f"postgresql://{quote(settings['USER'])}:{quote(settings['PASSWORD'])}@/{settings['NAME']}?{query}"


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
