"""The address of notices by REST and in the Studio."""

import json
import re

import pytest

from tests.cast import issue

pytestmark = pytest.mark.django_db

WEBHOOK = "/api/v1/webhook"
URL = "https://chat.example.com/hooks/secret"


@pytest.fixture(autouse=True)
def _known_address(settings):
    settings.PUBLIC_URL = "https://rails.example.com"


def test_an_owner_sets_reads_and_removes_it_and_sees_the_secret_once(house, as_person):
    alice = as_person(house.alice)

    made = alice("PUT", WEBHOOK, {"url": URL})
    read = alice.get(WEBHOOK)
    removed = alice("DELETE", WEBHOOK)
    gone = alice.get(WEBHOOK)

    assert (made.status_code, made.json()["webhook"]["url"]) == (200, URL)
    assert re.fullmatch(r"wr_hook_[a-z2-7]{40}", made.json()["secret"])
    assert read.json() == made.json()["webhook"]
    assert made.json()["secret"].encode() not in read.content
    assert (removed.status_code, gone.status_code, gone.json()["code"]) == (204, 404, "NOT_FOUND")


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PUT", {"url": URL}), ("DELETE", None)])
def test_neither_an_operator_nor_a_key_has_to_do_with_it(house, as_person, as_key, method, body):
    as_person(house.alice)("PUT", WEBHOOK, {"url": URL})

    for api in (as_person(house.bob), as_key(issue(house.alice.actor).text)):
        refused = api(method, WEBHOOK, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize("body", [{}, {"url": ""}, {"url": "http://chat.example.com"}, {"url": URL, "secret": "x"}])
def test_what_is_no_address_is_refused(house, as_person, body):
    refused = as_person(house.alice)("PUT", WEBHOOK, body)

    told = json.loads(refused.content)
    assert (refused.status_code, told["code"]) == (400, "VALIDATION_ERROR")
    assert told["details"]["suggestion"]


def test_an_owner_sets_and_removes_it_in_the_studio(house, client):
    client.force_login(house.alice.person)
    team = f"/studio/teams_app/team/{house.team.pk}"

    made = client.post(f"{team}/webhook/", {"url": URL}).content.decode()
    page = client.get(f"{team}/change/", follow=True).content.decode()
    client.post(f"{team}/no-webhook/")
    after = client.get(f"{team}/change/", follow=True).content.decode()

    secret = re.search(r"wr_hook_[a-z2-7]{40}", made)[0]
    assert "chat.example.com" in page
    assert "/hooks/secret" not in page
    assert secret not in page
    assert "chat.example.com" not in after


def test_the_studio_says_why_an_address_is_refused(house, client):
    client.force_login(house.alice.person)

    response = client.post(f"/studio/teams_app/team/{house.team.pk}/webhook/", {"url": "http://chat.example.com/"})

    assert response.status_code == 400
    assert "does not begin with https" in response.content.decode()


def test_an_operator_finds_no_button_for_it_in_the_studio(house, client):
    client.force_login(house.bob.person)
    team = f"/studio/teams_app/team/{house.team.pk}"

    assert "/webhook/" not in client.get(f"{team}/change/").content.decode()
    assert client.post(f"{team}/webhook/", {"url": URL}).status_code == 403
