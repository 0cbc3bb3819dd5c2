"""An approval has three answers, and each leads where it says: on, back to the step, or to the end."""

import re

import pytest

from sessions_app.models import Run
from tests import run_doors, studio_story
from tests.run_cast import advanced, begin, notes_free, run_id, start
from tests.studio_pages import content_of, said_on

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/studio/sessions_app/checkpointrequest/"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def asked(doors, notes="## Plan\n\nAt once."):
    """A run that waits for the approval of what was handed in."""
    ship = notes_free("ship", requireConfirmation={"kind": "human_approval"})
    return advanced(doors.desk.agent, begin(doors.desk, ship, notes_free("after")), notes)


def answer(doors, value, option, reason=""):
    row = studio_story.question_of(value)
    fields = {"option": option, "digest": row.digest, "reason": reason}
    return doors.person.client.post(f"{LIST}{row.id}/answer/", fields)


def page_of(doors, value):
    return doors.person.client.get(f"{LIST}{studio_story.question_of(value).id}/change/").content.decode()


def test_the_page_offers_three_answers_with_what_each_does(doors):
    page = page_of(doors, asked(doors))

    assert re.findall(r'name="option" value="(\w+)"', page) == ["approve", "send_back", "reject"]
    assert page.count("data-needs-reason") == 2
    assert "<h3>Plan</h3>" in page


def test_what_was_sent_back_is_shown_with_what_is_new_in_it(doors):
    value = asked(doors)

    answer(doors, value, "send_back", "Say how it is rolled back.")
    after = advanced(doors.desk.agent, value, "## Plan\n\nAt once.\n\n## Rollback\n\nThe image before.")
    page = content_of(page_of(doors, after))

    assert "Say how it is rolled back." in page
    assert re.search(r"Added</span> to the notes:\s*<b>Rollback</b>", page)
    assert 'Rollback <span class="tag is-accent">new</span>' in page
    assert "Asked again" in doors.person.client.get(LIST).content.decode()


@pytest.mark.parametrize(("option", "status"), [("approve", "in_progress"), ("reject", "rejected")])
def test_approving_goes_on_and_rejecting_ends_the_run(doors, option, status):
    value = asked(doors)

    led_to = answer(doors, value, option, "Because.")

    assert led_to.status_code == 302
    assert Run.objects.get(id=run_id(value)).status == status
    word = {"approve": "Approved", "reject": "Rejected"}[option]
    assert said_on(doors.person.client.get(led_to["Location"]).content.decode()) == [
        ("success", f"{word}. No other question waits.")
    ]
    assert "Because." in page_of(doors, value)


@pytest.mark.parametrize("option", ["send_back", "reject"])
def test_sending_back_and_rejecting_need_a_reason(doors, option):
    value = asked(doors)

    refused = answer(doors, value, option)

    assert refused.status_code == 400
    assert said_on(refused.content.decode())[0][0] == "error"
    assert Run.objects.get(id=run_id(value)).status == "waiting"


def test_runs_that_differ_in_their_answers_alone_are_compared_by_them(doors):
    one = asked(doors)
    other = advanced(doors.desk.agent, start(doors.desk).value, "## Plan\n\nAt once.")
    answer(doors, one, "approve", "On Monday.")
    answer(doors, other, "approve", "Never on a Friday.")
    path = f"/studio/sessions_app/run/{run_id(one)}/compare/?other={other['session']['runId']}"

    page = content_of(doors.viewer.client.get(path).content.decode())

    assert "in both, answers differ" in page
    assert "none blocked" in page
    for reason in ("On Monday.", "Never on a Friday."):
        assert reason in page


def test_the_drawer_of_a_question_says_who_answered_how_and_why(doors):
    from sessions_app.models import CheckpointRequest, Node
    from teams_app.engine.ids import Prefix, to_text
    from tests.run_cast import run_id

    value = asked(doors)
    node = Node.objects.filter(kind="blocked_attempt").get()
    drawer = f"/studio/sessions_app/run/{run_id(value)}/change/?node={to_text(Prefix.NODE, node.pk)}"
    before = content_of(doors.person.client.get(drawer).content.decode())
    answer(doors, value, "approve", "The suite has run.")
    after = content_of(doors.person.client.get(drawer).content.decode())

    assert CheckpointRequest.objects.get().pk == node.pk
    assert "<h3>Question</h3>" in before
    assert "<h3>Approved <" in after
    assert f"Answered by {doors.desk.person.name} in the Studio." in after
    assert "“The suite has run.”" in after
    assert "USER_ONLY_DEPENDENCY" not in before + after
