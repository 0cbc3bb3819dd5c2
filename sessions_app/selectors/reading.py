"""How a check and a search read: of one state of the tables, and moments that nothing of ours has written."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

import psycopg
from django.db import connection
from psycopg.pq import Format
from psycopg.types.datetime import DateLoader, TimestamptzLoader

from teams_app import selectors
from workflows_app.selectors.asked import asked

# What stands for a moment that Postgres keeps and Python cannot tell. No event is as old.
UNTELLABLE = datetime(1970, 1, 2, tzinfo=UTC)


@asked
@contextmanager
def one_state() -> Iterator[None]:
    """As `teams_app` has it."""
    with selectors.one_state():
        yield


class _AnyMoment(TimestamptzLoader):
    timezone = UTC

    def load(self, data: Any) -> datetime:
        try:
            return super().load(data).replace(tzinfo=UTC)
        except psycopg.DataError:
            return UNTELLABLE


class _AnyDate(DateLoader):
    def load(self, data: Any) -> date:
        try:
            return super().load(data)
        except psycopg.DataError:
            return UNTELLABLE.date()


@contextmanager
def any_moment() -> Iterator[None]:
    """Whoever owns the tables can write `infinity` into them, or a year before the first: a check reads on, and finds it wrong."""
    connection.ensure_connection()
    adapters = connection.connection.adapters
    before = [adapters.get_loader(adapters.types[name].oid, Format.TEXT) for name in ("timestamptz", "date")]
    try:
        adapters.register_loader("timestamptz", _AnyMoment)
        adapters.register_loader("date", _AnyDate)
        yield
    finally:
        for name, loader in zip(("timestamptz", "date"), before, strict=True):
            adapters.register_loader(name, loader)
