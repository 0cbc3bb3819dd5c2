"""Saved views of the lists: a person's own, those of the team, and who may do what with them."""

import html
import re

import pytest

from sessions_app.models import BundleJob, Hold, Run, SavedView
from tests import run_doors
from tests.run_doors import begin_run
from tests.studio_pages import said_on

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/studio/sessions_app"
QUERY = "status:open sort:started rounds"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def page_of(api, path):
    response = api.client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def tabs_of(api, path=f"{ROOT}/run/"):
    views = page_of(api, path).partition('aria-label="Views"')[2].partition("</nav>")[0]
    return re.findall(r">([^<>]+?)(?: <span[^>]*>\d+</span>)?</a>", views)


def save(api, act="save-view", name="Open rounds", query=QUERY, model="run"):
    return api.client.post(f"{ROOT}/{model}/{act}/", {"name": name, "q": query})


@pytest.mark.parametrize("model", ["run", "worksession"])
def test_a_view_is_saved_from_the_page_it_is_of_and_is_a_tab_for_oneself_only(doors, model):
    path = f"{ROOT}/{model}/"
    page = page_of(doors.viewer, f"{path}?q=status:done")
    link = html.unescape(re.search(r'href="([^"]*save-view[^"]*)"', page)[1])
    assert 'value="status:done"' in page_of(doors.viewer, link)

    said = save(doors.viewer, query="status:done", model=model, name="Done ones")

    assert said["Location"] == f"{path}?q=status%3Adone"
    assert "Done ones" in tabs_of(doors.viewer, path)
    assert "Done ones" not in tabs_of(doors.person, path)
    assert "save-view" not in page_of(doors.viewer, said["Location"])


def test_a_shared_view_is_a_tab_for_the_team_and_not_for_another(doors):
    save(doors.person, act="share-view")

    assert "Open rounds" in tabs_of(doors.viewer)
    stranger = run_doors.signed_in(
        run_doors.run_cast.replace(
            doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id
        )
    )
    assert "Open rounds" not in tabs_of(stranger)


def test_who_may_not_share_finds_no_button_and_is_not_heard(doors):
    assert "share-view" not in page_of(doors.viewer, f"{ROOT}/run/?q=status:done")
    assert save(doors.viewer, act="share-view").status_code == 403
    assert not SavedView.objects.exists()


def test_a_view_is_forgotten_by_its_own_person_and_a_shared_one_by_an_owner(doors):
    save(doors.person, act="share-view")
    page = page_of(doors.owner, f"{ROOT}/run/?q={QUERY}")
    link = html.unescape(re.search(r'href="([^"]*forget-view[^"]*)"', page)[1])
    assert "forget-view" not in page_of(doors.viewer, f"{ROOT}/run/?q={QUERY}")
    path, _, view = link.partition("?view=")

    assert doors.viewer.client.post(path, {"view": view}).status_code == 400
    assert doors.owner.client.post(path, {"view": view}).status_code == 302
    assert "Open rounds" not in tabs_of(doors.person)


def test_the_same_name_names_the_newer_query(doors):
    save(doors.viewer)
    save(doors.viewer, query="status:done")

    assert SavedView.objects.get().query == "status:done"


@pytest.mark.parametrize(("name", "query"), [("", QUERY), ("x" * 41, QUERY), ("Fine", "stauts:open"), ("a\x00", QUERY)])
def test_what_is_no_view_is_refused_on_the_page(doors, name, query):
    assert save(doors.viewer, name=name, query=query).status_code == 400
    assert not SavedView.objects.exists()


def test_a_person_keeps_a_bounded_number_of_views(doors):
    for number in range(20):
        assert save(doors.viewer, name=f"View {number}").status_code == 302

    assert save(doors.viewer, name="One more").status_code == 400


def test_what_others_share_never_crowds_out_a_view_of_ones_own(doors):
    for number in range(20):
        save(doors.person, act="share-view", name=f"Of Bob {number}", query=f"bob{number}")
        save(doors.owner, act="share-view", name=f"Of Alice {number}", query=f"alice{number}")
    save(doors.viewer, name="My own")

    assert "My own" in tabs_of(doors.viewer)


@pytest.mark.parametrize("model", ["run", "worksession"])
def test_ticked_rows_are_held_together(doors, model):
    begin_run(doors)
    begin_run(doors, workflow_id="team.other")
    runs = list(Run.objects.all())
    rows = [str(run.id if model == "run" else run.session_id) for run in runs]
    asked = page_of(doors.person, f"{ROOT}/{model}/hold-rows/?rows={rows[0]}&rows={rows[1]}")

    answer = doors.person.client.post(f"{ROOT}/{model}/hold-rows/", {"rows": rows, "reason": "An audit"}, follow=True)

    assert asked.count('name="rows"') == 2
    assert set(Hold.objects.values_list("session_id", flat=True)) == {run.session_id for run in runs}
    assert said_on(answer.content.decode())[0][1].startswith("2 ")


@pytest.mark.parametrize("model", ["run", "worksession"])
def test_ticked_rows_are_exported_together_each_session_once(doors, model):
    value = begin_run(doors)
    run_doors.run_cast.start(doors.desk, session_id=run_doors.run_cast.session_id(value))
    begin_run(doors, workflow_id="team.other")
    rows = [str(run.id if model == "run" else run.session_id) for run in Run.objects.all()]

    answer = doors.viewer.client.post(f"{ROOT}/{model}/export-rows/", {"rows": sorted(set(rows))}, follow=True)

    assert BundleJob.objects.count() == 2
    assert said_on(answer.content.decode())[0] == ("success", "2 sessions under way to a file.")


def test_a_run_offers_rename_hold_and_export_to_those_who_may(doors):
    begin_run(doors)
    run = Run.objects.get()
    path = f"{ROOT}/run/{run.id}/change/"
    offered = re.findall(r'<a href="[^"]*/(rename|hold|let-go|export)/">', page_of(doors.person, path))
    assert offered == ["rename", "hold", "export"]
    assert re.findall(r'<a href="[^"]*/(rename|hold|let-go|export)/">', page_of(doors.viewer, path)) == ["export"]

    doors.person.client.post(f"{ROOT}/run/{run.id}/rename/", {"name": "The quartz lantern"})
    doors.person.client.post(f"{ROOT}/worksession/{run.session_id}/hold/", {"reason": "An audit"})

    assert "<h1>The quartz lantern</h1>" in page_of(doors.viewer, path)
    assert "The quartz lantern" in page_of(doors.viewer, f"{ROOT}/run/?q=quartz")
    assert "/let-go/" in page_of(doors.person, path)
    session = page_of(doors.owner, f"{ROOT}/worksession/{run.session_id}/change/")
    assert "“An audit”" in session
    assert "/delete-for-good/" not in session


def test_two_ticked_runs_are_compared(doors):
    begin_run(doors, goal="One")
    begin_run(doors, workflow_id="team.other", goal="Another")
    rows = [str(run.id) for run in Run.objects.all()]

    page = doors.viewer.client.get(f"{ROOT}/run/compare/", {"rows": rows}, follow=True)
    one = doors.viewer.client.get(f"{ROOT}/run/compare/", {"rows": rows[:1]}, follow=True)

    assert "Compare two runs" in page.content.decode()
    assert "Tick two runs to compare them." in one.content.decode()
