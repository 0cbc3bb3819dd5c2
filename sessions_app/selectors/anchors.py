"""Where everything ends now, and whether what an anchor tells is still in the tables."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, assert_never
from uuid import UUID

import psycopg
from django.db import connection

from sessions_app.engine.anchors import Anchored, End
from sessions_app.engine.log import Head
from sessions_app.selectors.integrity import Finding
from sessions_app.selectors.ledgers import told_deletions
from sessions_app.selectors.standings import birth_date
from teams_app.services.audit_chain import audit_digests, audit_ends

_ROWS_AT_ONCE = 2_000
_COMPARED_AT_ONCE = 1_000

_ENDS = """
SELECT 'session', id, next_event_index, head_digest FROM sessions_app_worksession
UNION ALL
SELECT 'ledger', team_id, next_number, head_digest FROM sessions_app_ledger
ORDER BY 1, 2
"""
# What stands now at the place that was the last one then.
_SESSIONS = """
SELECT given.owner, e.digest
FROM unnest(%s::uuid[], %s::date[], %s::int[]) AS given (owner, born_on, place)
LEFT JOIN sessions_app_event e ON e.born_on = given.born_on AND e.session_id = given.owner AND e.index = given.place
"""
_LEDGERS = """
SELECT given.owner, e.digest FROM unnest(%s::uuid[], %s::int[]) AS given (owner, place)
LEFT JOIN sessions_app_ledgerentry e ON e.team_id = given.owner AND e.number = given.place
"""


def read_ends() -> Iterator[End]:
    """The transaction is the caller's, and its state of the tables. No more than a portion is kept at a time."""
    connection.ensure_connection()
    with psycopg.ServerCursor(connection.connection, "ends") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(_ENDS)
        for what, owner, next_index, digest in cursor:
            yield End(what=Anchored(what), owner=owner, head=Head(next_index=next_index, digest=digest))
    for team_id, next_number, digest in audit_ends():
        yield End(what=Anchored.AUDIT, owner=team_id, head=Head(next_index=next_number, digest=digest))


def compare_ends(ends: Iterable[End]) -> Iterator[Finding]:
    """What an anchor tells and the tables no longer hold."""
    waiting = iter(ends)
    while portion := list(islice(waiting, _COMPARED_AT_ONCE)):
        for what in Anchored:
            of_kind = [end for end in portion if end.what is what and end.head.next_index]
            if of_kind:
                yield from _compare(what, of_kind)


def _compare(what: Anchored, ends: Sequence[End]) -> Iterator[Finding]:
    """A session may be deleted, where a sealed entry of its team's ledger says so: anybody can write one that is not."""
    found = _read(what, ends)
    gone = [owner for owner, digest in found.items() if digest is None] if what is Anchored.SESSION else []
    deleted = told_deletions(gone).keys() if gone else set()
    for end in ends:
        digest = found[end.owner]
        if digest == end.head.digest or end.owner in deleted:
            continue
        now = "is gone" if digest is None else "is another one"
        message = (
            f"The {what.value} went up to {end.head.next_index - 1} when the anchor was made; what stood there {now}."
        )
        is_session = what is Anchored.SESSION
        yield Finding(
            session_id=end.owner if is_session else None,
            team_id=None if is_session or end.owner == UUID(int=0) else end.owner,
            reason="anchor_mismatch",
            message=message,
        )


def _read(what: Anchored, ends: Sequence[End]) -> dict[UUID, str | None]:
    """By owner the digest of what stands at that place now."""
    places = {end.owner: end.head.next_index - 1 for end in ends}
    match what:
        case Anchored.SESSION:
            born_on = [birth_date(owner) for owner in places]
            return _rows(_SESSIONS, list(places), born_on, list(places.values()))
        case Anchored.LEDGER:
            return _rows(_LEDGERS, list(places), list(places.values()))
        case Anchored.AUDIT:
            stored = audit_digests(places)
            return {owner: stored.get(owner) for owner in places}
        case _:
            assert_never(what)


def _rows(sql: str, *parameters: Any) -> dict[UUID, str | None]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return dict(cursor.fetchall())
