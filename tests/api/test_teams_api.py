"""Teams, members, keys and the audit log by REST: what each endpoint answers and leaves in the tables."""

from datetime import timedelta

import pytest
from django.utils import timezone

from teams_app.engine.actors import Role, Scope
from teams_app.engine.ids import Prefix, to_text
from tests.cast import NOW, audited, issue, member_id, play, team_id

pytestmark = pytest.mark.django_db


def test_a_person_learns_who_they_are(house, as_person):
    told = as_person(house.bob).get("/api/v1/whoami").json()

    assert told == {
        "kind": "person",
        "id": house.bob.actor.id,
        "name": "bob",
        "team": team_id(house.team),
        "door": "rest",
        "role": "operator",
        "scopes": [],
        "permissions": [
            "read_workflows",
            "read_internals",
            "read_runs",
            "drive_runs",
            "steer_runs",
            "answer_checkpoints",
            "read_traces",
            "read_team",
        ],
        "token": None,
    }


def test_a_key_learns_what_it_is(house, as_key):
    issued = issue(house.alice.actor, scopes=frozenset({Scope.RUNS_READ}), name="Claude")

    told = as_key(issued.text).get("/api/v1/whoami").json()

    assert told["kind"] == "agent_key"
    assert told["id"] == to_text(Prefix.KEY, issued.key.id)
    assert (told["role"], told["scopes"], told["permissions"]) == (None, ["runs:read"], ["read_runs"])


def test_the_scheme_of_the_header_is_read_without_regard_to_case(house, as_nobody):
    issued = issue(house.alice.actor)

    assert as_nobody.get("/api/v1/whoami", Authorization=f"bearer   {issued.text} ").status_code == 200


def test_a_person_in_several_teams_must_say_for_which_one_they_ask(house, as_person):
    play("bob", house.other_team, Role.OWNER)
    bob = as_person(house.bob)

    refused = bob.get("/api/v1/whoami")

    told = refused.json()
    assert (refused.status_code, told["code"]) == (409, "TEAM_REQUIRED")
    assert {team["id"] for team in told["details"]["teams"]} == {team_id(house.team), team_id(house.other_team)}
    chosen = bob.get("/api/v1/whoami", **{"Workrail-Team": team_id(house.other_team)}).json()
    assert (chosen["team"], chosen["role"]) == (team_id(house.other_team), "owner")


def test_a_person_in_no_team_is_told_so(house, as_person):
    house.bob.membership.delete()

    refused = as_person(house.bob).get("/api/v1/whoami")

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")


def test_a_person_sees_their_teams_and_no_other(house, as_person):
    told = as_person(house.bob).get("/api/v1/teams").json()

    assert [team["id"] for team in told["items"]] == [team_id(house.team)]


def test_a_key_sees_its_one_team(house, as_key):
    told = as_key(issue(house.alice.actor).text).get("/api/v1/teams").json()

    assert [team["name"] for team in told["items"]] == ["Alice's team"]


def test_a_team_is_founded(house, as_person):
    from teams_app.models import Membership

    response = as_person(house.alice).post("/api/v1/teams", {"name": "Second"})

    assert response.status_code == 201
    membership = Membership.objects.select_related("team").get(person=house.alice.person, team__name="Second")
    assert response.json()["id"] == team_id(membership.team)
    assert membership.role == "owner"


def test_a_team_is_renamed(house, as_person):
    response = as_person(house.alice)("PATCH", f"/api/v1/teams/{team_id(house.team)}", {"name": "Rails"})

    house.team.refresh_from_db()
    assert (response.status_code, response.json()["name"], house.team.name) == (200, "Rails", "Rails")


def test_the_members_of_the_team_are_listed_and_no_other(house, as_person):
    told = as_person(house.bob).get("/api/v1/members").json()

    assert [member["username"] for member in told["items"]] == ["alice", "bob"]
    assert told["nextCursor"] is None


def test_a_person_is_invited_joins_is_read_promoted_and_removed(house, as_person, client):
    alice = as_person(house.alice)

    invited = alice.post("/api/v1/invitations", {"username": "dora", "role": "viewer"})
    waiting = alice.get("/api/v1/invitations").json()["items"]
    password = {"new_password": "correct horse battery", "again": "correct horse battery"}
    client.post(invited.json()["link"], {"way": "new", **password})
    (dora,) = [each for each in alice.get("/api/v1/members").json()["items"] if each["username"] == "dora"]
    path = f"/api/v1/members/{dora['id']}"
    promoted = alice("PATCH", path, {"role": "author"})
    reset = alice.post(f"{path}/password-link")
    removed = alice("DELETE", path)

    assert (invited.status_code, invited.json()["invitation"]) == (201, waiting[0])
    assert alice.get("/api/v1/invitations").json()["items"] == []
    assert dora["role"] == "viewer"
    assert promoted.json()["role"] == "author"
    assert (reset.status_code, reset.json()["username"]) == (201, "dora")
    assert (removed.status_code, removed.content) == (204, b"")
    assert client.get(reset.json()["link"]).status_code == 404
    assert audited(house.team) == [
        "member.invited",
        "member.joined",
        "person.signed_in",
        "member.role_changed",
        "password.reset_offered",
        "member.removed",
    ]


