"""A person answers in a real browser, under the policy, with nothing to complain of."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import run_doors
from tests.checkpoint_cast import at_question, only_row
from tests.run_cast import advanced, assert_healthy

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PASSWORD = "correct horse battery"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def doors():
    return run_doors.open_doors()


def browse(base, person, do):
    """In a thread of its own: the browser's loop and Django's connections do not share one."""
    person.set_password(PASSWORD)
    person.save(update_fields=["password"])
    complaints = []

    def visit():
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                page = browser.new_page(base_url=base)
                page.on("console", lambda said: complaints.append(said.text) if said.type != "log" else None)
                page.on("pageerror", lambda error: complaints.append(str(error)))
                page.goto("/studio/")
                page.fill("#id_username", person.username)
                page.fill("#id_password", PASSWORD)
                page.click("#login-form button[type=submit]")
                page.wait_for_selector("#user-tools")
                return do(page)
            finally:
                browser.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(visit).result(), complaints


def test_a_person_finds_claims_and_answers_a_question(doors, live_server):
    value = at_question(doors.desk, human=True, dueMs=60_000, context={"goal": "the roof"})

    def work(page):
        page.click(".nav >> text=Inbox")
        page.click("text=Agreed")
        page.click("text=I take it")
        page.wait_for_selector("text=Claimed by you")
        page.check("input[value='yes']")
        page.fill("#id_reason", "The drawings are complete.")
        page.click("input[value='Answer']")
        page.wait_for_selector(".runs-given")
        return page.inner_text(".runs-given"), page.inner_text(".nav >> text=Inbox")

    (given, inbox), complaints = browse(live_server.url, run_doors.enrol(doors.desk.person), work)

    assert "The drawings are complete." in given
    assert inbox.strip() == "Inbox"
    assert complaints == []
    assert only_row(value).option_id == "yes"
    assert advanced(doors.desk.agent, value, "")["pending"]["stepId"] == "work"
    assert_healthy(value)
