"""What signing on takes, with values that are odd: whatever is sent, an answer of OAuth's or of ours, and never a defect."""

import base64
import hashlib
import html
import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

BACK = "http://127.0.0.1:33333/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
RESOURCE = "http://testserver/oauth/mcp/rail"
ODD = [
    "",
    "\x00",
    "a\x00b",
    "\ud7ff\ufffe",
    "x" * 5_000,
    "[]",
    "{",
    "null",
    "https://[",
    "https://a:99999/",
    "é",
    "%",
    "\u202e",
    "wr_ort_x",
]
# What the library keeps under a name of its own on a request, where it keeps what was sent, too.
INNER = [
    *("refresh_token_instance", "client", "user", "scopes", "nonce", "claims", "extra_credentials", "decoded_body"),
    *("headers", "uri", "body", "token_type", "response_type", "validator_log", "token", "code_challenge", "resource"),
    *("grant_type", "redirect_uri", "client_secret", "scope", "state", "access_token", "oauth2_error", "old_scope"),
]


@pytest.fixture
def browser(house):
    opened = Client()
    opened.force_login(house.alice.person)
    return opened


def registered(**more):
    body = {"client_name": "Odd", "redirect_uris": [BACK], **more}
    return Client().post("/oauth/register", json.dumps(body), content_type="application/json")


def asking(client, /, **changes):
    asked = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": RESOURCE,
        "scope": "runs:read",
        "state": "s",
        **changes,
    }
    return "/oauth/authorize?" + urlencode(asked)


def code_of(browser, client_id):
    address = asking(client_id)
    page = html.unescape(browser.get(address).content.decode())
    team = re.search(r'name="team" value="([^"]+)"', page)[1]
    answer = browser.post(address, {"team": team, "may": ["runs:read"], "answer": "allow"})
    return parse_qs(urlsplit(answer["Location"]).query)["code"][0]


def fetching(client, code, /, **changes):
    return {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": client,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
        **changes,
    }


@pytest.fixture
def client_id(settings):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    return registered().json()["client_id"]


# RFC 6749, 5.2, and RFC 8707.
CODES = {
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
}


def is_of_oauth(answer):
    """An answer that a client of OAuth can read, and a browser shows as no page."""
    if answer.status_code == 200 and not answer.content:
        return True
    told = answer.json() if answer["Content-Type"] == "application/json" else {}
    return answer.status_code == 200 or (answer.status_code in {400, 401} and told.get("error") in CODES)


@pytest.mark.parametrize("value", ODD)
def test_odd_values_where_tokens_are_fetched_are_refused(client_id, value):
    for name in fetching("", ""):
        for grant in ("authorization_code", "refresh_token"):
            given = {**fetching(client_id, "c", grant_type=grant, refresh_token="wr_ort_x"), name: value}
            assert is_of_oauth(Client().post("/oauth/token", given)), (name, grant)
    for name in ("token", "token_type_hint", "client_id"):
        given = {"token": "wr_oat_x", "client_id": client_id, name: value}
        assert is_of_oauth(Client().post("/oauth/revoke", given)), name


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", FORM),
        (b"{}", "application/json"),
        (b"grant_type=authorization_code", "text/plain"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data"),
        ("grant_type=authorization_code".encode("utf-16"), f"{FORM}; charset=utf-16"),
        (b"grant_type=authorization_code", f"{FORM}; charset=none"),
        ("&".join(f"n{number}=1" for number in range(2_000)).encode(), FORM),
        (b"grant_type=%00", FORM),
        (b"grant_type=authorization_code&client_id=%00&code=x", FORM),
        (b"grant_type=refresh_token&refresh_token=%ED%A0%80", FORM),
    ],
)
def test_a_form_that_cannot_be_read_is_refused_in_the_words_of_oauth(client_id, body, kind):
    for place in ("token", "revoke"):
        answer = Client().generic("POST", f"/oauth/{place}", body, content_type=kind)
        assert answer.status_code in {400, 401}
        assert is_of_oauth(answer), (place, answer.content)


@pytest.mark.parametrize("grant", [{}, {"grant_type": ""}])
def test_without_a_grant_the_request_is_invalid(client_id, grant):
    answer = Client().post("/oauth/token", {"client_id": client_id, **grant})

    assert answer.json()["error"] == "invalid_request"


