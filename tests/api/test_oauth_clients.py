"""Clients that are told of at an https address of their own: fetched for a person who asks, from the Internet alone."""

import json
import socket
from urllib.parse import urlencode

import pytest
from django.test import Client
from oauth2_provider.models import get_application_model

from tests.flood_play import Work, allowed
from tests.mcp.test_secrets_in_arguments import OTHERS, OWN, STRANGE, everything_kept
from workrail_site.oauth.consent import MOST_ASKED_BYTES

pytestmark = pytest.mark.django_db

BACK = "http://127.0.0.1:33333/callback"


@pytest.fixture
def ours(settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)


@pytest.fixture
def alice(house):
    browser = Client()
    browser.force_login(house.alice.person)
    return browser


@pytest.fixture(autouse=True)
def _no_memory():
    """The library remembers for a minute which documents could not be read."""
    from django.core.cache import cache

    cache.clear()


def document(board, **changes):
    told = {"client_id": board.url, "client_name": "Editor", "redirect_uris": [BACK], **changes}
    return json.dumps({name: value for name, value in told.items() if value is not None}).encode()


def answer(body, *, status="200 OK", kind="application/json"):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode() + body


def asks(browser, client_id, *, redirect_uri=BACK):
    given = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "code_challenge": "x" * 43,
        "code_challenge_method": "S256",
        "resource": "http://testserver/oauth/mcp/rail",
    }
    return browser.get("/oauth/authorize", given)


@pytest.fixture(autouse=True)
def _named(settings):
    settings.OAUTH_URL = "http://testserver"


def test_a_client_is_known_by_its_document_and_shown_with_its_address(alice, board, ours):
    board.reply = answer(document(board))

    page = asks(alice, board.url)

    assert page.status_code == 200, page.content.decode()
    assert "Editor" in page.content.decode()
    assert board.url in page.content.decode()
    assert board.received[0][0].startswith("GET /hooks/a?b=c ")
    assert asks(alice, board.url).status_code == 200
    assert board.connections == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "https://elsewhere.example/client"},
        {"client_id": None},
        {"redirect_uris": []},
        {"redirect_uris": None},
        {"redirect_uris": ["http://evil.example/"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": [BACK] * 11},
        {"token_endpoint_auth_method": "client_secret_basic"},
    ],
)
def test_a_document_that_is_not_in_order_names_no_client(alice, board, ours, changes):
    board.reply = answer(document(board, **changes))

    assert asks(alice, board.url).status_code == 400


@pytest.mark.parametrize(
    "reply",
    [
        answer(b"{}", status="404 Not Found"),
        answer(b"", status="302 Found\r\nLocation: https://localhost/"),
        answer(b"[]"),
        answer(b"{"),
        answer(b"{}", kind="text/html"),
        answer(b'{"client_name": "' + b"x" * 20_000 + b'"}'),
        b"SSH-2.0-x\r\n",
        b"",
    ],
)
def test_what_is_no_document_names_no_client(alice, board, ours, reply):
    board.reply = reply

    assert asks(alice, board.url).status_code == 400


def test_an_address_that_is_not_of_the_internet_is_not_called(alice, board):
    board.reply = answer(document(board))

    assert asks(alice, board.url).status_code == 400
    assert board.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "[::1]", "2130706433", "0x7f.1", "user@example.com"])
def test_a_number_or_an_account_is_no_address_of_a_client(alice, host):
    assert asks(alice, f"https://{host}/client").status_code == 400


@pytest.mark.parametrize("path", ["", "/./client", "/a/../client", "/client/.."])
def test_a_client_has_one_address_that_nothing_rewrites(alice, board, ours, path):
    address = board.url.removesuffix("/hooks/a?b=c") + path
    board.reply = answer(document(board, client_id=address))

    assert asks(alice, address).status_code == 400
    assert board.connections == 0


def test_a_stranger_makes_this_server_call_nobody(client, board, ours):
    board.reply = answer(document(board))

    asks(client, board.url)
    client.post("/oauth/token", {"grant_type": "authorization_code", "code": "x", "client_id": board.url})
    client.post("/oauth/revoke", {"token": "x", "client_id": board.url})

    assert board.connections == 0


def test_whoever_registers_too_often_is_asked_to_wait(settings, redis_client):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    stranger = Client(REMOTE_ADDR="10.11.12.14")
    body = json.dumps({"redirect_uris": [BACK]})

    statuses = [stranger.post("/oauth/register", body, content_type="application/json").status_code for _ in range(3)]

    assert statuses == [201, 201, 429]


