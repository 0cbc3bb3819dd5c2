"""Ends backends of Postgres, as its restart or an administrator does."""

import time

import psycopg

_MOST_SECONDS = 10
_WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def end_backend(connection, pid):
    """It is gone when this returns."""
    connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def end_once_it_waits(info):
    """The first backend of this database that waits for a lock, in the middle of its statement."""
    with psycopg.connect(info.dsn, password=info.password, autocommit=True) as connection:
        deadline = time.monotonic() + _MOST_SECONDS
        while time.monotonic() < deadline:
            found = connection.execute(_WAITING).fetchone()
            if found is not None:
                end_backend(connection, found[0])
                return
        raise AssertionError("nobody waited for a lock")
