"""Django's command, by which an upgrade may be interrupted anywhere and run again, and of two at once one waits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration
from django.db.migrations.state import ProjectState

_TURN = 0x776F726B_7261696C
_LOOK_AGAIN_SECONDS = 0.2


class WholeExecutor(MigrationExecutor):
    """Records a migration in its own transaction. Django does so after it, where constraints or indexes are made last: killed in
    between, it was there and not recorded, and could never be made again.
    """

    def apply_migration(self, state: ProjectState, migration: Migration, *args: Any, **options: Any) -> ProjectState:
        if not migration.atomic:
            return super().apply_migration(state, migration, *args, **options)
        with transaction.atomic(using=self.connection.alias):
            return super().apply_migration(state, migration, *args, **options)


# The command makes one of this name.
migrate.MigrationExecutor = WholeExecutor  # type: ignore[attr-defined]  # the stubs name the command alone


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["check_unapplied"] or options["plan"]:
            super().handle(*args, **options)
            return
        with _turn(connections[options["database"]]):
            super().handle(*args, **options)


@contextmanager
def _turn(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Asked for again and again: an index that is built beside writers would wait for a statement that waits for this."""
    with connection.cursor() as cursor:
        while not _taken(cursor):
            time.sleep(_LOOK_AGAIN_SECONDS)
    try:
        yield
    finally:
        # One whose connection is gone has lost its turn with it.
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_TURN])


def _taken(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [_TURN])
    return bool(cursor.fetchone()[0])
