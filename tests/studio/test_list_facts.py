"""What a row of a list says besides its name: how many branches a run has, and what came with a question."""

import re

import pytest

from tests import run_doors
from tests.run_cast import advanced, begin, bookmark, notes_free
from tests.run_doors import V1, begin_run, go_on

pytestmark = pytest.mark.django_db(transaction=True)

RUNS, INBOX = "/studio/sessions_app/run/", "/studio/sessions_app/checkpointrequest/"
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1,2 +1,3 @@\n kept\n-old\n+new\n+newer\n"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def page_of(doors, path):
    return doors.viewer.client.get(path).content.decode()


def branches_in(page):
    return re.findall(r'class="branches" title="([^"]*)"', page)


def test_a_run_with_branches_says_how_many(doors):
    begin_run(doors, goal="Straight on", workflow_id="team.straight")
    value = begin_run(doors, goal="Two ways")
    first = go_on(doors.agent, value).json()
    go_on(doors.agent, first, notes="One way.")
    bookmark(doors.desk.agent, first, "So far.")

    assert branches_in(page_of(doors, RUNS)) == []

    back = doors.agent.post(f"{V1}/runs/continue", {"stateToken": first["stateToken"]}).json()
    go_on(doors.agent, back, notes="Another way.")

    assert branches_in(page_of(doors, RUNS)) == ["2 branches"]


def test_a_very_long_run_is_not_counted_for_a_list(doors, monkeypatch):
    from sessions_app.selectors import run_list

    value = begin_run(doors)
    first = go_on(doors.agent, value).json()
    go_on(doors.agent, first, notes="One way.")
    back = doors.agent.post(f"{V1}/runs/continue", {"stateToken": first["stateToken"]}).json()
    go_on(doors.agent, back, notes="Another way.")
    monkeypatch.setattr(run_list, "MOST_BRANCHED_NODES", 3)

    assert branches_in(page_of(doors, RUNS)) == []


def asked(doors, *artifacts):
    ship = notes_free("ship", requireConfirmation={"kind": "human_approval"})
    advanced(doors.desk.agent, begin(doors.desk, ship, notes_free("after")), "Done.", artifacts=list(artifacts))
    return re.findall(r'<span class="tag">(.*?)</span>(?=<span class="tag|</span></div>)', page_of(doors, INBOX))


@pytest.mark.parametrize(
    ("artifacts", "tags"),
    [
        ([], []),
        ([DIFF.format("a.py")], ["1 file +2 −1"]),
        ([DIFF.format("a.py") + DIFF.format("b.py"), DIFF.format("a.py")], ["2 files +6 −3"]),
        ([DIFF.format("a.py"), "# A plan\n\nin lines"], ["1 file +2 −1", "1 document"]),
        (["It says @@ -1 and no more"], ["1 document"]),
        (["--- a/x\n+++ b/x\n@@ -1 +1,40000 @@\n" + "+a\n" * 40_000], ["1 document"]),
    ],
)
def test_a_question_says_what_its_diffs_come_to(doors, artifacts, tags):
    found = asked(doors, *[{"kind": "team.work", "text": text} for text in artifacts])

    assert [re.sub(r"<[^>]*>", "", tag) for tag in found] == tags
