"""Logs as their rows keep them: read in order, spread as releases before wrote them, and tampered with."""

import orjson
from django.db import connection

from sessions_app.engine import deflation
from sessions_app.models import Event
from sessions_app.selectors.log_reading import unpacked
from teams_app.engine.ids import Prefix, from_text
from workflows_app.engine import canonical


def logged(*kinds, **of):
    """The events of these rows, session by session in order; of these kinds only when any is named."""
    rows = Event.objects.filter(**of).order_by("session_id", "index")
    return [event for row in rows for event in unpacked(row) if not kinds or event.kind in kinds]


def told(*kinds, **of):
    return [orjson.loads(event.body) for event in logged(*kinds, **of)]


def count_events(**of):
    return len(logged(**of))


def without_guard(statement, parameters):
    """What only the owner of the table can do; how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute(statement, parameters)
        changed = cursor.rowcount
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")
    return changed


def spread(session_id):
    """The log as releases before wrote it: a row for each event, with what its body says in columns beside it."""
    events = logged(session_id=session_id)
    without_guard("DELETE FROM sessions_app_event WHERE session_id = %s", [session_id])
    Event.objects.bulk_create([_alone(event) for event in events])


def _alone(event):
    row, envelope = event.row, event.envelope
    return Event(
        born_on=row.born_on,
        session_id=row.session_id,
        index=event.index,
        count=1,
        team_id=row.team_id,
        body=event.body,
        digest=event.digest,
        created_at=row.created_at,
        seal=row.seal if event.index == row.index else None,
        event_id=from_text(Prefix.EVENT, envelope["eventId"]),
        kind=event.kind,
        run_id=event.run_id,
        node_id=event.node_id,
        dedupe=envelope["dedupeKey"],
    )


def repacked(row, change, *, digest=None):
    """The bytes of a row with the bodies of its events changed, chained anew within it; and the digest of the last."""
    bodies = change(list(deflation.unpack(bytes(row.body), count=row.count)))
    digests = [canonical.digest(body) for body in bodies]
    return deflation.pack(bodies, digests), digest or digests[-1]


def rewrite(row, change, *, keeps_digest=False):
    """Somebody who owns the database puts other events into a row."""
    body, digest = repacked(row, change, digest=row.digest if keeps_digest else None)
    of = "WHERE born_on = %s AND session_id = %s AND index = %s"
    changed = without_guard(
        f"UPDATE sessions_app_event SET body = %s, digest = %s {of}",
        [body, digest, row.born_on, row.session_id, row.index],
    )
    assert changed == 1
