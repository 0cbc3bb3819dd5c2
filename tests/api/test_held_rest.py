"""What a workflow holds, its other names, a walk through it, children of a run, and streams, by REST."""

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_doors, trigger_play
from tests.activity_folders import activity, folder, workflow
from tests.checkpoint_cast import publish_folder
from tests.run_cast import plain_steps, published, start
from tests.run_doors import V1
from workflows_app.services.bundled import load_bundled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


@pytest.fixture
def library(doors):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return doors


def read(api, path):
    answered = api.get(f"{V1}{path}")
    assert answered.status_code == 200, answered.content
    return answered.json()


def with_skills(api):
    ids = [each["id"] for each in read(api, "/workflows?limit=100")["items"] if each["state"] == "published"]
    return next(each for each in ids if read(api, f"/workflows/{each}/skills")["items"])


def test_skills_and_guides_are_listed_and_read_as_they_were_written(library):
    workflow = with_skills(library.agent)

    for shelf in ("skills", "resources", "templates"):
        for item in read(library.agent, f"/workflows/{workflow}/{shelf}")["items"][:2]:
            name = item["id"] if shelf == "skills" else item["index"]
            found = read(library.agent, f"/workflows/{workflow}/{shelf}/{name}")
            assert found["text"]
            assert found["attachment"]["digest"] == item["digest"]


def test_a_guide_without_a_number_is_listed_by_what_reads_it(doors):
    guides = {"guide.md": "", "03-one.md": "", "03-two.md": "", "overview.md": "plan"}
    files = {name: f"---\nid: {own}\n---\n# {name}\n" if own else f"# {name}\n" for name, own in guides.items()}
    held = {f"{part}__{name}": text.encode() for part in ("resources", "templates") for name, text in files.items()}
    publish_folder(doors.desk, folder(activity("work"), about=workflow(initialActivity="work"), **held))

    for shelf in ("resources", "templates"):
        listed = read(doors.agent, f"/workflows/team.plan/{shelf}")["items"]
        found = [read(doors.agent, f"/workflows/team.plan/{shelf}/{each['index']}") for each in listed]
        assert [each["attachment"] for each in found] == listed
        assert sorted(each["text"] for each in found) == sorted(files.values())


def test_what_a_workflow_does_not_hold_is_not_found_and_the_rest_is_named(library):
    workflow = with_skills(library.agent)

    no_shelf = library.agent.get(f"{V1}/workflows/{workflow}/drawers")
    no_skill = library.agent.get(f"{V1}/workflows/{workflow}/skills/nothing-like-it")

    assert (no_shelf.status_code, no_skill.status_code) == (404, 404)
    assert "skills, resources, templates" in no_shelf.json()["details"]["suggestion"]
    assert "It has: " in no_skill.json()["details"]["suggestion"]


def test_aliases_are_listed_and_read(doors):
    published(doors.desk, *plain_steps(1), workflow_id="team.short")
    doors.person("put", f"{V1}/workflows/aliases/team.brief", {"workflow": "team.short"})

    assert read(doors.agent, "/workflows/aliases")["items"] == [{"alias": "team.brief", "workflow": "team.short"}]
    assert read(doors.agent, "/workflows/aliases/team.brief")["workflow"] == "team.short"
    assert doors.agent.get(f"{V1}/workflows/aliases/team.nothing").status_code == 404
    assert read(doors.stranger, "/workflows/aliases")["items"] == []


def test_a_revision_is_walked_without_a_run(doors):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")

    walked = doors.person.post(f"{V1}/workflows/team.short/simulate", {})
    wrong = doors.person.post(f"{V1}/workflows/team.short/simulate", {"answers": {"nothing": {}}})

    assert walked.status_code == 200, walked.content
    assert (walked.json()["outcome"], len(walked.json()["path"])) == ("complete", 2)
    assert wrong.status_code == 400
    assert read(doors.agent, "/runs")["items"] == []


def test_children_of_a_run_are_listed(doors):
    trigger_play.publish_all(doors.desk)
    parent = trigger_play.start(doors.desk, "team.parent")
    (offered,) = [each for each in parent["availableActions"]["optional"] if each["action"] == "nav_start"]
    given = {"workflow_id": "team.child", "initial_variables": offered["initial_variables"]}
    begun = doors.agent.post(f"{V1}/dialects/navigation/tools/nav_start", given)
    assert begun.status_code == 200, begun.content
    runs = {each["workflowId"]: each["id"] for each in read(doors.agent, "/runs")["items"]}

    children = read(doors.agent, f"/runs/{runs['team.parent']}/children")["items"]

    assert [each["id"] for each in children] == [runs["team.child"]]
    assert read(doors.agent, f"/runs/{runs['team.child']}/children")["items"] == []
    assert doors.stranger.get(f"{V1}/runs/{runs['team.parent']}/children").status_code == 404


def test_a_version_is_another_one_when_the_run_moves_on(doors):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    value = start(doors.desk, "team.short", goal="Try").value
    path, inbox = f"/runs/{value['session']['runId']}/version", "/checkpoints/version"
    before, waiting = read(doors.agent, path), read(doors.agent, inbox)

    run_doors.go_on(doors.agent, value)

    assert read(doors.agent, path)["version"] != before["version"]
    assert read(doors.agent, inbox)["version"] != waiting["version"]
    assert doors.stranger.get(f"{V1}{path}").status_code == 404
    assert doors.agent.get(f"{V1}/runs/{value['session']['runId']}/stream").status_code == 409
