"""How long this process waits for Postgres: as the server's own limits on each connection that it opens.

A door waits seconds, a task minutes, a command as long as it takes. Without a limit one query that goes wrong holds a thread,
and outlives the client that asked for it.
"""

from collections.abc import Callable

import psycopg
from django.db import connections

# Another transaction that holds a row longer than this is no neighbour but a fault.
_LOCK_MS = 2_000
_CANCEL_SECONDS = 2.0


def limit_statements(*, statement_ms: int) -> None:
    """For the connections that this process opens from now on; 0 is no limit, and leaves the server's own."""
    if statement_ms == 0:
        return
    options = connections.settings["default"]["OPTIONS"]
    limits = f"-c statement_timeout={statement_ms} -c lock_timeout={min(_LOCK_MS, statement_ms)}"
    options["options"] = f"{options.get('options', '')} {limits}".strip()


def query_stopper() -> Callable[[], None]:
    """Stops the query that this thread will be waiting for. Called from another thread, and only while this one works
    on what it was asked for: the connection belongs to whatever comes next, too.
    """
    wrapper = connections["default"]

    def stop() -> None:
        connection = wrapper.connection
        if isinstance(connection, psycopg.Connection) and not connection.closed:
            connection.cancel_safe(timeout=_CANCEL_SECONDS)

    return stop