@pytest.mark.parametrize("name", [name for name in fetching("", "") if name != "resource"])
def test_what_stands_twice_is_refused(client_id, browser, name):
    given = fetching(client_id, code_of(browser, client_id))
    twice = urlencode([*given.items(), (name, given[name])])

    answer = Client().generic("POST", "/oauth/token", twice, content_type=FORM)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert Client().post("/oauth/token", given).status_code == 200


@pytest.mark.parametrize(
    "header", ["Basic é", "Basic !", "Basic ADo=", "Basic //46", "Basic " + "A" * 900, "Bearer x", "é", ""]
)
def test_no_header_proves_who_a_public_client_is(client_id, browser, header):
    named = {"authorization": header}

    for body in ({}, {"grant_type": "refresh_token", "refresh_token": "wr_ort_x", "client_id": client_id}):
        assert is_of_oauth(Client().post("/oauth/token", body, headers=named))
    assert is_of_oauth(Client().post("/oauth/revoke", {"token": "x", "client_id": client_id}, headers=named))
    given = fetching(client_id, code_of(browser, client_id))
    assert Client().post("/oauth/token", given, headers=named).status_code == 200


MARKUP = "http://testserver/<script>alert(1)</script>"


@pytest.mark.parametrize("name", list(fetching("", "")))
def test_what_is_told_again_is_never_a_page(client_id, browser, name):
    """Any site can have a browser send this form, with a code that its owner got for themselves."""
    given = fetching(client_id, code_of(browser, client_id)) | {name: MARKUP}

    for address in ("/oauth/token", f"/oauth/token?{urlencode({name: MARKUP})}"):
        answer = Client().post(address, given)
        assert is_of_oauth(answer), answer.content
        assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("value", ODD)
def test_odd_values_of_what_a_client_asks_are_answered(client_id, browser, value):
    for name in [
        *parse_qs(urlsplit(asking("x")).query),
        "nonce",
        "claims",
        "prompt",
        "max_age",
        "request",
        "id_token_hint",
    ]:
        address = asking(client_id, **{name: value})
        assert browser.get(address).status_code < 500, name
        assert browser.post(address, {"answer": "no"}).status_code < 500, name
    for name in ("team", "may", "answer"):
        given = {"team": "team_x", "may": ["runs:read"], "answer": "allow", name: value}
        assert browser.post(asking(client_id), given).status_code < 500, name


@pytest.mark.parametrize(
    "challenge", ["", "a", CHALLENGE + "=", CHALLENGE[:-1], CHALLENGE + "A", CHALLENGE[:-1] + "é", "*" * 43]
)
def test_what_is_no_digest_of_a_verifier_is_refused_before_anybody_is_asked(client_id, browser, challenge):
    answer = browser.get(asking(client_id, code_challenge=challenge))

    assert parse_qs(urlsplit(answer["Location"]).query)["error"] == ["invalid_request"]


@pytest.mark.parametrize("value", ODD)
def test_odd_values_of_what_a_client_says_of_itself_are_answered(client_id, browser, value):
    for more in (
        {"client_name": value},
        {"redirect_uris": [value]},
        {"redirect_uris": [BACK, BACK + value]},
        {"scope": value},
    ):
        answer = registered(**more)
        assert answer.status_code in {201, 400}, more
        if answer.status_code == 201:
            assert browser.get(asking(answer.json()["client_id"])).status_code == 200


@pytest.mark.parametrize("name", INNER)
def test_what_a_client_sends_never_passes_for_what_the_library_has_found(client_id, browser, name):
    for value in ("x", "[]"):
        answer = Client().post("/oauth/token", {**fetching(client_id, code_of(browser, client_id)), name: value})
        assert answer.status_code < 500, value
        if answer.status_code == 200:
            given = {
                "grant_type": "refresh_token",
                "refresh_token": answer.json()["refresh_token"],
                "client_id": client_id,
            }
            assert Client().post("/oauth/token", {**given, name: value}).status_code < 500, value
            assert Client().post("/oauth/revoke", {"token": "x", "client_id": client_id, name: value}).status_code < 500
        assert browser.get(asking(client_id, **{name: value})).status_code < 500
