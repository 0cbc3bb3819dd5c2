"""A real browser opens each page under the policy, and has nothing to complain of."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cast import issue

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS = [
    "/studio/teams_app/team/",
    "/studio/teams_app/membership/",
    "/studio/teams_app/agentkey/",
    "/studio/teams_app/auditentry/",
]
FORMS = ["/studio/teams_app/agentkey/issue/", "/studio/teams_app/membership/invite/", "/studio/password_change/"]


class Visit:
    """A signed-in browser, and all that it complained of."""

    def __init__(self, page, base):
        self.page = page
        self.base = base
        self.complaints = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def open(self, path):
        self.page.goto(self.base + path)

    def sign_in(self, name, password):
        self.open("/studio/")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", password)
        self.page.click("#login-form button[type=submit]")
        self.page.wait_for_selector("#user-tools")


def browse(base, do):
    """In a thread of its own: the browser's loop and Django's connections do not share one."""

    def visit():
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            try:
                visit_of_it = Visit(browser.new_page(), base)
                return do(visit_of_it), visit_of_it.complaints
            finally:
                browser.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(visit).result()


@pytest.fixture
def password(house):
    house.alice.person.set_password("correct horse battery")
    house.alice.person.save(update_fields=["password"])
    return "correct horse battery"


def test_every_page_is_drawn_without_a_complaint(house, password, live_server):
    issue(house.alice.actor)

    def walk(visit):
        visit.sign_in("alice", password)
        titles = []
        for path in [*LISTS, *FORMS]:
            visit.open(path)
            titles.append(visit.page.title())
        visit.open("/studio/teams_app/agentkey/")
        visit.page.click("#result_list tbody a >> nth=0")
        visit.page.wait_for_selector("dl.kv")
        titles.append(visit.page.title())
        return titles

    titles, complaints = browse(live_server.url, walk)

    assert complaints == []
    assert all(title.endswith("Workrail Studio") for title in titles)


def test_a_key_is_issued_and_revoked_by_hand(house, password, live_server):
    from teams_app.models import AgentKey

    def work(visit):
        visit.sign_in("alice", password)
        visit.open("/studio/teams_app/agentkey/")
        visit.page.fill("#id_name", "Claude")
        visit.page.check("input[value='traces:read']")
        visit.page.click("main button:has-text('Make a key')")
        snippets = visit.page.inner_text(".snippets")
        shown = visit.page.inner_text(".workrail-secret code")
        visit.page.click("text=Go on")
        visit.page.click("text=Revoke")
        visit.page.click("button.default")
        assert shown in snippets
        assert "claude mcp add" in snippets
        return shown, visit.page.inner_text(".messagelist")

    (shown, said), complaints = browse(live_server.url, work)

    assert re.fullmatch(r"wr_key_[a-z2-7]{40}", shown)
    assert said == f"The key {shown[:15]} is revoked."
    assert AgentKey.objects.get().revoked_at is not None
    assert complaints == []


def test_the_page_of_the_rest_document_works(house, live_server):
    def read(visit):
        visit.open("/api/v1/docs")
        visit.page.click("[data-path='/api/v1/whoami']")
        visit.page.click("text=Try it out")
        visit.page.click("text=Execute")
        visit.page.wait_for_selector(".live-responses-table tbody .response-col_status")
        return visit.page.inner_text(".live-responses-table tbody .response-col_status")

    status, complaints = browse(live_server.url, read)

    assert status.startswith("401")
    assert [said for said in complaints if "401" not in said] == []
