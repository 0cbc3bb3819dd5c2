"""What cannot be read of a request is refused by every operation in the form of a refusal, whoever asks and whichever way it goes."""

import json

import pytest
from django.test import Client

from teams_app.engine.ids import to_text
from tests import run_doors
from tests.api.test_who_is_let_in import KINDS, WORDS, filled, operations
from tests.cast import Api
from tests.direct_client import DirectClient
from tests.furnished import furnish

pytestmark = pytest.mark.django_db
# More than are read of an address, in fewer bytes than one may have.
MANY_NAMES = "&".join(f"s{number}=x" for number in range(1_100))
FORMS = [
    ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=", b"--x--"),
    ("multipart/form-data; boundary=\xc3\xa9", b"--x--"),
    ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n" + b"y" * 20),
    ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(1_100))),
    ("application/x-www-form-urlencoded; charset=nonsense", b"a=%ff"),
]


@pytest.fixture
def doors(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    return run_doors.open_doors()


def straight(doors):
    """By key on the way that the site serves it."""
    return Api(DirectClient(), **doors.agent.headers)


def with_proof(doors):
    """By cookie, with the proof that no other site has sent the form."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(run_doors.enrol(doors.desk.owner))
    client.cookies["csrftoken"] = token = "a" * 32
    return Api(client, **{"X-CSRFToken": token})


PLAYERS = {
    "by key": straight,
    "by key in Django's way": lambda doors: doors.agent,
    "signed in": with_proof,
    "of another team": lambda doors: doors.stranger,
}


@pytest.fixture
def addresses():
    rows = furnish().rows
    ids = WORDS | {name: to_text(prefix, rows[name]) for name, prefix in KINDS.items()}
    return [(method, filled(path, ids)) for method, path in operations()]


def refused_in_form(response):
    assert response.status_code < 500, response.content[:300]
    if response.status_code >= 400 and response.content:
        assert response["Content-Type"] == "application/problem+json", (response.status_code, response.content[:200])
        assert json.loads(response.content)["code"]
    assert response.has_header("X-Request-ID")


@pytest.mark.parametrize("player", PLAYERS)
def test_an_address_of_many_names_is_answered_by_every_operation(doors, addresses, player):
    api = PLAYERS[player](doors)
    for method, address in addresses:
        if not address.endswith("/stream"):
            refused_in_form(api(method, f"{address}?{MANY_NAMES}", {} if method in {"POST", "PUT", "PATCH"} else None))


@pytest.mark.parametrize("kind", FORMS, ids=lambda kind: repr(kind[0])[:50])
def test_a_form_that_cannot_be_read_is_refused_by_every_operation(doors, addresses, kind):
    for api in (player(doors) for player in PLAYERS.values()):
        for method, address in addresses:
            if method in {"POST", "PUT", "PATCH"}:
                refused_in_form(api(method, address, kind[1], **{"Content-Type": kind[0]}))
