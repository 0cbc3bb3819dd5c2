"""Modes: the server's, the team's, the session's, the node's; who may change them; what is warned of."""

import os

import pytest

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.services.moves import runs, sessions
from teams_app.engine.errors import ForbiddenError, NotFoundError
from tests import run_cast
from tests.engine_play import NEVER_STOP, STOP_ON_USER
from tests.run_cast import NOW, advanced, begin, events, plain_steps, run_id, session_id, warning_codes
from workflows_app.engine.program import Autonomy, RiskPolicy
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db

GUIDED = {"autonomy": "guided", "riskPolicy": "conservative"}
BOLD = PreferenceChange(autonomy=Autonomy.NEVER_STOP, risk_policy=RiskPolicy.AGGRESSIVE)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def team_prefers(desk, autonomy, risk_policy="conservative"):
    from sessions_app.models import TeamPreferences

    TeamPreferences.objects.update_or_create(
        team_id=desk.team_id, defaults={"autonomy": autonomy, "risk_policy": risk_policy, "updated_at": NOW}
    )


def change(actor, value, wanted):
    return runs.change_preferences(
        actor=actor, run_id=run_id(value), change=wanted, now=NOW, entropy=os.urandom, speech=RAIL
    ).value


def test_without_any_word_a_run_is_guided_and_conservative(desk):
    assert begin(desk, *plain_steps(2))["preferences"] == GUIDED


def test_the_team_goes_before_the_server_and_the_call_before_the_team(desk):
    team_prefers(desk, "full_auto_stop_on_user_deps", "balanced")
    run_cast.published(desk, *plain_steps(2))

    teams, calls = run_cast.start(desk).value, run_cast.start(desk, preferences=NEVER_STOP).value

    assert teams["preferences"] == {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}
    assert calls["preferences"] == {"autonomy": "full_auto_never_stop", "riskPolicy": "balanced"}


def test_a_later_change_of_the_team_does_not_reach_back(desk):
    value = begin(desk, *plain_steps(3))
    team_prefers(desk, "full_auto_never_stop")

    assert advanced(desk.agent, value)["preferences"] == GUIDED
    again = run_cast.start(desk, session_id=session_id(value)).value
    assert again["preferences"] == GUIDED
    assert run_cast.start(desk).value["preferences"]["autonomy"] == "full_auto_never_stop"


def test_runs_of_a_session_begin_with_its_baseline(desk):
    team_prefers(desk, "full_auto_stop_on_user_deps")
    begun = sessions.start_session(
        actor=desk.agent, title="Chat", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    ).value
    team_prefers(desk, "full_auto_never_stop")
    run_cast.published(desk, *plain_steps(2))

    value = run_cast.start(desk, session_id=session_id(begun)).value

    assert begun["preferences"]["autonomy"] == value["preferences"]["autonomy"] == "full_auto_stop_on_user_deps"


def test_preferences_of_a_node_go_down_its_branch(desk):
    value = begin(desk, *plain_steps(4))

    bold = advanced(desk.agent, value, preferences=BOLD)

    then = advanced(desk.agent, bold)
    assert then["preferences"] == {"autonomy": "full_auto_never_stop", "riskPolicy": "aggressive"}
    assert [event["data"]["preferences"]["autonomy"] for event in events(then, "node_created")] == [
        "guided",
        "full_auto_never_stop",
        "full_auto_never_stop",
    ]


@pytest.mark.parametrize(
    "how",
    [
        lambda desk: run_cast.start(desk, preferences=BOLD).value,
        lambda desk: advanced(desk.agent, run_cast.start(desk).value, preferences=BOLD),
        lambda desk: change(desk.person, run_cast.start(desk).value, BOLD),
    ],
)
def test_a_mode_above_the_recommended_one_is_taken_with_a_warning_each(desk, how):
    recommended = {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"}
    run_cast.published(desk, *plain_steps(3), recommendedPreferences=recommended)

    value = how(desk)

    assert warning_codes(value) == ["MODE_ABOVE_RECOMMENDED"] * 2
    assert "at most guided" in value["warnings"][0]["message"]
    assert value["preferences"]["autonomy"] == "full_auto_never_stop"
    recorded = events(value, "preferences_changed")[-1]["data"]
    assert len(recorded["warnings"]) == 2


def test_a_mode_within_the_recommended_one_is_no_warning(desk):
    recommended = {"recommendedAutonomy": "full_auto_never_stop", "recommendedRiskPolicy": "aggressive"}
    run_cast.published(desk, *plain_steps(3), recommendedPreferences=recommended)

    assert run_cast.start(desk, preferences=BOLD).value["warnings"] == []


def test_between_steps_people_who_steer_change_the_mode_and_keys_do_not(desk):
    value = begin(desk, *plain_steps(2))

    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            change(actor, value, STOP_ON_USER)
    assert change(desk.person, value, STOP_ON_USER)["preferences"]["autonomy"] == "full_auto_stop_on_user_deps"


def test_a_run_of_another_team_is_as_none(desk):
    from dataclasses import replace

    value = begin(desk, *plain_steps(2))

    with pytest.raises(NotFoundError):
        change(replace(desk.person, team_id=desk.stranger.team_id), value, STOP_ON_USER)
