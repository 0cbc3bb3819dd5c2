"""The mode in the Studio: of a run, of a session, of the team; changed by a form, by whoever may, and never by a link."""

import re
from dataclasses import replace

import pytest
from django.test import Client

from sessions_app.engine.runs import Dialect
from sessions_app.models import Node, Run, TeamPreferences, WorkSession
from tests import run_doors
from tests.cast import audited
from tests.handover_cast import handed
from tests.run_cast import advanced, assert_healthy, events, plain_steps, published, run_id, session_id, start
from tests.studio_pages import content_of, said_on

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/studio/sessions_app"
TEAM = f"{ROOT}/worksession/defaults/"
RECOMMENDED = {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "conservative"}
NEVER_STOP = {"preset": "full_auto_never_stop"}
PLACES = ["run", "session", "team"]


@pytest.fixture
def doors():
    return run_doors.open_doors()


def begun(doors, **fields):
    published(doors.desk, *plain_steps(3), **fields)
    return start(doors.desk).value


def page_of(value, place):
    pages = {
        "run": f"{ROOT}/run/{run_id(value)}/change/",
        "session": f"{ROOT}/worksession/{session_id(value)}/change/",
        "team": TEAM,
    }
    return pages[place]


def form_of(value, place):
    return f"{page_of(value, place).removesuffix('change/')}mode/"


def shown(api, path, status=200):
    response = api.client.get(path)
    assert response.status_code == status, response.content
    page = response.content.decode()
    return content_of(page) if status == 200 else page


def post(api, value, place, fields=None):
    return api.client.post(form_of(value, place), NEVER_STOP if fields is None else fields)


AUTONOMIES = {
    "guided": "guided",
    "full_auto_stop_on_user_deps": "full auto that may stop",
    "full_auto_never_stop": "full auto that never stops",
}


def told(api, value, place):
    """What the page says after a change."""
    page = api.client.get(page_of(value, place)).content.decode()
    return said_on(page)


def in_force(value, place):
    if place == "run":
        row = Node.objects.get(id=Run.objects.get(id=run_id(value)).tip_node_id)
    elif place == "session":
        row = WorkSession.objects.get(id=session_id(value))
    else:
        row = TeamPreferences.objects.order_by("pk").first()
    return (row.autonomy, row.risk_policy) if row else ("guided", "conservative")


def stranger_to(doors):
    return run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("fields", "after"),
    [
        ({"preset": "full_auto_stop"}, ("full_auto_stop_on_user_deps", "balanced")),
        ({"autonomy": "full_auto_never_stop", "risk_policy": ""}, ("full_auto_never_stop", "conservative")),
        ({"autonomy": "", "risk_policy": "aggressive"}, ("guided", "aggressive")),
        ({"autonomy": "full_auto_never_stop", "risk_policy": "balanced"}, ("full_auto_never_stop", "balanced")),
    ],
)
def test_a_mode_is_changed_by_its_form_and_the_page_says_what_is_so_now(doors, place, fields, after):
    value = begun(doors)

    response = post(doors.owner, value, place, fields)

    assert (response.status_code, response["Location"]) == (302, page_of(value, place))
    assert in_force(value, place) == after
    ((kind, words),) = told(doors.owner, value, place)
    assert kind == "success"
    assert words.endswith(f"{AUTONOMIES[after[0]]}, {after[1]}.")
    assert_healthy(value)


def test_whoever_works_on_the_run_goes_on_with_their_tokens_in_the_new_mode(doors):
    value = begun(doors)

    post(doors.person, value, "run")
    after = advanced(doors.desk.agent, value)

    assert after["preferences"]["autonomy"] == "full_auto_never_stop"
    assert after["warnings"] == []
    assert after["pending"]["stepId"] == "step-1"


def test_what_is_above_the_recommended_is_done_and_warned_of(doors):
    value = begun(doors, recommendedPreferences=RECOMMENDED)

    post(doors.person, value, "run", {"autonomy": "full_auto_never_stop", "risk_policy": "aggressive"})

    (done, *warnings) = told(doors.person, value, "run")
    assert done[0] == "success"
    assert [kind for kind, _ in warnings] == ["warning", "warning"]
    assert "at most guided" in warnings[0][1]
    assert "at most conservative" in warnings[1][1]
    assert in_force(value, "run") == ("full_auto_never_stop", "aggressive")


def test_the_tree_of_the_run_says_where_the_mode_was_changed(doors):
    value = begun(doors)
    post(doors.person, value, "run")
    advanced(doors.desk.agent, value)

    (drawn,) = re.findall(r'<ol class="points".*?</ol>', shown(doors.viewer, page_of(value, "run")), re.DOTALL)
    lines = re.findall(r'class="sub">([^<]*)', drawn)

    assert [line for line in lines if "mode" in line] == [
        "The mode is full auto that never stops, conservative from here on"
    ]


