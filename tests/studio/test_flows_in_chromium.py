"""A person works in a real browser beside a real client of MCP: each sees what the other did."""

import re

import pytest

from tests import run_doors
from tests.cast import issue
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

INBOX, RUNS = "/studio/sessions_app/checkpointrequest/", "/studio/sessions_app/run/"


@pytest.fixture
def desk(transactional_db):
    desk = run_doors.open_doors().desk
    published(
        desk,
        step("look", title="Look around"),
        step("release", title="Release it", requireConfirmation={"kind": "human_approval"}),
        step("tell", title="Tell the team"),
        workflow_id="team.release",
        name="Release",
    )
    return desk


@pytest.fixture
def site(tmp_path):
    with running_site(tmp_path) as found:
        yield found


@pytest.fixture
def agent(desk, site):
    return RailAgent(url=site.url, key=issue(desk.owner, name="ci-agent").text)


def at_approval(agent, goal="Ship the hotfix"):
    agent.start("team.release", goal).hand_in("Looked.").hand_in("The plan: at noon.")
    return agent


def answer(page, choice, reason=""):
    """From the inbox, which tells of the question by itself."""
    page.goto(INBOX)
    page.click(".row a.name")
    page.check(f"input[value='{choice}']")
    if reason:
        page.fill("#reason", reason)
    page.click("[data-submit]:visible")
    page.wait_for_selector(".runs-given, .toast")


def test_an_agent_goes_on_as_a_person_approves_sends_back_and_rejects(desk, site, agent):
    def work(page):
        page.goto(INBOX)
        page.wait_for_selector("[data-live-state]:has-text('Live')")
        at_approval(agent)
        page.wait_for_selector(".row a.name")
        waiting = agent.look().text
        answer(page, "send_back", "Not at noon.")
        sent_back = agent.look().text
        agent.hand_in("The plan: at night.")
        shown = (page.goto(INBOX) and page.click(".row a.name")) or page.inner_text("main")
        answer(page, "approve")
        approved = agent.look()
        step_after = approved.value["pending"]["stepId"]
        agent.hand_in("Told.")
        at_approval(agent, "Ship another")
        answer(page, "reject", "We ship nothing this week.")
        rejected = agent.look().text
        return waiting, sent_back, shown, step_after, rejected

    (waiting, sent_back, shown, step_after, rejected), complaints = browse(site.url, run_doors.enrol(desk.owner), work)

    assert "/studio/sessions_app/checkpointrequest/" in waiting
    assert "Not at noon." in sent_back
    assert "The plan: at night." in shown
    assert "Not at noon." in shown
    assert step_after == "tell"
    assert "We ship nothing this week." in rejected
    assert complaints == []


def test_a_person_forks_a_run_and_hands_the_token_to_an_agent_then_compares_prefers_and_cancels(desk, site, agent):
    other = RailAgent(url=site.url, key=issue(desk.owner, name="second-agent").text)
    agent.start("team.release", "Ship the hotfix").hand_in("Looked around in the parlour.")
    run = f"{RUNS}{_uuid(agent)}/change/"

    def work(page):
        page.goto(run)
        page.click(".points a >> nth=-1")
        page.click("text=Fork here")
        token = re.search(r"st\.v1\.\w+", page.inner_text("main"))[0]
        went_on = other.look(token).hand_in("Looked around in the kitchen.")
        page.goto(f"{run.removesuffix('change/')}compare/")
        compared = page.inner_text("main")
        page.click("text=Prefer tip 2")
        page.wait_for_selector(".toast")
        preferred = agent.look().text
        page.goto(run)
        page.click("text=Cancel")
        page.fill("textarea[name=reason], input[name=reason]", "Not needed any more.")
        page.click("button.default, main form button.is-stop-fill, main form button[type=submit]")
        page.wait_for_selector("text=Cancelled")
        return went_on.value, compared, preferred, agent.look().text

    (value, compared, preferred, told), complaints = browse(site.url, run_doors.enrol(desk.owner), work)

    assert value["pending"]["stepId"] == "release"
    assert "parlour" in compared
    assert "kitchen" in compared
    assert "A person prefers this branch." in preferred
    assert "Not needed any more." in told
    assert complaints == []


def test_a_run_is_found_by_a_word_of_its_notes(desk, site, agent):
    agent.start("team.release", "Ship the hotfix").hand_in("The flux capacitor was loose.")
    other = RailAgent(url=site.url, key=agent.key).start("team.release", "Ship another")

    def find(page):
        page.goto(RUNS)
        page.fill("[name=q]", "capacitor")
        page.press("[name=q]", "Enter")
        page.wait_for_url("**q=capacitor**")
        return page.inner_text("#result_list")

    found, complaints = browse(site.url, run_doors.enrol(desk.owner), find)

    assert other.value["isComplete"] is False
    assert "Ship the hotfix" in found
    assert "Ship another" not in found
    assert complaints == []


def _uuid(agent):
    from teams_app.engine.ids import Prefix, from_text

    return from_text(Prefix.RUN, agent.value["session"]["runId"])
