"""Indexes that are built beside the writes of a running version, by migrations that may be interrupted and run again."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_FOUND = """
SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND n.nspname = current_schema()
"""


class AddIndexSafely(AddIndexConcurrently):
    """Like AddIndexConcurrently, and can be run again.

    A concurrent build is no transaction. One that was killed leaves an index that is not valid: writes keep it up, no query
    uses it, and its name is taken. Such a one is dropped and built anew; one that is whole is kept.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(_FOUND, [self.index.name])
            found = cursor.fetchone()
        if found == (True,):
            return
        if found is not None:
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
