"""A change that holds only for what its caller has seen: one transaction, and it happens as long as nobody else has been there since."""

from collections.abc import Callable
from typing import TypeVar

import psycopg
from django.db import DatabaseError, connection, transaction

T = TypeVar("T")

# Of those who change the same rows at once one comes through each time.
_MOST_TRIES = 16
# Another writer was first: with a row that was read here, or with one of the same name.
_BEATEN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation)


def change_unchanged(*, check: Callable[[], None], change: Callable[[], T]) -> T:
    """`check` reads how the thing stands and raises where that is not what the caller has seen; `change` is one call of a service.
    Both see one moment. Postgres refuses to write what was written since; then both are asked anew.
    """
    for left in reversed(range(_MOST_TRIES)):
        try:
            return _at_one_moment(check, change)
        except (DatabaseError, psycopg.Error) as error:
            if not left or not _is_beaten(error):
                raise
    raise AssertionError


def _at_one_moment(check: Callable[[], None], change: Callable[[], T]) -> T:
    if connection.in_atomic_block:
        check()
        return change()
    # By hand, since a service's own transaction is the outermost and insists on it: it ends within this one.
    transaction.set_autocommit(False)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        check()
        changed = change()
        transaction.commit()
    except BaseException:
        transaction.rollback()
        raise
    finally:
        transaction.set_autocommit(True)
    return changed


def _is_beaten(error: Exception) -> bool:
    return isinstance(error.__cause__ if isinstance(error, DatabaseError) else error, _BEATEN)
