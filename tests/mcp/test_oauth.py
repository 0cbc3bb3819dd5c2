"""Clients of MCP that sign on: from a 401 to a tool call, and everything that must be refused on the way."""

import base64
import hashlib
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx
import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from teams_app.engine.actors import Role
from tests.cast import audited, play

pytestmark = pytest.mark.django_db(transaction=True)

BACK = "http://127.0.0.1:33333/callback"
SCOPES = "workflows:read runs:read runs:write"


class Person:
    """Somebody with a browser, signed in to the Studio of the site."""

    def __init__(self, site, player):
        from django.conf import settings
        from django.test import Client as Browser

        browser = Browser()
        browser.force_login(player.person)
        session = browser.cookies[settings.SESSION_COOKIE_NAME].value
        self.http = httpx.Client(base_url=site.url, cookies={settings.SESSION_COOKIE_NAME: session})

    def opens(self, url):
        return self.http.get(url)

    def answers(self, url, answer="allow", **form):
        """The answer of the page when its form is sent as it stands, but for what is given."""
        page = self.opens(url)
        assert page.status_code == 200, page.text
        given = {"csrfmiddlewaretoken": _value(page.text, "csrfmiddlewaretoken"), "team": _value(page.text, "team")}
        ticked = re.findall(r'name="may" value="([^"]+)"[^>]*checked', page.text)
        return self.http.post(url, data={**given, "may": ticked, "answer": answer, **form})


def _value(page, name):
    return re.search(rf'name="{name}" value="([^"]+)"', page)[1]


class Program:
    """A client that is made by hand, so that it can do what no honest one does."""

    def __init__(self, site, *, redirect_uri=BACK):
        self.url, self.redirect_uri = site.url, redirect_uri
        self.resource = f"{site.url}/oauth/mcp/rail"
        self.verifier = secrets.token_urlsafe(48)
        self.client_id = self.registers().json()["client_id"]

    def registers(self, **more):
        asked = {"client_name": "Tester", "redirect_uris": [self.redirect_uri], **more}
        return httpx.post(f"{self.url}/oauth/register", json=asked)

    def asks(self, **changes):
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        given = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": self.resource,
            "scope": SCOPES,
            "state": "as given",
            **changes,
        }
        return f"/oauth/authorize?{urlencode({name: value for name, value in given.items() if value is not None})}"

    def fetches(self, code, **changes):
        given = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": self.resource,
            **changes,
        }
        return httpx.post(f"{self.url}/oauth/token", data=given)

    def renews(self, refresh_token, **changes):
        given = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": self.client_id, **changes}
        return httpx.post(f"{self.url}/oauth/token", data=given)

    def calls(self, token, *, path="/oauth/mcp/rail", tool="list_workflows", **arguments):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.post(self.url + path, json=message, headers=headers, timeout=30)


def told(response):
    """What came back with the redirect to the client."""
    assert response.status_code == 302, response.text
    return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()}


@pytest.fixture
def person_of(site):
    """`person_of(house.bob)`: their browser, closed when the test ends."""
    opened = []

    def open_browser(player):
        opened.append(Person(site, player))
        return opened[-1]

    yield open_browser
    for each in opened:
        each.http.close()


@pytest.fixture
def alice(person_of, house):
    return person_of(house.alice)


@pytest.fixture
def program(site, house):
    return Program(site)


@pytest.fixture
def tokens(program, alice):
    return program.fetches(told(alice.answers(program.asks()))["code"]).json()


def refused(response, error):
    assert (response.status_code, response.json()["error"]) == (400, error), response.text


class Kept(TokenStorage):
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def test_the_official_client_goes_from_a_401_to_a_tool_call(site, house, alice):
    answered, storage = {}, Kept()

    async def opens(url):
        answered.update(told(await anyio.to_thread.run_sync(lambda: alice.answers(url))))

    async def waits():
        return AuthorizationCodeResult(code=answered["code"], state=answered["state"], iss=answered["iss"])

    async def signs_on():
        about = OAuthClientMetadata(client_name="Tester", redirect_uris=[BACK])
        auth = OAuthClientProvider(f"{site.url}/oauth/mcp/rail", about, storage, opens, waits)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30) as http,
            Client(streamable_http_client(f"{site.url}/oauth/mcp/rail", http_client=http)) as client,
        ):
            return await client.call_tool("list_workflows", {})

    result = anyio.run(signs_on)

    assert not result.is_error
    assert storage.tokens.access_token.startswith("wr_oat_")
    assert audited(house.team)[-1] == "client.connected"


