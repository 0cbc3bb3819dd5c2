"""Is the process alive, and can it do its work."""

from collections.abc import Callable
from functools import cache

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from teams_app.api import replica
from workrail_site import redis_pool

_OK = "ok"
_DEGRADED = "degraded"
_DISPENSABLE = frozenset({"redis", "replica"})


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": _OK})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Without Redis runs go on: what waits for a worker waits, and limits are not counted. So it is degraded, not dead. So it is
    without the replica, whose part the primary takes.
    """
    parts = check_parts()
    wrong = {name for name, state in parts.items() if state != _OK}
    status = _OK if not wrong else _DEGRADED if wrong <= _DISPENSABLE else "unavailable"
    return JsonResponse({"status": status, **parts}, status=503 if wrong - _DISPENSABLE else 200)


def check_parts() -> dict[str, str]:
    """What each part says of itself; `ok` is well."""
    return {name: check() for name, check in _CHECKS.items()}


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return _OK


def _redis() -> str:
    try:
        redis_pool.client().ping()
    except redis.RedisError:
        return "unreachable"
    return _OK


def _replica() -> str:
    return "away" if replica.is_away() else _OK


def _migrations() -> str:
    try:
        return _OK if _migrated() else "unapplied"
    except DatabaseError:
        return "unknown"


class _UnappliedError(Exception):
    pass


@cache
def _no_migration_waits() -> None:
    """Raises while one waits: only the good answer is cached, for reading the plan costs tens of milliseconds."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise _UnappliedError


def _migrated() -> bool:
    try:
        _no_migration_waits()
    except _UnappliedError:
        return False
    return True


_CHECKS: dict[str, Callable[[], str]] = {"database": _database, "redis": _redis, "migrations": _migrations}
if replica.ALIAS in settings.DATABASES:
    _CHECKS["replica"] = _replica
