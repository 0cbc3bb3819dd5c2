"""A key in the body of any request by REST is kept nowhere in clear, and one of ours is refused."""

import io
import json
import re
import zipfile
from urllib.parse import quote, urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests import run_doors
from tests.api.test_route_floods import fields_of, filled, routes
from tests.mcp.test_secrets_in_arguments import OTHERS, OWN, PRIVATE, STRANGE, everything_kept, hexed
from tests.workflow_cast import document

# A search sets its transaction to read only, which Postgres allows only at the outermost.
pytestmark = pytest.mark.django_db(transaction=True)

SECRETS = (*OTHERS, *STRANGE, PRIVATE)
# These take a secret for what it is, and keep its digest: a password of an account that is proved or set.
WORDS = " and ".join(SECRETS)
# Where a text is what somebody wrote for others to run: the source of a workflow is kept byte for byte.
KEPT_AS_WRITTEN = ("workflows", "contracts")


@pytest.fixture
def doors(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    opened = run_doors.open_doors()
    run_doors.begin_run(opened)
    return opened


def bodies(route, said):
    names = fields_of(route)
    yield dict.fromkeys(names, said)
    for name in names:
        for value in (said, [said], {"deep": [{"k": said, said: 1}]}):
            yield {"workflowId": "team.sample", name: value}


def test_no_body_of_any_route_keeps_a_key_in_clear(doors):
    from traces_app.services.recording import flush_calls

    accepted = 0
    for route in sorted(set(routes())):
        if any(f"/{part}" in f"/{route}" for part in KEPT_AS_WRITTEN):
            continue
        for method in ("POST", "PUT", "PATCH"):
            if doors.owner(method, filled(route, "x"), {}).status_code == 405:
                continue
            for body in bodies(route, WORDS):
                response = doors.owner(method, filled(route, "x"), json.dumps(body).encode())
                assert response.status_code < 500, (method, route, body)
                accepted += response.status_code < 300
    flush_calls()

    kept = everything_kept()
    assert accepted >= 3
    for secret in (*OTHERS, *STRANGE, "MHcCAQEEIabc0123"):
        assert secret not in kept, kept[max(0, kept.index(secret) - 500) : kept.index(secret) + 50]
        assert hexed(secret) not in kept


@pytest.mark.parametrize("own", OWN)
def test_a_key_of_ours_is_refused_in_every_field_that_begins_a_run(doors, own):
    for body in bodies("api/v1/runs", f"Use {own}"):
        response = doors.owner("POST", "/api/v1/runs", json.dumps(body).encode())
        assert response.status_code in {400, 422}, body
        assert own not in response.content.decode()


ONE = OTHERS[0]
NAMES = [
    "a\nb",
    "a\r\nSet-Cookie: x",
    "\u043a\u043b\u044e\u0447",
    "\u00e9",
    "a\x7fb",
    "a\tb",
    "a\u2028b",
    "\u202e",
    "\U0001f511",
    'a"b\\c',
    "x" * 5_000,
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("who", ["owner", "agent"])
def test_the_place_of_a_hidden_key_is_told_whatever_its_name(doors, who, name):
    """It was told after all was written: a name that no header can hold was a server error, of a run that had begun."""
    response = getattr(doors, who).post(
        "/api/v1/runs", {"workflowId": "team.sample", "goal": "Try it", "context": {name: f"Use {ONE}"}}
    )

    assert response.status_code == 201, response.content
    told = response["Workrail-Redacted"]
    assert told.startswith("context.")
    assert told.isascii()
    assert told.isprintable()
    assert json.loads(f'"{told}"')[: len("context.") + 80] == f"context.{name}"[: len("context.") + 80]


NAMED = {
    "/api/v1/keys": {"name": f"CI {ONE}", "scopes": ["runs:read"]},
    "/api/v1/teams": {"name": f"Team {ONE}"},
    "/api/v1/invitations": {"username": f"x.{ONE}", "role": "viewer"},
    "/api/v1/workflows": {"definition": document("team.short"), "message": f"Use {ONE}"},
}


@pytest.mark.parametrize("route", NAMED)
def test_a_name_or_a_message_keeps_no_key_in_clear(doors, route):
    response = doors.owner.post(route, NAMED[route])

    assert response.status_code in {201, 400}, response.content
    assert ONE not in response.content.decode()
    assert ONE not in everything_kept()


def archived(workflow_id):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", json.dumps(document(workflow_id)))
    return packed.getvalue()


IMPORT = "/api/v1/workflows/import"
# An archive is sent as the body itself, or as a part of a form; what is said of it stands beside it.
BESIDE = {
    "in the address": lambda client, said, data: client.post(
        f"{IMPORT}?{urlencode({'message': said})}", data=data, content_type="application/zip"
    ),
    "in a form": lambda client, said, data: client.post(
        IMPORT, {"archive": SimpleUploadedFile("a.zip", data), "message": said}
    ),
}


@pytest.mark.parametrize("sent", BESIDE)
@pytest.mark.parametrize("who", ["owner", "agent"])
def test_a_message_beside_a_file_keeps_no_key_in_clear(doors, sent, who):
    api = getattr(doors, who)
    client = Client(headers=api.headers) if who == "agent" else api.client

    taken = BESIDE[sent](client, f"Use {WORDS}", archived("team.filed"))
    refused = BESIDE[sent](client, f"Use {OWN[0]}", archived("team.filed-again"))

    assert taken.status_code in {201, 400}, taken.content
    assert taken.status_code == 400 or taken["Workrail-Redacted"] == "message"
    assert (refused.status_code, "holds a key of Workrail" in refused.content.decode()) == (400, True)
    short = BESIDE[sent](client, f"Use {ONE}", archived("team.short-note"))
    assert (short.status_code, short["Workrail-Redacted"]) == (201, "message")
    kept = everything_kept()
    assert "Use [redacted]" in kept
    for secret in (*OTHERS, *STRANGE, OWN[0]):
        assert secret not in kept


def test_where_notices_go_is_kept_as_it_is_written(doors, settings):
    settings.PUBLIC_URL = "https://rails.example.com"
    address = "https://hooks.slack.com/services/T0000/B0000/abcdefgh"

    doors.owner("PUT", "/api/v1/webhook", {"url": address})

    assert doors.owner.get("/api/v1/webhook").json().get("url") == address


PUT_AT = {
    "workflows/aliases": {"workflow": "team.sample"},
    "workflows/contracts": {"artifactKind": "team.k", "schema": {"type": "object"}, "example": {"kind": "team.k"}},
}


@pytest.mark.parametrize("before", ["", "team.contracts."])
@pytest.mark.parametrize("under", PUT_AT)
def test_no_key_becomes_a_name_by_standing_in_the_address(doors, under, before):
    for secret in (*OWN, "ghp_0123456789abcdefABCDEFGHIJKLMNOPQRST"):
        refused = doors.owner("put", f"/api/v1/{under}/{before}{secret}", PUT_AT[under])
        assert refused.status_code == 400, (secret, refused.content)

    kept = everything_kept()
    assert not [secret for secret in OWN if secret in kept]


def reads():
    """Each operation that reads, with the names that its query knows."""
    from workrail_site.openapi import document

    for path, methods in json.loads(document())["paths"].items():
        if "get" in methods:
            known = [each["name"] for each in methods["get"].get("parameters", []) if each.get("in") == "query"]
            yield path, known


def echoes(doors, path, known, key):
    """What is asked with the key as a value, as a name, twice, and in the address."""
    address = re.sub(r"\{\w+\}", "x", path)
    yield doors.owner.get(f"{address}?{urlencode({key: 1})}")
    yield doors.owner.get(f"{address}?{urlencode([(key, 1), (key, 2)])}")
    yield doors.owner.get(re.sub(r"\{\w+\}", quote(key, safe=""), path))
    for name in known:
        yield doors.owner.get(f"{address}?{urlencode({name: key})}")
        yield doors.owner.get(f"{address}?{urlencode({name: f'before {key} behind'})}")
        yield doors.owner.get(f"{address}?{urlencode([(name, key), (name, key)])}")


@pytest.mark.parametrize("key", [OWN[0], "wr_pat_abcd\n" + "abcdefghi" * 4, OTHERS[0]])
def test_no_answer_to_a_read_tells_a_key_of_the_address_back(doors, key):
    asked = 0
    for path, known in reads():
        for response in echoes(doors, path, known, key):
            told = b"".join(response) if response.streaming else response.content
            said = f"{told.decode('utf-8', 'replace')} {dict(response.items())}"
            assert response.status_code < 500, (path, response.status_code)
            assert key[8:] not in said.replace("\\n", "\n"), (path, response.request["QUERY_STRING"], said[:600])
            asked += response.status_code >= 400
    assert asked > 100


@pytest.mark.parametrize("own", [OWN[0], OWN[3], OWN[5]])
def test_a_key_of_ours_is_refused_in_an_address_a_query_and_the_name_of_a_request(doors, own):
    """As in a body, with the word to revoke it: it stands in the logs of whatever is between."""
    asked = 0
    for path, known in reads():
        address = re.sub(r"\{\w+\}", "x", path)
        given = [f"{address}?{urlencode({name: f'of {own}'})}" for name in known]
        given += [re.sub(r"\{\w+\}", quote(own, safe=""), path)] if "{" in path else []
        for at in given:
            refused = doors.owner.get(at)
            assert refused.status_code == 400, (at, refused.status_code)
            assert "should revoke it" in refused.content.decode(), at
            asked += 1
    assert asked > 100

    body = {"workflowId": "team.sample", "goal": "Try it"}
    named = doors.agent.post("/api/v1/runs", body, **{"Idempotency-Key": quote(own)})
    assert (named.status_code, "should revoke it" in named.content.decode()) == (400, True)
    for method in ("POST", "PATCH", "DELETE"):
        refused = doors.owner(method, f"/api/v1/runs/{quote(own, safe='')}", {})
        assert refused.status_code in {400, 405}
    assert own not in everything_kept()


@pytest.mark.parametrize("key", [OWN[0], "wr_key_abcd\n" + "abcdefghi" * 4, OTHERS[0]])
def test_what_is_refused_before_it_is_read_tells_no_key_of_its_address_back(key):
    from teams_app.engine.errors import InvalidInputError
    from workrail_site.early import refusal

    scope = {"path": f"/api/v1/runs/{key}/", "headers": []}

    told = str(refusal(scope, InvalidInputError("It is too long.", suggestion="Send less.")))

    assert "/api/v1/runs/" in told
    assert key[8:] not in told.replace("\\\\n", "\n").replace("\\n", "\n")


LIKE_KEYS = "wr_key_id, WR_KEY_ROTATED, wr_pat_store, test_wr_key_in_notes, wr_key_abcdefgh, wr_key_" + "x" * 40


def test_names_that_begin_as_keys_do_are_kept_as_they_are_wherever_people_and_agents_write(doors):
    begun = doors.agent.post(
        "/api/v1/runs", {"workflowId": "team.sample", "goal": LIKE_KEYS, "context": {"wr_key_id": LIKE_KEYS}}
    )
    value = begun.json()
    notes = {"output": {"notesMarkdown": f"Looked at {LIKE_KEYS}."}}
    noted = doors.agent.post(
        "/api/v1/runs/continue", {name: value[name] for name in ("stateToken", "ackToken")} | notes
    )
    named = doors.owner.post("/api/v1/keys", {"name": "wr_key_rotation of wr_pat_store", "scopes": ["runs:read"]})

    for response in (begun, noted, named):
        assert response.status_code in {200, 201}, response.content
        assert "Workrail-Redacted" not in response
    kept = everything_kept()
    assert f"Looked at {LIKE_KEYS}." in kept
    assert "wr_key_rotation of wr_pat_store" in kept
    assert f'"wr_key_id": "{LIKE_KEYS}"' in kept or LIKE_KEYS in kept