def test_no_token_of_the_run_is_shown(doors):
    value = begun(doors)

    response = doors.person.client.post(form_of(value, "run"), NEVER_STOP, follow=True)

    assert re.findall(r"(?:st|ack|chk)\.v1\.", response.content.decode()) == []


def test_a_session_changes_its_next_runs_and_the_team_its_next_sessions(doors):
    value = begun(doors)

    post(doors.person, value, "session", {"preset": "full_auto_stop"})
    post(doors.owner, value, "team", NEVER_STOP)
    in_session, in_new_one = start(doors.desk, session_id=session_id(value)).value, start(doors.desk).value

    assert advanced(doors.desk.agent, value)["preferences"]["autonomy"] == "guided"
    assert in_session["preferences"]["autonomy"] == "full_auto_stop_on_user_deps"
    assert in_new_one["preferences"]["autonomy"] == "full_auto_never_stop"


def test_a_change_for_the_team_is_in_its_audit_log(doors):
    value = begun(doors)

    post(doors.owner, value, "team")

    assert audited(doors.desk.team_id)[-1] == "preferences.changed"


def test_the_list_of_sessions_leads_to_what_new_ones_begin_with(doors):
    post(doors.owner, begun(doors), "team", {"preset": "full_auto_stop"})

    assert f'href="{TEAM}"' in shown(doors.viewer, f"{ROOT}/worksession/")
    assert "begin <b>full auto that may stop, balanced</b>" in shown(doors.viewer, TEAM)


@pytest.mark.parametrize(
    ("place", "who", "may"),
    [
        ("run", "viewer", False),
        ("run", "person", True),
        ("session", "viewer", False),
        ("session", "person", True),
        ("team", "viewer", False),
        ("team", "person", False),
        ("team", "owner", True),
    ],
)
def test_only_who_may_finds_a_form_and_is_heard(doors, place, who, may):
    value = begun(doors)
    api = getattr(doors, who)

    page, response = shown(api, page_of(value, place)), post(api, value, place)

    assert ("<form" in page) is may
    assert response.status_code == (302 if may else 403)
    assert in_force(value, place)[0] == ("full_auto_never_stop" if may else "guided")


@pytest.mark.parametrize("place", ["run", "session"])
def test_another_team_finds_nothing_to_change(doors, place):
    value = begun(doors)
    stranger = stranger_to(doors)

    shown(stranger, page_of(value, place), status=404)

    assert post(stranger, value, place).status_code == 404
    assert post(stranger, value, place, {}).status_code == 404
    assert in_force(value, place) == ("guided", "conservative")


def test_another_team_changes_its_own_defaults_only(doors):
    value = begun(doors)

    assert post(stranger_to(doors), value, "team").status_code == 302

    assert TeamPreferences.objects.get().team_id == doors.desk.stranger.team_id
    assert start(doors.desk).value["preferences"]["autonomy"] == "guided"


@pytest.mark.parametrize("place", PLACES)
def test_no_link_acts(doors, place):
    value = begun(doors)

    response = doors.owner.client.get(form_of(value, place), NEVER_STOP)
    shown(doors.owner, f"{page_of(value, place)}?preset=full_auto_never_stop")

    assert response.status_code == 405
    assert in_force(value, place) == ("guided", "conservative")


@pytest.mark.parametrize("place", PLACES)
def test_a_form_of_another_site_does_not_act(doors, place):
    value = begun(doors)
    client = Client(enforce_csrf_checks=True)
    client.force_login(run_doors.enrol(doors.desk.owner))

    assert client.post(form_of(value, place), NEVER_STOP).status_code == 403
    assert in_force(value, place) == ("guided", "conservative")


@pytest.mark.parametrize("place", PLACES)
def test_nobody_acts_without_signing_in(doors, place):
    value = begun(doors)

    response = Client().post(form_of(value, place), NEVER_STOP)

    assert (response.status_code, "/login/" in response["Location"]) == (302, True)
    assert in_force(value, place) == ("guided", "conservative")


