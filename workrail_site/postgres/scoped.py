"""Cursors that tell Postgres, with each statement, whose rows it may show.

The settings travel in the same message and end with the statement's transaction: that costs no round trip, leaves no state on
a connection, and is right behind a pool that hands connections on. What is asked outside of every request says nothing.
"""

from functools import lru_cache
from typing import Any, Self

import psycopg
from django.db.backends.postgresql.base import CursorMixin
from psycopg import generators
from psycopg._preparing import Prepare
from psycopg._queries import PostgresQuery, PostgresRawQuery
from psycopg.abc import PQGen
from psycopg.pq import ConnStatus
from psycopg.pq.abc import PGresult

from teams_app.services.row_scope import RowScope, row_scope

Settings = tuple[tuple[str, str], ...]

_MOST_KEPT = 4_096
# They show no rows, and the way back is the only statement that a failed transaction takes.
_OF_SAVEPOINTS = ("SAVEPOINT ", "RELEASE SAVEPOINT ", "ROLLBACK TO SAVEPOINT ")


@lru_cache(maxsize=_MOST_KEPT)
def settings_of(scope: RowScope | None) -> Settings:
    """As the policies read them. No value holds anything but letters, digits and hyphens."""
    if scope is None:
        return ()
    return (
        ("workrail.team", str(scope.team or "")),
        ("workrail.person", str(scope.person or "")),
        ("workrail.proof", scope.proof.hex()),
    )


@lru_cache(maxsize=_MOST_KEPT)
def _said_before(settings: Settings) -> str:
    return "".join(f"SET LOCAL {name} = '{value}'; " for name, value in settings)


@lru_cache
def _said_beside(names: tuple[str, ...]) -> str:
    calls = (f"set_config('{name}', ${number}, true)" for number, name in enumerate(names, 1))
    return f"SELECT {', '.join(calls)}"


class ScopedCursor(CursorMixin, psycopg.ClientCursor[Any]):
    """As Django's own, whose parameters are in the text: the settings stand before it, in one message and one transaction."""

    def execute(self, query: Any, params: Any = None, **how: Any) -> Self:
        settings = settings_of(row_scope())
        if not settings or not isinstance(query, str) or query.startswith(_OF_SAVEPOINTS):
            super().execute(query, params, **how)
            return self
        super().execute(_said_before(settings) + query, params, **how)
        for _ in settings:
            self.nextset()
        return self


class ScopedRawCursor(psycopg.RawCursor[Any]):
    """One with native placeholders, whose statements are prepared: the settings go before it in one pipeline."""

    _names_told: tuple[str, ...] = ()
    _told: PostgresQuery

    def _maybe_prepare_gen(
        self, pgq: PostgresQuery, *, prepare: bool | None = None, binary: bool | None = None
    ) -> PQGen[None]:
        settings = settings_of(row_scope())
        if not settings:
            yield from super()._maybe_prepare_gen(pgq, prepare=prepare, binary=binary)
            return
        self._query = pgq
        self._pgconn.enter_pipeline_mode()
        try:
            groups = self._send(self._settings_query(settings)) + self._send(pgq)
            self._pgconn.pipeline_sync()
            yield from generators.send(self._pgconn)
            results = yield from self._fetch(groups)
        finally:
            self._leave_pipeline()
        self._check_all(results)
        self._set_results(results[-1:])

    def _settings_query(self, settings: Settings) -> PostgresQuery:
        """Made once for a cursor: what follows changes its values alone."""
        names, values = zip(*settings, strict=True)
        if self._names_told != names:
            self._told = PostgresRawQuery(self._tx)
            self._told.convert(_said_beside(names), values)
            self._names_told = names
        self._told.params = [value.encode() for value in values]
        return self._told

    def _send(self, query: PostgresQuery) -> int:
        """Into the pipeline, prepared as the connection's own account says. Returns how many answers there will be."""
        known = self._conn._prepared  # noqa: SLF001  the account of what is prepared, which psycopg keeps for itself
        prep, name = known.get(query)
        known.maybe_add_to_cache(query, prep, name)
        if prep is Prepare.NO:
            self._execute_send(query, force_extended=True)
            return 1
        if prep is Prepare.SHOULD:
            self._send_prepare(name, query)
        self._send_query_prepared(name, query)
        return 2 if prep is Prepare.SHOULD else 1

    def _check_all(self, results: list[PGresult]) -> None:
        try:
            self._check_results(results)
        except psycopg.Error:
            # What failed may have been the preparing, which is already in the account.
            self._conn._prepared.clear()  # noqa: SLF001  as above
            raise

    def _fetch(self, groups: int) -> PQGen[list[PGresult]]:
        found: list[PGresult] = []
        for _ in range(groups):
            found += yield from generators.fetch_many(self._pgconn)
        yield from generators.fetch_many(self._pgconn)
        return found

    def _leave_pipeline(self) -> None:
        """With answers that nobody has fetched the connection is of no use any more."""
        if self._pgconn.status != ConnStatus.OK:
            return
        try:
            self._pgconn.exit_pipeline_mode()
        except psycopg.OperationalError:
            self._conn.close()
