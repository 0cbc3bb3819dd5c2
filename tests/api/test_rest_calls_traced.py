"""What is called of runs, sessions and checkpoints by REST leaves a trace, as what is called over MCP does."""

import json

import pytest

from tests import run_doors
from tests.run_cast import notes_free, run_id, session_id
from tests.run_doors import V1, begin_run, go_on
from tests.step_documents import step
from tests.trace_calls import rows
from traces_app.services import recording

pytestmark = pytest.mark.django_db


@pytest.fixture
def doors():
    recording.flush_calls()
    return run_doors.open_doors()


def run_path(value):
    return f"{V1}/runs/{value['session']['runId']}"


def told(doors, value, what):
    return doors.agent.get(f"{run_path(value)}/{what}").json()


def traced(doors):
    recording.flush_calls()
    return [row for row in rows() if row.team_id == doors.desk.team_id]


def test_a_run_that_is_driven_by_rest_shows_in_the_timeline_with_what_went_wrong(doors):
    value = begin_run(doors, notes_free("plan"), notes_free("work"), notes_free("tidy"))
    following = go_on(doors.agent, value).json()
    spoilt = {**following, "ackToken": value["ackToken"]}
    assert go_on(doors.agent, spoilt).status_code == 409
    go_on(doors.agent, following)

    (lane,) = told(doors, value, "timeline")["lanes"]

    assert (lane["run"], lane["workflowId"]) == (value["session"]["runId"], "team.sample")
    assert [(span["label"], span["calls"], span["refusals"]) for span in lane["spans"]] == [
        ("", 1, 0),
        ("plan", 1, 0),
        ("work", 2, 1),
    ]


def test_a_call_is_told_whole(doors):
    value = begin_run(doors, step("plan"))

    blocked = go_on(doors.agent, value, "", context={"password": "hunter2", "ticket": "T-1"})

    assert blocked.json()["kind"] == "blocked"
    _, item = told(doors, value, "trace")["items"]
    assert (item["dialect"], item["tool"], item["outcome"]) == ("rail", "post_runs_continue", "ok")
    assert (item["run"], item["session"]) == (value["session"]["runId"], value["session"]["sessionId"])
    assert (item["step"], item["requestId"]) == ("plan", blocked.headers["X-Request-ID"])
    assert item["arguments"]["stateToken"] == "[redacted]"
    assert item["arguments"]["context"] == {"password": "[redacted]", "ticket": "T-1"}
    assert item["durationUs"] > 0


@pytest.mark.django_db(transaction=True)
def test_warnings_of_a_reply_are_in_the_trace(doors):
    value = begin_run(doors, notes_free("plan"), notes_free("work"))
    go_on(doors.agent, value)
    again = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]}).json()
    forked = go_on(doors.agent, again).json()

    newest = told(doors, value, "trace")["items"][-1]

    assert [warning["code"] for warning in forked["warnings"]] == ["FORKED"]
    assert [warning["code"] for warning in newest["warnings"]] == ["FORKED"]


def test_who_calls_is_the_one_who_is_signed_in(doors):
    value = begin_run(doors)

    doors.person.get(run_path(value))

    row = traced(doors)[-1]
    assert (row.tool, row.actor_id) == ("get_runs_by_run", doors.desk.person.id)
    assert (row.run_id, row.session_id) == (run_id(value), session_id(value))


READS = {
    "a run": ("/runs/{run}", "get_runs_by_run"),
    "its nodes": ("/runs/{run}/nodes", "get_runs_by_run_nodes"),
    "a session": ("/sessions/{session}", "get_sessions_by_session"),
    "an event": ("/sessions/{session}/events/0", "get_sessions_by_session_events_by_index"),
    "runs of a session": ("/runs?session={session}", "get_runs"),
}


@pytest.mark.parametrize(("path", "tool"), READS.values(), ids=READS)
def test_reading_leaves_a_trace_at_what_is_read(doors, path, tool):
    value = begin_run(doors)
    session, run = value["session"]["sessionId"], value["session"]["runId"]

    assert doors.agent.get(V1 + path.format(session=session, run=run)).status_code == 200

    row = traced(doors)[-1]
    assert (row.tool, row.outcome, row.session_id) == (tool, "ok", session_id(value))


def test_another_teams_run_is_named_in_nobodys_trace(doors):
    value = begin_run(doors)

    assert doors.stranger.get(run_path(value)).status_code == 404

    recording.flush_calls()
    row = rows()[-1]
    assert (row.team_id, row.error_code) == (doors.desk.stranger.team_id, "NOT_FOUND")
    assert (row.run_id, row.session_id, row.workflow_id) == (None, None, "")


@pytest.mark.parametrize("body", [b"{nonsense", b"[]", b'{"stateToken": 1}', b'"text"'])
def test_a_body_that_cannot_be_read_is_a_refusal_in_the_trace(doors, body):
    assert doors.agent.post(f"{V1}/runs/continue", body).status_code == 400

    row = traced(doors)[-1]
    assert (row.tool, row.outcome, row.error_code) == ("post_runs_continue", "refused", "VALIDATION_ERROR")


QUIET = ["/healthz", "/readyz", "/api/v1/schema", "/api/v1/whoami", "/studio/", "/api/v1/nothing", "/api/v1/workflows"]


@pytest.mark.parametrize("path", QUIET)
def test_what_is_no_work_on_a_run_leaves_no_trace(doors, path):
    doors.agent.get(path)

    assert traced(doors) == []


@pytest.mark.parametrize("what", ["trace", "timeline"])
@pytest.mark.parametrize("of", ["runs/{runId}", "sessions/{sessionId}"])
def test_reading_the_trace_leaves_none(doors, what, of):
    value = begin_run(doors)
    before = len(traced(doors))

    assert doors.agent.get(f"{V1}/{of.format(**value['session'])}/{what}").status_code == 200

    assert len(traced(doors)) == before


def test_a_call_of_nobody_leaves_no_trace(doors, as_nobody):
    assert as_nobody.post(f"{V1}/runs", {"workflowId": "team.sample"}).status_code == 401

    assert traced(doors) == []


def test_every_name_in_the_trace_is_one_of_the_document():
    from django.conf import settings

    from workrail_site.rest_tracing import traced_tool

    document = json.loads((settings.BASE_DIR / "docs" / "contracts" / "openapi.json").read_text())
    known = {found["operationId"] for methods in document["paths"].values() for found in methods.values()}
    names = {traced_tool(method=method, route=route) for method, route in routes_of_runs()} - {None}

    assert len(names) > 20
    assert names <= known


def routes_of_runs():
    """Methods and routes of what the app of sessions serves, as Django writes them."""
    from sessions_app.api.urls import urlpatterns

    for pattern in urlpatterns:
        if not str(pattern.pattern).startswith("preferences"):
            for method in ("get", "post", "put", "patch", "delete"):
                if hasattr(pattern.callback.cls, method):
                    yield method.upper(), f"api/v1/{pattern.pattern}"
