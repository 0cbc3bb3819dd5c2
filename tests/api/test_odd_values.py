"""Values that look right and are odd: whatever is sent, an answer of ours, and never a defect."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import run_cast, run_doors
from tests.cast import issue
from tests.engine.test_teams_names import DECEIVING, JOINED, OF_OTHER_SCRIPTS
from tests.run_cast import advanced, plain_steps, published, run_id, start
from tests.run_doors import V1
from tests.step_documents import step

pytestmark = pytest.mark.django_db

MOMENTS = [
    *(f"2027-01-31T12:00:00{offset}" for offset in ("+23:59", "-23:59", "+24:00", "+99:99", "+14:00:30", "+05", "z", "Z")),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:60Z", "2027-02-30T00:00:00Z"),
    *("2027-W05-1T00:00:00Z", "20270131T120000Z", "2027-01-31", "2027-01-31T24:00:00Z", "1e400", "", "now"),
]  # fmt: skip
ADDRESSES = [
    *("HTTPS://chat.example.com/x", "https://EXAMPLE.com:443/x", "https:///x", "https://", "HTTPS://", "https:chat", "https://["),
    *("https://a.example:99999/x", "https://a.example:x/", "https://a.example:/x", "https://a.example:0/", "https://é.example/"),
    *("https://\u2100.example/", "https://xn--.example/", "https://a..example/", "https://.example/", "https://1.2.3.4/", "x" * 5_000),
]  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_odd_moment_is_taken_or_refused(house, as_person, moment):
    owner = as_person(house.alice)

    response = owner.post("/api/v1/keys", {"name": "odd", "scopes": ["runs:read"], "expiresAt": moment})
    listed = owner.get("/api/v1/keys")

    assert response.status_code in {201, 400, 409, 422}, response.content
    assert listed.status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(("method", "path"), [("PUT", "/api/v1/webhook"), ("POST", "/api/v1/endpoints")])
def test_an_odd_address_is_taken_or_refused(house, as_person, settings, method, path, address):
    settings.PUBLIC_URL = "https://rails.example.com"
    owner = as_person(house.alice)

    response = owner(method, path, {"url": address, "kinds": ["run_completed"]})
    response = owner(method, path, {"url": address}) if response.status_code == 400 else response
    seen = owner.get(path)

    assert response.status_code in {200, 201, 400, 409}, response.content
    assert seen.status_code in {200, 404}


def test_a_key_may_be_issued_with_every_offset_that_a_clock_has(house):
    from datetime import datetime, timedelta, timezone

    for minutes in (-23 * 60 - 59, -1, 1, 23 * 60 + 59):
        far = datetime(2027, 1, 31, 12, tzinfo=timezone(timedelta(minutes=minutes)))
        assert issue(house.alice.actor, expires_at=far).key.expires_at == far


# `isdigit` takes the first two, which `int` does not read; and of the last it reads no more than 4,300.
DIGITS = ["²", "1³", "٣", "-0", "9" * 30, "9" * 5_000]


@pytest.mark.parametrize("digits", DIGITS)
def test_odd_digits_are_read_or_refused_in_headers_and_bodies(digits):
    doors = run_doors.open_doors()
    published(doors.desk, *plain_steps(1))
    path = f"{V1}/workflows/team.sample"
    body = f'{{"workflowId": "team.sample", "goal": "x", "context": {{"n": {digits}}}}}'.encode()

    based = doors.person("put", path, {"definition": {}}, **{"If-Match": f'"{digits}.x"'.encode().decode("latin-1")})
    begun = doors.agent.post(f"{V1}/runs", body)
    called = doors.agent.post(f"{V1}/tools/rail/start_workflow", body)

    assert {based.status_code, begun.status_code, called.status_code} <= {200, 201, 400, 404, 409, 422}, begun.content


@pytest.mark.parametrize("digits", DIGITS)
def test_a_difference_with_odd_digits_is_shown(digits):
    doors = run_doors.open_doors()
    published(doors.desk, *plain_steps(2))
    artifact = {"kind": "team.diff", "diff": f"--- a/x\n+++ b/x\n@@ -{digits},{digits} +1 @@\n-a\n+b\n"}
    value = advanced(doors.desk.agent, start(doors.desk).value, artifacts=[artifact])
    nodes = doors.viewer.get(f"{V1}/runs/{value['session']['runId']}/nodes").json()["items"]

    pages = [
        doors.viewer.get(f"/studio/sessions_app/run/{run_id(value)}/change/?node={node['id']}").content
        for node in nodes
    ]

    assert any(b"team.diff" in page for page in pages)


NOBODY_SEES = ["\u200b", "\u2800\u2800", " \u3164\ufeff", "\u3000", "\U000e0041\u00ad"]


@pytest.mark.parametrize("text", NOBODY_SEES)
def test_what_nobody_sees_is_no_reason_and_no_name(text):
    doors = run_doors.open_doors()
    published(doors.desk, *plain_steps(2))
    value = start(doors.desk).value
    run, session = value["session"]["runId"], value["session"]["sessionId"]
    wanted = [
        ("POST", f"runs/{run}/cancel", {"reason": text}),
        ("POST", f"runs/{run}/pause", {"reason": text}),
        ("PATCH", f"runs/{run}", {"name": text}),
        ("PATCH", f"sessions/{session}", {"name": text}),
        ("PUT", f"sessions/{session}/hold", {"reason": text}),
        ("POST", f"sessions/{session}/delete", {"reason": text}),
        ("POST", "sessions", {"title": text}),
        ("POST", "keys", {"name": text, "scopes": ["runs:read"]}),
        ("POST", "tokens", {"name": text, "expiresAt": (timezone.now() + timedelta(days=9)).isoformat(), "scopes": []}),
        ("POST", "teams", {"name": text}),
    ]

    for method, path, body in wanted:
        caller = doors.agent if path == "sessions" else doors.owner
        response = caller(method, f"{V1}/{path}", body)
        assert response.status_code in {400, 422}, (path, response.content)
        assert response.json()["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("text", NOBODY_SEES)
def test_what_nobody_sees_is_no_notes(text):
    doors = run_doors.open_doors()
    value = run_cast.begin(doors.desk, step("first-step"), step("next-step"))
    body = {"stateToken": value["stateToken"], "ackToken": value["ackToken"], "output": {"notesMarkdown": text}}

    assert doors.agent.post(f"{V1}/runs/continue", body).json()["kind"] == "blocked"


def written(doors, text):
    """Whatever people and agents write in one line: who may write it, where, and what."""
    begun = run_doors.begin_run(doors)["session"]
    session, run = f"/api/v1/sessions/{begun['sessionId']}", f"/api/v1/runs/{begun['runId']}"
    return [
        (doors.owner, "POST", "/api/v1/keys", {"name": text, "scopes": ["runs:read"]}),
        (doors.person, "PATCH", run, {"name": text}),
        (doors.person, "PATCH", session, {"name": text}),
        (doors.person, "PUT", f"{session}/hold", {"reason": text}),
        (doors.agent, "POST", f"{session}/observations", {"ticket": text}),
        (doors.agent, "POST", f"{session}/observations", {"gitBranch": text}),
        (doors.person, "POST", f"{run}/pause", {"reason": text}),
        (doors.owner, "DELETE", f"{session}/hold", None),
        (doors.owner, "POST", f"{session}/delete", {"reason": text}),
        (doors.owner, "POST", "/api/v1/teams", {"name": text}),
    ]


@pytest.mark.parametrize("text", JOINED + OF_OTHER_SCRIPTS)
def test_a_word_of_any_script_is_taken_wherever_one_line_is_written(text):
    for who, method, place, body in written(run_doors.open_doors(), text):
        taken = who(method, place, body)
        assert taken.status_code in {200, 201, 204}, (place, body, taken.content)


# A name that is given to a run takes the end of a line for a blank.
@pytest.mark.parametrize("text", [each for each in DECEIVING if "\x00" not in each and each.split() == [each]])
def test_what_nobody_sees_is_refused_with_its_number_wherever_one_line_is_written(text):
    refused = 0
    for who, method, place, body in written(run_doors.open_doors(), f"x{text}x"):
        answer = who(method, place, body)
        # The reason of a stop may have lines.
        if not place.endswith("/pause") and method != "DELETE":
            assert answer.status_code == 400, (place, body, answer.content)
            assert f"the character {DECEIVING[text]}, which nobody sees" in answer.json()["detail"], (
                place,
                answer.json(),
            )
            refused += 1
    assert refused == 8
