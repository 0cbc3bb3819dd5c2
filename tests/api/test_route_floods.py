"""Every route of REST with amplified bodies, queries and ids: an answer of ours, at a price in proportion to what was sent."""

import json
import re
from functools import cache

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from teams_app.engine.ids import Prefix, to_text
from tests import run_doors
from tests.flood_play import FULL, LEAN, Work, allowed, amplified
from traces_app.services.recording import flush_calls

pytestmark = pytest.mark.django_db

IDS = ["x", "0" * 26, "run_" + "a" * 26, "%00", "a" * 4_000, "..%2f..", "é" * 50, "-1", "9" * 5_000, "²"]
VALUES = ["(.+)(.+)\\2\\1", "x" * 8_000, "1" * 400, "1" * 5_000, "²", "-1", "%00", "é" * 500, "", "a,b," * 1_000]
NAMES = ["q", "text", "limit", "cursor", "status", "workflow", "session", "include", "number", "base", "tag", "unknown"]


def routes(patterns=None, prefix=""):
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        whole = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, whole)
        elif isinstance(pattern, URLPattern) and whole.startswith("api/v1/"):
            yield whole


def filled(route, value):
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda _: value, route)


@pytest.fixture
def doors(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    opened = run_doors.open_doors()
    run_doors.begin_run(opened)
    # What is sent may found another team.
    opened.owner.headers["Workrail-Team"] = to_text(Prefix.TEAM, opened.desk.team_id)
    return opened


def check(api, method, address, body, size):
    # Whoever reads a trace writes the calls that wait for it, which are those of the flood so far.
    flush_calls()
    with Work() as work:
        response = api(method, address, body)
    taken = len(address) + size

    assert response.status_code < 500, (method, address[:200], response.content[:400])
    assert work.seconds <= allowed(plain=0.02, size=taken), (method, address[:200])
    return response


# One set-up for a quarter of the routes.
PARTS = 4
OF_PARTS = [sorted(set(routes()))[part::PARTS] for part in range(PARTS)]


@pytest.mark.parametrize("of_part", OF_PARTS, ids=range(PARTS))
def test_odd_ids_and_queries_are_answered_in_proportion(doors, of_part):
    for route in of_part:
        ask_oddly(doors, route)
        assert doors.owner.get("/api/v1/whoami").status_code == 200, route


def ask_oddly(doors, route):
    ids = IDS if "<" in route else [""]
    for value in ids:
        check(doors.owner, "GET", filled(route, value), None, 0)
    for value in VALUES:
        query = "&".join(f"{name}={value}" for name in NAMES)
        check(doors.owner, "GET", f"{filled(route, 'x')}?{query}", None, len(query))
    many = "&".join(f"n{number}=1" for number in range(900))
    check(doors.owner, "GET", f"{filled(route, 'x')}?{many}", None, len(many))


@cache
def described():
    from workrail_site.openapi import document

    return json.loads(document())


def fields_of(route):
    said = described()
    shapes = said["components"]["schemas"]
    operations = said["paths"].get("/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route), {})
    names = set()
    for operation in operations.values():
        content = operation.get("requestBody", {}).get("content", {}) if isinstance(operation, dict) else {}
        for media in content.values():
            shape = media.get("schema", {}).get("$ref", "").rpartition("/")[2]
            names |= set(shapes.get(shape, {}).get("properties", {}))
    return sorted(names)


def flood(doors, route, size):
    for method in ("POST", "PUT", "PATCH"):
        plain = doors.owner(method, filled(route, "x"), {})
        if plain.status_code == 405:
            continue
        for body in amplified(fields_of(route), size=size).values():
            data = json.dumps(body).encode()
            check(doors.owner, method, filled(route, "x"), data, len(data))


@pytest.mark.parametrize("of_part", OF_PARTS, ids=range(PARTS))
def test_a_flood_of_fields_is_answered_in_proportion(doors, of_part):
    for route in of_part:
        flood(doors, route, LEAN)
        assert doors.owner.get("/api/v1/whoami").status_code == 200, route


@pytest.mark.slow
@pytest.mark.parametrize("route", sorted(set(routes())))
def test_a_flood_of_fields_as_large_as_a_body_may_be_is_answered_in_proportion(doors, route):
    flood(doors, route, FULL)
