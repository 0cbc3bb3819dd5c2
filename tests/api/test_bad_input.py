"""Every endpoint against every kind of bad input: a closed code, the next move, and nothing written."""

import json
from datetime import timedelta

import pytest

from teams_app.engine.actors import Role, Scope
from teams_app.engine.ids import Prefix, to_text
from tests.cast import NOW, issue, member_id, team_id
from tests.many_cases import each

pytestmark = pytest.mark.django_db

STRANGE_ID = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

WHOAMI, TEAMS, TEAM = "/api/v1/whoami", "/api/v1/teams", "/api/v1/teams/{team}"
MEMBERS, MEMBER = "/api/v1/members", "/api/v1/members/{member}"
KEYS, KEY = "/api/v1/keys", "/api/v1/keys/{key}"
REVOKE, ROTATE = "/api/v1/keys/{key}/revoke", "/api/v1/keys/{key}/rotate"
INVITATIONS, INVITATION = "/api/v1/invitations", "/api/v1/invitations/{invitation}"
PASSWORD_LINK = "/api/v1/members/{member}/password-link"
TOKENS, TOKEN, END = "/api/v1/tokens", "/api/v1/tokens/{token}", "/api/v1/tokens/{token}/revoke"
AUDIT = "/api/v1/audit"

READS = [WHOAMI, TEAMS, TEAM, MEMBERS, MEMBER, INVITATIONS, KEYS, KEY, TOKENS, TOKEN, AUDIT]
LISTS = [MEMBERS, INVITATIONS, KEYS, TOKENS, AUDIT]
WRITES = {
    ("POST", TEAMS): {"name": "x"},
    ("PATCH", TEAM): {"name": "x"},
    ("POST", INVITATIONS): {"username": "x", "role": "viewer"},
    ("POST", PASSWORD_LINK): {},
    ("PATCH", MEMBER): {"role": "viewer"},
    ("POST", KEYS): {"name": "x", "scopes": ["runs:read"]},
    ("POST", REVOKE): {},
    ("POST", ROTATE): {},
    ("POST", TOKENS): {"name": "x", "expiresAt": "2027-01-01T00:00:00Z"},
    ("POST", END): {},
}
EVERYTHING = [("GET", path) for path in READS] + [*WRITES, ("DELETE", MEMBER), ("DELETE", INVITATION)]
OF_A_ROW = [
    ("GET", TEAM),
    ("PATCH", TEAM),
    ("GET", MEMBER),
    ("PATCH", MEMBER),
    ("DELETE", MEMBER),
    ("POST", PASSWORD_LINK),
    ("DELETE", INVITATION),
    ("GET", KEY),
    ("POST", REVOKE),
    ("POST", ROTATE),
    ("GET", TOKEN),
    ("POST", END),
]

BAD_BODIES = {
    "not json": (b"{", "not_json"),
    "two documents": (b"{}{}", "not_json"),
    "not utf-8": (b'{"name": "\xff"}', "not_utf8"),
    "a key twice": (b'{"name": "a", "name": "b"}', "duplicate_key"),
    "not a number": (b'{"name": NaN}', "not_a_number"),
    "infinity": (b'{"name": -Infinity}', "not_a_number"),
    "lone surrogate": (b'{"name": "\\ud800"}', "lone_surrogate"),
    "nul": (b'{"name": "a\\u0000b"}', "nul_character"),
    "too deep": (b'{"name": ' + b"[" * 65 + b"]" * 65 + b"}", "too_deep"),
    "very deep": (b"[" * 100_000, "too_deep"),
}


