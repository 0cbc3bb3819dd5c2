"""What the moves of runs ask of the tables, and the cursor by which they ask. A simulation answers from memory: the functions that
are marked here are the whole boundary between what decides and what keeps.
"""

import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, LiteralString, ParamSpec, TypeVar, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Where the cursor of a connection is kept, on Django's wrapper of it.
_KEPT = "workrail_prepared_cursor"

# Every function that is asked, by its name, as it asks Postgres.
QUESTIONS: dict[str, Callable[..., Any]] = {}
_stand_in: ContextVar[Any] = ContextVar("stand_in", default=None)


def asked(question: Callable[_P, _R]) -> Callable[_P, _R]:
    """Marks what reads or writes tables for a move. Where a stand-in answers, it is asked by the same name."""
    name = question.__name__
    if name in QUESTIONS:
        raise ValueError(f"There are two questions of the name {name}.")
    QUESTIONS[name] = question

    @wraps(question)
    def ask(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        stand_in = _stand_in.get()
        if stand_in is None:
            return question(*args, **kwargs)
        answer: _R = getattr(stand_in, name)(*args, **kwargs)
        return answer

    return ask


@contextmanager
def answered_by(stand_in: object) -> Iterator[None]:
    """In this context nothing of `QUESTIONS` is asked of Postgres."""
    missing = [name for name in QUESTIONS if not hasattr(stand_in, name)]
    if missing:
        raise TypeError(f"The stand-in does not answer {', '.join(sorted(missing))}.")
    token = _stand_in.set(stand_in)
    try:
        yield
    finally:
        _stand_in.reset(token)


class PreparedCursor:
    """Fails as Django's own cursors do: with the errors of `django.db`, and so that Django hears of a lost connection.

    One is kept for each connection: what it has read is fetched before it is asked again.
    """

    __slots__ = ("_cursor", "_django", "_waiting", "raw")

    def __init__(self, django: BaseDatabaseWrapper) -> None:
        self._django = django
        self.raw: psycopg.Connection[Any] = django.connection
        # Ours, which says whose rows may be shown: `workrail_site.postgres`.
        self._cursor: psycopg.RawCursor[Any] = cast("Any", django).raw_cursor_class(self.raw)
        self._waiting = select.poll()
        if not self.raw.closed:
            self._waiting.register(self.raw.pgconn.socket, select.POLLIN)

    def execute(self, statement: LiteralString, parameters: Sequence[Any]) -> psycopg.RawCursor[Any]:
        with self._django.wrap_database_errors:
            return self._cursor.execute(statement, parameters)

    def is_lost(self) -> bool:
        """Whether the server has left: told by the socket, without asking the server.

        Nothing is under way on it, so what can be read there is its end, or a message that libpq keeps for later.
        """
        if self.raw.closed:
            return True
        try:
            while self._waiting.poll(0):
                self.raw.pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        return False


def prepared_cursor() -> PreparedCursor:
    """A cursor of psycopg's own on Django's connection, with native placeholders.

    Django's wrapper never prepares a statement, and parsing the text of a long one costs more than running it.
    """
    django = connections[DEFAULT_DB_ALIAS]
    kept = _kept_by(django)
    if kept is not None:
        if django.in_atomic_block or not kept.is_lost():
            return kept
        django.close()
    django.ensure_connection()
    return _kept_by(django) or PreparedCursor(django)


def _kept_by(django: BaseDatabaseWrapper) -> PreparedCursor | None:
    if django.connection is None:
        return None
    kept: PreparedCursor | None = getattr(django, _KEPT, None)
    if kept is None or kept.raw is not django.connection:
        kept = PreparedCursor(django)
        setattr(django, _KEPT, kept)
    return kept
