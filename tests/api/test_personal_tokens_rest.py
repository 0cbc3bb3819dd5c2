"""People by their tokens at the REST door: what is answered, what is refused, and what stays marked."""

from datetime import timedelta

import pytest
from django.utils import timezone

from teams_app.engine.actors import Door, Role
from teams_app.engine.errors import UnauthenticatedError
from teams_app.engine.ids import Prefix, to_text
from tests.cast import Api, audited, issue, play, team_id
from tests.checkpoint_cast import at_question, only_row, rows
from tests.run_doors import V1, by_token, open_doors

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors(transactional_db):
    return open_doors()


def in_days(days):
    return (timezone.now() + timedelta(days=days)).isoformat()


def refused(response, status, code):
    assert (response.status_code, response.json()["code"]) == (status, code), response.content
    return response.json()


def path_of(value):
    return f"{V1}/checkpoints/{to_text(Prefix.CHECKPOINT, only_row(value).id)}"


def text_of(doors, value):
    """The page of the question, as its owner sees it in the Studio."""
    return doors.owner.client.get(
        f"/studio/sessions_app/checkpointrequest/{only_row(value).id}/change/"
    ).content.decode()


def yes(value):
    return {"option": "yes", "digest": only_row(value).digest}


def test_a_person_makes_uses_and_revokes_a_token(house, as_person, as_key):
    bob = as_person(house.bob)

    made = bob.post(f"{V1}/tokens", {"name": "laptop", "scopes": ["answer"], "expiresAt": in_days(30)})
    issued = made.json()
    by_it = as_key(issued["text"])
    told = by_it.get(f"{V1}/whoami").json()

    assert made.status_code == 201
    assert (told["kind"], told["name"], told["role"]) == ("person", "bob", "operator")
    assert told["token"] == {
        "id": issued["token"]["id"],
        "name": "laptop",
        "scopes": ["answer"],
        "answersHuman": False,
    }
    assert "drive_runs" not in told["permissions"]
    assert bob.get(f"{V1}/tokens").json()["items"][0]["lastUsedAt"] is not None
    assert issued["text"] not in bob.get(f"{V1}/tokens").content.decode()

    assert bob.post(f"{V1}/tokens/{issued['token']['id']}/revoke").status_code == 200
    assert refused(by_it.get(f"{V1}/whoami"), 401, "UNAUTHENTICATED")["detail"] == "This token does not hold."


def test_a_token_makes_no_other(doors):
    refused(doors.token.post(f"{V1}/tokens", {"name": "next", "expiresAt": in_days(1)}), 403, "HUMAN_REQUIRED")


def test_a_token_belongs_to_one_team_whatever_the_header_says(house, as_person):
    play("bob", house.other_team, Role.OWNER)
    bob = as_person(house.bob, **{"Workrail-Team": team_id(house.team)})
    text = bob.post(f"{V1}/tokens", {"name": "laptop", "expiresAt": in_days(1)}).json()["text"]
    token = Api(as_person(house.bob).client, Authorization=f"Bearer {text}")

    assert token.get(f"{V1}/whoami", **{"Workrail-Team": team_id(house.team)}).status_code == 200
    refused(token.get(f"{V1}/whoami", **{"Workrail-Team": team_id(house.other_team)}), 404, "NOT_FOUND")
    assert len(token.get(f"{V1}/teams").json()["items"]) == 1


def test_a_token_does_not_borrow_from_the_cookie_beside_it(house, as_person):
    signed = as_person(house.alice)

    refused(signed.get(f"{V1}/whoami", Authorization="Bearer wr_pat_" + "a" * 40), 401, "UNAUTHENTICATED")


def test_what_asks_for_a_person_is_refused_to_a_token_until_the_team_lets_it(doors):
    value = at_question(doors.desk, authority="human")

    told = refused(doors.token.post(f"{path_of(value)}/answer", yes(value)), 403, "HUMAN_REQUIRED")
    assert told["details"]["setting"] == "tokensAnswerHuman"
    assert only_row(value).state == "open"

    team = doors.owner.get(f"{V1}/whoami").json()["team"]
    assert doors.owner("PATCH", f"{V1}/teams/{team}", {"tokensAnswerHuman": True}).json()["tokensAnswerHuman"] is True
    answered = doors.token.post(f"{path_of(value)}/answer", yes(value)).json()

    assert answered["answer"]["authority"] == "human"
    assert (answered["answer"]["by"], answered["answer"]["door"]) == (doors.desk.person.id, "token")
    assert audited(doors.desk.team_id)[-1] == "checkpoint.answered"
    page = text_of(doors, value)
    assert "by token" in page