def test_a_client_without_a_token_is_told_where_it_signs_on(site, program):
    answer = program.calls(None)
    where = re.search(r'resource_metadata="([^"]+)"', answer.headers["www-authenticate"])[1]
    resource = httpx.get(where).json()
    server = httpx.get(f"{site.url}/.well-known/oauth-authorization-server/oauth").json()

    assert answer.status_code == 401
    assert resource["resource"] == f"{site.url}/oauth/mcp/rail"
    assert resource["authorization_servers"] == [server["issuer"]] == [f"{site.url}/oauth"]
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["client_id_metadata_document_supported"] is True


def test_where_keys_are_used_nobody_is_told_of_oauth(site, program):
    answer = program.calls(None, path="/mcp/rail")

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="workrail"')
    assert httpx.get(f"{site.url}/.well-known/oauth-authorization-server").status_code == 404


@pytest.mark.parametrize(
    "path", ["oauth-protected-resource", "oauth-protected-resource/oauth/mcp/none", "openid-configuration", "x/y"]
)
def test_well_known_addresses_answer_in_json_also_when_there_is_nothing(site, path):
    answer = httpx.get(f"{site.url}/.well-known/{path}")

    assert answer.status_code == 404
    assert "json" in answer.headers["content-type"]
    assert answer.json()["code"] == "NOT_FOUND"


def test_the_agent_is_a_key_with_what_was_ticked_and_no_more_than_the_role(person_of, house, program):
    from teams_app.models import AgentKey

    dora = play("dora", house.team, Role.VIEWER)
    tokens = program.fetches(told(person_of(dora).answers(program.asks()))["code"]).json()

    row = AgentKey.objects.get()
    assert (row.person_id, sorted(row.scopes)) == (dora.person.pk, ["runs:read", "workflows:read"])
    assert tokens["scope"].split() == ["workflows:read", "runs:read"]
    assert row.name == "Tester of dora"
    driven = program.calls(tokens["access_token"], tool="start_workflow", workflowId="wr.x", goal="Try").json()
    assert "FORBIDDEN" in str(driven)


def test_nothing_is_kept_by_which_anybody_could_sign_on(tokens):
    from oauth2_provider.models import AccessToken, Grant, RefreshToken

    stored = repr([list(model.objects.values()) for model in (AccessToken, RefreshToken, Grant)])

    assert tokens["access_token"] not in stored
    assert tokens["refresh_token"] not in stored


def test_a_code_is_stored_as_its_digest(program, alice):
    from oauth2_provider.models import Grant

    code = told(alice.answers(program.asks()))["code"]

    assert Grant.objects.get().code == hashlib.sha256(code.encode()).hexdigest()


