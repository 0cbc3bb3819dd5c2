"""Columns of history that must hold something, and need not any more: whoever owns a table can take that from it."""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection

from sessions_app.selectors.integrity import Finding

_HISTORY = ("sessions_app", "teams_app")
_MAY_BE_EMPTY = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.attnotnull AND c.relnamespace = current_schema()::regnamespace
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
