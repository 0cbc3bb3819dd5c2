"""A person answers in a real browser, under the policy, with nothing to complain of."""

import pytest

from tests import run_doors
from tests.checkpoint_cast import at_question, only_row
from tests.chromium import CHROMIUM, browse
from tests.run_cast import advanced, assert_healthy

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def doors():
    return run_doors.open_doors()


def test_a_person_finds_claims_and_answers_a_question(doors, live_server):
    value = at_question(doors.desk, human=True, dueMs=60_000, context={"goal": "the roof"})

    def work(page):
        page.click(".nav >> text=Inbox")
        page.click(".row >> text=Is the plan")
        page.click("text=Claim it")
        page.wait_for_selector("text=Claimed by you")
        page.check("input[value='yes']")
        page.fill("#reason", "The drawings are complete.")
        page.click(".submit button:visible")
        page.wait_for_selector(".runs-given")
        return page.inner_text(".runs-given"), page.inner_text(".nav >> text=Inbox")

    (given, inbox), complaints = browse(live_server.url, run_doors.enrol(doors.desk.person), work)

    assert "The drawings are complete." in given
    assert inbox.strip() == "Inbox"
    assert complaints == []
    assert only_row(value).option_id == "yes"
    assert advanced(doors.desk.agent, value, "")["pending"]["stepId"] == "work"
    assert_healthy(value)
