"""The door of MCP: who is let in, under which name, with how much, and what everybody else is told."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

from tests.mcp_play import ACCEPT, HANDSHAKE, MODERN, Wire
from tests.run_cast import plain_steps, published

PATHS = ["/mcp", "/mcp/rail", "/mcp/rail/", "/mcp/nothing"]
HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
VERBS = ["POST", "GET", "DELETE", "PUT", "OPTIONS", "HEAD"]
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()


def code_of(response):
    return response.json()["error"]["data"]["code"]


def introduced(wire, version=HANDSHAKE):
    """The answer to a client of an older revision that begins."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    response = wire.send("initialize", hello, version=version)
    assert response.status_code == 200, response.text
    return response


def handshaken(wire, session, **headers):
    given = {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": session, **headers}
    return wire.send("tools/list", version=HANDSHAKE, **given)


# Keys


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("version", [None, HANDSHAKE, MODERN])
def test_nothing_is_served_without_a_key(served, verb, path, version):
    nobody = Wire(url=served.url, key="")

    response = nobody.post(LIST, path=path, verb=verb, **{"MCP-Protocol-Version": version})

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="workrail"'


@pytest.mark.parametrize("header", ["Bearer", "Bearer wr_key_nonsense", "Basic d3I6eA==", "", "wr_key_x"])
def test_what_is_no_key_of_ours_is_refused(served, transactional_db, header):
    response = Wire(url=served.url, key="").post(LIST, Authorization=header)

    assert (response.status_code, code_of(response)) == (401, "UNAUTHENTICATED")


def test_a_revoked_key_is_refused_with_its_code(served, desk, agent):
    from django.utils import timezone

    from teams_app.models import AgentKey
    from teams_app.services.keys import revoke_key

    wire = agent(name="to revoke")
    row = AgentKey.objects.get(name="to revoke")
    revoke_key(actor=desk.owner, key_id=row.pk, now=timezone.now())

    response = wire.send("tools/list")

    assert (response.status_code, code_of(response)) == (401, "KEY_REVOKED")


def test_an_expired_key_is_refused_with_its_code(agent):
    from django.utils import timezone

    wire = agent(expires_at=timezone.now() - timedelta(hours=1), now=timezone.now() - timedelta(hours=2))

    response = wire.send("tools/list")

    assert (response.status_code, code_of(response)) == (401, "KEY_EXPIRED")


def test_a_refusal_can_be_read_by_clients_of_the_protocol(served):
    error = Wire(url=served.url, key="").post(LIST).json()

    assert (error["jsonrpc"], error["id"]) == ("2.0", None)
    assert error["error"]["data"]["details"]["suggestion"].startswith("Send Authorization: Bearer")


# Names


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000"])
def test_a_name_that_is_not_ours_is_refused_before_the_key_is_looked_at(wire, host):
    assert wire.post(LIST, Host=host).status_code == 400


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_site_is_refused(wire, origin):
    assert wire.post(LIST, Origin=origin).status_code == 403


def test_a_page_of_ours_is_not(wire, served):
    assert wire.send("tools/list", Origin=served.url).status_code == 200


def test_an_address_of_no_dialect_names_those_that_there_are(wire):
    response = wire.send("tools/list", path="/mcp/nothing")

    assert (response.status_code, code_of(response)) == (404, "NOT_FOUND")
    assert "/mcp/rail" in response.text


# Messages


def test_a_body_beyond_the_limit_is_refused(wire):
    response = wire.post(b'{"a": "' + b"x" * (1024 * 1024) + b'"}')

    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("item", "times"), [(b"[[]],", 60_000), (b"{},", 120_000), (b'{"a":[]},', 60_000), (b'"a",', 120_000)]
)
@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
def test_a_list_of_more_values_than_anybody_takes_is_refused_before_it_is_read(wire, item, times, version):
    """It is no JSON, which whoever reads it first would say."""
    response = wire.post(b"[" + item * times + b"no JSON", **{"MCP-Protocol-Version": version})

    assert (response.status_code, code_of(response)) == (413, "PAYLOAD_TOO_LARGE"), response.text[:300]


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{nonsense", -32700), (b"[]", -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600), (b"[" * 100_000, -32700)],
)
def test_a_malformed_message_is_an_error_of_the_protocol(wire, body, code):
    response = wire.post(body, **{"MCP-Protocol-Version": MODERN})

    assert response.status_code == 400
    assert response.json()["error"]["code"] == code


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_an_unknown_method_is_an_error_of_the_protocol(wire, version):
    response = wire.send("no/such/method", version=version)

    assert response.json()["error"]["code"] == -32601


@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH"])
def test_no_stream_and_no_other_method_is_offered(wire, verb):
    response = wire.post(b"", verb=verb)

    assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")


def test_an_unknown_form_of_replies_is_refused(wire):
    assert wire.send("tools/list", **{"Workrail-Reply": "xml"}).status_code == 400


def test_each_answer_carries_the_id_of_its_request(wire):
    response = wire.send("tools/list", **{"X-Request-ID": "my-request-0001"})

    assert response.headers["x-request-id"] == "my-request-0001"


def test_no_key_is_in_the_log(wire, served):
    wire.send("tools/list")

    assert wire.key not in served.logged()


# Sessions of the protocol


@pytest.mark.parametrize("version", HANDSHAKES)
def test_no_session_is_minted_and_a_client_that_begins_is_served_without_one(wire, version):
    response = introduced(wire, version)

    assert response.json()["result"]["protocolVersion"] == version
    assert "mcp-session-id" not in response.headers
    assert handshaken(wire, None, **{"MCP-Protocol-Version": version}).status_code == 200


@pytest.mark.parametrize("session", ["0" * 32, "a1b2-c3d4", "~" * 200, "x" * 5_000])
def test_a_session_of_another_time_or_process_is_served_all_the_same(wire, stranger, session):
    answers = [
        handshaken(wire, session),
        handshaken(stranger, session),
        handshaken(wire, None),
        wire.send("tools/list"),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]
    assert len({len(answer.json()["result"]["tools"]) for answer in answers}) == 1


def test_a_session_that_was_ended_ends_nothing(wire):
    ended = wire.post(b"", verb="DELETE", **{"Mcp-Session-Id": "0" * 32, "MCP-Protocol-Version": HANDSHAKE})

    assert ended.status_code == 204
    assert handshaken(wire, "0" * 32).status_code == 200


def test_a_thousand_beginnings_by_one_key_are_no_harm_to_anybody(wire, stranger):
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with httpx.Client(headers={**wire.headers, "Accept": ACCEPT, "Authorization": f"Bearer {wire.key}"}) as client:
        statuses = {
            client.post(f"{wire.url}/mcp/rail", json=wire.message("initialize", hello, HANDSHAKE)).status_code
            for _ in range(1_100)
        }

    assert statuses == {200}
    assert introduced(stranger).status_code == 200
    assert handshaken(wire, None).status_code == 200


def test_each_call_acts_as_its_own_key(wire, stranger, desk):
    published(desk, *plain_steps(1))
    mine, theirs = [], []

    def ask(client, into):
        into.append(len(client.value("list_workflows")["workflows"]))

    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            threads.submit(ask, wire, mine)
            threads.submit(ask, stranger, theirs)

    assert (mine, theirs) == ([1] * 20, [0] * 20)


# Connections


def backends():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'site-under-test'",
        )
        return [pid for (pid,) in cursor.fetchall()]


