"""What an address of a list may ask for: what the list declares. Everything else is left out aloud, and costs nothing."""

import re
from html import unescape
from urllib.parse import parse_qsl

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.db.models import ForeignKey
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests import run_doors
from tests.many_cases import each

pytestmark = pytest.mark.django_db

SOME_ODD_VALUES = ["(.+)(.+)\\2\\1", "x", "1", "é" * 150, "9" * 30, ""]
ODD_VALUES = [*SOME_ODD_VALUES, "(.+)(.+)(.+)(.+)\\3\\2\\1\\3", "2026-02-30", "%00", "[1", "{}", "-1"]


def lists():
    from workrail_site.studio import studio

    return {f"{model._meta.app_label}.{model._meta.model_name}": admin for model, admin in studio._registry.items()}


def fields_of(model, depth=1):
    for field in model._meta.get_fields():
        yield field.name, field
        if depth and isinstance(field, ForeignKey):
            yield from ((f"{field.name}__{name}", inner) for name, inner in fields_of(field.related_model, depth - 1))


def lookups_of(admin):
    for name, field in fields_of(admin.model):
        yield name
        if hasattr(field, "get_lookups"):
            yield from (f"{name}__{lookup}" for lookup in field.get_lookups())


@pytest.fixture
def client():
    return run_doors.open_doors().owner.client


@pytest.mark.parametrize("name", sorted(lists()))
def test_of_all_lookups_of_all_fields_a_list_takes_those_that_it_declares(name):
    from teams_app.admin.queries import declared_query

    admin = lists()[name]
    declared = {*admin.lookups, *(f"{field}__exact" for field in admin.list_filter if isinstance(field, str))}
    declared |= {f"{field}__isnull" for field in admin.list_filter if isinstance(field, str)}
    declared |= {given.parameter_name for given in admin.list_filter if not isinstance(given, str)}
    taken = set()
    for lookup in set(lookups_of(admin)):
        for value in ODD_VALUES:
            kept, _ = declared_query(RequestFactory().get("/", {lookup: value}), admin=admin)
            taken |= set(kept)

    assert taken <= declared


@each("name", sorted(lists()))
def test_a_lookup_that_is_not_declared_is_left_out_aloud_and_never_reaches_the_database(client, name):
    admin = lists()[name]
    url = reverse(f"admin:{name.replace('.', '_')}_changelist")
    asked = [lookup for lookup in sorted(set(lookups_of(admin))) if lookup.endswith(("regex", "in", "range", "id"))]
    for start in range(0, len(asked), 12):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            response = client.get(url, dict.fromkeys(asked[start : start + 12], "(needle+)+$"))

        assert response.status_code == 200
        assert not [query for query in queries if "needle" in query["sql"]]
        assert [str(told) for told in get_messages(response.wsgi_request)]


@pytest.mark.django_db(transaction=True)
@each("value", SOME_ODD_VALUES)
@each("name", sorted(lists()))
def test_no_value_of_what_a_list_declares_breaks_it(client, name, value):
    from teams_app.admin.queries import declared_lookups

    admin = lists()[name]
    url = reverse(f"admin:{name.replace('.', '_')}_changelist")

    response = client.get(url, dict.fromkeys(sorted(declared_lookups(admin)), value))

    assert response.status_code in {200, 302}


@pytest.mark.parametrize(
    "query",
    ["?" + "&".join(f"a{number}=1" for number in range(900)), "?q=" + "word+" * 500, "?o=" + "1." * 500, "?p=-1"],
)
def test_long_queries_are_cut(client, query):
    for name in lists():
        with CaptureQueriesContext(connection) as queries:
            response = client.get(reverse(f"admin:{name.replace('.', '_')}_changelist") + query)

        assert response.status_code == 200
        assert max(len(asked["sql"]) for asked in queries) < 8_000


@pytest.mark.parametrize(
    "row", ["nonsense", "1", "_00", "%00", "../x", "9" * 400, "00000000-0000-0000-0000-000000000000"]
)
def test_an_address_of_no_row_is_no_page(client, row):
    for name, admin in lists().items():
        root = reverse(f"admin:{name.replace('.', '_')}_changelist")
        for tail in ("change/", "history/", "delete/", "", *(f"{act.slug}/" for act in admin.acts)):
            assert client.get(f"{root}{row}/{tail}").status_code in {302, 403, 404}, (name, tail)


@each("name", sorted(lists()))
def test_every_link_of_a_filter_is_one_that_its_list_takes(client, name):
    from teams_app.admin.queries import declared_query

    admin = lists()[name]
    response = client.get(reverse(f"admin:{name.replace('.', '_')}_changelist"))
    request = RequestFactory().get("/")
    request.user, request.session = response.wsgi_request.user, client.session
    for spec in admin.get_changelist_instance(request).filter_specs:
        for choice in spec.choices(admin.get_changelist_instance(request)):
            asked = RequestFactory().get("/" + choice["query_string"])
            kept, left_out = declared_query(asked, admin=admin)
            assert left_out == (), (spec.title, choice)
            assert set(kept) == set(asked.GET), (spec.title, choice)


# What lists are asked for beside their box, as their own menus and links ask for it.
BESIDE = {
    "sessions_app.run": {"session_id": ""},
    "teams_app.auditentry": {"actor_kind__exact": "person", "what": "keys", "door__exact": "studio", "days": "7"},
    "traces_app.traceevent": {"only": "slow", "dialect__exact": "rail"},
    "workflows_app.workflow": {"state__exact": "published", "kind__exact": "workflow"},
}
_SEARCHED = re.compile(r'<form[^>]*role="search"(?![^>]*action=)[^>]*>.*?</form>', re.DOTALL)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", BESIDE)
def test_who_searches_or_sorts_a_list_keeps_what_they_asked_for_beside_it(name):
    """A list that is asked for less than all shows no more when a word is looked for in it."""
    from sessions_app.models import WorkSession

    doors = run_doors.open_doors()
    run_doors.begin_run(doors)
    client, asked = doors.owner.client, dict(BESIDE[name])
    if "session_id" in asked:
        asked["session_id"] = str(WorkSession.objects.get().pk)
    path = reverse(f"admin:{name.replace('.', '_')}_changelist")

    page = client.get(path, {**asked, "q": "status:open x" if "run" in name else "x"}).content.decode()
    empty = client.get(path, asked).content.decode()

    (form,) = _SEARCHED.findall(page)
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert hidden.items() >= asked.items()
    links = re.findall(r'class="sorts" href="([^"]*)"', page + empty)
    links += re.findall(r'href="([^"]*)"[^>]*>(?:Clear the search|Newest|Check now)<', page)
    links += re.findall(r'href="([^"]*)" aria-label="Remove', page)
    assert links or "menu" in page
    for link in links:
        assert dict(parse_qsl(unescape(link).partition("?")[2])).items() >= asked.items(), link
