"""Watches what a call does to the database, from outside of our code: the wire, the plans, the server's statistics."""

import json
import re
import tempfile
from contextlib import contextmanager

import pytest

_PLAN = re.compile(r"^duration: [\d.]+ ms  plan:\n(.*)", re.DOTALL)


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


@contextmanager
def explained():
    """The plan of every statement that is executed inside, as the server tells it."""
    import psycopg

    raw = _connection()
    told = []

    def hear(message):
        found = _PLAN.match(message.message_primary or "")
        if found:
            told.append(json.loads(found[1]))

    try:
        raw.execute("LOAD 'auto_explain'")
    except psycopg.Error:
        pytest.skip("the account of the tests may not load auto_explain")
    settings = {
        "log_min_duration": "0",
        "log_analyze": "on",
        "log_buffers": "on",
        "log_timing": "off",
        "log_format": "json",
        "log_level": "notice",
    }
    for name, value in settings.items():
        raw.execute(f"SET auto_explain.{name} = {value}")
    raw.add_notice_handler(hear)
    try:
        yield told
    finally:
        raw.remove_notice_handler(hear)
        raw.execute("SET auto_explain.log_min_duration = -1")


def buffers(plans):
    return sum(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] for plan in plans)


def rows_read(plans):
    """How many rows the nodes of all plans gave, however often they were run."""
    return sum(_rows(plan["Plan"]) for plan in plans)


def _rows(plan):
    return plan["Actual Rows"] * plan["Actual Loops"] + sum(_rows(inner) for inner in plan.get("Plans", ()))


def rows_written():
    """All rows that this connection and everyone before it wrote, as Postgres itself has counted them."""
    raw = _connection()
    raw.execute("SELECT pg_stat_force_next_flush()")
    raw.execute("SELECT pg_stat_clear_snapshot()")
    row = raw.execute("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables").fetchone()
    return int(row[0])


@contextmanager
def read_only():
    """A connection on which any write is an error."""
    raw = _connection()
    raw.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        raw.execute("SET default_transaction_read_only = off")