def test_many_calls_at_once_take_no_more_connections_than_there_are_threads(wire, desk):
    published(desk, *plain_steps(1))

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: wire("list_workflows").is_error, range(64)))

    assert answers == [False] * 64
    # Four threads of MCP and one of the site.
    assert len(backends()) <= 5


@pytest.mark.own_connection
def test_a_broken_connection_is_replaced_and_the_call_may_be_repeated(wire, desk):
    from django.db import connection

    published(desk, *plain_steps(1))
    begun = wire.value("start_workflow", workflowId="team.sample")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [backends()])

    answers = [wire("continue_workflow", stateToken=begun["stateToken"]) for _ in range(12)]

    refused = [answer for answer in answers if answer.is_error]
    assert {answer.code for answer in refused} <= {"SERVICE_UNAVAILABLE"}
    assert all(answer.value["retry"]["kind"] == "retryable_after_ms" for answer in refused)
    assert not answers[-1].is_error


def test_several_messages_in_one_request_are_answered_on_the_revision_that_demands_it(wire):
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": {"name": "list_workflows", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}},
        7,
    ]

    answered = wire.post(json.dumps(batch).encode())
    told = wire.post(json.dumps(batch[1:2]).encode())
    empty = wire.post(b"[]")
    later = wire.post(json.dumps(batch).encode(), **{"MCP-Protocol-Version": "2025-06-18"})

    said = answered.json()
    assert [each["id"] for each in said] == [1, "two", 3, None]
    assert said[1]["result"]["structuredContent"]["workflows"] == []
    assert [each["error"]["code"] for each in said[2:]] == [-32600, -32600]
    assert (told.status_code, told.content) == (202, b"")
    assert (empty.status_code, later.status_code) == (400, 400)


def test_a_batch_counts_as_many_requests_as_it_has_messages():
    from workrail_site.mcp.batches import MAX_MESSAGES, messages_in

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    assert messages_in(LIST) == 1
    assert messages_in(b" \n" + json.dumps([call] * 7).encode()) == 7
    assert messages_in(json.dumps([call] * 7).replace("method", "m\\u0065thod").encode()) == 7
    assert messages_in(b"[") == 1
    assert messages_in(json.dumps([call] * 5_000).encode()) == MAX_MESSAGES


@pytest.mark.django_db
def test_every_message_of_a_batch_is_taken_off_the_limits(settings, house):
    from django.utils import timezone

    from teams_app.engine.errors import RateLimitedError
    from workrail_site import admission

    settings.THROTTLE_ACTOR_PER_MINUTE = 10
    admission.charge_more(actor=house.alice.actor, requests=10, now=timezone.now())

    with pytest.raises(RateLimitedError):
        admission.charge_more(actor=house.alice.actor, requests=1, now=timezone.now())


def test_every_answer_forbids_to_guess_its_type(wire, served):
    nobody = Wire(url=served.url, key="")
    answers = [
        wire.send("tools/list"),
        nobody.post(LIST),
        wire.post(b"{"),
        wire.post(b"", verb="DELETE"),
        introduced(wire),
    ]

    assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}
