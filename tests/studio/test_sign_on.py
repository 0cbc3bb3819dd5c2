"""Signing in by an OpenID provider: who is let in, as whom, with which roles, and who is not."""

import socket
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from teams_app.engine.actors import Role
from tests.cast import audited, play
from tests.openid_provider import CLIENT_ID, CLIENT_SECRET, OpenIdProvider, another_rsa_key, elliptic_key

pytestmark = pytest.mark.django_db

GOOD = "correct horse battery"


@pytest.fixture(scope="module")
def started():
    opened = OpenIdProvider()
    yield opened
    opened.close()


@pytest.fixture
def provider(started, settings, house):
    fresh = {
        "claims": {"preferred_username": "dora", "groups": ["devs"]},
        "sent": [],
        "is_down": False,
        "published": {},
    }
    started.__dict__.update(
        **fresh, header={"kid": "one"}, algorithm="RS256", signs_with=None, without=(), challenge=""
    )
    settings.OIDC_ISSUER = started.issuer
    settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    settings.OIDC_NAME = "Example SSO"
    settings.OIDC_ROLES = {
        "devs": {house.team.pk: Role.AUTHOR},
        "ops": {house.team.pk: Role.OPERATOR},
        "admins": {house.team.pk: Role.OWNER},
    }
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        "workrail_site.sign_on.backend.ProviderBackend",
    ]
    from workrail_site.sign_on import provider as ours

    ours._known.clear()
    return started


def go(browser, provider, *, query="", nonce=None, **answer):
    """There and back: what the browser gets in the end."""
    begun = browser.get(f"/studio/sign-on/{query}")
    assert begun.status_code == 302, begun.content
    asked = {name: each[0] for name, each in parse_qs(urlsplit(begun["Location"]).query).items()}
    provider.challenge = asked["code_challenge"]
    provider.claims = {**provider.claims, "nonce": asked["nonce"] if nonce is None else nonce}
    return browser.get("/studio/sign-on/back/", {"code": "c", "state": asked["state"], **answer})


def is_in(browser):
    return browser.get("/studio/").status_code == 200


def role_of(name, house):
    from teams_app.models import Membership

    return Membership.objects.filter(person__username=name, team=house.team).values_list("role", flat=True).first()


def give_password(player):
    player.person.set_password(GOOD)
    player.person.save(update_fields=["password"])


def test_the_button_is_there_only_where_a_provider_is(house, client, provider, settings):
    assert "Example SSO" in client.get("/studio/login/").content.decode()
    settings.OIDC_ISSUER = ""
    assert "Example SSO" not in client.get("/studio/login/").content.decode()
    assert client.get("/studio/sign-on/").status_code == 404


def test_somebody_new_is_let_in_with_the_role_of_their_group(house, client, provider):
    answer = go(client, provider, query="?next=/studio/more/")

    assert (answer.status_code, answer["Location"]) == (302, "/studio/more/")
    assert is_in(client)
    assert role_of("dora", house) == "author"
    assert audited(house.team) == ["member.joined", "person.signed_in"]
    assert provider.sent[0]["client_secret"] == CLIENT_SECRET
    assert len(provider.sent[0]["code_verifier"]) >= 43


