"""What a person sees where a page is refused, missing or broken: the Studio, plain words, and the next move."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import Client

from teams_app.engine.errors import RateLimitedError
from tests.studio_pages import content_of

pytestmark = pytest.mark.django_db

LOST = "/studio/sessions_app/run/00000000-0000-7000-8000-000000000000/change/"
NEW_KEY = "/studio/teams_app/agentkey/issue/"


def browser(person=None, **given):
    client = Client(raise_request_exception=False, **given)
    client.cookies["workrail_theme"] = "dark"
    if person is not None:
        client.force_login(person)
    return client


def raising(error):
    def view(*_args, **_named):
        raise error

    return view


def is_in_shell(page):
    return 'id="user-tools"' in page


def shown(response, status):
    """The page of a refusal, whichever: in the reader's theme, with one heading, and no word of Django's."""
    page = response.content.decode()
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/html")
    assert page.count("<h1") == 1
    assert 'data-theme="dark"' in page
    return page


IN_SHELL = {
    "missing": ("get", LOST, 404, "Nothing is here", "It may be of another team"),
    "not permitted": ("get", NEW_KEY, 403, "You may not do this", "Ask an owner"),
    "missing where Django looks": (
        "get",
        "/studio/sessions_app/bundlejob/x/change/",
        404,
        "Nothing is here",
        "another team",
    ),
    "asked of a form's address": ("get", "/studio/theme/", 405, "This is no page", "Go back"),
    "asked of another one": ("get", "/studio/team/", 405, "This is no page", "Go back"),
}


@pytest.mark.parametrize(("method", "path", "status", "title", "says"), IN_SHELL.values(), ids=IN_SHELL)
def test_whoever_is_signed_in_stays_in_the_studio(house, method, path, status, title, says):
    page = shown(getattr(browser(house.bob.person), method)(path), status)

    assert is_in_shell(page)
    assert title in content_of(page)
    assert says in content_of(page)
    assert 'href="/studio/"' in content_of(page)


@pytest.mark.parametrize("path", ["/nowhere", "/studio/theme/", "/studio/join/nothing-like-it/"])
def test_whoever_is_not_signed_in_gets_a_page_without_the_shell(path):
    response = browser().get(path)

    assert not is_in_shell(shown(response, response.status_code))
    assert response.status_code in {404, 405}


def test_a_page_that_is_not_there_in_the_studio_leads_strangers_to_the_sign_in():
    assert browser().get(LOST)["Location"].startswith("/studio/login/")


def test_too_many_requests_say_how_long_to_wait_and_lead_back(house, monkeypatch):
    monkeypatch.setattr("workrail_site.sign_in.throttle.spend_for", raising(RateLimitedError("Too many.")))

    response = browser(house.alice.person).get("/studio/more/")

    page = shown(response, 429)
    assert response["Retry-After"] == "60"
    assert "in 60 seconds" in page
    assert '<a class="button is-main" href="/studio/more/">Try again</a>' in page


def test_a_defect_says_so_with_the_id_of_the_request_and_nothing_of_the_inside(house, monkeypatch):
    monkeypatch.setattr("workrail_site.studio.home.context_of", raising(RuntimeError("secret inside")))

    response = browser(house.alice.person).get("/studio/")

    page = shown(response, 500)
    assert response["X-Request-ID"] in page
    assert "secret" not in page
    assert ">Try again</a>" in page


def test_without_the_database_the_page_is_drawn_all_the_same(house, monkeypatch):
    alice = browser(house.alice.person)
    monkeypatch.setattr(connection, "cursor", raising(OperationalError("no")))

    page = shown(alice.get("/studio/"), 503)

    assert not is_in_shell(page)
    assert "Try again in a moment" in page


def test_a_form_without_its_proof_leads_back_to_its_page(house):
    alice = browser(house.alice.person, enforce_csrf_checks=True)
    came_from = "http://testserver/studio/teams_app/agentkey/"

    page = shown(alice.post(NEW_KEY, {"name": "x"}, headers={"Referer": came_from}), 403)
    from_elsewhere = shown(alice.post(NEW_KEY, {"name": "x"}, headers={"Referer": "https://evil.example/"}), 403)

    assert is_in_shell(page)
    assert "Nothing was changed" in page
    assert '<a class="button is-main" href="/studio/teams_app/agentkey/">Back to the page</a>' in page
    assert "evil" not in from_elsewhere


def test_what_is_refused_before_anybody_looks_is_a_page_too_for_people(settings):
    from workrail_site import early
    from workrail_site.errors import too_large

    def refused(path, accept):
        scope = {"path": path, "headers": [(b"accept", accept), (b"cookie", b"workrail_theme=dark")]}
        start, body = early.refusal(scope, too_large(limit_bytes=5))
        return dict(start["headers"])[b"content-type"].decode(), body["body"].decode()

    kind, page = refused("/studio/", b"text/html,*/*")
    assert kind == "text/html; charset=utf-8"
    assert "studio" in page
    assert "longer than 5 bytes" in page
    assert refused("/studio/", b"*/*")[0] == "text/plain; charset=utf-8"
    assert refused("/api/v1/runs", b"text/html")[0] == "application/problem+json"


def test_the_theme_is_kept_on_pages_before_anybody_has_signed_in():
    for path in ("/studio/login/", "/studio/join/nothing-like-it/", "/studio/password/nothing-like-it/"):
        assert 'data-theme="dark"' in browser().get(path).content.decode(), path


MIB = 1024 * 1024
LONG_FORMS = {
    "an act of a row": "/studio/workflows_app/workflow/00000000-0000-7000-8000-000000000000/save/",
    "a page of its own": "/studio/workflows_app/workflow/00000000-0000-7000-8000-000000000000/edit/",
    "an act of a list": NEW_KEY,
    "an import": "/studio/workflows_app/workflow/import/",
    "a switch": "/studio/team/",
    "the theme": "/studio/theme/",
    "home": "/studio/",
    "signing in": "/studio/login/",
    "what nobody knows": "/studio/nowhere/",
}
WRITTEN = {
    "as addresses are": lambda text: {"data": f"text={text}", "content_type": "application/x-www-form-urlencoded"},
    "in parts": lambda text: {"data": {"text": text}},
}


def proving(person):
    """A browser whose forms are looked through for their proof before a page is asked."""
    client = browser(person, enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "a" * 32
    return client


def refused_form(answer, *words):
    page = content_of(shown(answer, 413))
    assert "That is too long" in page
    assert "valid HTTP" not in page
    for each in words:
        assert each in page


@pytest.mark.parametrize("enter", [browser, proving])
@pytest.mark.parametrize("path", LONG_FORMS.values(), ids=LONG_FORMS)
def test_a_form_that_is_too_long_says_how_long_one_may_be_and_what_to_do(house, path, enter):
    for written in WRITTEN.values():
        answer = enter(house.alice.person).post(path, **written("a" * (MIB + 10_000)))

        refused_form(answer, "1048576 bytes", "Nothing was saved", "send less")


@pytest.mark.parametrize("enter", [browser, proving])
def test_a_form_with_too_much_in_it_says_how_much_it_may_have(house, enter):
    fields = {f"field-{at}": "a" for at in range(1_001)}
    files = {"uploads": [SimpleUploadedFile("a.md", b"a") for _ in range(101)]}

    refused_form(enter(house.alice.person).post(LONG_FORMS["an import"], fields), "1000 fields", "fewer")
    refused_form(enter(house.alice.person).post(LONG_FORMS["an import"], files), "100 files", "zip")


@pytest.mark.parametrize("path", LONG_FORMS.values(), ids=LONG_FORMS)
@pytest.mark.parametrize("size", [70_000, MIB + 10_000])
def test_a_form_of_a_stranger_that_is_too_long_says_so_too(path, size):
    for written in WRITTEN.values():
        page = shown(browser().post(path, **written("a" * size)), 413)

        assert "65536 bytes" in page
        assert "sign in first" in page
