"""A refresh token that is used or ended by another call between the moment in which it is found to hold and that of its use."""

import base64
import hashlib
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from workrail_site.oauth.validator import Validator

pytestmark = pytest.mark.django_db

BACK = "http://127.0.0.1:33333/callback"
RESOURCE = "http://testserver/oauth/mcp/rail"
VERIFIER = "v" * 64


@pytest.fixture
def connected(settings, house):
    """The id of a client that alice has connected, and its first tokens."""
    settings.OAUTH_URL = "http://testserver"
    registered = post("/oauth/register", {"client_name": "Tester", "redirect_uris": [BACK]}, "application/json")
    client_id = registered["client_id"]
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": BACK,
        "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": RESOURCE,
        "scope": "workflows:read runs:read runs:write",
    }
    browser = Client()
    browser.force_login(house.alice.person)
    address = f"/oauth/authorize?{urlencode(asked)}"
    page = browser.get(address).content.decode()
    form = {"team": re.search(r'name="team" value="([^"]+)"', page)[1], "may": "runs:read", "answer": "allow"}
    code = parse_qs(urlsplit(browser.post(address, form).headers["location"]).query)["code"][0]
    brought = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    return client_id, post("/oauth/token", {**brought, "client_id": client_id, "resource": RESOURCE})


def post(path, given, kind="form"):
    sent = {"data": given, "content_type": kind} if kind != "form" else {"data": given}
    answer = Client().post(path, **sent)
    assert answer.status_code in {200, 201}, answer.content
    return answer.json() if answer.content else {}


def renewed(client_id, refresh_token):
    given = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client_id}
    return Client(raise_request_exception=False).post("/oauth/token", given)


def renews(client_id, tokens):
    assert renewed(client_id, tokens["refresh_token"]).status_code == 200


def renews_twice(client_id, tokens):
    following = renewed(client_id, tokens["refresh_token"]).json()
    assert renewed(client_id, following["refresh_token"]).status_code == 200


def revokes(client_id, tokens):
    post("/oauth/revoke", {"client_id": client_id, "token": tokens["refresh_token"]})


def is_disconnected(_client_id, _tokens):
    from teams_app.models import AgentKey

    AgentKey.objects.update(revoked_at=timezone.now())


@pytest.mark.parametrize("meanwhile", [renews, renews_twice, revokes, is_disconnected])
def test_a_refresh_token_that_is_used_or_ended_meanwhile_is_refused(connected, monkeypatch, meanwhile):
    client_id, tokens = connected
    holds = Validator.validate_refresh_token

    def slowly(self, *given, **more):
        found = holds(self, *given, **more)
        monkeypatch.setattr(Validator, "validate_refresh_token", holds)
        meanwhile(client_id, tokens)
        return found

    monkeypatch.setattr(Validator, "validate_refresh_token", slowly)

    answer = renewed(client_id, tokens["refresh_token"])

    assert (answer.status_code, answer.json().get("error")) == (400, "invalid_grant"), answer.content
