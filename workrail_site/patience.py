"""How long this process waits for its servers.

For Postgres a door waits seconds, a task a minute, a command as long as it takes: as the server's own limits on each
connection. Without one a query that goes wrong holds a thread, and outlives the client that asked for it. For the broker a
door waits not at all, and the thread that asks for it a part of a second: the schedule makes up for the rest.
"""

from collections.abc import Callable

import psycopg
from celery import Celery
from django.db import connections

# Another transaction that holds a row longer than this is no neighbour but a fault.
_LOCK_MS = 2_000
_CANCEL_SECONDS = 2.0
_BROKER_SECONDS = 0.3


def limit_statements(*, statement_ms: int) -> None:
    """For the connections that this process opens from now on; 0 is no limit, and leaves the server's own."""
    if statement_ms == 0:
        return
    limits = f"-c statement_timeout={statement_ms} -c lock_timeout={min(_LOCK_MS, statement_ms)}"
    for database in connections.settings.values():
        options = database["OPTIONS"]
        options["options"] = f"{options.get('options', '')} {limits}".strip()


def limit_publishing(*, app: Celery) -> None:
    """For a process that asks for tasks and runs none. Neither the client of the broker nor what is below it tries again."""
    waits = {"socket_timeout": _BROKER_SECONDS, "socket_connect_timeout": _BROKER_SECONDS, "retry_on_timeout": False}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **waits, "max_retries": 0}
    app.conf.broker_connection_timeout = _BROKER_SECONDS
    app.conf.broker_connection_retry = False
    app.conf.broker_connection_max_retries = 0
    app.conf.task_publish_retry = False


def query_stopper() -> Callable[[], None]:
    """Stops the query that this thread will be waiting for. Called from another thread, and only while this one works
    on what it was asked for: the connection belongs to whatever comes next, too.
    """
    wrappers = [connections[alias] for alias in connections]

    def stop() -> None:
        for wrapper in wrappers:
            connection = wrapper.connection
            if isinstance(connection, psycopg.Connection) and not connection.closed:
                connection.cancel_safe(timeout=_CANCEL_SECONDS)

    return stop
