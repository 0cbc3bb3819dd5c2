"""Watches what a call does to the database, from outside of our code: the wire, the plans, the server's statistics."""

import os
import tempfile
from contextlib import contextmanager

import pytest

from workrail_site.local import pooled


def _connection():
    from django.db import connection

    connection.ensure_connection()
    return connection.connection


def round_trips(work):
    """How often the server was waited for: once for each ReadyForQuery that libpq saw."""
    wire = _connection().pgconn
    with tempfile.TemporaryFile("w+b") as file:
        wire.trace(file.fileno())
        try:
            result = work()
        finally:
            wire.untrace()
        file.seek(0)
        return result, sum(1 for line in file if b"\tReadyForQuery\t" in line)


_READ = """
SELECT (SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables),
       (SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)) FROM pg_statio_user_tables)
"""


def needs_its_own():
    """What a connection has counted, or was told, is another's where a pool hands it on."""
    if pooled.is_asked_for(os.environ):
        pytest.skip("PgBouncer hands its connection to others")


def rows_and_pages_read(work):
    """What a call reads, as Postgres itself counts it: rows of tables, pages of tables and indexes."""
    needs_its_own()
    before = _counted(_READ)
    result = work()
    after = _counted(_READ)
    return result, (int(after[0] - before[0]), int(after[1] - before[1]))


def _counted(query):
    raw = _connection()
    raw.execute("SELECT pg_stat_force_next_flush()")
    raw.execute("SELECT pg_stat_clear_snapshot()")
    return raw.execute(query).fetchone()


def rows_written():
    """All rows that this connection and everyone before it wrote, as Postgres itself has counted them."""
    needs_its_own()
    return int(_counted("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables")[0])


@contextmanager
def read_only():
    """A connection on which any write is an error."""
    needs_its_own()
    raw = _connection()
    raw.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        raw.execute("SET default_transaction_read_only = off")