def test_an_invitation_is_withdrawn_once(house, as_person, client):
    alice = as_person(house.alice)
    invited = alice.post("/api/v1/invitations", {"username": "dora", "role": "viewer"}).json()
    path = f"/api/v1/invitations/{invited['invitation']['id']}"

    assert [alice("DELETE", path).status_code for _ in range(2)] == [204, 404]
    assert client.get(invited["link"]).status_code == 404


def test_nobody_is_added_without_being_asked(house, as_person):
    assert as_person(house.alice).post("/api/v1/members", {"username": "charlie", "role": "viewer"}).status_code == 405


def test_the_last_owner_stays(house, as_person):
    refused = as_person(house.alice)("DELETE", f"/api/v1/members/{member_id(house.alice)}")

    assert (refused.status_code, refused.json()["code"]) == (409, "PRECONDITION_FAILED")
    assert refused.json()["details"]["suggestion"] == "Make another member an owner first."


def test_a_key_is_issued_shown_once_listed_and_revoked(house, as_person, as_key, django_capture_on_commit_callbacks):
    alice = as_person(house.alice)
    body = {"name": "Claude", "scopes": ["team:read", "runs:read"], "expiresAt": "2030-01-01T00:00:00Z"}

    issued = alice.post("/api/v1/keys", body)
    text, key = issued.json()["text"], issued.json()["key"]
    used = as_key(text).get("/api/v1/keys")
    read = alice.get(f"/api/v1/keys/{key['id']}")
    with django_capture_on_commit_callbacks(execute=True):
        revoked = alice.post(f"/api/v1/keys/{key['id']}/revoke")
    refused = as_key(text).get("/api/v1/keys")

    assert issued.status_code == 201
    assert key["prefix"] == text[:15]
    assert key["scopes"] == ["runs:read", "team:read"]
    assert key["expiresAt"] == "2030-01-01T00:00:00Z"
    assert [item["id"] for item in used.json()["items"]] == [key["id"]]
    assert text not in used.content.decode() + read.content.decode() + revoked.content.decode()
    assert revoked.json()["revokedAt"]
    assert (refused.status_code, refused.json()["code"]) == (401, "KEY_REVOKED")


def test_a_rotated_key_is_shown_once_beside_the_old_one_that_ends_within_a_day(house, as_person, as_key):
    alice = as_person(house.alice)
    old = alice.post("/api/v1/keys", {"name": "Claude", "scopes": ["team:read"]}).json()

    rotated = alice.post(f"/api/v1/keys/{old['key']['id']}/rotate")
    new = rotated.json()
    left = alice.get(f"/api/v1/keys/{old['key']['id']}").json()
    again = alice.post(f"/api/v1/keys/{old['key']['id']}/rotate")

    assert rotated.status_code == 201
    assert (new["key"]["name"], new["key"]["scopes"], new["key"]["expiresAt"]) == ("Claude", ["team:read"], None)
    assert [as_key(each["text"]).get("/api/v1/keys").status_code for each in (old, new)] == [200, 200]
    assert left["expiresAt"] is not None
    assert (again.status_code, again.json()["code"]) == (409, "PRECONDITION_FAILED")


def test_only_an_owner_of_the_team_rotates_a_key(house, as_person):
    key = to_text(Prefix.KEY, issue(house.alice.actor).key.id)

    refused = [as_person(who).post(f"/api/v1/keys/{key}/rotate").json()["code"] for who in (house.bob, house.charlie)]

    assert refused == ["FORBIDDEN", "NOT_FOUND"]


@pytest.mark.parametrize(
    "change",
    [
        {"expiresAt": "2999-01-01T00:00:00"},
        {"expiresAt": "tomorrow"},
        {"expiresAt": "2001-01-01T00:00:00Z"},
        {"expiresAt": 32503680000},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"scopes": ["runs:read"] * 7},
        {"name": ""},
        {"name": "x" * 101},
        {"name": "a\u202eb"},
    ],
)
def test_a_key_on_bad_terms_is_not_issued(house, as_person, change):
    from teams_app.models import AgentKey

    body = {"name": "x", "scopes": ["runs:read"]} | change

    refused = as_person(house.alice).post("/api/v1/keys", body)

    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR")
    assert not AgentKey.objects.exists()


def test_keys_are_paged_from_the_newest(house, as_person):
    made = [issue(house.alice.actor, name=f"key {number}", now=NOW + timedelta(seconds=number)) for number in range(5)]
    alice = as_person(house.alice)

    seen, query = [], "?limit=2"
    while query:
        told = alice.get(f"/api/v1/keys{query}").json()
        seen += [item["id"] for item in told["items"]]
        query = f"?limit=2&cursor={told['nextCursor']}" if told["nextCursor"] else ""

    assert seen == [to_text(Prefix.KEY, issued.key.id) for issued in reversed(made)]


