"""Reads that come again unchanged, changes that hold only for what was read, limits that are told, and who is asked for less."""

import json
import re
from datetime import timedelta

import pytest

from tests import run_doors
from tests.run_cast import plain_steps, published, soon, start
from tests.run_doors import V1
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


@pytest.fixture
def run(doors):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    return start(doors.desk, "team.short", goal="Try").value["session"]["runId"]


READS = [
    "/whoami",
    "/runs",
    "/runs/{run}",
    "/runs/{run}/tree",
    "/runs/{run}/version",
    "/checkpoints",
    "/workflows/team.short",
]


@pytest.mark.parametrize("path", READS)
def test_what_has_not_changed_is_not_sent_again(doors, run, path):
    path = f"{V1}{path.format(run=run)}"
    first = doors.agent.get(path)

    again = doors.agent.get(path, **{"If-None-Match": first["ETag"]})
    weakly = doors.agent.get(path, **{"If-None-Match": f'W/{first["ETag"]}, "other"'})
    other = doors.agent.get(path, **{"If-None-Match": '"other"'})

    assert [each.status_code for each in (first, again, weakly, other)] == [200, 304, 304, 200]
    assert again.content == b""
    assert again["ETag"] == first["ETag"]
    assert first["Cache-Control"] == "private, no-cache"
    # A cache that is told another type takes it over.
    assert not again.has_header("Content-Type")


@pytest.mark.parametrize("path", READS)
def test_the_head_of_a_read_is_answered_as_the_read_is(doors, run, path):
    path = f"{V1}{path.format(run=run)}"
    whole, head = doors.agent.get(path), doors.agent("head", path)
    seen = doors.agent("head", path, **{"If-None-Match": whole["ETag"]})

    same = ("ETag", "Cache-Control", "Content-Type", "Vary")
    assert [head[name] for name in same] == [whole[name] for name in same]
    assert (head.status_code, head.content, seen.status_code) == (200, b"", 304)


@pytest.mark.parametrize("name", ["activeSince", "activeUntil", "status", "dialect", "limit"])
@pytest.mark.parametrize("text", ["2026", "1e9", "-1", "1700000000.5", "null", "Null", "2026-11-18", ""])
def test_what_a_query_says_is_never_taken_for_something_else(doors, name, text):
    answer = doors.agent.get(f"{V1}/runs?{name}={text}")

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["details"]["validationErrors"][0]["path"] == name


def test_a_change_holds_only_for_what_was_read(doors, run):
    path = f"{V1}/runs/{run}/preferences"
    seen = doors.person.get(path)["ETag"]
    body = {"autonomy": "full_auto_stop_on_user_deps"}

    done = doors.person("put", path, body, **{"If-Match": seen})
    late = doors.person("put", path, {"autonomy": "guided"}, **{"If-Match": seen})

    assert done.status_code == 200, done.content
    assert (late.status_code, late.json()["code"]) == (412, "REPRESENTATION_CHANGED")
    assert doors.person.get(path).json()["autonomy"] == "full_auto_stop_on_user_deps"
    assert late.json()["details"]["etag"] == doors.person.get(path)["ETag"]


def test_an_action_holds_only_for_the_run_that_was_read(doors, run):
    seen = doors.person.get(f"{V1}/runs/{run}")["ETag"]

    late = doors.person.post(f"{V1}/runs/{run}/pause", {"reason": "Wait"}, **{"If-Match": '"older"'})
    done = doors.person.post(f"{V1}/runs/{run}/pause", {"reason": "Wait"}, **{"If-Match": seen})

    assert (late.status_code, done.status_code) == (412, 204)


def test_a_tag_is_not_passed_over_where_nothing_holds_it(doors, run):
    refused = doors.agent.post(f"{V1}/sessions", {"title": "x"}, **{"If-Match": '"x"'})

    assert refused.status_code == 400
    assert "If-Match" in refused.json()["detail"]


def test_a_revision_builds_upon_the_one_whose_tag_was_read(doors, run):
    path = f"{V1}/workflows/team.short"
    seen = doors.person.get(path)["ETag"]
    source = doors.person.get(f"{path}?include=source").json()["source"]["files"]
    definition = json.loads(next(iter(source.values())))

    saved = doors.person("put", path, {"definition": definition | {"name": "Longer"}}, **{"If-Match": seen})
    late = doors.person("put", path, {"definition": definition | {"name": "Other"}}, **{"If-Match": seen})

    assert seen.startswith('"1.')
    assert saved.status_code == 200, saved.content
    assert (late.status_code, late.json()["code"]) == (409, "PRECONDITION_FAILED")


def test_every_answer_tells_what_is_left_of_the_limits(doors, run):
    first = doors.agent.get(f"{V1}/whoami")
    second = doors.agent.get(f"{V1}/nowhere-there")

    policies = re.findall(r'"(\w+)";q=(\d+);w=60', first["RateLimit-Policy"])
    left = dict(re.findall(r'"(\w+)";r=(\d+);t=\d+', first["RateLimit"]))
    assert [name for name, _limit in policies] == ["caller", "team"]
    assert all(0 < int(left[name]) <= int(limit) for name, limit in policies)
    assert second.status_code == 404


def test_too_many_requests_are_told_when_to_come_back(doors, settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = 2

    answers = [doors.agent.get(f"{V1}/whoami") for _ in range(3)]

    assert [each.status_code for each in answers] == [200, 200, 429]
    assert re.findall(r'"caller";r=(\d+)', answers[0]["RateLimit"]) == ["1"]
    assert answers[2]["RateLimit"] == f'"caller";r=0;t={answers[2]["Retry-After"]}'


def test_lists_are_asked_by_date_and_dialect(doors):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    start(doors.desk, "team.short", goal="early", now=soon(0))
    start(doors.desk, "team.short", goal="late", now=soon(120))
    middle = (NOW + timedelta(minutes=60)).isoformat().replace("+00:00", "Z")

    def goals(query):
        answered = doors.agent.get(f"{V1}/runs?{query}")
        assert answered.status_code == 200, answered.content
        return [each["goal"] for each in answered.json()["items"]]

    assert goals(f"activeSince={middle}") == ["late"]
    assert goals(f"activeUntil={middle}") == ["early"]
    assert goals("dialect=rail") == ["late", "early"]
    assert goals("dialect=session") == []
    assert doors.agent.get(f"{V1}/runs?activeSince=yesterday").status_code == 400
    assert len(doors.agent.get(f"{V1}/sessions?activeSince={middle}&dialect=rail").json()["items"]) == 1
    assert doors.agent.get(f"{V1}/checkpoints?dialect=rail&askedSince={middle}").json()["items"] == []
