"""Counts what really goes to Postgres. Django counts only what passes its own cursors, and the hot path does not."""

from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile


@dataclass
class RoundTrips:
    count: int = 0


@contextmanager
def counted_round_trips():
    """Messages at which the client waits for the server, on Django's connection."""
    from django.db import connection

    connection.ensure_connection()
    pgconn = connection.connection.pgconn
    counted = RoundTrips()
    with TemporaryFile() as file:
        pgconn.trace(file.fileno())
        try:
            yield counted
        finally:
            pgconn.untrace()
        file.seek(0)
        counted.count = sum(_waits(line) for line in file.read().decode("utf-8", "replace").splitlines())


def _waits(line):
    """A line is a time, F for what the client sends, a length, and the message: each Query and each Sync is waited for."""
    fields = line.split("\t")
    return len(fields) > 3 and fields[1] == "F" and fields[3].strip() in {"Query", "Sync"}