def test_a_cursor_of_one_list_or_team_does_not_open_another(house, as_person):
    for number in range(2):
        issue(house.alice.actor, name=f"key {number}")
        issue(house.charlie.actor, name=f"key {number}")
    cursor = as_person(house.alice).get("/api/v1/keys?limit=1").json()["nextCursor"]

    other_list = as_person(house.alice).get(f"/api/v1/audit?cursor={cursor}")
    other_team = as_person(house.charlie).get(f"/api/v1/keys?cursor={cursor}")

    assert [other_list.status_code, other_team.status_code] == [400, 400]


def test_an_owner_reads_what_was_done_and_by_which_request(house, as_person):
    alice = as_person(house.alice)
    alice("PATCH", f"/api/v1/teams/{team_id(house.team)}", {"name": "Rails"}, **{"X-Request-ID": "req-0001-abc"})

    (entry,) = alice.get("/api/v1/audit?action=team.renamed").json()["items"]

    assert (entry["actor"], entry["actorKind"], entry["door"]) == (house.alice.actor.id, "person", "rest")
    assert (entry["target"], entry["requestId"]) == (team_id(house.team), "req-0001-abc")
    assert entry["details"] == {"from": "Alice's team", "to": "Rails"}


def test_an_answer_is_kept_by_no_cache(house, as_person):
    answered = as_person(house.alice).get("/api/v1/whoami")

    assert answered["Cache-Control"] == "private, no-cache"
    assert set(answered["Vary"].split(", ")) >= {"Authorization", "Cookie", "Workrail-Team"}


def test_a_session_without_its_csrf_proof_writes_nothing(house):
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.alice.person)

    refused = browser.patch(f"/api/v1/teams/{team_id(house.team)}", {"name": "x"}, content_type="application/json")

    house.team.refresh_from_db()
    assert (refused.status_code, refused.json()["code"]) == (403, "CSRF_FAILED")
    assert house.team.name == "Alice's team"


def test_a_session_with_its_csrf_proof_writes(house):
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(house.alice.person)
    browser.get("/studio/")
    token = browser.cookies["csrftoken"].value

    done = browser.patch(
        f"/api/v1/teams/{team_id(house.team)}",
        {"name": "Rails"},
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )

    assert done.status_code == 200


def test_a_key_needs_no_csrf_proof(house):
    from django.test import Client

    issued = issue(house.alice.actor)
    agent = Client(enforce_csrf_checks=True)

    response = agent.post(
        "/api/v1/teams", b"{}", content_type="application/json", headers={"Authorization": f"Bearer {issued.text}"}
    )

    assert response.json()["code"] == "VALIDATION_ERROR"


def test_an_error_of_ours_says_nothing_of_itself(house, as_person, monkeypatch, caplog):
    from django.db.models import QuerySet

    def break_down(*_args, **_kwargs):
        raise RuntimeError("secret internal details")

    alice = as_person(house.alice)
    alice.client.raise_request_exception = False
    monkeypatch.setattr(QuerySet, "__iter__", break_down)

    refused = alice.get("/api/v1/keys")

    assert (refused.status_code, refused.json()["code"]) == (500, "INTERNAL_ERROR")
    assert b"secret internal details" not in refused.content


def test_a_database_that_is_gone_is_a_reason_to_try_again(house, as_person, monkeypatch):
    from django.db import OperationalError
    from django.db.models import QuerySet

    def be_gone(*_args, **_kwargs):
        raise OperationalError("server closed the connection")

    alice = as_person(house.alice)
    key = issue(house.alice.actor)
    alice.headers["Authorization"] = f"Bearer {key.text}"
    alice.get("/api/v1/whoami")
    monkeypatch.setattr(QuerySet, "__iter__", be_gone)

    refused = alice.get("/api/v1/keys")

    assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert refused["Retry-After"] == "2"
    assert b"server closed" not in refused.content


def test_what_was_answered_has_the_shape_that_the_schema_promises(house, as_person, as_nobody):
    import jsonschema

    document = as_nobody.get("/api/v1/schema").json()
    issue(house.alice.actor, expires_at=timezone.now() + timedelta(days=1))
    alice = as_person(house.alice)

    for path in ("whoami", "teams", "members", "keys", "audit"):
        schema = document["paths"][f"/api/v1/{path}"]["get"]["responses"]["200"]["content"]["application/json"][
            "schema"
        ]
        jsonschema.validate(alice.get(f"/api/v1/{path}").json(), {**schema, "components": document["components"]})

    refusal = document["components"]["schemas"]["Problem"]
    jsonschema.validate(as_nobody.get("/api/v1/whoami").json(), refusal)
