"""From an installation where nothing has run: a key is made on the first page, a real client calls with it, its run is seen."""

import re

import pytest

from tests import run_doors
from tests.chromium import CHROMIUM, browse
from tests.mcp.conftest import running_site
from tests.mcp_agent import RailAgent
from tests.run_cast import published
from tests.step_documents import step

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def test_an_agent_is_connected_from_an_empty_installation(tmp_path, transactional_db):
    desk = run_doors.open_doors().desk
    published(desk, step("look", title="Look around"), workflow_id="team.first", name="A first try")

    def connect(page):
        page.goto("/studio/")
        before = page.inner_text("main")
        page.fill("#id_name", "billing-agent")
        page.click("main button:has-text('Make a key')")
        page.wait_for_selector(".workrail-secret [data-watch]")
        command = page.text_content("#snippet-claude-code")
        url, key = re.search(r"(http://[^/]+)/mcp/rail", command)[1], re.search(r"wr_key_\w+", command)[0]
        agent = RailAgent(url=url, key=key).start("team.first", "See how it goes")
        page.wait_for_selector(".workrail-secret [data-watch] time")
        page.goto("/studio/")
        home = page.inner_text("main")
        page.click("main a.name:has-text('See how it goes')")
        page.wait_for_url("**/run/*/change/")
        return before, home, page.inner_text("main"), agent.value

    with running_site(tmp_path) as site:
        (before, home, run, value), complaints = browse(site.url, run_doors.enrol(desk.owner), connect)

    assert "Connect an agent" in before
    assert "Claude Code" in before
    assert "Connect an agent\n1" not in home
    assert "Running now" in home
    assert "See how it goes" in home
    assert "Look around" in run
    assert "billing-agent" in run
    assert value["pending"]["stepId"] == "look"
    assert complaints == []
