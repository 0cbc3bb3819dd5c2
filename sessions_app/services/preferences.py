"""Preferences that others begin with: a team's for its sessions, a session's for its runs. Neither reaches back."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine.decisions import PreferenceChange, PreferenceSource
from sessions_app.engine.log import Event, EventDraft, EventKind, seal
from sessions_app.engine.state import Preferences
from sessions_app.models import Event as EventRow, TeamPreferences, WorkSession
from sessions_app.selectors.preferences import preferences_of
from sessions_app.selectors.standings import SessionStanding, birth_date, read_session
from sessions_app.services import sealing
from sessions_app.services.attempts import MAX_TRIES, busy, set_by
from sessions_app.services.minting import Entropy
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text, uuid7
from teams_app.services.audit import record_audit


@transaction.atomic(durable=True)
def set_team_preferences(*, actor: Actor, change: PreferenceChange, now: datetime) -> Preferences:
    """What the team's sessions begin with from now on. Those that are there keep what they have."""
    actor.require(Permission.MANAGE_TEAM)
    TeamPreferences.objects.bulk_create(
        [TeamPreferences(pk=actor.team_id, **_columns(Preferences()), updated_at=now)], ignore_conflicts=True
    )
    # Of two changes at once the later sees the earlier: the row is locked until that has committed.
    row = TeamPreferences.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    preferences = set_by(actor, change).applied_to(preferences_of(row))
    TeamPreferences.objects.filter(pk=actor.team_id).update(**_columns(preferences), updated_at=now)
    record_audit(
        actor=actor,
        action="preferences.changed",
        target=to_text(Prefix.TEAM, actor.team_id),
        now=now,
        details=preferences.as_json(),
    )
    return preferences


def set_session_preferences(
    *, actor: Actor, session_id: UUID, change: PreferenceChange, now: datetime, entropy: Entropy
) -> Preferences:
    """What the next runs of the session begin with; its runs keep what they have. What is so already is not recorded."""
    actor.require(Permission.STEER_RUNS)
    change = set_by(actor, change)
    for _ in range(MAX_TRIES):
        standing = read_session(team_id=actor.team_id, session_id=session_id)
        if standing is None:
            raise NotFoundError("There is no such session.", suggestion="List the sessions of your team for their ids.")
        preferences = change.applied_to(standing.baseline)
        if preferences == standing.baseline or _write(actor, standing, preferences, now, entropy):
            return preferences
    raise busy()


@transaction.atomic(durable=True)
def _write(actor: Actor, standing: SessionStanding, preferences: Preferences, now: datetime, entropy: Entropy) -> bool:
    unix_ms = int(now.timestamp() * 1000)
    sealed = seal(
        drafts=[_draft(standing, preferences)],
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
        head_seal=sealing.head_seal(session_id=standing.session_id, team_id=actor.team_id, head=sealed.head),
        last_activity_at=now,
        **_columns(preferences),
    )
    if grown:
        _append(actor, standing.session_id, sealed.events[0], now)
    return grown == 1


def _columns(preferences: Preferences) -> dict[str, str]:
    return {
        "autonomy": preferences.autonomy.value,
        "risk_policy": preferences.risk_policy.value,
        "waived_by": preferences.waived_by,
    }


def _draft(standing: SessionStanding, preferences: Preferences) -> EventDraft:
    before, effective = standing.baseline.as_json(), preferences.as_json()
    session = to_text(Prefix.SESSION, standing.session_id)
    return EventDraft(
        kind=EventKind.PREFERENCES_CHANGED,
        dedupe=f"{EventKind.PREFERENCES_CHANGED.value}:{session}:{standing.head.next_index}",
        data={
            "source": PreferenceSource.USER.value,
            "delta": [{"key": key, "value": value} for key, value in effective.items() if before.get(key) != value],
            "effective": effective,
            "warnings": [],
        },
    )


def _append(actor: Actor, session_id: UUID, event: Event, now: datetime) -> None:
    EventRow.objects.create(
        born_on=birth_date(session_id),
        session_id=session_id,
        index=event.index,
        team_id=actor.team_id,
        event_id=event.event_id,
        kind=event.kind.value,
        dedupe=event.dedupe,
        body=event.body,
        digest=event.digest,
        created_at=now,
        seal=sealing.event_seal(event=event, session_id=session_id, team_id=actor.team_id, now=now, actor=actor.id),
    )
