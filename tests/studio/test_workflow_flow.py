"""The steps of a workflow as a drawing, what its runs say beside it, and the table that says the same."""

import re

import pytest

from tests import run_doors
from tests.checkpoint_cast import publish_folder
from tests.run_cast import notes_free, published
from tests.run_doors import begin_run, go_on
from tests.step_documents import loop, step
from tests.trigger_play import child_files, parent_files

pytestmark = pytest.mark.django_db(transaction=True)

BAD = "<script>alert(1)</script>\"' onload=x"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def page_of(doors, workflow_id="team.sample", query=""):
    from workflows_app.models import Workflow

    row = Workflow.objects.get(workflow_id=workflow_id)
    response = doors.viewer.client.get(f"/studio/workflows_app/workflow/{row.pk}/change/{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawing_of(page):
    found = re.search(r'<svg class="flow".*?</svg>(?=</div>)', page, re.DOTALL)
    return found[0] if found else ""


def test_steps_loops_and_where_runs_are_stand_in_the_drawing(doors):
    steps = [
        step("find", title="Find the cause"),
        loop("each", [notes_free("fix")], type="forEach", items="files", itemVar="file"),
        step("ask", title="Ship it?", requireConfirmation={"kind": "human_approval"}),
    ]
    begin_run(doors, *steps)
    drawing = drawing_of(page_of(doors))

    assert re.findall(r'class="flow-title"[^>]*>([^<]*)<', drawing) == ["Find the cause", "Title of fix", "Ship it?"]
    assert "for each of files" in re.search(r'class="flow-name"[^>]*>([^<]*)<', drawing)[1]
    assert drawing.count('class="flow-box is-here"') == 1
    assert "people only" in drawing
    assert drawing_of(page_of(doors, query="?as=table")) == ""


def test_activities_are_joined_by_the_ways_between_them(doors):
    publish_folder(doors.desk, child_files(), "team.child")
    publish_folder(doors.desk, parent_files(), "team.parent")

    drawing = drawing_of(page_of(doors, "team.parent"))

    assert re.findall(r'class="flow-way".*?<title>([^<]*)<', drawing) == ["Plan leads to Build"]


def test_what_an_author_wrote_stays_text_in_the_drawing(doors):
    published(
        doors.desk,
        step("one", title=BAD),
        loop("two", [step("three", title=BAD)], type="for", count=2, maxIterations=3),
    )

    drawing = drawing_of(page_of(doors))

    assert "<script" not in drawing
    assert not re.search(r"\sonload=(?!x)", drawing)
    assert drawing.count("&lt;script&gt;") >= 2
    assert "\"'" not in drawing


def test_a_workflow_of_very_many_steps_is_a_table_alone(doors):
    published(doors.desk, *[notes_free(f"step-{number}") for number in range(130)])
    page = page_of(doors)

    assert drawing_of(page) == ""
    assert 'class="scroll"><table class="stages"' in page


def test_how_runs_ended_stands_beside_the_steps(doors):
    value = begin_run(doors, notes_free("one"))
    go_on(doors.agent, value)

    page = page_of(doors)

    assert "<dt>Done</dt><dd>1 (100 %)</dd>" in page
    assert "<dt>Half take</dt>" in page
