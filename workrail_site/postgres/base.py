"""Django's backend for Postgres, with cursors that say whose rows may be shown."""

from typing import Any

from django.db.backends.postgresql import base

from workrail_site.postgres.scoped import ScopedCursor, ScopedRawCursor


class DatabaseWrapper(base.DatabaseWrapper):
    # For whoever prepares statements: `sessions_app.selectors.standings`.
    raw_cursor_class = ScopedRawCursor

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": ScopedCursor}
