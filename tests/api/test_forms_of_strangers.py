"""What somebody sends who has not signed in is read in proportion to it, and not when it is long."""

import pytest
from django.test import Client

from tests.cast import issue
from tests.flood_play import Work, allowed
from workrail_site.request_context import MOST_BYTES_OF_STRANGERS

pytestmark = pytest.mark.django_db

PAGES = ["/studio/login/", "/oauth/token", "/oauth/revoke", "/studio/invitations/x/", "/studio/"]
PART = b'--x\r\nContent-Disposition: form-data; %s="%s\r\n\r\n1\r\n'
MULTIPART = "multipart/form-data; boundary=x"


def flood(size):
    """Bodies whose parts are dear to read, and have no name, so that they are not counted as fields."""
    nameless = PART % (b"x", b";" * 900)
    named = PART % (b"name", b";" * 900)
    return {
        "parts without a name": (MULTIPART, nameless * (size // len(nameless))),
        "parts": (MULTIPART, named * (size // len(named))),
        "lines": (MULTIPART, b"--x\r\n" * (size // 5)),
        "fields": ("application/x-www-form-urlencoded", b"a=&" * (size // 3)),
        "marks on one letter": (
            "application/x-www-form-urlencoded",
            b"username=a" + "\u0301\u0316".encode() * (size // 5),
        ),
    }


@pytest.mark.parametrize("page", PAGES)
def test_a_long_form_of_a_stranger_is_refused_before_it_is_read(page):
    for name, (kind, body) in flood(2_000_000).items():
        with Work() as work:
            answer = Client(enforce_csrf_checks=True).post(page, body, content_type=kind)

        assert answer.status_code == 413, name
        assert work.seconds <= 0.25, name


@pytest.mark.parametrize("page", PAGES)
def test_a_short_form_of_a_stranger_costs_in_proportion(page):
    for name, (kind, body) in flood(MOST_BYTES_OF_STRANGERS - 100).items():
        with Work() as work:
            answer = Client(enforce_csrf_checks=True).post(page, body, content_type=kind)

        assert answer.status_code < 500, name
        assert work.seconds <= allowed(plain=0.02, size=len(body)), name


def test_who_has_signed_in_sends_long_forms(house):
    browser = Client()
    browser.force_login(house.alice.person)

    assert browser.post("/studio/", {"a": "b" * (2 * MOST_BYTES_OF_STRANGERS)}).status_code != 413


IMPORT = "/api/v1/workflows/import"
ARCHIVE = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n%s\r\n--x--\r\n'


def sent(key, body):
    return Client().post(IMPORT, body, content_type=MULTIPART, headers={"Authorization": f"Bearer {key}"})


def test_a_program_sends_long_forms(house):
    answer = sent(issue(house.alice.actor).text, ARCHIVE % (b"\0" * (2 * MOST_BYTES_OF_STRANGERS)))

    # It was read, and is no archive.
    assert answer.status_code == 400
    assert "archive" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["parts without a name", "parts", "lines"])
def test_a_long_form_with_a_key_that_nobody_knows_is_refused_before_it_is_read(kind):
    body = flood(2_000_000)[kind][1]

    with Work() as work:
        answer = sent("wr_key_" + "a" * 40, body)

    assert answer.status_code == 401
    assert work.seconds <= 0.25
