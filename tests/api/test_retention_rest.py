"""Rules, holds and deletion by REST and in the Studio."""

import pytest

from sessions_app.models import Hold, Retention, WorkSession
from tests import run_doors
from tests.run_doors import V1, begin_run
from tests.workflow_cast import NOW
from workflows_app.services import extensions

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


def test_rules_are_set_and_removed_by_owners(doors):
    path = f"{V1}/retention"
    assert doors.viewer.get(path).json()["items"] == [{"workflow": "", "idleDays": 60, "archives": False}]
    assert doors.person("PUT", path, {"idleDays": 5}).status_code == 403
    assert doors.owner("PUT", path, {"idleDays": 5, "archives": True}).status_code == 200
    doors.owner("PUT", path, {"workflow": "team.sample"})
    assert doors.viewer.get(path).json()["items"] == [
        {"workflow": "", "idleDays": 5, "archives": True},
        {"workflow": "team.sample", "idleDays": None, "archives": False},
    ]
    assert doors.owner("DELETE", f"{path}?workflow=team.sample").status_code == 204
    assert doors.owner("DELETE", f"{path}?workflow=team.sample").status_code == 404
    for wrong in ({"idleDays": 0}, {"idleDays": 99999}, {"days": 3}):
        assert doors.owner("PUT", path, wrong).status_code == 400


def test_a_rule_that_is_set_by_another_name_of_a_workflow_holds_for_its_runs(doors):
    begin_run(doors)
    extensions.set_alias(actor=doors.desk.person, alias="old-sample", workflow_id="team.sample", now=NOW)
    path = f"{V1}/retention"

    told = doors.owner("PUT", path, {"workflow": "old-sample", "idleDays": 5}).json()

    assert told == {"workflow": "team.sample", "idleDays": 5, "archives": False}
    assert [item["workflow"] for item in doors.viewer.get(path).json()["items"]] == ["", "team.sample"]
    assert doors.owner("DELETE", f"{path}?workflow=old-sample").status_code == 204
    assert [item["workflow"] for item in doors.viewer.get(path).json()["items"]] == [""]


def test_a_session_is_held_let_go_and_deleted(doors):
    value = begin_run(doors)
    path = f"{V1}/sessions/{value['session']['sessionId']}"
    assert doors.agent("PUT", f"{path}/hold", {"reason": "Mine"}).status_code == 403
    assert doors.person("PUT", f"{path}/hold", {"reason": "An audit"}).status_code == 204
    assert doors.viewer.get(f"{path}/hold").json()["reason"] == "An audit"
    assert doors.stranger.get(f"{path}/hold").status_code == 404
    assert doors.owner.post(f"{path}/delete", {"reason": "Asked for"}).json()["code"] == "PRECONDITION_FAILED"
    assert doors.person("DELETE", f"{path}/hold").status_code == 204
    assert doors.agent.post(f"{path}/delete", {"reason": "Asked for"}).status_code == 403
    assert doors.owner.post(f"{path}/delete", {"reason": "Asked for"}).json()["sessions"] == [path.rpartition("/")[2]]
    assert doors.viewer.get(path).status_code == 404


def test_the_same_in_the_studio(doors):
    begin_run(doors)
    (session,) = WorkSession.objects.all()
    root = f"/studio/sessions_app/worksession/{session.id}"
    client = doors.owner.client
    client.post(f"{root}/hold/", {"reason": "An audit"})
    assert Hold.objects.count() == 1
    client.post(f"{root}/let-go/")
    rules = "/studio/sessions_app/retention"
    client.post(f"{rules}/set/", {"workflow": "", "idle_days": "5"})
    assert "5 days" in client.get(f"{rules}/").content.decode()
    client.post(f"{rules}/{Retention.objects.get().pk}/remove/", {"workflow": ""})
    client.post(f"{root}/delete-for-good/", {"reason": "Asked for"})
    assert (Hold.objects.count(), Retention.objects.count(), WorkSession.objects.count()) == (0, 0, 0)
