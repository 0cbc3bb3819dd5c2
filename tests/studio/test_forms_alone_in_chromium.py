"""The main tasks where no script runs: links and forms do all of it."""

import json
import re

import pytest

from tests import studio_story
from tests.chromium import CHROMIUM, browse
from tests.run_cast import run_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS, WORKFLOWS, TEAMS = "/studio/sessions_app", "/studio/workflows_app/workflow", "/studio/teams_app"
DOCUMENT = {
    "id": "team.greet",
    "name": "Greet",
    "version": "1.0.0",
    "description": "Greets whoever comes.",
    "steps": [{"id": "look", "title": "Look who is there", "prompt": "Say who is there."}],
}


def by_forms(story, site, work):
    return browse(site.url, studio_story.owner_of(story), work, java_script_enabled=False)


def test_an_agent_is_given_a_key_and_a_person_a_new_password(live_server):
    story = studio_story.tell()

    def work(page):
        page.goto(f"{TEAMS}/agentkey/")
        page.fill("#id_name", "night-agent")
        page.click("main button:has-text('Make a key')")
        command = page.text_content("#snippet-claude-code")
        page.goto(f"{TEAMS}/membership/")
        page.click("text=Reset the password >> nth=0")
        page.click("button.default")
        return command, page.inner_text(".workrail-secret code")

    (command, link), complaints = by_forms(story, live_server, work)

    assert re.search(r"wr_key_\w{40}", command)
    assert "/studio/password/" in link
    assert complaints == []


def test_a_run_is_forked_noted_paused_and_cancelled(live_server):
    from sessions_app.models import Output, Run

    story = studio_story.tell()
    pk = run_id(story.hotfix)
    run = f"{LISTS}/run/{pk}/change/"

    def work(page):
        page.goto(run)
        page.click(".points a >> nth=2")
        page.click("summary:has-text('Add a note')")
        page.fill("#note-text", "Seen by the on-call person.")
        page.click("text=Add it")
        page.goto(run)
        page.click(".points a >> nth=2")
        page.click("text=Fork here")
        token = page.inner_text("main")
        for button in ("Pause", "Cancel run"):
            page.goto(run)
            page.click(f".acts >> text={button}")
            if page.locator("[name=reason]").count():
                page.fill("[name=reason]", "Not needed any more.")
            page.click("main form button[type=submit] >> nth=0")
        return token

    token, complaints = by_forms(story, live_server, work)

    assert "st.v1." in token
    assert Run.objects.get(pk=pk).status == "cancelled"
    assert Output.objects.filter(run_id=pk, body__contains="Seen by the on-call person.").exists()
    assert complaints == []


def test_a_workflow_is_written_checked_saved_published_and_started(live_server):
    from sessions_app.models import Run
    from workflows_app.models import Workflow

    story = studio_story.tell()

    def work(page):
        page.goto(f"{WORKFLOWS}/new/")
        page.fill("#id_title", "Greet")
        page.fill("#id_new_id", "team.greet")
        page.click("button.default")
        page.fill("#text", json.dumps({**DOCUMENT, "steps": [{"id": "look"}]}, indent=2))
        page.click("button[value=check]:not([aria-hidden])")
        said = page.inner_text("#problems")
        page.fill("#text", json.dumps(DOCUMENT, indent=2))
        page.click("[data-save]")
        page.click("a:text-is('Publish')")
        page.click("button.default")
        page.click("text=Start a run")
        page.fill("[name=goal]", "Greet the queen")
        page.click("button.default")
        return said, page.inner_text(".workrail-secret")

    (said, handed), complaints = by_forms(story, live_server, work)

    assert "Line" in said
    assert "st.v1." in handed
    assert Workflow.objects.get(workflow_id="team.greet").state == "published"
    assert Run.objects.filter(goal="Greet the queen").exists()
    assert complaints == []


def test_runs_are_ticked_and_paused_together(live_server):
    from sessions_app.models import Run

    story = studio_story.tell()

    def work(page):
        page.goto(f"{LISTS}/run/?q=status:running")
        for box in page.locator("input[name=rows]").all():
            box.check()
        page.click("#bulk >> text=Pause")
        page.fill("[name=reason]", "The night shift looks first.")
        page.click("button.default")
        page.wait_for_selector(".toast")

    _, complaints = by_forms(story, live_server, work)

    assert Run.objects.filter(status="paused").exists()
    assert complaints == []
