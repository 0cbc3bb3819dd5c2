"""A workflow from nothing, in a real browser: written, mended, walked, published. And one that goes out and comes back."""

import json
import os
from pathlib import Path

import pytest

from teams_app.engine.actors import Role
from tests.cast import play
from tests.chromium import CHROMIUM, browse

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

ROOT = "/studio/workflows_app/workflow/"
PICTURES = os.environ.get("WORKRAIL_PICTURES")
BROKEN = {
    "id": "team.greet",
    "name": "Greet",
    "version": "1.0.0",
    "description": "Greets whoever comes.",
    "steps": [
        {"id": "look", "title": "Look who is there", "prompt": "Say who is there. Set in context: `who`."},
        {
            "id": "bow",
            "title": "Bow",
            "prompt": "Bow to {{who}}.",
            "runCondition": {"var": "who", "equal": "the queen"},
        },
        {
            "id": "greet",
            "title": "Say hello?",
            "prompt": "Say hello.",
            "requireConfirmation": {"kind": "human_approval"},
        },
    ],
}


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.fixture
def author(house):
    return play("ann", house.team, Role.AUTHOR).person


def test_a_workflow_is_written_mended_walked_published_and_started(author, live_server):
    from workflows_app.models import Workflow

    def write(page):
        page.goto(ROOT)
        page.click("text=New workflow")
        page.fill("#id_title", "Greet")
        page.fill("#id_new_id", "team.greet")
        page.click("button.default")
        page.wait_for_selector("#text")
        page.fill("#text", json.dumps(BROKEN, indent=2))
        page.wait_for_selector("#problems li")
        said = page.inner_text("#problems li")
        assert page.is_disabled("text=Publish")
        picture(page, "editor-problem")
        page.click("#problems button[data-wrong]")
        page.wait_for_selector("#problems li", state="detached")
        outline = page.inner_text("#outline")
        page.fill("[name=var-who]", "the queen")
        page.click("#simulate button[value=walk]")
        page.wait_for_selector("#walk")
        walked = page.inner_text("#walk")
        picture(page, "editor")
        page.fill("[name=message]", "Bow to the queen")
        page.keyboard.press("Control+s")
        page.wait_for_selector("a:text-is('Publish')")
        page.click("a:text-is('Publish')")
        picture(page, "publish")
        page.click("button.default")
        page.wait_for_selector(".pill.is-done")
        picture(page, "workflow")
        return said, outline, walked

    (said, outline, walked), complaints = browse(live_server.url, author, write)

    row = Workflow.objects.get(workflow_id="team.greet")
    assert "no operator 'equal'" in said
    assert "Say hello?" in outline
    assert "Bow" in walked
    assert "the end" in walked
    assert (row.state, row.published.number, row.published.message) == ("published", 2, "Bow to the queen")
    assert complaints == []


def test_a_folder_is_written_file_by_file_and_nothing_is_lost_between_the_tabs(author, live_server):
    from workflows_app.models import Workflow
    from workflows_app.selectors.sources import files_of

    def write(page):
        page.goto(f"{ROOT}new/")
        page.fill("#id_title", "Plan")
        page.fill("#id_new_id", "team.plan")
        page.check("input[value=activity_folder]")
        page.click("button.default")
        page.wait_for_selector("#text")
        page.fill("#text", page.input_value("#text").replace("0.1.0", "0.2.0"))
        page.click("button:has-text('01-begin.yaml')")
        page.wait_for_selector("[name=path][value='activities/01-begin.yaml']", state="attached")
        page.fill("#text", page.input_value("#text").replace("The first step", "Look around"))
        page.click(".filebar summary")
        page.fill("#new-path", "resources/01-style.md")
        page.click("button:text-is('Add it')")
        page.wait_for_selector("[name=path][value='resources/01-style.md']", state="attached")
        page.fill("#text", "# Style\n\nPlain words.\n")
        page.click("[data-save]")
        page.wait_for_selector(".toast")
        picture(page, "editor-folder")

    _, complaints = browse(live_server.url, author, write)

    files = files_of(Workflow.objects.get(workflow_id="team.plan").revisions.get(number=2).pk)
    assert b"0.2.0" in files["workflow.yaml"]
    assert b"Look around" in files["activities/01-begin.yaml"]
    assert files["resources/01-style.md"] == b"# Style\n\nPlain words.\n"
    assert complaints == []
