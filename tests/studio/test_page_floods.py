"""Every page of the Studio with odd addresses and queries: a page of ours, and never a defect."""

import re
from datetime import UTC, datetime
from uuid import UUID

import orjson
import pytest
from django.urls import URLPattern, URLResolver

from sessions_app.admin.artifacts import json_html, shown_artifact
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.values import OutputValue
from tests import run_doors
from tests.flood_play import Work, allowed

pytestmark = pytest.mark.django_db

VALUES = ["(.+)(.+)\\2\\1", "9" * 400, "9" * 5_000, "²", "-1", "%00", "é" * 900, ""]
NAMES = [
    "q",
    "p",
    "o",
    "page",
    "after",
    "before",
    "at",
    "left",
    "right",
    "revision",
    "base",
    "tab",
    "next",
    "status",
    "file",
    "with",
    "part",
]
STRANGE_ID = "00000000-0000-0000-0000-000000000000"


def routes(patterns, prefix=""):
    for pattern in patterns:
        whole = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, whole)
        elif isinstance(pattern, URLPattern):
            yield whole


def pages():
    from workrail_site.studio import studio

    found = {re.sub(r"\\Z|\^|\$", "", route) for route in routes(studio.get_urls())}
    # The lists have tests of their own.
    lists = re.compile(r"\w+_app/\w+/")
    return sorted(
        route for route in found if "(?P<" not in route and "logout" not in route and not lists.fullmatch(route)
    )


def filled(route, row, value):
    by_kind = {"uuid": row, "int": "1", "slug": "x", "str": value, "path": value}
    return "/studio/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: by_kind[found[1] or "str"], route)


@pytest.fixture
def doors(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    opened = run_doors.open_doors()
    run_doors.begin_run(opened)
    return opened


def rows_of(route):
    """Ids of rows that are there, of whatever kind the page is about, and of one that is not."""
    from sessions_app.models import Run, WorkSession
    from workflows_app.models import Revision, Workflow

    kinds = {"/run/": Run, "/worksession/": WorkSession, "/workflow/": Workflow, "/revision/": Revision}
    there = [
        str(kind.objects.filter(team_id__isnull=False).first().pk)
        for name, kind in kinds.items()
        if name in f"/{route}"
    ]
    return [*there, STRANGE_ID]


# One set-up for an eighth of the pages.
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_a_page_answers_odd_queries_and_ids_in_proportion(doors, part):
    for route in pages()[part::PARTS]:
        ask_oddly(doors, route)
        # Nothing that was asked has signed the owner out, after which all that is left would be asked of the sign-in page.
        assert doors.owner.get("/studio/").status_code == 200, route


def ask_oddly(doors, route):
    for row in rows_of(route) if "uuid" in route or "path" in route else [""]:
        for value in VALUES if row != STRANGE_ID else VALUES[:2]:
            query = "&".join(f"{name}={value}" for name in NAMES)
            with Work() as work:
                response = doors.owner.get(f"{filled(route, row, row or 'x')}?{query}")

            assert response.status_code < 500, (route, value[:40], response.content[-600:])
            assert work.seconds <= allowed(plain=0.1, size=len(query)), (route, value[:40])
            if response.streaming:
                response.close()
    if "str:" in route:
        for value in ("%00", "a" * 3_000, "..%2f", "é", "wr_link_" + "a" * 40):
            assert doors.owner.get(filled(route, STRANGE_ID, value)).status_code < 500


POSTED = {
    "long": lambda size: "a b " * (size // 4),
    "pattern": lambda size: "(.+)+\\1*" * (size // 9),
    "braces": lambda size: "{{a}}{b}" * (size // 8),
    "brackets": lambda size: "[" * size,
    "json": lambda size: "{" + ",".join(f'"k{place}": {{"{place}": [1]}}' for place in range(size // 24)) + "}",
    "yaml": lambda size: "a: &a [x]\n" + "b: [*a, *a, *a, *a]\n" * (size // 20),
    "number": lambda size: "9" * (size // 2),
    "odd": lambda _: "\x00é\u202e\ud7ff\U0001f600%00../..\\",
}


@pytest.mark.slow
@pytest.mark.parametrize("route", pages())
def test_a_form_that_is_flooded_is_answered_in_proportion(doors, route):
    size = 60_000
    for row in rows_of(route)[:1] if "uuid" in route or "path" in route else [""]:
        address = filled(route, row, row or "x")
        page = doors.owner.get(address)
        if page.streaming:
            page.close()
            continue
        names = set(re.findall(r'<(?:input|textarea|select|button)[^>]* name="([^"]+)"', page.content.decode()))
        names |= {"reason", "note", "source", "answers", "text", "ids", "ids[]"}
        for kind, value in POSTED.items():
            each = value(size // len(names))
            body = {name: [each] * 3 for name in names if not name.startswith("csrf")}
            with Work() as work:
                response = doors.owner.client.post(address, body)

            assert response.status_code < 500, (route, kind, response.content[-600:])
            assert work.seconds <= allowed(plain=0.1, size=3 * size), (route, kind, work.seconds)


class Walked(list):
    """Counts what is asked of it one by one; what writes all of it at once does not."""

    asked = 0

    def __iter__(self):
        for each in super().__iter__():
            self.asked += 1
            yield each


@pytest.mark.parametrize("most", [10, 1_000, 100_000])
def test_values_that_are_too_long_to_be_shown_are_not_told_apart_in_vain(most):
    values = Walked(range(most))
    shown = json_html({"values": values})

    assert values.asked == (most if most < 10_000 else 0)
    assert ("left out here" in shown) is (most > 10_000)
    assert len(shown) < 200_000


def test_what_is_copied_of_an_artifact_grows_with_the_artifact_and_not_with_its_indentation():
    deep = [1] * 30_000
    for _ in range(60):
        deep = [deep]
    body = orjson.dumps({"kind": "deep", "value": deep}).decode()
    at = datetime(2026, 11, 18, tzinfo=UTC)
    output = OutputValue(
        **dict.fromkeys(("id", "run_id", "node_id", "to_node_id", "supersedes_id"), UUID(int=1)),
        channel=OutputChannel.ARTIFACT,
        body=body,
        artifact_kind="deep",
        sha256="",
        is_superseded=False,
        event_index=1,
        created_at=at,
    )
    shown = shown_artifact(output)

    assert shown.text == body
    assert len(shown.json) < 2 * 100_000
