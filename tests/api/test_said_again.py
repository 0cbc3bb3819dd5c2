"""What is asked twice: begun once by its key, recorded once by its tokens, and told where the second time said something else."""

import pytest

from tests import run_doors
from tests.run_cast import plain_steps, published
from tests.run_doors import V1, begin_run

pytestmark = pytest.mark.django_db(transaction=True)
KEY = {"Idempotency-Key": "5a0f3c1e-0001"}


@pytest.fixture
def doors():
    return run_doors.open_doors()


BEGINNINGS = [
    ("/runs", {"workflowId": "team.short", "goal": "Try it"}, "goal"),
    ("/dialects/rail/tools/start_workflow", {"workflowId": "team.short", "goal": "Try it"}, "goal"),
    ("/dialects/navigation/tools/nav_start", {"workflow_id": "team.short"}, "initial_variables"),
]


@pytest.mark.parametrize(("path", "body", "other"), BEGINNINGS)
def test_the_same_key_again_begins_nothing_and_another_body_is_refused(doors, path, body, other):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    changed = {**body, other: {"more": 1} if other == "initial_variables" else "Another"}

    first = doors.agent.post(f"{V1}{path}", body, **KEY)
    again = doors.agent.post(f"{V1}{path}", body, **KEY)
    refused = doors.agent.post(f"{V1}{path}", changed, **KEY)

    assert first.status_code in {200, 201}, first.content
    assert again.json() == first.json()
    assert (refused.status_code, refused.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert len(doors.agent.get(f"{V1}/runs").json()["items"]) == 1


@pytest.mark.parametrize("path", ["/sessions", "/dialects/session/tools/start_session"])
def test_where_a_key_would_be_lost_it_is_refused(doors, path):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    body = {"title": "x"} if path == "/sessions" else {"workflow_id": "team.short"}

    refused = doors.agent.post(f"{V1}{path}", body, **KEY)

    assert refused.status_code == 400
    assert "Idempotency-Key" in refused.json()["detail"]


def continued(doors, value, notes, **more):
    body = {
        "stateToken": value["stateToken"],
        "ackToken": value["ackToken"],
        "output": {"notesMarkdown": notes, **more},
    }
    answered = doors.agent.post(f"{V1}/runs/continue", body)
    assert answered.status_code == 200, answered.content
    return answered


def test_used_tokens_with_other_notes_are_answered_as_before_and_told(doors):
    value = begin_run(doors)
    first = continued(doors, value, "Did the first thing.")
    same = continued(doors, value, "Did the first thing.")
    other = continued(doors, value, "Did something else altogether.")

    assert same.content == first.content
    told = other.json()
    assert "was not recorded" in told.pop("recordedBefore")
    assert told == first.json()


def test_used_tokens_with_another_artifact_are_told(doors):
    value = begin_run(doors)
    first = continued(doors, value, "Did it.", artifacts=[{"kind": "team.finding", "place": "a.py:1"}])
    same = continued(doors, value, "Did it.", artifacts=[{"place": "a.py:1", "kind": "team.finding"}])
    other = continued(doors, value, "Did it.", artifacts=[{"kind": "team.finding", "place": "b.py:2"}])

    assert same.content == first.content
    assert "recordedBefore" in other.json()


def test_used_tokens_without_content_are_answered_as_before(doors):
    value = begin_run(doors)
    first = continued(doors, value, "Did it.")
    bare = doors.agent.post(f"{V1}/runs/continue", {"stateToken": value["stateToken"], "ackToken": value["ackToken"]})

    assert bare.content == first.content
