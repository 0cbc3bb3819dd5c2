"""What teams and sessions begin with: who may change it, what is recorded, and that it never reaches back."""

import os
from dataclasses import replace

import pytest

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.models import TeamPreferences, WorkSession
from sessions_app.selectors.preferences import baseline_of, read_team_preferences
from sessions_app.services.people.preferences import set_session_preferences, set_team_preferences
from teams_app.engine.errors import ForbiddenError, NotFoundError
from tests import run_cast
from tests.cast import audited
from tests.run_cast import advanced, assert_healthy, events, plain_steps, published, session_id, soon, start
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