@pytest.mark.parametrize("where", ["its document", "its token", "its keys"])
def test_a_provider_whose_name_is_never_resolved_keeps_nobody_waiting(house, client, provider, monkeypatch, where):
    from workrail_site.sign_on import provider as ours

    released, places = threading.Event(), {"its document": 0, "its token": 1, "its keys": 2}
    asked, resolve = [], socket.getaddrinfo

    def resolved(host, port, *given, **options):
        if port == urlsplit(provider.issuer).port:
            asked.append(host)
            if len(asked) > places[where]:
                released.wait()
        return resolve(host, port, *given, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(ours, "TOTAL_SECONDS", 0.3)
    begun = client.get("/studio/sign-on/")
    if where != "its document":
        begun = go(client, provider)
    released.set()

    assert begun["Location"].startswith("/studio/login/")
    assert not is_in(client)
    assert "does not answer as it should" in client.get("/studio/login/").content.decode()


def test_the_account_has_no_password_that_anybody_could_type(house, client, provider):
    go(client, provider)

    answer = Client().post("/studio/login/", {"username": "dora", "password": ""})

    assert answer.status_code == 200


def test_groups_are_turned_into_roles_at_each_sign_on_and_told(house, client, provider):
    for groups, role in ((["devs"], "author"), (["ops"], "operator"), (["ops", "devs"], "author"), ([], None)):
        provider.claims = {"preferred_username": "dora", "groups": groups}
        go(Client(), provider)
        assert role_of("dora", house) == role

    changes = [action for action in audited(house.team) if action.startswith("member.")]
    assert changes == ["member.joined", "member.role_changed", "member.role_changed", "member.removed"]
    go(client, provider)
    assert not is_in(client)


def test_the_last_owner_is_kept_whatever_the_groups_say(house, provider):
    house.alice.membership.delete()
    provider.claims["groups"] = ["admins"]
    go(Client(), provider)
    provider.claims = {"preferred_username": "dora", "groups": []}

    go(Client(), provider)

    assert role_of("dora", house) == "owner"


def test_a_membership_by_invitation_is_not_the_groups_to_change(house, provider):
    from teams_app.models import SignOnIdentity
    from teams_app.services.ids import new_id
    from tests.cast import NOW

    SignOnIdentity.objects.create(
        id=new_id(now=NOW), person=house.bob.person, issuer=provider.issuer, subject="subject-1", created_at=NOW
    )
    for groups in (["admins"], []):
        provider.claims = {"groups": groups}
        go(Client(), provider)

    assert role_of("bob", house) == "operator"


# Whose account it is


@pytest.mark.parametrize(
    "claims",
    [
        {"preferred_username": "alice"},
        {"preferred_username": "ALICE"},
        {"preferred_username": "ａｌｉｃｅ"},
        {"preferred_username": "álice"},
        {"preferred_username": "alice ", "email": "alice@example.com", "email_verified": True},
        {"email": "alice@example.com", "email_verified": True, "preferred_username": "alice"},
    ],
)
def test_no_name_and_no_address_takes_over_an_account_that_is_there(house, client, provider, claims):
    from teams_app.models import Person, SignOnIdentity

    Person.objects.filter(username="alice").update(email="alice@example.com")
    provider.claims = {**claims, "groups": ["devs"]}

    answer = go(client, provider)

    assert answer["Location"] == "/studio/sign-on/link/"
    assert not is_in(client)
    assert not SignOnIdentity.objects.exists()


def test_an_address_of_somebodys_makes_another_account(house, client, provider):
    from teams_app.models import Person

    Person.objects.filter(username="alice").update(email="alice@example.com")
    provider.claims = {"email": "alice@example.com", "email_verified": True, "groups": ["devs"]}

    go(client, provider)

    assert client.session["_auth_user_id"] != str(house.alice.person.pk)


def test_whoever_has_an_account_links_it_once_with_its_password(house, client, provider):
    give_password(house.bob)
    provider.claims = {"preferred_username": "bob"}
    link = go(client, provider)["Location"]

    wrong = client.post(link, {"username": "bob", "password": "wrong"})
    right = client.post(link, {"username": " BOB ", "password": GOOD})
    later = Client()
    provider.claims = {"preferred_username": "somebody else"}
    go(later, provider)

    assert (wrong.status_code, right.status_code) == (400, 302)
    assert client.session["_auth_user_id"] == later.session["_auth_user_id"] == str(house.bob.person.pk)
    assert "person.linked" in audited(house.team)


def test_the_link_asks_for_the_password_also_of_who_is_signed_in(house, provider):
    """Or a page of somebody else's could link their provider's account to this one."""
    browser = Client()
    browser.force_login(house.bob.person)

    answer = go(browser, provider, query="?link")

    assert answer["Location"] == "/studio/sign-on/link/"
    assert 'type="password"' in browser.get(answer["Location"]).content.decode()


def new_password_by_oneself(house):
    from django.utils import timezone

    from teams_app.services.passwords import change_password

    change_password(actor=house.bob.actor, old=GOOD, new="another good one", now=timezone.now())


def new_password_by_a_link(house):
    from django.utils import timezone

    from teams_app.engine.actors import Door
    from teams_app.services.resets import offer_reset, reset_password

    now = timezone.now()
    offered = offer_reset(actor=house.alice.actor, member_id=house.bob.membership.pk, now=now)
    reset_password(link=offered.link, password="another good one", door=Door.STUDIO, now=now)


@pytest.mark.parametrize("change", [new_password_by_oneself, new_password_by_a_link])
def test_who_linked_an_account_by_a_password_loses_it_with_that_password(house, client, provider, change):
    """Whoever knew it once, an owner who made a link too, would be this person for ever, in every team that they join."""
    give_password(house.bob)
    provider.claims = {"preferred_username": "mallory"}
    client.post(go(client, provider)["Location"], {"username": "bob", "password": GOOD})
    assert is_in(client)

    change(house)
    later = Client()
    answer = go(later, provider)

    assert answer["Location"] == "/studio/sign-on/link/"
    assert not is_in(later)
    assert "person.unlinked" in audited(house.team)


def test_what_is_linked_already_is_not_linked_to_another_account(house, client, provider):
    give_password(house.bob)
    go(client, provider)
    link = go(client, provider, query="?link")["Location"]

    answer = client.post(link, {"username": "bob", "password": GOOD})

    assert answer.status_code == 400
    assert "another account" in answer.content.decode()


def test_linking_begins_at_the_provider(client, provider):
    assert client.get("/studio/sign-on/link/")["Location"] == "/studio/login/"


def test_a_wrong_password_at_the_link_is_told_to_the_teams_of_the_account(house, provider):
    provider.claims = {"preferred_username": "gus"}
    give_password(play("gus", house.team, Role.VIEWER))
    browser = Client(REMOTE_ADDR="10.11.12.14")
    link = go(browser, provider)["Location"]

    assert browser.post(link, {"username": "gus", "password": "a guess"}).status_code == 400

    assert "person.sign_in_refused" in audited(house.team)


def test_guessing_at_the_link_is_slowed_down(house, provider, settings):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    provider.claims = {"preferred_username": "bob"}
    # What a process remembers of an address outlives a test.
    browser = Client(REMOTE_ADDR="10.11.12.13")
    link = go(browser, provider)["Location"]

    statuses = [browser.post(link, {"username": "bob", "password": "wrong"}).status_code for _ in range(5)]

    # So many that three are within a minute, where another one begins among them.
    assert statuses[:2] == [400, 400]
    assert 429 in statuses[2:]


def test_somebody_in_no_group_gets_no_account(house, client, provider):
    from teams_app.models import Person

    provider.claims = {"preferred_username": "dora", "groups": ["others"]}

    assert go(client, provider)["Location"] == "/studio/sign-on/link/"
    assert not Person.objects.filter(username="dora").exists()


def test_an_account_that_is_not_in_use_is_not_let_in(house, client, provider):
    from teams_app.models import Person

    go(Client(), provider)
    Person.objects.filter(username="dora").update(is_active=False)

    assert go(client, provider)["Location"] == "/studio/login/"
    assert not is_in(client)


# What must be refused


def hour_ago():
    return int(time.time()) - 3600


WRONG = {
    "of another sign-on": {"nonce": "another"},
    "without a nonce": {"without": ("nonce",)},
    "for somebody else": {"claims": {"aud": "another"}},
    "for several, and another is named": {"claims": {"aud": [CLIENT_ID, "another"], "azp": "another"}},
    "for several, and none is named": {"claims": {"aud": [CLIENT_ID, "another"]}},
    "for us, made for another": {"claims": {"azp": "another"}},
    "of another issuer": {"claims": {"iss": "https://evil.example"}},
    "past its time": {"claims": {"exp": hour_ago()}},
    "of the future": {"claims": {"iat": int(time.time()) + 3600}},
    "without an end": {"without": ("exp",)},
    "without a subject": {"without": ("sub",)},
    "without an issuer": {"without": ("iss",)},
    "of an empty subject": {"claims": {"sub": ""}},
    "signed by nobody": {"algorithm": "none"},
    "signed with the shared secret": {"algorithm": "HS256", "signs_with": CLIENT_SECRET + " " * 10},
    "signed with another key": {"signs_with": another_rsa_key()},
    "signed in another way": {"algorithm": "ES256", "signs_with": elliptic_key()},
    "signed with a key that is not published": {"header": {"kid": "two"}},
    "without the name of a key": {"header": {}},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_token_that_is_not_good_lets_nobody_in(house, client, provider, wrong):
    from teams_app.models import Person

    told = dict(wrong)
    nonce = told.pop("nonce", None)
    provider.claims = {**provider.claims, **told.pop("claims", {})}
    provider.__dict__.update(told)

    answer = go(client, provider, nonce=nonce)

    assert answer["Location"] == "/studio/login/"
    assert not is_in(client)
    assert not Person.objects.filter(username="dora").exists()


def test_what_is_signed_with_the_published_key_as_a_secret_lets_nobody_in(house, client, provider):
    """The public half of the key, used as if it were a shared secret."""
    import base64
    import hashlib
    import hmac
    import json

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    public = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    original = provider.id_token

    def forged():
        import jwt

        claims = jwt.decode(original(), options={"verify_signature": False})
        signed = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(claims)}"
        digest = hmac.new(public, signed.encode(), hashlib.sha256).digest()
        return f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"

    provider.id_token = forged
    try:
        assert go(client, provider)["Location"] == "/studio/login/"
    finally:
        del provider.id_token


def test_a_state_that_was_not_given_out_or_was_used_lets_nobody_in(house, client, provider):
    assert go(client, provider, state="another")["Location"] == "/studio/login/"
    assert not is_in(client)
    answer = go(client, provider)
    again = client.get(answer.request["PATH_INFO"], {"code": "c", "state": "x"})
    assert again["Location"] == "/studio/login/"


def test_the_answer_of_one_browser_signs_in_no_other(house, client, provider):
    begun = client.get("/studio/sign-on/")
    state = parse_qs(urlsplit(begun["Location"]).query)["state"][0]

    answer = Client().get("/studio/sign-on/back/", {"code": "c", "state": state})

    assert answer["Location"] == "/studio/login/"
    assert provider.sent == []


def test_an_error_of_the_provider_signs_nobody_out(house, provider):
    browser = Client()
    browser.force_login(house.bob.person)

    answer = browser.get("/studio/sign-on/back/", {"error": "access_denied", "state": "x"})

    assert answer["Location"] == "/studio/login/"
    assert is_in(browser)


@pytest.mark.parametrize(
    "published",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "https://["},
        {"jwks_uri": ["https://sso.example.com/keys"]},
    ],
)
def test_a_provider_that_publishes_something_else_is_not_asked(client, provider, published):
    provider.published = published

    assert client.get("/studio/sign-on/")["Location"] == "/studio/login/"


def test_a_provider_that_is_down_is_told_of_in_words(client, provider):
    provider.is_down = True

    page = client.get("/studio/sign-on/", follow=True)

    assert "Example SSO does not answer" in page.content.decode()


def test_nobody_is_led_to_another_site_afterwards(house, client, provider):
    for elsewhere in ("https://evil.example/", "%252f%252fevil.example", "x", "/nowhere", "%2f%2f"):
        assert go(client, provider, query=f"?next={elsewhere}")["Location"] == "/studio/"


def test_after_signing_out_the_end_at_the_provider_is_a_link(house, client, provider):
    go(client, provider)

    page = client.post("/studio/logout/").content.decode()

    assert f'href="{provider.issuer}/out?client_id=workrail&amp;post_logout_redirect_uri=' in page
    assert "/out?" not in Client().post("/studio/logout/").content.decode()
    assert not is_in(client)


def test_a_password_still_signs_in_beside_the_provider(house, client, provider):
    give_password(house.bob)
    provider.is_down = True

    answer = client.post("/studio/login/", {"username": "bob", "password": GOOD})

    assert answer.status_code == 302
    assert is_in(client)
