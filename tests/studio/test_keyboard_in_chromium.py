"""The main tasks by the keyboard alone: no pointer moves in any of these."""

import pytest

from tests import studio_story
from tests.chromium import CHROMIUM, browse
from tests.run_cast import run_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS = "/studio/sessions_app"


def press(page, *keys):
    for key in keys:
        # What waits for a word of a page may see it before the script of the page listens to keys.
        page.wait_for_load_state("load")
        page.keyboard.press(key)


def focus_on(page, words, *, most=90):
    """By Tab, as somebody goes who has nothing but Tab."""
    for _ in range(most):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "document.activeElement.innerText || document.activeElement.title || document.activeElement.name || ''"
        )
        if words in at:
            return
    raise AssertionError(f"Tab never came to {words}")


def test_a_question_is_found_claimed_skipped_and_sent_back(live_server):
    story = studio_story.tell()
    row = studio_story.question_of(story.hotfix)

    def work(page):
        page.goto("/studio/")
        press(page, "g", "i")
        page.wait_for_url("**/checkpointrequest/")
        press(page, "j", "Enter")
        page.wait_for_url("**/change/")
        first = page.url
        press(page, "n")
        page.wait_for_url(lambda url: url != first)
        page.goto(f"{LISTS}/checkpointrequest/{row.id}/change/")
        press(page, "c")
        page.wait_for_selector("text=Claimed by you")
        press(page, "2")
        focus_on(page, "reason")
        page.keyboard.type("Show the way back.")
        press(page, "Control+Enter")
        page.wait_for_selector(".toast, .runs-given")
        return first

    _, complaints = browse(live_server.url, studio_story.owner_of(story), work)
    row.refresh_from_db()

    assert (row.state, row.option_id, row.reason) == ("answered", "send_back", "Show the way back.")
    assert complaints == []


def test_a_run_is_found_read_node_by_node_renamed_and_cancelled(live_server):
    from sessions_app.models import Run

    story = studio_story.tell()
    pk = run_id(story.hotfix)

    def work(page):
        page.goto("/studio/")
        press(page, "/")
        page.keyboard.type("rounds")
        press(page, "Enter")
        page.wait_for_selector("#result_list")
        press(page, "j", "Enter")
        page.wait_for_url(f"**/run/{pk}/change/")
        press(page, "j", "j", "Enter")
        page.wait_for_selector(".drawer")
        opened = page.inner_text(".drawer h2")
        press(page, "Escape")
        page.wait_for_selector(".drawer", state="detached")
        press(page, "?")
        page.wait_for_selector("#keys[open]")
        press(page, "Escape")
        focus_on(page, "More")
        press(page, "Enter")
        focus_on(page, "Rename")
        press(page, "Enter")
        page.wait_for_url("**/rename/")
        focus_on(page, "name")
        press(page, "Control+a")
        page.keyboard.type("The total of an invoice")
        press(page, "Enter")
        page.wait_for_selector("h1:has-text('The total of an invoice')")
        focus_on(page, "Cancel run")
        press(page, "Enter")
        page.wait_for_url("**/cancel/")
        focus_on(page, "reason")
        page.keyboard.type("Not needed any more.")
        focus_on(page, "Cancel run")
        press(page, "Enter")
        page.wait_for_selector(".pill.is-cancelled")
        return opened

    opened, complaints = browse(live_server.url, studio_story.owner_of(story), work)
    row = Run.objects.get(pk=pk)

    assert opened
    assert (row.name, row.status) == ("The total of an invoice", "cancelled")
    assert complaints == []


def test_a_key_is_made_and_a_run_started_without_a_pointer(live_server):
    from sessions_app.models import Run
    from teams_app.models import AgentKey

    story = studio_story.tell()

    def work(page):
        page.goto("/studio/")
        press(page, "g", "k")
        page.wait_for_url("**/agentkey/")
        focus_on(page, "name")
        page.keyboard.type("night-agent")
        press(page, "Enter")
        page.wait_for_selector(".workrail-secret")
        press(page, "g", "w")
        page.wait_for_url("**/workflow/")
        focus_on(page, "Hotfix")
        press(page, "Enter")
        page.wait_for_selector("text=Start a run")
        focus_on(page, "Start a run")
        press(page, "Enter")
        page.wait_for_selector("[name=goal]")
        focus_on(page, "goal")
        page.keyboard.type("The same again")
        focus_on(page, "Start a run")
        press(page, "Enter")
        page.wait_for_selector(".workrail-secret")

    _, complaints = browse(live_server.url, studio_story.owner_of(story), work)

    assert AgentKey.objects.filter(name="night-agent").exists()
    assert Run.objects.filter(goal="The same again").exists()
    assert complaints == []


def test_a_chosen_answer_is_given_by_enter_and_asks_for_its_reason_first(live_server):
    story = studio_story.tell()
    row, plain = studio_story.question_of(story.hotfix), studio_story.question_of(story.triage)

    def work(page):
        page.goto(f"{LISTS}/checkpointrequest/{row.id}/change/")
        press(page, "2", "Enter")
        at = page.evaluate("document.activeElement.id")
        page.keyboard.type("Show the way back.")
        press(page, "Control+Enter")
        page.wait_for_selector(".toast, .runs-given")
        page.goto(f"{LISTS}/checkpointrequest/{plain.id}/change/")
        press(page, "3", "Enter")
        page.wait_for_selector(".toast, .runs-given")
        return at

    at, complaints = browse(live_server.url, studio_story.owner_of(story), work)
    row.refresh_from_db()
    plain.refresh_from_db()

    assert at == "reason"
    assert (row.option_id, row.reason, plain.option_id, complaints) == (
        "send_back",
        "Show the way back.",
        "critical",
        [],
    )


def test_where_the_browser_has_no_clipboard_it_is_copied_all_the_same(live_server):
    """As on a server without TLS."""
    story = studio_story.tell()

    def work(page):
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.goto(f"{LISTS}/run/{run_id(story.hotfix)}/change/")
        page.evaluate(
            "document.addEventListener('copy', () => { window.copied = getSelection().toString() || document.activeElement.value })"
        )
        page.click("[data-copy] >> nth=0")
        page.wait_for_selector(".toast")
        return page.inner_text(".toast"), page.evaluate("window.copied")

    (said, copied), complaints = browse(live_server.url, studio_story.owner_of(story), work)

    assert (said, complaints) == ("Copied", [])
    assert copied.startswith("run_")