def test_a_token_is_for_one_address_and_no_key(program, tokens):
    token = tokens["access_token"]

    assert program.calls(token).status_code == 200
    for path in ("/oauth/mcp/session", "/mcp/rail"):
        assert program.calls(token, path=path).status_code == 401, path
    assert httpx.get(f"{program.url}/api/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert program.calls("wr_key_" + "a" * 40).status_code == 401


@pytest.mark.parametrize(
    "resource", ["https://elsewhere.example/oauth/mcp/rail", "{url}/oauth/mcp", "{url}/mcp/rail", None]
)
def test_what_is_no_mcp_server_of_ours_is_no_audience(program, alice, resource):
    named = resource and resource.format(url=program.url)

    assert told(alice.opens(program.asks(resource=named)))["error"] == "invalid_target"


def test_a_code_is_not_exchanged_for_another_audience(program, alice):
    code = told(alice.answers(program.asks()))["code"]

    refused(program.fetches(code, resource=f"{program.url}/oauth/mcp/session"), "invalid_target")


def test_a_code_is_used_once_by_its_client_with_its_verifier(site, program, alice):
    code = told(alice.answers(program.asks()))["code"]

    refused(program.fetches(code, code_verifier="x" * 64), "invalid_grant")
    refused(program.fetches(code, redirect_uri="http://127.0.0.1:1/other"), "invalid_grant")
    refused(Program(site).fetches(code), "invalid_grant")
    assert program.fetches(code).status_code == 200
    refused(program.fetches(code), "invalid_grant")


def test_a_code_that_comes_again_ends_what_it_led_to(site, house, program, alice):
    code = told(alice.answers(program.asks()))["code"]
    tokens = program.fetches(code).json()
    assert program.calls(tokens["access_token"]).status_code == 200

    refused(Program(site).fetches(code), "invalid_grant")
    assert program.calls(tokens["access_token"]).status_code == 200
    refused(program.fetches(code, code_verifier="x" * 64), "invalid_grant")

    assert program.calls(tokens["access_token"]).status_code == 401
    refused(program.renews(tokens["refresh_token"]), "invalid_grant")
    assert audited(house.team)[-1] == "client.disconnected"


@pytest.mark.parametrize("method", ["plain", None])
def test_pkce_is_s256_and_nothing_else(program, alice, method):
    assert told(alice.opens(program.asks(code_challenge_method=method)))["error"] == "invalid_request"


def test_without_pkce_nothing_is_handed_out(program, alice):
    answer = alice.opens(program.asks(code_challenge=None, code_challenge_method=None))

    assert told(answer)["error"] == "invalid_request"


@pytest.mark.parametrize(
    "redirect_uri",
    ["https://evil.example/", "http://127.0.0.1:33333/callback/more", "javascript:alert(1)", "http://evil.example/"],
)
def test_nobody_is_sent_where_the_client_has_not_registered(program, alice, redirect_uri):
    answer = alice.opens(program.asks(redirect_uri=redirect_uri))

    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "redirect_uri",
    [
        "http://evil.example/",
        "javascript:alert(1)",
        "data:x",
        "https://u:p@evil.example/",
        "https://x.example/#f",
        "ftp://x.example/",
        "myapp://x",
        "",
        # Where an answer goes stands in the page's policy, and is shown.
        "https://*/",
        "https://a;sandbox/",
        "https://a,b/",
        "https://a'self'/",
        "https://%65vil.example/",
        "https://evil.example\\.example.com/",
        "https://[fe80::1%25eth0]/",
        "https://x.example:/",
        "https://x.example/#",
        'https://x.example/"<b>',
        "cursor://*/",
        "vscode://x/<b>",
    ],
)
def test_a_client_registers_only_addresses_that_an_answer_may_go_to(program, redirect_uri):
    refused(program.registers(redirect_uris=[redirect_uri]), "invalid_redirect_uri")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"redirect_uris": []}', b'{"redirect_uris": "x"}', b"\xff", b"[" * 5000]
)
def test_a_registration_that_cannot_be_read_is_refused(program, body):
    refused(httpx.post(f"{program.url}/oauth/register", content=body), "invalid_client_metadata")


def test_a_loopback_program_may_listen_at_another_port(program, alice):
    assert alice.opens(program.asks(redirect_uri="http://127.0.0.1:44444/callback")).status_code == 200


def test_whoever_has_not_signed_in_is_asked_to_and_led_back(program):
    answer = httpx.get(program.url + program.asks())

    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/studio/login/?next=/oauth/authorize")


def test_the_person_may_say_no_and_the_client_is_told(house, program, alice):
    from teams_app.models import AgentKey

    answer = told(alice.answers(program.asks(), answer="deny"))

    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "as given", f"{program.url}/oauth")
    assert not AgentKey.objects.exists()


def test_a_form_of_another_site_connects_nothing(program, alice):
    answer = alice.http.post(program.asks(), data={"answer": "allow", "may": "runs:read"})

    assert answer.status_code == 403


def test_the_page_allows_its_form_to_lead_to_the_client_alone(program, alice):
    policy = alice.opens(program.asks()).headers["content-security-policy"]

    assert "form-action 'self' http://127.0.0.1:33333" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_another_team_is_not_the_persons_to_give(house, program, alice):
    from tests.cast import team_id

    answer = alice.answers(program.asks(), team=team_id(house.other_team))

    assert answer.status_code == 400


def test_a_refresh_token_is_used_once_and_a_second_use_ends_the_connection(house, program, tokens):
    fresh = program.renews(tokens["refresh_token"]).json()

    assert program.calls(tokens["access_token"]).status_code == 401
    assert program.calls(fresh["access_token"]).status_code == 200
    refused(program.renews(tokens["refresh_token"]), "invalid_grant")
    assert program.calls(fresh["access_token"]).status_code == 401
    refused(program.renews(fresh["refresh_token"]), "invalid_grant")
    assert audited(house.team)[-1] == "client.disconnected"