REFUSED = {
    "nothing": ({}, "Nothing is to be changed."),
    "all as it is": ({"autonomy": "", "risk_policy": ""}, "Nothing is to be changed."),
    "a preset that there is not": ({"preset": "reckless"}, "There is no such mode."),
    "an autonomy that there is not": ({"autonomy": "\x00"}, "There is no such mode."),
    "both ways at once": (
        {"preset": "guided", "autonomy": "guided"},
        "The preferences name a preset and a value beside it.",
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("fields", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_choice_is_refused_on_the_page(doors, place, fields, says):
    value = begun(doors)

    response = post(doors.owner, value, place, fields)

    page = response.content.decode()
    assert response.status_code == 400
    assert f"<span>{says}" in page
    assert '<details class="runs-mode" open>' in page
    assert in_force(value, place) == ("guided", "conservative")


def test_what_is_so_already_is_told_again_and_not_written(doors):
    value = begun(doors)
    before = len(events(value))

    response = post(doors.person, value, "run", {"preset": "guided"})

    assert response.status_code == 302
    assert told(doors.person, value, "run") == [("success", "From this step on the mode is guided, conservative.")]
    assert len(events(value)) == before


def test_the_form_says_which_mode_is_in_force(doors):
    value = begun(doors)
    before = shown(doors.person, page_of(value, "run"))
    post(doors.person, value, "run", {"preset": "full_auto_stop"})
    after = shown(doors.person, page_of(value, "run"))

    for page, current, others in (
        (before, "guided", ["full_auto_stop", "full_auto_never_stop"]),
        (after, "full_auto_stop", ["guided", "full_auto_never_stop"]),
    ):
        assert re.findall(r'name="preset" value="(\w+)" disabled', page) == [current]
        assert re.findall(r'name="preset" value="(\w+)">', page) == others
    assert '<option value="">full auto that may stop (now)</option>' in after


def test_a_run_that_is_complete_offers_no_change(doors):
    value = begun(doors)
    for _ in range(3):
        value = advanced(doors.desk.agent, value)

    page = shown(doors.person, page_of(value, "run"))

    assert value["isComplete"]
    assert "<form" not in page


@pytest.mark.parametrize("dialect", [Dialect.SESSION, Dialect.ORCHESTRATOR])
def test_a_run_that_is_handed_over_changes_its_mode_alike(doors, dialect):
    handed(doors.desk, dialect=dialect)
    run = Run.objects.get()
    path = f"{ROOT}/run/{run.id}/"

    response = doors.person.client.post(f"{path}mode/", {"preset": "full_auto_stop"})

    assert (response.status_code, response["Location"]) == (302, f"{path}change/")
    tip = Node.objects.get(id=Run.objects.get().tip_node_id)
    assert (tip.autonomy, tip.risk_policy) == ("full_auto_stop_on_user_deps", "balanced")


def test_a_run_that_is_driven_by_hand_changes_its_mode_alike(doors):
    published(doors.desk, *plain_steps(2))
    start(doors.desk, dialect=Dialect.NAVIGATION)
    run = Run.objects.get()

    response = doors.person.client.post(f"{ROOT}/run/{run.id}/mode/", {"preset": "full_auto_stop"})

    assert response.status_code == 302
    assert Node.objects.get(id=Run.objects.get().tip_node_id).autonomy == "full_auto_stop_on_user_deps"


@pytest.mark.parametrize("place", PLACES)
def test_pages_hold_nothing_inline_and_work_without_scripts(doors, place):
    page = shown(doors.owner, page_of(begun(doors), place))

    assert re.findall(r"\sstyle=|\son[a-z]+=|<script(?![^>]*src=)", page) == []


SETTINGS = "/studio/teams_app/team/"


@pytest.mark.parametrize("place", [SETTINGS, TEAM])
def test_the_mode_of_the_team_says_who_set_it_when_and_what_it_waives(doors, place):
    from tests.checkpoint_cast import asking, publish_folder

    value = begun(doors)
    approved = {"requireConfirmation": {"kind": "human_approval"}}
    published(doors.desk, *plain_steps(2, **approved), workflow_id="team.careful")
    publish_folder(doors.desk, asking(authority="human"))
    at_first = shown(doors.viewer, place)
    post(doors.owner, value, "team")
    by_owner = shown(doors.viewer, place)
    post(doors.owner, value, "team", {"preset": "guided"})
    again = shown(doors.viewer, place)

    assert "begin <b>guided, conservative</b>. Nobody has changed it." in at_first
    assert "It waives no approval. Published workflows ask people for 3 approvals in 2 workflows." in at_first
    assert "begin <b>full auto that never stops, conservative</b>. Set by alice, <time" in by_owner
    assert "It waives 3 approvals in 2 workflows: they are passed over, with critical gaps that name alice." in by_owner
    assert "begin <b>guided, conservative</b>. Set by alice, <time" in again


def test_a_mode_that_was_set_by_somebody_who_has_left_says_so(doors):
    value = begun(doors)
    post(doors.owner, value, "team")
    TeamPreferences.objects.update(updated_by="per_agq65bzsab2a3e555rhmho55gy")

    assert "Set by somebody who has left" in shown(doors.viewer, SETTINGS)
