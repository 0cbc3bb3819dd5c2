"""A page stays up to date where no stream gets through, and asks nothing while nobody looks at it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from tests import run_doors
from tests.chromium import CHROMIUM, browse
from tests.mcp.conftest import running_site
from tests.run_cast import advanced, begin, plain_steps, run_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

POLL_MS = 5_000
# As the browser tells a page that another tab is in front.
_HIDE = (
    "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s});"
    "document.dispatchEvent(new Event('visibilitychange'));"
)


@pytest.fixture
def desk(transactional_db):
    return run_doors.open_doors().desk


def test_where_no_stream_gets_through_the_page_asks_and_is_answered_by_its_tag(desk, tmp_path):
    value = begin(desk, *plain_steps(3))
    hands = ThreadPoolExecutor(1)

    def agent_goes_on():
        advanced(desk.agent, value)
        connection.close()

    def look(page):
        answers = []
        page.on("response", lambda response: answers.append(response.status) if "/watch/" in response.url else None)
        page.route("**/live/**", lambda route: route.abort())
        page.clock.install()
        page.goto(f"/studio/sessions_app/run/{run_id(value)}/change/")
        page.wait_for_selector("[data-live-state]:not([hidden])")
        before = page.locator(".points li").count()
        for _ in range(2):
            with page.expect_response("**/watch/**"):
                page.clock.fast_forward(POLL_MS)
        hands.submit(agent_goes_on).result()
        with page.expect_response("**/watch/**"):
            page.clock.fast_forward(POLL_MS)
        page.wait_for_selector(f".points li:nth-child({before + 1})")
        return answers, page.inner_text("[data-live-state]")

    with running_site(tmp_path) as site:
        (answers, state), complaints = browse(site.url, run_doors.enrol(desk.owner), look)

    assert answers[0] == 200
    assert 304 in answers
    assert state in {"Reconnecting", "Asks every 5 s"}
    assert [said for said in complaints if "ERR_FAILED" not in said] == []


def test_a_tab_that_nobody_looks_at_asks_nothing_and_catches_up_when_it_is_looked_at(desk, tmp_path):
    value = begin(desk, *plain_steps(3))
    hands = ThreadPoolExecutor(1)

    def agent_goes_on():
        advanced(desk.agent, value)
        connection.close()

    def look(page):
        page.clock.install()
        page.goto(f"/studio/sessions_app/run/{run_id(value)}/change/")
        page.wait_for_selector("[data-live-state]:has-text('Live')")
        before = page.locator(".points li").count()
        page.evaluate(_HIDE % "true")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        hands.submit(agent_goes_on).result()
        # A minute of polls passes at once: what would ask has asked by then.
        page.clock.fast_forward(60_000)
        while_hidden, unmoved = list(asked), page.locator(".points li").count()
        page.evaluate(_HIDE % "false")
        page.wait_for_selector(f".points li:nth-child({before + 1})")
        return before, unmoved, while_hidden

    with running_site(tmp_path) as site:
        (before, unmoved, while_hidden), complaints = browse(site.url, run_doors.enrol(desk.owner), look)

    assert while_hidden == []
    assert unmoved == before
    assert complaints == []
