"""Every page is photographed at 1440 and 390, light and dark, and has nothing to complain of."""

import os
from pathlib import Path

import pytest

from tests import studio_story
from tests.chromium import CHROMIUM, browse, photograph
from tests.run_cast import run_id, session_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS = "/studio/sessions_app"


def pages_of(story):
    run = f"{LISTS}/run/{run_id(story.hotfix)}/change/"
    return {
        "home": "/studio/",
        "session": f"{LISTS}/worksession/{session_id(story.hotfix)}/change/",
        "sessions": f"{LISTS}/worksession/",
        "more": "/studio/more/",
        "runs": f"{LISTS}/run/",
        "runs-found": f"{LISTS}/run/?q=status:open+since:3d+rounds",
        "run": run,
        "compare": f"{run.removesuffix('change/')}compare/",
        "run-node": f"{run}?node={studio_story.node_text(story.hotfix, 'risk')}",
        "run-oldest-first": f"{run}?order=oldest&show=way",
        "run-variables": f"{run}?node={studio_story.node_text(story.hotfix, 'risk')}&part=variables",
        "run-timeline": f"{run}?tab=timeline",
        "run-gaps": f"{run}?tab=gaps",
        "run-events": f"{run}?tab=events",
        "run-calls": f"{run}?tab=calls",
        "run-blocked": f"{LISTS}/run/{run_id(story.reconcile)}/change/",
        "run-done": f"{LISTS}/run/{run_id(story.done)}/change/",
        "runs-refused": f"{LISTS}/run/?q=stauts:open",
        "runs-none": f"{LISTS}/run/?q=nobodywrotethis",
        "session-log": f"{LISTS}/worksession/{session_id(story.hotfix)}/log/",
        "cancel": f"{run.removesuffix('change/')}cancel/",
        "rename": f"{run.removesuffix('change/')}rename/",
        "defaults": f"{LISTS}/worksession/defaults/",
        "inbox": f"{LISTS}/checkpointrequest/",
        "inbox-answered": f"{LISTS}/checkpointrequest/?view=answered",
        "inbox-claimed": f"{LISTS}/checkpointrequest/?view=claimed",
        "question": f"{LISTS}/checkpointrequest/{studio_story.question_of(story.hotfix).id}/change/",
        "question-own": f"{LISTS}/checkpointrequest/{studio_story.question_of(story.triage).id}/change/",
    }


def test_pages_are_photographed_and_axe_finds_nothing_serious(live_server, tmp_path):
    """In both themes and widths. The pictures go to WORKRAIL_PICTURES, if it is set."""
    story = studio_story.tell()
    paths = pages_of(story)
    to = Path(os.environ.get("WORKRAIL_PICTURES", tmp_path))

    faults, complaints = browse(live_server.url, studio_story.owner_of(story), lambda page: photograph(page, paths, to))

    assert complaints == []
    assert faults == []


def test_a_question_is_answered_by_keys_alone(live_server):
    story = studio_story.tell()
    row = studio_story.question_of(story.triage)

    def work(page):
        page.goto("/studio/")
        page.keyboard.press("g")
        page.keyboard.press("i")
        page.wait_for_url("**/checkpointrequest/")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/change/")
        page.keyboard.press("2")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".toast")
        return page.inner_text(".toast")

    said, complaints = browse(live_server.url, studio_story.owner_of(story), work)
    row.refresh_from_db()

    assert said == "Answered. This is the next question."
    assert (row.state, row.option_id, complaints) == ("answered", "high", [])


def test_pages_work_without_a_script(live_server):
    story = studio_story.tell()
    row = studio_story.question_of(story.triage)

    def work(page):
        page.goto(f"{LISTS}/checkpointrequest/{row.id}/change/")
        page.check("input[value='low']")
        page.click(".submit button:visible")
        page.goto(f"{LISTS}/run/{run_id(story.hotfix)}/change/")
        page.click(".points a >> nth=1")
        page.click("[data-close]")
        page.click("text=Oldest first")
        page.fill("#find", "rounds")
        page.press("#find", "Enter")
        page.click("#result_list a.name")
        page.click("[title='Light or dark']")
        return page.locator("html").get_attribute("data-theme"), page.title()

    (theme, title), complaints = browse(live_server.url, studio_story.owner_of(story), work, java_script_enabled=False)
    row.refresh_from_db()

    assert (theme, title) == ("dark", "Hotfix the invoice total · Workrail Studio")
    assert (row.option_id, complaints) == ("low", [])
