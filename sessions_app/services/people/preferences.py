"""Preferences that others begin with: a team's for its sessions, a session's for its runs. Neither reaches back."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine.decisions import PreferenceChange, PreferenceSource
from sessions_app.engine.log import EventDraft, EventKind
from sessions_app.engine.state import Preferences
from sessions_app.models import TeamPreferences
from sessions_app.selectors.preferences import preferences_of, told_baseline
from sessions_app.selectors.standings import SessionStanding, read_session
from sessions_app.services.moves.moving import Entropy, Tries
from sessions_app.services.moves.requests import set_by
from sessions_app.services.store.session_events import append_to_session
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text
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
    TeamPreferences.objects.filter(pk=actor.team_id).update(
        **_columns(preferences), updated_at=now, updated_by=actor.id
    )
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
    tries = Tries()
    while True:
        tries.begin()
        standing = read_session(team_id=actor.team_id, session_id=session_id)
        if standing is None:
            raise NotFoundError("There is no such session.", suggestion="List the sessions of your team for their ids.")
        standing = replace(standing, baseline=told_baseline(standing))
        preferences = change.applied_to(standing.baseline)
        if preferences == standing.baseline or _write(actor, standing, preferences, now, entropy):
            return preferences


@transaction.atomic(durable=True)
def _write(actor: Actor, standing: SessionStanding, preferences: Preferences, now: datetime, entropy: Entropy) -> bool:
    return append_to_session(
        actor=actor,
        standing=standing,
        draft=_draft(standing, preferences),
        columns=_columns(preferences),
        now=now,
        entropy=entropy,
    )


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