def test_a_question_that_an_agent_may_relay_is_answered_by_a_token_and_marked(doors):
    value = at_question(doors.desk)

    answered = doors.token.post(f"{path_of(value)}/answer", yes(value))

    assert answered.status_code == 200, answered.content
    assert rows(value)[0].door == "token"


def test_a_token_without_the_scope_is_told_which_one_would_do(doors):
    value = at_question(doors.desk)
    reading = by_token(doors.desk.person, scopes=())

    told = refused(reading.post(f"{path_of(value)}/answer", yes(value)), 403, "FORBIDDEN")

    assert "scope answer" in told["details"]["suggestion"]


def test_a_token_drives_no_run_and_is_told_who_does(doors):
    told = refused(doors.token.post(f"{V1}/runs", {"workflowId": "team.sample", "goal": "Try it"}), 403, "FORBIDDEN")

    assert "agents do it with a key" in told["details"]["suggestion"]


def test_never_to_stop_is_not_a_tokens_to_choose_for_a_run_a_session_or_the_team(doors):
    value = at_question(doors.desk, authority="human")
    row = only_row(value)
    never = {"preset": "full_auto_never_stop"}
    manager = by_token(doors.desk.owner, scopes=("answer", "manage"))
    run, session = to_text(Prefix.RUN, row.run_id), to_text(Prefix.SESSION, row.session_id)

    for path in (f"runs/{run}/preferences", f"sessions/{session}/preferences", "preferences"):
        refused(manager("PUT", f"{V1}/{path}", never), 403, "HUMAN_REQUIRED")
        assert manager("PUT", f"{V1}/{path}", {"preset": "full_auto_stop"}).status_code == 200, path


def test_a_token_at_the_address_of_mcp_is_told_that_agents_have_keys(doors):
    from workrail_site import admission

    text = doors.token.headers["Authorization"].removeprefix("Bearer ")

    with pytest.raises(UnauthenticatedError, match="is for REST"):
        admission.admit_key(text=text, door=Door.MCP, now=timezone.now())


def test_each_token_has_a_limit_of_its_own(doors, settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = 3
    other = by_token(doors.desk.person)
    with_limit = [doors.token.get(f"{V1}/whoami").status_code for _ in range(4)]

    assert with_limit == [200, 200, 200, 429]
    assert other.get(f"{V1}/whoami").status_code == 200
    assert doors.person.get(f"{V1}/whoami").status_code == 200


def test_a_stranger_and_a_key_find_no_token_of_the_team(house, as_person, as_key):
    made = as_person(house.bob).post(f"{V1}/tokens", {"name": "laptop", "expiresAt": in_days(1)}).json()
    path = f"{V1}/tokens/{made['token']['id']}"
    charlie = as_person(house.charlie)

    for told in (charlie.get(path), charlie.post(f"{path}/revoke"), as_person(house.bob).get(f"{V1}/tokens/pat_x")):
        refused(told, 404, "NOT_FOUND")
    refused(as_key(issue(house.alice.actor).text).get(f"{V1}/tokens"), 403, "FORBIDDEN")


def test_what_a_worker_does_for_a_token_is_marked_as_well(doors):
    from teams_app.models import AuditEntry
    from tests.run_cast import begin, plain_steps, session_id

    session = to_text(Prefix.SESSION, session_id(begin(doors.desk, *plain_steps(2))))
    job = doors.token.post(f"{V1}/sessions/{session}/export").json()["id"]
    data = b"".join(doors.token.get(f"{V1}/bundles/{job}/file").streaming_content)

    taken = doors.token.client.post(
        f"{V1}/bundles", data, content_type="application/gzip", headers=doors.token.headers
    ).json()

    assert doors.token.get(f"{V1}/bundles/{taken['id']}").json()["state"] == "done"
    told = AuditEntry.objects.get(action="session.imported")
    assert (told.actor_kind, told.details["by"], told.details["by_name"]) == ("person", "token", "laptop")