def test_a_network_registers_as_often_as_one_machine_may(settings, redis_client):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    machines = [Client(REMOTE_ADDR=f"2001:db8:1:2::{number}") for number in range(1, 4)]
    body = json.dumps({"redirect_uris": [BACK]})

    statuses = [each.post("/oauth/register", body, content_type="application/json").status_code for each in machines]

    assert statuses == [201, 201, 429]


def registered(client, **said):
    body = json.dumps({"client_name": "Editor", "redirect_uris": [BACK], **said})
    return client.post("/oauth/register", body, content_type="application/json")


@pytest.mark.parametrize("key", [*OTHERS, *STRANGE])
def test_no_key_that_a_client_says_of_itself_is_kept_in_clear(client, alice, board, ours, key):
    registered(client, client_name=f"Editor of {key}", software_id=key, client_uri=f"https://x.example/{key}")
    refused = registered(client, redirect_uris=[BACK, f"{BACK}?k={key}"])
    board.reply = answer(document(board, client_name=f"{'e' * 80} {key}"))
    asks(alice, board.url)
    for field in ("state", "nonce", "claims", "display", "login_hint"):
        alice.get("/oauth/authorize", {"client_id": board.url, field: key})

    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri")
    assert key[:30] not in refused.content.decode()
    assert key not in everything_kept()
    assert get_application_model().objects.filter(name="Editor of [redacted]").exists() or "/" in key


@pytest.mark.parametrize("own", OWN)
def test_a_client_that_says_a_key_of_ours_of_itself_is_refused(client, alice, board, ours, own):
    refused = registered(client, client_name=f"Editor of {own}")
    board.reply = answer(document(board, client_name=f"Editor of {own}"))

    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client_metadata")
    assert "key of Workrail" in refused.json()["error_description"]
    assert own not in refused.content.decode()
    assert registered(client, redirect_uris=[f"{BACK}?k={own}"]).status_code == 400
    assert asks(alice, board.url).status_code == 400
    assert own not in everything_kept()


def test_a_server_that_hangs_keeps_nobody_waiting_for_long(alice, board, ours, monkeypatch):
    from teams_app.services import outgoing

    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.3)
    board.reply = None

    assert asks(alice, board.url).status_code == 400


def test_nothing_listens_there(alice, ours):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert asks(alice, f"https://localhost:{port}/client").status_code == 400


def test_what_came_to_nothing_is_forgotten_after_a_month(alice, board, ours):
    from datetime import timedelta

    from django.utils import timezone
    from oauth2_provider.models import Application

    from workrail_site.tasks import forget_ended_sign_ons

    board.reply = answer(document(board))
    asks(alice, board.url)

    assert forget_ended_sign_ons() == 0
    Application.objects.update(updated=timezone.now() - timedelta(days=31))
    assert forget_ended_sign_ons() == 1
    assert not Application.objects.exists()


def test_a_long_address_is_refused_before_it_is_read_and_a_shorter_one_read_in_proportion(alice):
    known = {
        "response_type": "code",
        "client_id": "x",
        "redirect_uri": BACK,
        "resource": "http://testserver/oauth/mcp/rail",
    }
    texts = {
        "a": "a",
        "marks": "%25",
        "spaces": "+",
        "equal signs": "%3D",
        "odd": "%C3%A9",
        "addresses": "https://a.b/+",
    }
    alice.get("/oauth/authorize", known)
    for name in (*known, "state", "scope", "nonce", "claims", "unknown"):
        for kind, text in texts.items():
            for size in (40_000, MOST_ASKED_BYTES - 600):
                query = f"{urlencode(known)}&{name}={text * (size // len(text))}"
                with Work() as work:
                    answer = alice.get(f"/oauth/authorize?{query}")

                assert (answer.status_code == 413) is (len(query) > MOST_ASKED_BYTES), (name, kind, answer.status_code)
                assert answer.status_code < 500
                assert work.seconds <= allowed(plain=0.02, size=len(query)), (name, kind, size, work.seconds)
    many = "&".join(f"n{number}=1" for number in range(8_000))
    for browser in (alice, Client()):
        assert browser.get(f"/oauth/authorize?{many}").status_code == 413
        assert browser.post(f"/oauth/authorize?{urlencode(known)}", {"may": "x" * 40_000}).status_code == 413
