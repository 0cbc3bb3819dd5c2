"""What teams and sessions begin with: who may change it, what is recorded, and that it never reaches back."""

import os
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest
from django.db import connection
from msgspec import structs

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.state import Preferences, snapshot_bytes, snapshot_from_bytes
from sessions_app.models import Event, Node, Run, Snapshot, TeamPreferences, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.preferences import baseline_of, read_team_preferences
from sessions_app.services.people.preferences import set_session_preferences, set_team_preferences
from sessions_app.services.upkeep import ledger
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, NotFoundError
from tests import logs, run_cast
from tests.cast import audited
from tests.checkpoint_cast import at_question
from tests.run_cast import (
    advance,
    advanced,
    assert_healthy,
    events,
    plain_steps,
    published,
    run_id,
    session_id,
    soon,
    start,
)
from workflows_app.engine import canonical
from workflows_app.engine.program import Autonomy, RiskPolicy

pytestmark = pytest.mark.django_db

NEVER_STOP = PreferenceChange(autonomy=Autonomy.NEVER_STOP)
BALANCED = PreferenceChange(risk_policy=RiskPolicy.BALANCED)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def change_session(actor, value, change, minute=5):
    return set_session_preferences(
        actor=actor, session_id=session_id(value), change=change, now=soon(minute), entropy=os.urandom
    )


def test_a_change_of_one_leaves_the_other(desk):
    set_team_preferences(actor=desk.owner, change=NEVER_STOP, now=soon(1))
    preferences = set_team_preferences(actor=desk.owner, change=BALANCED, now=soon(2))

    assert preferences == baseline_of(actor=desk.agent) == read_team_preferences(actor=desk.viewer)
    assert preferences.as_json() == {
        "autonomy": "full_auto_never_stop",
        "riskPolicy": "balanced",
        "waivedBy": desk.owner.id,
    }
    assert TeamPreferences.objects.count() == 1


def test_a_change_for_the_team_is_in_its_audit_log(desk):
    from teams_app.models import AuditEntry

    set_team_preferences(actor=desk.owner, change=BALANCED, now=soon(1))

    assert audited(desk.team_id) == ["preferences.changed"]
    assert AuditEntry.objects.get().details == {"autonomy": "guided", "riskPolicy": "balanced"}


def test_only_an_owner_changes_them_for_the_team(desk):
    for actor in (desk.person, desk.viewer, desk.agent):
        with pytest.raises(ForbiddenError):
            set_team_preferences(actor=actor, change=BALANCED, now=soon(1))

    assert not TeamPreferences.objects.exists()


def test_another_team_keeps_its_own(desk):
    set_team_preferences(actor=desk.owner, change=BALANCED, now=soon(1))

    assert baseline_of(actor=desk.stranger).as_json() == {"autonomy": "guided", "riskPolicy": "conservative"}


def test_sessions_that_are_there_keep_what_they_began_with(desk):
    published(desk, *plain_steps(1))
    before = start(desk, now=soon(0)).value

    set_team_preferences(actor=desk.owner, change=NEVER_STOP, now=soon(1))
    in_old_session = start(desk, session_id=session_id(before), now=soon(2)).value
    in_new_session = start(desk, now=soon(3)).value

    assert in_old_session["preferences"]["autonomy"] == "guided"
    assert in_new_session["preferences"]["autonomy"] == "full_auto_never_stop"


def test_a_sessions_change_is_an_event_of_its_log_and_the_chain_goes_on(desk):
    published(desk, *plain_steps(2))
    value = start(desk, now=soon(0)).value

    change_session(desk.person, value, NEVER_STOP)
    after = advanced(desk.agent, value)

    (event,) = [event for event in events(value, "preferences_changed") if "scope" not in event]
    assert event["data"]["delta"] == [
        {"key": "autonomy", "value": "full_auto_never_stop"},
        {"key": "waivedBy", "value": desk.person.id},
    ]
    assert after["preferences"]["autonomy"] == "guided"
    assert start(desk, session_id=session_id(value)).value["preferences"]["autonomy"] == "full_auto_never_stop"
    assert_healthy(value)


def test_what_is_so_already_is_not_recorded(desk):
    published(desk, *plain_steps(1))
    value = start(desk, now=soon(0)).value
    change_session(desk.person, value, NEVER_STOP)
    told = len(events(value))

    change_session(desk.person, value, NEVER_STOP, minute=6)

    assert len(events(value)) == told
    assert WorkSession.objects.get().last_activity_at == soon(5)


def test_it_can_be_changed_back_and_forth(desk):
    published(desk, *plain_steps(1))
    value = start(desk, now=soon(0)).value
    back = PreferenceChange(autonomy=Autonomy.GUIDED)

    for minute, change in enumerate((NEVER_STOP, back, NEVER_STOP), 5):
        change_session(desk.person, value, change, minute=minute)

    assert WorkSession.objects.get().autonomy == "full_auto_never_stop"
    assert_healthy(value)


