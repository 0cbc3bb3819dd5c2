"""All that stands in the tables of one team, so that a test sees what was changed there."""

from django.db import connection


def rows_in_tables(team_id):
    """All that is kept of a team."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables USING (table_name)"
            " WHERE c.column_name = 'team_id' AND table_type = 'BASE TABLE' AND c.table_schema = current_schema()"
        )
        kept = []
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT to_jsonb(t)::text FROM {table} t WHERE team_id = %s", [team_id])
            kept += [(table, row) for (row,) in cursor.fetchall()]
    return sorted(kept)
