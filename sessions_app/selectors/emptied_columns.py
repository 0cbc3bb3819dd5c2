"""What tables of history demand of their rows, and demand no more: whoever owns a table can take that from it."""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection

from sessions_app.selectors.integrity import Finding

_HISTORY = ("sessions_app", "teams_app")
_MAY_BE_EMPTY = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.attnotnull AND c.relnamespace = current_schema()::regnamespace
"""
# Rows of a child are read as rows of the table, and its key does not hold for them.
_WITHOUT_KEY = """
SELECT c.relname FROM pg_class c
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND (
    NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid)
    OR (c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhparent = c.oid))
)
"""


def emptied_columns() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(_MAY_BE_EMPTY)
        may_be_empty = set(cursor.fetchall())
    for model in (model for app in _HISTORY for model in apps.get_app_config(app).get_models()):
        for field in model._meta.concrete_fields:  # noqa: SLF001  what Django publishes of a model
            place = (model._meta.db_table, field.column)  # noqa: SLF001  as above
            if not (field.null or field.generated) and place in may_be_empty:
                message = (
                    f"{place[0]}.{place[1]} may be empty, which no migration allows: rows may have lost what they told."
                )
                yield Finding(session_id=None, reason="column_may_be_empty", message=message)


def tables_without_keys() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT_KEY)
        without_key = {name for (name,) in cursor.fetchall()}
    ours = {model._meta.db_table for app in _HISTORY for model in apps.get_app_config(app).get_models()}  # noqa: SLF001  as above
    for table in sorted(ours & without_key):
        message = (
            f"{table} may hold two rows of one key, which no migration allows: one of them may tell what never was."
        )
        yield Finding(session_id=None, reason="key_may_be_doubled", message=message)