def test_a_key_does_not_steer_and_a_stranger_finds_no_session(desk):
    published(desk, *plain_steps(1))
    value = start(desk, now=soon(0)).value
    stranger = replace(desk.owner, team_id=desk.stranger.team_id)

    with pytest.raises(ForbiddenError):
        change_session(desk.agent, value, NEVER_STOP)
    with pytest.raises(NotFoundError):
        change_session(stranger, value, NEVER_STOP)


# What whoever owns the tables writes into them

WAIVED = {"autonomy": "full_auto_never_stop", "waived_by": "per_somebody"}


def planted(value, **columns):
    before = WorkSession.objects.filter(pk=session_id(value)).values("autonomy", "risk_policy", "waived_by").get()
    WorkSession.objects.filter(pk=session_id(value)).update(**columns)
    return before


def waives(value):
    node = Node.objects.get(pk=Run.objects.get(pk=run_id(value)).tip_node_id)
    snapshot = Snapshot.objects.get(team_id=node.team_id, digest=node.snapshot_digest)
    return snapshot_from_bytes(bytes(snapshot.data)).preferences.waived_by


def reasons_of(value):
    return {finding.reason for finding in verify_session(session_id(value))}


def said_nothing_of_preferences(desk, value):
    """As a release before began the session, which was adopted later."""
    (first,) = logs.logged("session_created", session_id=session_id(value))

    def without(bodies):
        told = [orjson.loads(body) for body in bodies]
        del told[0]["data"]["preferences"]
        for before, event in pairwise(told):
            event["previousDigest"] = canonical.canonical_digest(before)
        return [canonical.canonical_bytes(event) for event in told]

    row = Event.objects.get(pk=first.row.pk)
    logs.rewrite(row, without)
    row = Event.objects.get(pk=first.row.pk)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute("UPDATE sessions_app_event SET seal = NULL WHERE session_id = %s", [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")
    WorkSession.objects.filter(pk=session_id(value)).update(head_seal="", head_digest=row.digest)
    ledger.enter_sessions(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=soon(1), adopt=True)


@pytest.mark.parametrize("is_old", [False, True])
def test_that_nobody_is_asked_is_believed_of_the_log_and_of_no_column(desk, is_old):
    published(desk, *plain_steps(2))
    value = start(desk, now=soon(0)).value
    if is_old:
        said_nothing_of_preferences(desk, value)
    assert_healthy(value)

    before = planted(value, **WAIVED)
    assert reasons_of(value) == {"stale_projection"}
    begun = start(desk, session_id=session_id(value), now=soon(2)).value
    changed = change_session(desk.person, value, BALANCED)
    planted(value, **{**before, "autonomy": "full_auto_never_stop", "risk_policy": "balanced"})

    assert waives(begun) == ""
    assert (changed.autonomy, changed.waived_by) == (Autonomy.NEVER_STOP, "")
    assert waives(start(desk, session_id=session_id(value), now=soon(6)).value) == ""
    assert_healthy(value)


def test_what_a_person_waived_is_believed_also_in_a_session_whose_beginning_told_nothing(desk):
    published(desk, *plain_steps(2))
    value = start(desk, now=soon(0)).value
    said_nothing_of_preferences(desk, value)

    change_session(desk.person, value, NEVER_STOP)
    change_session(desk.person, value, BALANCED, minute=6)

    assert waives(start(desk, session_id=session_id(value), now=soon(7)).value) == desk.person.id
    assert_healthy(value)


def test_a_state_in_which_nobody_is_asked_is_told_for_ever_where_nobody_chose_it(desk):
    """The row is put back: what went on from it stays."""
    value = at_question(desk, authority="human")
    run = Run.objects.get(pk=run_id(value))
    node = Node.objects.get(pk=run.tip_node_id)
    kept = Snapshot.objects.get(team_id=node.team_id, digest=node.snapshot_digest)
    waived = Preferences(autonomy=Autonomy.NEVER_STOP, waived_by="per_somebody")
    data = snapshot_bytes(structs.replace(snapshot_from_bytes(bytes(kept.data)), preferences=waived))
    Snapshot.objects.create(team_id=node.team_id, digest=canonical.digest(data), data=data)
    Node.objects.filter(pk=node.pk).update(snapshot_digest=canonical.digest(data), autonomy=waived.autonomy.value)
    advance(desk.agent, value)
    Node.objects.filter(pk=node.pk).update(snapshot_digest=node.snapshot_digest, autonomy=node.autonomy)
    Snapshot.objects.filter(team_id=node.team_id, digest=canonical.digest(data)).delete()

    assert Run.objects.get(pk=run_id(value)).tip_node_id != node.pk
    assert "waiver_untold" in reasons_of(value)
