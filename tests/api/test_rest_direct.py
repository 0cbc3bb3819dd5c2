"""A call by key is answered as Django would answer it, whoever of the two does."""

import json
from io import BytesIO

import pytest

from tests.cast import NOW, issue

V1 = "/api/v1"
# Of each answer anew.
FRESH = {"x-request-id", "date", "set-cookie", "expires"}
# What is left of the limits is less after each of the two.
COUNTED = "ratelimit"


@pytest.fixture
def both(house):
    """What an environ is answered by us, and by Django: status, headers and body. And whether we answered it ourselves."""
    from workrail_site.rest_direct import RestDirect, direct_request
    from workrail_site.wsgi import application as django

    def ask(**changed):
        said = []

        def start_response(status, headers):
            told = [(name.lower(), value) for name, value in headers if name.lower() not in FRESH]
            said.append((status, sorted((name, "" if name == COUNTED else value) for name, value in told)))

        # Not closed: Django would leave the connection, which is this test's.
        answers = [b"".join(each(environ_of(**changed), start_response)) for each in (RestDirect(django), django)]
        return (
            (said[0], told(answers[0])),
            (said[1], told(answers[1])),
            direct_request(environ_of(**changed)) is not None,
        )

    return ask


def told(body):
    """Without what each answer has of its own."""
    try:
        value = json.loads(body)
    except ValueError:
        return body
    return {name: field for name, field in value.items() if name != "requestId"} if isinstance(value, dict) else value


def environ_of(*, method="GET", path=f"{V1}/whoami", query="", body=b"", key="", kind="application/json", **more):
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_HOST": "localhost",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "CONTENT_LENGTH": str(len(body)),
        **({"HTTP_AUTHORIZATION": f"Bearer {key}"} if key else {}),
        **({"CONTENT_TYPE": kind} if kind else {}),
        **more,
    }


def as_json(value):
    return json.dumps(value).encode()


DIRECT = {
    "who am I": {},
    "a list": {"path": f"{V1}/keys", "query": "limit=5"},
    "a limit that is none": {"path": f"{V1}/keys", "query": "limit=x"},
    "a name in the query twice": {"path": f"{V1}/keys", "query": "limit=5&limit=6"},
    "a name that nobody knows": {"path": f"{V1}/keys", "query": "limits=5"},
    "a row that there is not": {"path": f"{V1}/runs/run_01h00000000000000000000000"},
    "a token that is none": {
        "method": "POST",
        "path": f"{V1}/runs/continue",
        "body": as_json({"stateToken": "st.v1.x", "ackToken": "ack.v1.x"}),
    },
    "a field that nobody knows": {"method": "POST", "path": f"{V1}/runs/continue", "body": as_json({"states": 1})},
    "no JSON": {"method": "POST", "path": f"{V1}/runs/continue", "body": b"{"},
    "a body that is a list": {"method": "POST", "path": f"{V1}/runs", "body": b"[]"},
    "no body": {"method": "POST", "path": f"{V1}/runs", "kind": ""},
    "too much of a body": {"method": "POST", "path": f"{V1}/runs", "body": as_json({"goal": "x" * 2_000_000})},
    "a key of ours in the body": {
        "method": "POST",
        "path": f"{V1}/runs",
        "body": as_json({"workflowId": "a.b", "goal": f"wr_key_{'a' * 40}"}),
    },
    "a key of others in the body": {
        "method": "POST",
        "path": f"{V1}/runs",
        "body": as_json({"workflowId": "a.b", "goal": f"ghp_{'a1' * 20}"}),
    },
    "another team": {"HTTP_WORKRAIL_TEAM": "team_01h00000000000000000000000"},
    "a key that is none": {"HTTP_AUTHORIZATION": "Bearer wr_key_x"},
    "no bearer": {"HTTP_AUTHORIZATION": "Basic eDp5"},
    "a port": {"HTTP_HOST": "localhost:8000"},
    "an encoding": {"kind": "application/json; charset=latin-1", "method": "POST", "path": f"{V1}/runs", "body": b"{}"},
}
LEFT_TO_DJANGO = {
    "a cookie beside the key": {"HTTP_COOKIE": "sessionid=x; csrftoken=y"},
    "no address": {"path": f"{V1}/nowhere"},
    "a slash at the end": {"path": f"{V1}/whoami/"},
    "another method": {"method": "PUT", "body": b"{}"},
    "what may be asked": {"method": "OPTIONS"},
    "the head alone": {"method": "HEAD"},
    "another host": {"HTTP_HOST": "elsewhere.example"},
    "no host that could be": {"HTTP_HOST": "a b"},
    "a form": {"method": "POST", "path": f"{V1}/runs", "body": b"a=1", "kind": "application/x-www-form-urlencoded"},
    "an archive": {"method": "POST", "path": f"{V1}/workflows/import", "body": b"PK", "kind": "application/zip"},
    "the document": {"path": f"{V1}/schema"},
    "a page": {"path": "/studio/login/"},
    "letters of others": {"path": f"{V1}/runs/\u00e4"},
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("asked", DIRECT.values(), ids=DIRECT)
def test_a_call_by_key_is_answered_as_django_does(house, both, asked):
    ours, theirs, is_direct = both(**{"key": issue(house.alice.actor, now=NOW).text, **asked})

    assert is_direct
    assert ours == theirs


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("asked", LEFT_TO_DJANGO.values(), ids=LEFT_TO_DJANGO)
def test_what_is_not_exactly_such_a_call_is_djangos(house, both, asked):
    ours, theirs, is_direct = both(**{"key": issue(house.alice.actor, now=NOW).text, **asked})

    assert not is_direct
    assert ours[0] == theirs[0]


@pytest.mark.django_db(transaction=True)
def test_without_a_key_django_asks_who_it_is(both):
    ours, theirs, is_direct = both()

    assert not is_direct
    assert ours == theirs


@pytest.mark.django_db(transaction=True)
def test_in_the_clear_a_key_is_refused_by_django_where_that_is_refused(house, both, settings):
    settings.SECURE_SSL_REDIRECT = True

    ours, theirs, is_direct = both(key=issue(house.alice.actor, now=NOW).text)

    assert not is_direct
    assert ours[0] == theirs[0]
