"""A read of several statements that must fit together: one state of the tables, and nothing can be written."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from workflows_app.selectors.asked import asked


@asked
@contextmanager
def one_state() -> Iterator[None]:
    """Must be the outermost transaction: Postgres sets this before the first statement or not at all."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