def test_a_client_renews_its_own_tokens_and_no_wider(site, program, tokens):
    refused(program.renews(tokens["refresh_token"], scope="workflows:write"), "invalid_scope")
    refused(Program(site).renews(tokens["refresh_token"]), "invalid_grant")


def test_revoking_ends_the_connection_for_the_client_that_has_it(site, house, program, tokens):
    def revokes(client, token):
        return httpx.post(f"{site.url}/oauth/revoke", data={"token": token, "client_id": client.client_id}).status_code

    assert revokes(Program(site), tokens["refresh_token"]) == 200
    assert program.calls(tokens["access_token"]).status_code == 200
    assert revokes(program, tokens["access_token"]) == 200
    assert program.calls(tokens["access_token"]).status_code == 401
    refused(program.renews(tokens["refresh_token"]), "invalid_grant")
    assert audited(house.team)[-1] == "client.disconnected"


def key_revoked(house):
    from django.utils import timezone

    from teams_app.models import AgentKey
    from teams_app.services.keys import revoke_key

    revoke_key(actor=house.bob.actor, key_id=AgentKey.objects.get().pk, now=timezone.now())


def member_removed(house):
    from django.utils import timezone

    from teams_app.services.members import remove_member

    remove_member(actor=house.alice.actor, member_id=house.bob.membership.pk, now=timezone.now())


def deactivated(house):
    house.bob.person.is_active = False
    house.bob.person.save(update_fields=["is_active"])


@pytest.mark.parametrize("ended", [key_revoked, member_removed, deactivated])
def test_the_connection_ends_with_its_key_and_its_person(person_of, house, program, ended):
    tokens = program.fetches(told(person_of(house.bob).answers(program.asks()))["code"]).json()
    assert program.calls(tokens["access_token"]).status_code == 200

    ended(house)

    assert program.calls(tokens["access_token"]).status_code == 401
    refused(program.renews(tokens["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize(
    "grant", ["password", "client_credentials", "implicit", "urn:ietf:params:oauth:grant-type:device_code"]
)
def test_no_other_grant_is_taken(program, grant):
    refused(
        httpx.post(f"{program.url}/oauth/token", data={"grant_type": grant, "client_id": program.client_id}),
        "unsupported_grant_type",
    )


def test_a_person_in_two_teams_says_in_which_one_the_client_acts(house, program, alice):
    from teams_app.models import AgentKey
    from tests.cast import team_id

    play("alice", house.other_team, Role.OPERATOR)

    tokens = program.fetches(told(alice.answers(program.asks(), team=team_id(house.other_team)))["code"]).json()

    assert AgentKey.objects.get().team_id == house.other_team.pk
    assert program.calls(tokens["access_token"]).status_code == 200


def test_of_several_that_bring_one_code_or_one_refresh_token_at_once_one_is_served(program, alice):
    code = told(alice.answers(program.asks()))["code"]

    exchanged = at_once(lambda: program.fetches(code))
    assert sorted(answer.status_code for answer in exchanged) == [200, 400, 400, 400]
    (first,) = [answer.json() for answer in exchanged if answer.status_code == 200]
    renewed = [answer.status_code for answer in at_once(lambda: program.renews(first["refresh_token"]))]

    assert renewed.count(200) <= 1
    assert set(renewed) <= {200, 400}


def at_once(call, times=4):
    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(lambda _: call(), range(times)))


ASKED_WRONGLY = [{"scope": "admin"}, {"response_type": "token"}, {"resource": None}, {"code_challenge": None}]


@pytest.mark.parametrize("wrong", ASKED_WRONGLY, ids=lambda wrong: next(iter(wrong)))
def test_a_link_sends_nobody_to_a_site_before_they_have_agreed_to_anything(site, house, alice, wrong):
    """Anybody can register a site, and make a link that leads there by way of ours."""
    remote, local = Program(site, redirect_uri="https://evil.example/back"), Program(site)

    shown, led = alice.opens(remote.asks(**wrong)), alice.opens(local.asks(**wrong))

    assert (shown.status_code, shown.headers.get("location")) == (400, None)
    assert "Begin again in that program" in shown.text
    assert "error" in told(led)


def test_who_says_no_is_sent_back_to_the_site(site, house, alice):
    remote = Program(site, redirect_uri="https://client.example/back")

    assert told(alice.answers(remote.asks(), answer="deny"))["error"] == "access_denied"
