"""A person watches a run go on and a question come in, without loading a page again."""

import pytest

from tests import run_doors
from tests.chromium import CHROMIUM, browse
from tests.mcp.conftest import running_site
from tests.run_cast import advanced, begin, plain_steps, run_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def test_a_run_and_the_inbox_move_while_one_looks(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    desk = run_doors.open_doors().desk
    steps = plain_steps(3)
    steps[1]["requireConfirmation"] = {"kind": "human_approval"}
    value = begin(desk, *steps)
    hands = ThreadPoolExecutor(1)

    def agent_goes_on():
        advanced(desk.agent, advanced(desk.agent, value))
        connection.close()

    def look(page):
        page.goto(f"/studio/sessions_app/run/{run_id(value)}/change/")
        page.wait_for_selector("[data-live-state]:has-text('Live')")
        before = page.locator(".points li").count()
        hands.submit(agent_goes_on).result()
        page.wait_for_selector(f".points li:nth-child({before + 2})")
        page.wait_for_selector(".run-banner >> text=Review")
        return before, page.locator(".points li").count(), page.inner_text(".nav .count")

    with running_site(tmp_path) as site:
        (before, after, count), complaints = browse(site.url, run_doors.enrol(desk.owner), look)

    assert (before, after, count) == (1, 3, "1")
    assert complaints == []


def test_a_browser_tells_of_a_question_to_whoever_asked_for_it(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    desk = run_doors.open_doors().desk
    steps = plain_steps(2)
    steps[1]["requireConfirmation"] = {"kind": "human_approval"}
    value = advanced(desk.agent, begin(desk, *steps))
    hands = ThreadPoolExecutor(1)

    def agent_hands_in():
        advanced(desk.agent, value)
        connection.close()

    def look(page):
        page.context.grant_permissions(["notifications"])
        page.add_init_script(
            "window.told = []; const Real = Notification;"
            "window.Notification = class { constructor(title) { window.told.push(title); }"
            " static get permission() { return 'granted'; } static async requestPermission() { return 'granted'; } };"
        )
        page.goto("/studio/sessions_app/checkpointrequest/")
        page.wait_for_selector("[data-live-state]:has-text('Live')")
        page.click("[data-notices]")
        page.wait_for_selector("text=Stop browser notices")
        hands.submit(agent_hands_in).result()
        page.wait_for_selector(".nav .count")
        return page.evaluate("window.told")

    with running_site(tmp_path) as site:
        told, complaints = browse(site.url, run_doors.enrol(desk.owner), look)

    assert (told, complaints) == (["A question waits for a person"], [])
