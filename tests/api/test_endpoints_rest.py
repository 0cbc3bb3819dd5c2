"""Several addresses of notices by REST and in the Studio: who sets them, what they choose, and what was sent."""

import pytest

from teams_app.models import Endpoint, NoticeDelivery
from tests.cast import NOW, audited, issue

pytestmark = pytest.mark.django_db

ENDPOINTS = "/api/v1/endpoints"
URL = "https://chat.example.com/hooks/secret"


@pytest.fixture(autouse=True)
def _known_address(settings):
    settings.PUBLIC_URL = "https://rails.example.com"


@pytest.fixture
def alice(house, as_person):
    return as_person(house.alice)


def added(api, *kinds):
    return api.post(ENDPOINTS, {"url": URL, **({"kinds": kinds} if kinds else {})}).json()


def delivery_to(endpoint):
    from teams_app.services.ids import new_id

    row = Endpoint.objects.get(kinds__contains=endpoint["kinds"][:1])
    return NoticeDelivery.objects.create(
        id=new_id(now=NOW),
        team_id=row.team_id,
        endpoint=row,
        notice_id=new_id(now=NOW),
        kind="run_started",
        body=b"{}",
        state="delivered",
        created_at=NOW,
    )


def test_an_owner_adds_chooses_and_removes(house, alice):
    made = added(alice, "run_started", "run_completed")
    one = f"{ENDPOINTS}/{made['endpoint']['id']}"
    assert made["secret"].startswith("wr_hook_")
    assert alice.get(one).json() == made["endpoint"]
    assert alice("PATCH", one, {"kinds": ["checkpoint_asked"]}).json()["kinds"] == ["checkpoint_asked"]
    assert [each["id"] for each in alice.get(ENDPOINTS).json()["items"]] == [made["endpoint"]["id"]]
    assert alice.post(f"{one}/switch-on").status_code == 200
    assert alice("DELETE", one).status_code == 204
    assert alice.get(one).status_code == 404
    assert audited(house.team) == ["webhook.set", "webhook.changed", "webhook.switched_on", "webhook.removed"]


def test_without_a_choice_all_are_sent(alice):
    assert len(added(alice)["endpoint"]["kinds"]) == 12


@pytest.mark.parametrize("kinds", [[], ["sunrise"]])
def test_what_is_no_notice_is_refused(alice, kinds):
    assert alice.post(ENDPOINTS, {"url": URL, "kinds": kinds}).status_code == 400


def test_the_log_of_deliveries_is_read_and_one_is_sent_again(alice):
    made = added(alice, "run_started")["endpoint"]
    row = delivery_to(made)
    (told,) = alice.get(f"{ENDPOINTS}/{made['id']}/deliveries").json()["items"]
    assert (told["state"], told["notice"], told["endpoint"]) == ("delivered", str(row.notice_id), made["id"])


def test_nobody_else_has_to_do_with_them(house, alice, as_person, as_key):
    made = added(alice, "run_started")["endpoint"]
    for api, status in ((as_person(house.bob), 403), (as_key(issue(house.alice.actor).text), 403)):
        assert api.get(ENDPOINTS).status_code == status
        assert api.post(ENDPOINTS, {"url": URL}).status_code == status
    stranger = as_person(house.charlie)
    for path in (made["id"], f"{made['id']}/deliveries"):
        assert stranger.get(f"{ENDPOINTS}/{path}").status_code == 404
    assert stranger.get(ENDPOINTS).json() == {"items": []}


def test_there_is_an_end_to_them(alice):
    for _ in range(20):
        added(alice, "run_started")
    assert alice.post(ENDPOINTS, {"url": URL}).json()["code"] == "PRECONDITION_FAILED"


def test_an_owner_does_the_same_in_the_studio_and_nobody_else_sees_it(house, client):
    client.force_login(house.alice.person)
    root = "/studio/teams_app/endpoint"
    assert "wr_hook_" in client.post(f"{root}/add/", {"url": URL, "kinds": ["run_started"]}).content.decode()
    row = Endpoint.objects.get()
    assert "chat.example.com" in client.get(f"{root}/").content.decode()
    page = client.get(f"{root}/{row.pk}/change/").content.decode()
    assert "a run has begun" in page
    assert "/hooks/secret" not in page
    assert client.get(f"/studio/teams_app/noticedelivery/?endpoint__id__exact={row.pk}").status_code == 200
    client.post(f"{root}/{row.pk}/remove/")
    assert not Endpoint.objects.exists()
    client.force_login(house.bob.person)
    assert client.get(f"{root}/").status_code == 403
