"""What is asked twice: recorded once by its tokens, and told where the second time said something else."""

import pytest

from tests import run_doors
from tests.run_doors import V1, begin_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


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


def test_notes_on_a_session_with_a_used_token_are_told_as_well(doors):
    token = doors.agent.post(f"{V1}/sessions", {"title": "Notes"}).json()["sessionToken"]

    first, same, other = (
        doors.agent.post(f"{V1}/sessions/checkpoint", {"sessionToken": token, "output": {"notesMarkdown": notes}})
        for notes in ("Seen.", "Seen.", "Something else.")
    )

    assert same.content == first.content
    assert "was not recorded" in other.json()["recordedBefore"]