@pytest.fixture(autouse=True)
def _as_often_as_asked(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = settings.THROTTLE_SIGN_IN_PER_MINUTE = 0


@pytest.fixture
def props(house):
    from teams_app.services.invitations import invite
    from teams_app.services.tokens import issue_token

    ends = NOW + timedelta(days=9)
    token = issue_token(actor=house.alice.actor, name="laptop", scopes=frozenset(), expires_at=ends, now=NOW).token

    issued = issue(house.alice.actor)
    invited = invite(actor=house.alice.actor, username="dora", role=Role.VIEWER, now=NOW)
    return {
        "invitation": to_text(Prefix.INVITATION, invited.invitation.id),
        "team": team_id(house.team),
        "member": member_id(house.bob),
        "key": to_text(Prefix.KEY, issued.key.id),
        "token": to_text(Prefix.TOKEN, token.id),
        "text": issued.text,
    }


@pytest.fixture
def unchanged(props):
    """What the tables hold must be the same after the test as before it."""
    from teams_app.models import (
        AgentKey,
        AuditEntry,
        Invitation,
        Membership,
        PasswordReset,
        Person,
        PersonalToken,
        Team,
    )

    def contents():
        links = [list(table.objects.order_by("id").values()) for table in (Invitation, PasswordReset)]
        keys = [
            *AgentKey.objects.order_by("id").values_list("id", "name", "revoked_at"),
            *PersonalToken.objects.order_by("id").values_list("id", "name", "revoked_at"),
        ]
        members = Membership.objects.order_by("id").values_list("id", "role")
        teams = Team.objects.order_by("id").values_list("id", "name")
        people = Person.objects.order_by("id").values_list("id", "username")
        return links, [list(table) for table in (keys, members, teams, people)], AuditEntry.objects.count()

    before = contents()
    yield
    assert contents() == before


def problem(response, status, code):
    told = json.loads(response.content)
    assert response["Content-Type"] == "application/problem+json"
    assert (response.status_code, told["status"], told["code"]) == (status, status, code)
    assert told["detail"]
    assert told["details"]["suggestion"]
    assert told["requestId"] == response["X-Request-ID"]
    return told


def anonymous(told):
    """A refusal without what differs between any two requests."""
    return {name: value for name, value in told.items() if name not in {"instance", "requestId"}}


@each(("method", "path"), EVERYTHING)
def test_nobody_is_let_in_nowhere(unchanged, props, as_nobody, method, path):
    response = as_nobody(method, path.format(**props), WRITES.get((method, path)))

    problem(response, 401, "UNAUTHENTICATED")
    assert response["WWW-Authenticate"].startswith("Bearer")


@each(("method", "path"), EVERYTHING)
@each("header", ["", "Bearer", "Bearer ", "Basic YTpi", "wr_key_x", "Bearer wr_key_x", "Bearer \x7f"])
def test_a_header_that_holds_no_key_of_ours_is_refused(unchanged, props, as_nobody, method, path, header):
    response = as_nobody(method, path.format(**props), WRITES.get((method, path)), Authorization=header)

    problem(response, 401, "UNAUTHENTICATED")


@each(("method", "path"), EVERYTHING)
def test_a_revoked_key_is_refused_everywhere(unchanged, props, as_key, method, path):
    from teams_app.models import AgentKey

    AgentKey.objects.update(revoked_at=NOW)
    response = as_key(props["text"])(method, path.format(**props), WRITES.get((method, path)))
    AgentKey.objects.update(revoked_at=None)

    problem(response, 401, "KEY_REVOKED")


@each(("method", "path"), EVERYTHING)
def test_an_expired_key_is_refused_everywhere(props, house, as_key, method, path):
    from datetime import timedelta

    old = issue(house.alice.actor, now=NOW - timedelta(days=365), expires_at=NOW - timedelta(days=300))

    response = as_key(old.text)(method, path.format(**props), WRITES.get((method, path)))

    problem(response, 401, "KEY_EXPIRED")


@each(("method", "path"), EVERYTHING)
def test_a_key_without_a_fitting_scope_is_refused(props, house, as_key, method, path):
    weak = issue(house.alice.actor, scopes=frozenset({Scope.TRACES_READ}))

    response = as_key(weak.text)(method, path.format(**props), WRITES.get((method, path)))

    if path == WHOAMI:
        assert response.status_code == 200
    else:
        problem(response, 403, "FORBIDDEN")


@each(("method", "path"), [*WRITES, ("GET", AUDIT), ("DELETE", MEMBER)])
def test_no_key_manages_a_team_whatever_its_scopes(unchanged, props, as_key, method, path):
    response = as_key(props["text"])(method, path.format(**props), WRITES.get((method, path)))

    problem(response, 403, "FORBIDDEN")


# Everybody founds teams, and has tokens of their own.
FOR_EVERYBODY = {TEAMS, TOKENS, END}


@each(("method", "path"), [write for write in WRITES if write[1] not in FOR_EVERYBODY] + [("GET", AUDIT)])
def test_an_operator_manages_nothing(unchanged, props, house, as_person, method, path):
    response = as_person(house.bob)(method, path.format(**props), WRITES.get((method, path)))

    problem(response, 403, "FORBIDDEN")


@each(("method", "path"), OF_A_ROW)
def test_a_row_of_another_team_is_the_same_as_one_that_does_not_exist(unchanged, props, house, as_person, method, path):
    charlie = as_person(house.charlie)
    body = WRITES.get((method, path))
    nothing = {name: f"{value.partition('_')[0]}_{STRANGE_ID}" for name, value in props.items()}

    of_alice = charlie(method, path.format(**props), body)
    of_nobody = charlie(method, path.format(**nothing), body)

    one, other = problem(of_alice, 404, "NOT_FOUND"), problem(of_nobody, 404, "NOT_FOUND")
    assert anonymous(one) == anonymous(other)
    assert of_alice.headers.keys() == of_nobody.headers.keys()


@each(("method", "path"), OF_A_ROW)
@each("wrong", ["x", "key_", "..%2f..", "%00", "é", "0190a1b2-0000-7000-8000-000000000000", "a" * 3000])
def test_what_is_no_id_names_no_row(unchanged, props, house, as_person, method, path, wrong):
    given = dict.fromkeys(props, wrong)

    response = as_person(house.alice)(method, path.format(**given), WRITES.get((method, path)))

    problem(response, 404, "NOT_FOUND")


@each(("method", "path"), WRITES)
def test_an_unknown_field_is_refused_and_the_one_that_was_meant_is_named(
    unchanged, props, house, as_person, method, path
):
    body = WRITES[method, path] | {"nmae": "x"}

    told = problem(as_person(house.alice)(method, path.format(**props), body), 400, "VALIDATION_ERROR")

    assert "'nmae'" in told["detail"]
    if "name" in body:
        assert told["details"]["suggestion"] == "Did you mean 'name'?"


@each(("method", "path"), WRITES)
@each("body", [None, [], "text", 7, True, {"name": 7, "role": 7, "scopes": 7, "username": 7}])
def test_a_wrong_type_is_refused(unchanged, props, house, as_person, method, path, body):
    response = as_person(house.alice)(method, path.format(**props), json.dumps(body))

    problem(response, 400, "VALIDATION_ERROR")


@each(("method", "path"), [write for write in WRITES if WRITES[write]])
def test_an_empty_body_is_refused_where_one_is_needed(unchanged, props, house, as_person, method, path):
    told = problem(as_person(house.alice)(method, path.format(**props)), 400, "VALIDATION_ERROR")

    assert "is missing" in told["detail"]


@each(("method", "path"), WRITES)
@each("kind", BAD_BODIES)
def test_a_body_that_cannot_be_stored_is_refused(unchanged, props, house, as_person, method, path, kind):
    data, reason = BAD_BODIES[kind]

    told = problem(as_person(house.alice)(method, path.format(**props), data), 400, "VALIDATION_ERROR")

    assert told["details"]["reason"] == reason


@each(("method", "path"), WRITES)
def test_a_body_beyond_the_limit_is_refused_before_it_is_read(
    unchanged, props, house, as_person, settings, method, path
):
    body = b" " * (settings.MAX_BODY_BYTES + 1)

    told = problem(as_person(house.alice)(method, path.format(**props), body), 413, "PAYLOAD_TOO_LARGE")

    assert told["details"]["maxBytes"] == settings.MAX_BODY_BYTES


@each(("method", "path"), WRITES)
@each("content_type", ["text/plain", "multipart/form-data; boundary=x", "application/xml", "x"])
def test_a_body_of_another_type_is_refused(unchanged, props, house, as_person, method, path, content_type):
    client = as_person(house.alice).client

    response = client.generic(method, path.format(**props), b"name=x", content_type=content_type)

    problem(response, 415, "UNSUPPORTED_MEDIA_TYPE")


@each("path", READS)
def test_an_unknown_parameter_is_refused(props, house, as_person, path):
    told = problem(as_person(house.alice).get(path.format(**props) + "?limt=5"), 400, "VALIDATION_ERROR")

    assert "'limt'" in told["detail"]


@each("path", LISTS)
@each(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=-1",
        "limit=1.5",
        "limit=",
        "limit=1&limit=2",
        "cursor=x",
        "cursor=",
        "cursor=%00",
    ],
)
def test_a_bad_page_is_refused(props, house, as_person, path, query):
    response = as_person(house.alice).get(f"{path}?{query}")

    problem(response, 400, "VALIDATION_ERROR")


