"""Empties the tables after a test that wrote for good: only those that have rows, and each in its quickest way.

Django's `flush` truncates every table there is and makes the permissions anew, which takes longer than most tests.
"""

import time

from django.db import IntegrityError, OperationalError, transaction

# Of the site, not of a test: made with the tables, and never changed.
KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})
# Rows of these cannot be deleted one by one: a trigger refuses it.
APPEND_ONLY = ("sessions_app_event", "sessions_app_ledgerentry", "teams_app_auditentry", "traces_app_traceevent")
# Past so many bytes a table is truncated, so that no later test reads through what is dead.
LARGE_BYTES = 512 * 1024
# A server that a test has started may still be writing what a call left it to write: it is waited for.
TRIES = 5

_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""
_SIZES = "SELECT t, pg_relation_size(t::regclass) FROM unnest(%s::text[]) AS t"

_tables: dict[str, list[str]] = {}


def empty_tables(connection):
    for left in reversed(range(TRIES)):
        try:
            _emptied(connection)
        except (IntegrityError, OperationalError):
            if not left:
                raise
            time.sleep(0.2)
        else:
            return


def _emptied(connection):
    with connection.cursor() as cursor:
        found = _with_rows(cursor, _known(cursor, connection.settings_dict["NAME"]))
        if not found:
            return
        cursor.execute(_SIZES, [found])
        large = [table for table, size in cursor.fetchall() if size > LARGE_BYTES or table in APPEND_ONLY]
        # Truncated first: what a deletion has set in motion would stand in its way. The references are deferred, so the
        # order of the deletions does not matter.
        statements = ["TRUNCATE " + ", ".join(f'"{table}"' for table in large) + " CASCADE"] if large else []
        statements += [
            "SET CONSTRAINTS ALL DEFERRED",
            *(f'DELETE FROM "{table}"' for table in found if table not in large),
        ]
        with transaction.atomic(using=connection.alias):
            cursor.execute("; ".join(statements))


def _known(cursor, database):
    if database not in _tables:
        cursor.execute(_TABLES)
        _tables[database] = [name for (name,) in cursor.fetchall() if name not in KEPT]
    return _tables[database]


def _with_rows(cursor, tables):
    cursor.execute(" UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables))
    return [name for (name,) in cursor.fetchall()]
