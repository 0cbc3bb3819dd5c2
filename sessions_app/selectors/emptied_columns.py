"""What tables of history demand of their rows, and demand no more: whoever owns a table can take that from it.

Nor is what the check reads what the server shows, where rows are hidden from it.
"""

from collections.abc import Iterable, Iterator

from django.apps import apps
from django.db import connection
from django.db.models import Model

from sessions_app.selectors.integrity import Finding

_HISTORY = ("sessions_app", "teams_app")
_MAY_BE_EMPTY = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.attnotnull AND c.relnamespace = current_schema()::regnamespace
"""
# Rows of a child are read as rows of the table, and its key does not hold for them. A view shows what it likes.
_KEYS = """
SELECT c.relname, array(
    SELECT a.attname::text FROM unnest(i.indkey[0:i.indnkeyatts - 1]) AS part (number)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = part.number ORDER BY 1
)
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indisunique AND i.indisvalid
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
AND NOT (c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhparent = c.oid))
"""
# Postgres applies policies to whoever asks here, and not one of them shows every row, or another one takes some away.
_HIDING = """
SELECT c.relname FROM pg_class c CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(p.polpermissive AND pg_get_expr(p.polqual, p.polrelid) = 'true'), false) AS shows_all,
        coalesce(bool_or(NOT p.polpermissive), false) AS takes_away
    FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd IN ('*', 'r')
    AND EXISTS (SELECT 1 FROM unnest(p.polroles) AS named (role) WHERE role = 0 OR pg_has_role(role, 'USAGE'))
) policies
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND row_security_active(c.oid)
AND (takes_away OR NOT shows_all)
"""


def emptied_columns() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(_MAY_BE_EMPTY)
        may_be_empty = set(cursor.fetchall())
    for model in _models():
        for field in model._meta.concrete_fields:  # noqa: SLF001  what Django publishes of a model
            place = (model._meta.db_table, field.column)  # noqa: SLF001  as above
            if not (field.null or field.generated) and place in may_be_empty:
                message = (
                    f"{place[0]}.{place[1]} may be empty, which no migration allows: rows may have lost what they told."
                )
                yield Finding(session_id=None, reason="column_may_be_empty", message=message)


def tables_without_keys() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(_KEYS)
        keys = dict(cursor.fetchall())
    for model in _models():
        table = model._meta.db_table  # noqa: SLF001  as above
        key = sorted(str(field.column) for field in model._meta.pk_fields)  # noqa: SLF001  as above
        if keys.get(table) != key:
            message = (
                f"{table} may hold two rows of one key ({', '.join(key)}), which no migration allows: one of them may tell "
                "what never was."
            )
            yield Finding(session_id=None, reason="key_may_be_doubled", message=message)


def hidden_rows() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(_HIDING)
        hiding = {name for (name,) in cursor.fetchall()}
    for table in sorted(hiding & {model._meta.db_table for model in _models()}):  # noqa: SLF001  as above
        message = f"Policies of {table} keep rows from this check. Run it as the owner of the database; if it is, somebody hides them."
        yield Finding(session_id=None, reason="rows_may_be_hidden", message=message)


def _models() -> Iterable[type[Model]]:
    """Of tables, not of views."""
    models = (model for app in _HISTORY for model in apps.get_app_config(app).get_models())
    return sorted((model for model in models if model._meta.managed), key=lambda model: model._meta.db_table)  # noqa: SLF001  as above
