"""Whose turn it is to make a workflow or an alias of a name that nobody has: there is no row yet that could be locked."""

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

from django.db import connection


def hold_names(*, team_id: UUID, names: Iterable[str]) -> None:
    """Until the transaction ends nobody else of the team makes or removes what is called so. Call it before any row is locked
    and the audit log is told of anything; whoever holds several names takes them in one order.
    """
    keys = sorted({_key(team_id, name) for name in names})
    with connection.cursor() as cursor:
        for key in keys:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def _key(team_id: UUID, name: str) -> int:
    digest = sha256(team_id.bytes + name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
