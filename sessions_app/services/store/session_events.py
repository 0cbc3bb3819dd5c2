"""One more event in the log of a session that no run moves by: what a person has decided about the whole."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sessions_app.engine.log import Event, EventDraft, seal
from sessions_app.models import Event as EventRow, WorkSession
from sessions_app.selectors.standings import SessionStanding, birth_date
from sessions_app.services.moves.moving import Entropy
from sessions_app.services.store import appends
from sessions_app.services.store.hot_write import packed
from teams_app.engine.actors import Actor
from teams_app.engine.ids import uuid7


def append_to_session(
    *,
    actor: Actor,
    standing: SessionStanding,
    draft: EventDraft,
    columns: Mapping[str, Any],
    now: datetime,
    entropy: Entropy,
) -> bool:
    """Inside a transaction of the caller, with these columns of the session. False when another writer was first."""
    unix_ms = int(now.timestamp() * 1000)
    sealed = seal(
        drafts=[draft],
        session_id=standing.session_id,
        head=standing.head,
        event_ids=[uuid7(unix_ms=unix_ms, random=entropy(10))],
        timestamp_ms=unix_ms,
    )
    # The condition is the lock: when another writer was first, no row is found and nothing is written.
    grown = WorkSession.objects.filter(
        pk=standing.session_id,
        team_id=actor.team_id,
        next_event_index=standing.head.next_index,
        head_digest=standing.head.digest,
    ).update(
        next_event_index=sealed.head.next_index,
        head_digest=sealed.head.digest,
        head_seal=appends.head_seal(session_id=standing.session_id, team_id=actor.team_id, head=sealed.head),
        last_activity_at=now,
        **columns,
    )
    if grown:
        _append(actor, standing, sealed.events[0], now)
    return grown == 1


def _append(actor: Actor, standing: SessionStanding, event: Event, now: datetime) -> None:
    EventRow.objects.create(
        born_on=birth_date(standing.session_id),
        session_id=standing.session_id,
        index=event.index,
        team_id=actor.team_id,
        body=packed([event]),
        digest=event.digest,
        created_at=now,
        seal=appends.event_seal(
            event=event, session_id=standing.session_id, team_id=actor.team_id, now=now, actor=actor.id
        ),
    )
