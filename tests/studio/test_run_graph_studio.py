"""The graph of a run: rounds with what they are about, runs that it triggered, and which of how many steps a node is."""

import html
import re

import pytest

from sessions_app.models import Gap, Run
from tests import run_doors, studio_story, trigger_play
from tests.run_cast import advanced, begin, notes_free, run_id

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/studio/sessions_app/run"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def page_of(doors, run, query=""):
    response = doors.viewer.client.get(f"{RUNS}/{run}/change/{query}")
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def rows_of(page):
    return re.findall(
        r'href="([^"]*)"[^>]*><span class="visually-hidden">([\w ]+), branch \d+: </span>([^<]*)</a>', page
    )


def test_rounds_are_folded_with_what_they_are_about_and_steps_are_counted(doors):
    story = studio_story.tell(doors)
    run = run_id(story.hotfix)
    page = page_of(doors, run)
    unfolded = page_of(doors, run, "?unfold=all")
    risk = page_of(doors, run, f"?node={studio_story.node_text(story.hotfix, 'risk')}")

    assert "3 rounds: billing/tax.py, billing/total.py, tests/test_tax.py" in page
    assert [title for _, _, title in rows_of(unfolded) if title.startswith("Fix one file")][::-1] == [
        "Fix one file: billing/tax.py",
        "Fix one file: billing/total.py",
        "Fix one file: tests/test_tax.py",
    ]
    assert "<span>Step 4 of 7</span>" in risk
    assert "<span>step 6 of 7</span>" in page


def test_a_run_that_was_triggered_stands_in_the_graph_and_leads_there_and_back(doors):
    trigger_play.publish_all(doors.desk)
    parent = trigger_play.start(doors.desk, ticket="T-1")
    value = trigger_play.complete(doors.desk, parent["state"], "draft", "check")
    trigger_play.triggered(doors.desk, value)
    run = Run.objects.get(workflow_id="team.parent")
    child = Run.objects.get(workflow_id="team.child")

    (found,) = [(url, title) for url, word, title in rows_of(page_of(doors, run.id)) if word == "Child run"]

    assert found == (f"{RUNS}/{child.id}/change/", "team.child")
    assert "Child run, running for" in page_of(doors, run.id)
    assert f'href="{RUNS}/{run.id}/change/">Triggered by another run' in page_of(doors, child.id)


def lines_of(page):
    """Titles with what stands below them, the newest first."""
    found = re.findall(
        r'</span>([^<]*)</a>(?:<span class="sub[^"]*">([^<]*)</span>)?', page.partition('class="graph')[2]
    )
    return [(title, sub.strip()) for title, sub in found]


def test_the_lines_of_a_step_that_waits_for_a_run_are_told_apart(doors):
    trigger_play.publish_all(doors.desk)
    parent = trigger_play.start(doors.desk, ticket="T-1")
    value = trigger_play.complete(doors.desk, parent["state"], "draft")
    child = trigger_play.triggered(doors.desk, trigger_play.look(doors.desk, value["state"]))
    run = Run.objects.get(workflow_id="team.parent").id
    waiting = lines_of(page_of(doors, run))
    trigger_play.complete(doors.desk, child["state"], "do", "end")
    after = lines_of(page_of(doors, run))

    assert ("Check", "Waits for “team.child”") in waiting
    assert ("Check", "Began “team.child”") in waiting
    assert ("Check", "Goes on after “team.child”") in after
    assert [len(set(lines)) for lines in (waiting, after)] == [len(waiting), len(after)]


def test_steps_without_notes_that_nobody_asked_for_are_one_line_beside_the_evidence(doors):
    trigger_play.publish_all(doors.desk)
    parent = trigger_play.start(doors.desk, ticket="T-1")
    trigger_play.complete(doors.desk, parent["state"], "draft", "check")
    run = Run.objects.get(workflow_id="team.parent")
    unnoted = Gap.objects.filter(run_id=run.id, detail="missing_required_notes", severity="info")
    assert unnoted.exists()

    assert '#s-warning"' not in page_of(doors, run.id).partition('class="graph')[2].partition("</ol>")[0]
    assert "acknowledged without notes" in page_of(doors, run.id, "?tab=gaps")


def test_a_step_that_was_done_otherwise_has_a_badge_and_is_not_folded(doors):
    said = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Ran the suite once."}
    value = begin(doors.desk, *(notes_free(f"step-{number}") for number in range(14)))
    run = run_id(value)
    for number in range(12):
        value = advanced(doors.desk.agent, value, artifacts=[said] if number == 5 else [])
    rows = page_of(doors, run).partition('class="graph')[2].split("<li")
    (badged,) = [row for row in rows if ">Diverged<" in row]

    assert "step-5" in badged
    assert "Unfold" not in badged
