"""The Studio's inbox: what waits is counted, shown and answered there, by a form and never by a link."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.decisions import AnswerMode
from sessions_app.models import CheckpointRequest
from tests import run_doors
from tests.activity_folders import equals
from tests.cast import audited
from tests.checkpoint_cast import at_question, only_row, relayed
from tests.handover_cast import answered, entered, handed, question, two_activities
from tests.run_cast import advanced, assert_healthy, start
from tests.studio_pages import content_of, count_in_menu, said_on
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/studio/sessions_app/checkpointrequest/"
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/spy.png)"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def asked(doors, *, goal="the roof", **fields):
    return at_question(doors.desk, context={"goal": goal}, **fields)


def asked_again(doors):
    before = start(doors.desk, "team.plan", context={"goal": "the cellar"}).value
    return advanced(doors.desk.agent, before, now=NOW)


def page_of(value, act="change"):
    return f"{LIST}{only_row(value).id}/{act}/"


def shown(api, path, status=200):
    response = api.client.get(path)
    assert response.status_code == status, response.content
    return response.content.decode()


def listed(page):
    """The questions of the list, in its order."""
    return re.findall(rf'<a class="name" href="{LIST}([0-9a-f-]+)/change/', content_of(page))


def fields_of(value, option="yes", reason=""):
    return {"option": option, "digest": only_row(value).digest, "reason": reason}


def test_the_menu_counts_what_waits_on_every_page(doors):
    asked(doors, human=True)
    gone = asked_again(doors)
    before = [count_in_menu(shown(doors.viewer, path)) for path in ("/studio/", LIST)]

    doors.person.client.post(page_of(gone, "answer"), fields_of(gone))

    assert before == [2, 2]
    assert count_in_menu(shown(doors.viewer, "/studio/")) == 1


def test_the_inbox_lists_what_waits_and_what_is_due_first_comes_first(doors):
    soon = asked(doors, human=True, goal="the **roof**", dueMs=60_000)
    later = asked_again(doors)
    CheckpointRequest.objects.filter(pk=only_row(later).id).update(due_at=datetime.now(tz=UTC) + timedelta(days=9))
    gone = asked_again(doors)
    doors.person.client.post(page_of(gone, "answer"), fields_of(gone))

    page = shown(doors.viewer, LIST)

    assert listed(page) == [str(only_row(each).id) for each in (soon, later)]
    assert "Is the plan for the roof right?" in page
    assert re.findall(r'<h2 class="group">(\w[\w ]*\w) <span', page) == ["Overdue", "Due later"]
    assert content_of(page).count('<span class="late">') == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"open", "claimed"}),
        ("view=open", {"open", "claimed"}),
        ("view=mine", {"open", "claimed"}),
        ("view=claimed", {"claimed"}),
        ("view=answered", {"answered"}),
        ("view=all", {"open", "claimed", "answered"}),
        ("view=nothing", {"open", "claimed"}),
        ("after=nonsense", {"open", "claimed"}),
    ],
)
def test_the_inbox_has_views(doors, query, found):
    values = {"open": asked(doors, human=True), "claimed": asked_again(doors), "answered": asked_again(doors)}
    doors.person.client.post(page_of(values["claimed"], "claim"))
    doors.person.client.post(page_of(values["answered"], "answer"), fields_of(values["answered"]))
    names = {str(only_row(value).id): name for name, value in values.items()}

    page = shown(doors.person, f"{LIST}?{query}")

    assert {names[row] for row in listed(page)} == found
    assert ("Claimed by you" in page) is ("claimed" in found)


def test_a_question_that_another_has_claimed_is_not_for_me(doors):
    value = asked(doors, human=True)
    doors.person.client.post(page_of(value, "claim"))

    assert listed(shown(doors.owner, f"{LIST}?view=mine")) == []
    assert f"Claimed by {doors.desk.person.name}" in shown(doors.owner, LIST)


def test_after_an_answer_comes_the_next_question(doors):
    first, second = asked(doors, human=True), asked_again(doors)

    led_to = doors.person.client.post(page_of(first, "answer"), fields_of(first))["Location"]
    told = said_on(shown(doors.person, led_to))
    back = doors.person.client.post(page_of(second, "answer"), fields_of(second))["Location"]

    assert (led_to, told) == (page_of(second), [("success", "Answered. This is the next question.")])
    assert (back, said_on(shown(doors.person, back))) == (
        page_of(second),
        [("success", "Answered. No other question waits.")],
    )


def test_a_question_is_answered_on_its_page_and_the_agent_goes_on(doors):
    value = asked(doors, human=True)
    page = shown(doors.person, page_of(value))

    response = doors.person.client.post(page_of(value, "answer"), fields_of(value, "no", "Not **before** Friday."))
    after = shown(doors.person, page_of(value))

    assert "Is the plan for the roof right?" in page
    assert re.findall(r'type="radio" name="option" value="(\w+)"', page) == ["yes", "no"]
    assert (response.status_code, response["Location"]) == (302, page_of(value))
    assert f"Answered by {doors.desk.person.name} in the Studio" in after
    assert re.search(r'<h2 id="q-given">No</h2>', after)
    assert "Not **before** Friday." in after
    assert 'type="radio"' not in after
    row = only_row(value)
    assert (row.option_id, row.door, row.reason) == ("no", "studio", "Not **before** Friday.")
    assert advanced(doors.desk.agent, value, "")["pending"]["stepId"] == "again"
    assert audited(doors.desk.team_id)[-1] == "checkpoint.answered"
    assert_healthy(value)


def test_a_claim_is_shown_and_released(doors):
    value = asked(doors, human=True)

    doors.person.client.post(page_of(value, "claim"))
    mine, theirs = shown(doors.person, page_of(value)), shown(doors.owner, page_of(value))
    doors.owner.client.post(page_of(value, "release"))
    released = shown(doors.owner, page_of(value))

    assert "Claimed by you" in mine
    assert 'name="option"' in mine
    assert f"Claimed by <strong>{doors.desk.person.name}</strong>" in theirs
    assert 'name="option"' not in theirs
    assert "Release it" in theirs
    assert 'name="option"' in released
    assert "Claim it" in released


def test_the_page_of_a_run_leads_to_what_it_waits_for(doors):
    value = asked(doors, human=True)
    run = f"/studio/sessions_app/run/{only_row(value).run_id}/change/"

    waiting = shown(doors.viewer, run)
    doors.person.client.post(page_of(value, "answer"), fields_of(value))
    gone_on = shown(doors.viewer, run)

    assert re.search(rf'run-banner.*href="{page_of(value)}">Review</a>', waiting, re.DOTALL)
    assert "run-banner" not in gone_on


def test_a_viewer_reads_the_question_and_finds_nothing_to_press(doors):
    value = asked(doors, human=True)

    page = shown(doors.viewer, page_of(value))
    posted = [doors.viewer.client.post(page_of(value, act), fields_of(value)) for act in ("claim", "release", "answer")]

    content = content_of(page)
    assert "Is the plan for the roof right?" in content
    assert "<form" not in content
    assert [response.status_code for response in posted] == [403, 403, 403]
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


def test_another_team_finds_no_question_and_cannot_act_on_it(doors):
    value = asked(doors, human=True)
    stranger = run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )

    assert "roof" not in shown(stranger, f"{LIST}?view=all")
    assert count_in_menu(shown(stranger, "/studio/")) == 0
    shown(stranger, page_of(value), status=404)
    for act in ("claim", "release", "answer"):
        assert stranger.client.post(page_of(value, act), fields_of(value)).status_code == 404
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


@pytest.mark.parametrize("act", ["claim", "release", "answer"])
def test_no_link_acts(doors, act):
    value = asked(doors, human=True)

    response = doors.person.client.get(page_of(value, act), fields_of(value))

    assert response.status_code == 405
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


@pytest.mark.parametrize("act", ["claim", "release", "answer"])
def test_a_form_of_another_site_does_not_act(doors, act):
    value = asked(doors, human=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(run_doors.enrol(doors.desk.person))

    assert client.post(page_of(value, act), fields_of(value)).status_code == 403
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


@pytest.mark.parametrize("act", ["claim", "release", "answer"])
def test_nobody_acts_without_signing_in(doors, act):
    value = asked(doors, human=True)

    response = Client().post(page_of(value, act), fields_of(value))

    assert (response.status_code, "/login/" in response["Location"]) == (302, True)
    assert only_row(value).state == "open"


REFUSED = {
    "nothing chosen": ({"option": ""}, "Choose an answer."),
    "an option that there is not": ({"option": "perhaps"}, "Valid options: yes, no."),
    "another question": ({"digest": "sha256:" + "0" * 64}, "not the one that you were shown"),
    "no digest": ({"digest": ""}, "required"),
    "too long a reason": ({"reason": "x" * 2001}, "at most 2000"),
}


@pytest.mark.parametrize(("wrong", "says"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_count_is_said_and_nothing_has_to_be_written_twice(doors, wrong, says):
    value = asked(doors, human=True)

    response = doors.person.client.post(
        page_of(value, "answer"), {**fields_of(value, "yes", "Because I looked."), **wrong}
    )

    page = response.content.decode()
    assert response.status_code == 400
    assert says in page
    assert ("Because I looked." in page) is ("reason" not in wrong)
    assert only_row(value).state == "open"


def test_a_second_answer_is_told_who_was_first(doors):
    value = asked(doors, human=True)
    doors.person.client.post(page_of(value, "answer"), fields_of(value))

    response = doors.owner.client.post(page_of(value, "answer"), fields_of(value, "no"))

    assert response.status_code == 400
    assert f"Answered by {doors.desk.person.name} in the Studio" in response.content.decode()


def test_an_answer_that_an_agent_passed_on_says_so(doors):
    value = asked(doors)
    advanced(doors.desk.agent, value, artifacts=relayed("yes"))

    page = shown(doors.viewer, page_of(value))

    assert "passed on its user&#x27;s answer by MCP" in page


def test_what_answered_itself_says_so(doors):
    timed = question("agreed", blocking=False, defaultOption="yes", autoAdvanceMs=10_000)
    idle = question("second", condition=equals("big", "true"))
    held = handed(doors.desk, two_activities(timed, idle))
    token = entered(doors.desk, held.token, "plan")["session_token"]
    told = answered(doors.desk, token, "agreed", mode=AnswerMode.AUTO_ADVANCE)
    answered(doors.desk, told["session_token"], "second", mode=AnswerMode.NOT_MET)
    by_default, dismissed = CheckpointRequest.objects.order_by("checkpoint_id")

    pages = [shown(doors.viewer, f"{LIST}{row.id}/change/") for row in (by_default, dismissed)]

    assert "The workflow&#x27;s own default" in pages[0]
    assert re.search(r'<h2 id="q-given">Yes</h2>', pages[0])
    assert "nobody had to answer" in pages[1]


def test_each_of_several_questions_at_one_place_is_answered_by_itself(doors):
    questions = (question("agreed", human=True), question("second", human=True))
    held = handed(doors.desk, two_activities(*questions))
    entered(doors.desk, held.token, "plan")
    first, second = CheckpointRequest.objects.order_by("checkpoint_id")

    response = doors.person.client.post(
        f"{LIST}{first.id}/answer/", {"option": "yes", "digest": first.digest, "reason": ""}
    )

    first.refresh_from_db()
    second.refresh_from_db()
    assert response.status_code == 302
    assert (first.state, second.state) == ("answered", "open")
    assert count_in_menu(shown(doors.viewer, LIST)) == 1
    assert audited(doors.desk.team_id)[-1] == "checkpoint.answered"
    before = shown(doors.viewer, f"{LIST}{second.id}/change/").partition("Earlier answers in this run")[2]
    assert f"<b>{doors.desk.person.name}: Yes</b>" in before


def test_a_question_that_reads_differently_now_leads_to_the_newer_one(doors):
    value = asked(doors, human=True)
    path = page_of(value)
    advanced(doors.desk.agent, value, context={"goal": "the cellar"})

    page = shown(doors.person, path)
    (link,) = re.findall(rf'href="({LIST}[0-9a-f-]+/change/)">See the newer one', page)

    assert "asked again in other words" in page
    assert 'name="option"' not in page
    assert "Is the plan for the cellar right?" in shown(doors.person, link)


def test_what_an_agent_makes_a_question_say_is_words_and_nothing_else(doors):
    value = asked(doors, human=True, goal=HOSTILE)
    doors.person.client.post(page_of(value, "answer"), fields_of(value, "yes", HOSTILE))

    for path in (page_of(value), f"{LIST}?view=all"):
        page = shown(doors.viewer, path)
        assert "<script>alert" not in page
        assert '<img src="http' not in page
        assert 'href="javascript' not in page


@pytest.mark.parametrize("act", ["", "change/"])
def test_pages_hold_nothing_inline_and_work_without_scripts(doors, act):
    value = asked(doors, human=True)
    page = shown(doors.person, page_of(value) if act else LIST)

    assert re.findall(r"\sstyle=|\son[a-z]+=|<script(?![^>]*src=)", content_of(page)) == []


@pytest.mark.parametrize("path", ["x/change/", f"{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}/change/"])
def test_an_address_that_leads_nowhere_says_so(doors, path):
    shown(doors.person, f"{LIST}{path}", status=404)


def test_the_list_costs_the_same_however_long_it_is(doors):
    value = asked(doors, human=True)
    doors.person.client.post(page_of(value, "claim"))

    def cost():
        with CaptureQueriesContext(connection) as captured:
            shown(doors.person, LIST)
        return len(captured)

    cost()
    few = cost()
    for _ in range(4):
        doors.person.client.post(page_of(asked_again(doors), "claim"))

    assert cost() == few
    assert few <= 12
