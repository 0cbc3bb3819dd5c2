"""In a real browser: a workflow goes out and comes back, an agent is connected, a password is set anew, odd names stay text."""

import json
import os
import re
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

WORKFLOWS, TEAMS = "/studio/workflows_app/workflow/", "/studio/teams_app"
# What each of them would do is to call `alert`, or to change the title.
PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    '"><iframe src=javascript:alert(1)>',
    "{{ constructor.constructor('alert(1)')() }}",
    "[x](javascript:alert(1))",
    "<style>*{display:none}</style>",
]


@pytest.fixture
def author(house):
    return play("ann", house.team, Role.AUTHOR).person


def document(**more):
    steps = [{"id": "first", "title": "The first step", "prompt": "Do it."}]
    return {
        "id": "team.sample",
        "name": "Sample",
        "version": "1.0.0",
        "description": "A sample.",
        "steps": steps,
        **more,
    }


def test_a_workflow_goes_out_as_a_file_and_comes_back_under_another_name(author, live_server, tmp_path):
    from workflows_app.models import Workflow

    path = tmp_path / "sample.json"
    path.write_text(json.dumps(document()))

    def carry(page):
        page.goto(f"{WORKFLOWS}import/")
        page.set_input_files("#id_uploads", path)
        page.click("button.default")
        page.wait_for_selector("#text")
        page.click(".crumbs a >> text=Sample")
        with page.expect_download() as waiting:
            page.click("text=Export")
        brought = tmp_path / "brought.json"
        brought.write_text(json.dumps({**json.loads(waiting.value.path().read_text()), "id": "team.again"}))
        page.goto(f"{WORKFLOWS}import/")
        page.set_input_files("#id_uploads", brought)
        page.click("button.default")
        page.wait_for_selector("#text")
        page.goto(WORKFLOWS)
        page.click("text=team.sample")
        page.click("text=Copy to a new workflow")
        page.click("button.default")
        page.wait_for_selector("#text")

    _, complaints = browse(live_server.url, author, carry)

    assert sorted(Workflow.objects.values_list("workflow_id", flat=True)) == [
        "team.again",
        "team.sample",
        "team.sample-copy",
    ]
    assert complaints == []


def test_a_folder_is_chosen_whole(author, live_server, tmp_path):
    from workflows_app.models import Workflow
    from workflows_app.selectors.sources import files_of
    from workrail_site.demo.library import files_of as demo_files

    files = demo_files("release")
    for name, data in files.items():
        place = tmp_path / "release" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def bring(page):
        page.goto(f"{WORKFLOWS}import/")
        with page.expect_file_chooser() as waiting:
            page.click("[data-folder]")
        waiting.value.set_files(tmp_path / "release")
        page.click("button.default")
        page.wait_for_selector("#text")

    _, complaints = browse(live_server.url, author, bring)

    assert dict(files_of(Workflow.objects.get().revisions.get().pk)) == files
    assert complaints == []


def test_an_agent_is_connected_with_a_key_made_on_the_page_and_its_call_is_seen(house, live_server):
    import httpx

    def connect(page):
        page.goto(f"{TEAMS}/agentkey/")
        page.fill("#id_name", "billing-agent")
        page.click("main button:has-text('Make a key')")
        page.wait_for_selector("details[open] .snippet [data-copy-from]", state="visible")
        if os.environ.get("WORKRAIL_PICTURES"):
            page.screenshot(path=Path(os.environ["WORKRAIL_PICTURES"]) / "key-made.png")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        command = page.text_content("#snippet-rest")
        url, header = re.search(r"curl (\S+)", command)[1], re.search(r"'(Authorization): (.*)'", command)
        before = page.inner_text("[data-watch]")
        told = httpx.get(url, headers={header[1]: header[2]}).json()
        page.wait_for_selector("[data-watch] time")
        return told, (before, page.inner_text("[data-watch]"))

    (told, seen), complaints = browse(live_server.url, house.alice.person, connect)

    assert (told["kind"], told["name"]) == ("agent_key", "billing-agent")
    assert set(told["scopes"]) == {"workflows:read", "runs:read", "runs:write"}
    assert seen[0] == "It has not called yet."
    assert seen[1].startswith("It has called: ")
    assert complaints == []


def test_a_forgotten_password_is_set_anew_by_its_person(house, live_server):
    def hand_out(page):
        page.goto(f"{TEAMS}/membership/")
        page.click("tr:has-text('bob') >> text=Reset the password")
        page.click("button.default")
        link = page.inner_text(".workrail-secret code")
        page.context.clear_cookies()
        page.goto(link)
        page.fill("#id_new_password", "another good one")
        page.fill("#id_again", "another good one")
        page.click("text=Set the password")
        page.fill("#id_username", "bob")
        page.fill("#id_password", "another good one")
        page.click("#login-form button[type=submit]")
        page.wait_for_selector("#user-tools", state="attached")
        return page.inner_text("#user-tools")

    who, complaints = browse(live_server.url, house.alice.person, hand_out)

    assert "bob" in who
    assert complaints == []


def test_what_an_author_writes_stays_text_on_every_page(author, live_server):
    from django.utils import timezone

    from teams_app.engine.actors import Door
    from teams_app.selectors import person_actor
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.models import Workflow
    from workflows_app.services.workflows import create_workflow

    actor = person_actor(person_id=author.pk, team_id=None, door=Door.STUDIO)
    for number, payload in enumerate(PAYLOADS):
        odd = document(
            id=f"team.odd{number}",
            name=payload[:60],
            description=f"It is {payload}",
            examples=[payload, "another"],
            steps=[{"id": "first", "title": payload, "prompt": payload}],
            unknown_key=payload,
        )
        source = Source(format=SourceFormat.STEPS_JSON, files={"workflow.json": json.dumps(odd).encode()})
        create_workflow(actor=actor, source=source, message=payload, now=timezone.now())
    rows = list(Workflow.objects.order_by("workflow_id").values_list("pk", flat=True))
    dialogs = []

    def look(page):
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        marked = []
        for path in ["", *(f"{row}/{part}" for row in rows for part in ("change/", "change/?tab=source", "edit/"))]:
            page.goto(WORKFLOWS + path)
            assert page.locator("main script, main iframe, main img, main style").count() == 0
            if path.endswith("edit/"):
                # What is drawn anew while one types.
                page.press("#text", "End")
                page.type("#text", " ")
                page.wait_for_selector("#saved:has-text('changed')")
                marked.append(page.inner_text("#marks"))
                assert page.locator("main script, main iframe, main img, main style").count() == 0
                page.fill("#text", page.input_value("#text"))
                page.evaluate("document.querySelector('[data-editor]').dispatchEvent(new Event('submit'))")
        return marked

    marked, complaints = browse(live_server.url, author, look)

    assert all(json.dumps(payload)[1:-1] in shown for payload, shown in zip(PAYLOADS, marked, strict=True))
    assert dialogs == []
    assert complaints == []
