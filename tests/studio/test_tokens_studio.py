"""The Studio's page of tokens: made with a form, shown once, revoked; and the setting of the team."""

import re

import pytest

from tests.cast import Api, audited

pytestmark = pytest.mark.django_db

TOKENS, TEAMS = "/studio/teams_app/personaltoken/", "/studio/teams_app/team/"
_TEXT = re.compile(r"wr_pat_[a-z2-7]{40}")


@pytest.fixture
def alice(house):
    return browser_of(house.alice)


@pytest.fixture
def bob(house):
    return browser_of(house.bob)


def browser_of(player):
    from django.test import Client

    browser = Client()
    browser.force_login(player.person)
    return browser


def make(browser, name="laptop", scopes=("answer",)):
    page = browser.post(f"{TOKENS}issue/", {"name": name, "scopes": list(scopes), "ends": "30"}).content.decode()
    found = _TEXT.search(page)
    assert found, page
    return found.group()


def test_a_token_is_made_shown_once_and_works(house, bob, client):
    text = make(bob)

    assert "laptop" in bob.get(TOKENS).content.decode()
    assert text not in bob.get(TOKENS).content.decode()
    assert Api(client, Authorization=f"Bearer {text}").get("/api/v1/whoami").json()["name"] == "bob"
    assert audited(house.team) == ["token.issued"]


def test_each_sees_their_own_and_an_owner_all(house, alice, bob):
    from teams_app.models import PersonalToken

    make(alice, "of-alice")
    make(bob, "of-bob")
    of_alice = PersonalToken.objects.get(name="of-alice").pk

    assert "of-alice" not in bob.get(TOKENS).content.decode()
    assert bob.get(f"{TOKENS}{of_alice}/change/").status_code in {302, 404}
    assert bob.post(f"{TOKENS}{of_alice}/revoke/").status_code == 404
    assert {"of-alice", "of-bob"} <= set(re.findall(r"of-\w+", alice.get(TOKENS).content.decode()))
    assert "of-alice" not in browser_of(house.charlie).get(TOKENS).content.decode()


def test_a_token_is_revoked_with_a_question_first(house, alice, bob, client):
    from teams_app.models import PersonalToken

    text = make(bob)
    path = f"{TOKENS}{PersonalToken.objects.get().pk}/revoke/"

    assert 'method="post"' in alice.get(path).content.decode()
    assert Api(client, Authorization=f"Bearer {text}").get("/api/v1/whoami").status_code == 200
    assert alice.post(path).status_code == 302
    assert Api(client, Authorization=f"Bearer {text}").get("/api/v1/whoami").status_code == 401
    assert "Revoked" in bob.get(TOKENS).content.decode()


def test_a_form_beyond_ones_role_is_refused_in_words(house, bob):
    page = bob.post(f"{TOKENS}issue/", {"name": "x", "scopes": ["manage"], "ends": "30"})

    assert page.status_code == 400
    assert "Your role has nothing" in page.content.decode()


def test_only_an_owner_lets_tokens_answer_and_takes_it_back(house, alice, bob):
    act = f"{TEAMS}{house.team.pk}/tokens-answer/"

    assert bob.post(act).status_code == 403
    assert "Let tokens answer" in alice.get(TEAMS).content.decode()
    assert alice.post(act).status_code == 302
    assert "Let no token answer" in alice.get(TEAMS).content.decode()
    assert alice.post(f"{TEAMS}{house.team.pk}/tokens-do-not-answer/").status_code == 302
    assert audited(house.team) == ["team.tokens_allowed", "team.tokens_disallowed"]


def test_the_audit_log_marks_what_was_done_by_token(house, alice, client):
    text = make(alice, scopes=("manage",))
    made = Api(client, Authorization=f"Bearer {text}").post("/api/v1/keys", {"name": "Claude", "scopes": ["runs:read"]})

    assert made.status_code == 201
    assert 'title="laptop">by token<' in alice.get("/studio/teams_app/auditentry/").content.decode()