@each("query", ["action=%00", "target=a%00b", "actor=" + "x" * 200, "action=%ed%a0%80"])
def test_a_search_that_cannot_be_asked_is_refused_or_finds_nothing(props, house, as_person, query):
    response = as_person(house.alice).get(f"{AUDIT}?{query}")

    if response.status_code == 200:
        assert response.json()["items"] == []
    else:
        problem(response, 400, "VALIDATION_ERROR")


@each(
    "path",
    [path for path in READS if path != WHOAMI] + [REVOKE, WHOAMI],
)
@each("method", ["PUT", "TRACE", "OPTIONS", "BREW"])
def test_a_method_that_is_not_served_is_refused(unchanged, props, house, as_person, method, path):
    response = as_person(house.alice)(method, path.format(**props), {})

    problem(response, 405, "METHOD_NOT_ALLOWED")
    assert method not in response["Allow"].split(", ")


@each("path", ["/api/v1/nothing", "/api/v1/", "/api/v2/keys", "/api/v1/keys/", "/api/"])
def test_an_address_where_nothing_lives_answers_in_the_same_form(db, as_nobody, path):
    problem(as_nobody.get(path), 404, "NOT_FOUND")


def test_a_team_header_of_another_team_is_the_same_as_one_of_none(props, house, as_person):
    bob = as_person(house.bob)

    of_charlie = bob.get(WHOAMI, **{"Workrail-Team": team_id(house.other_team)})
    of_nobody = bob.get(WHOAMI, **{"Workrail-Team": f"team_{STRANGE_ID}"})

    one, other = problem(of_charlie, 404, "NOT_FOUND"), problem(of_nobody, 404, "NOT_FOUND")
    assert anonymous(one) == anonymous(other)


def test_a_team_header_that_is_no_id_is_refused(house, as_person):
    problem(as_person(house.bob).get(WHOAMI, **{"Workrail-Team": "mine"}), 404, "NOT_FOUND")


def test_a_key_does_not_act_in_a_team_that_is_not_its_own(props, house, as_key):
    response = as_key(props["text"]).get(WHOAMI, **{"Workrail-Team": team_id(house.other_team)})

    problem(response, 404, "NOT_FOUND")


def test_a_bad_key_is_not_made_good_by_a_session_beside_it(props, house, as_person):
    response = as_person(house.alice).get(WHOAMI, Authorization="Bearer wr_key_nonsense")

    problem(response, 401, "UNAUTHENTICATED")
