"""A program hears by REST that a run or the inbox has moved on."""

import httpx
import pytest

from tests import run_cast
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stream_tells_that_the_run_has_moved_on(wire, desk):
    run_cast.published(desk, step("one"), step("two"))
    first = wire.value("start_workflow", workflowId="team.sample")
    headers = {"Authorization": f"Bearer {wire.key}"}
    paths = [f"/api/v1/runs/{first['session']['runId']}/stream", "/api/v1/checkpoints/stream"]

    for path in paths:
        with httpx.stream("GET", wire.url + path, headers=headers, timeout=30) as stream:
            lines = stream.iter_lines()
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert next(lines) == "retry: 3000"
            tokens = {"stateToken": first["stateToken"], "ackToken": first["ackToken"]}
            first = wire.value("continue_workflow", **tokens, output={"notesMarkdown": "Did what the step says."})
            said = next(line for line in lines if line.startswith("event:"))
        assert said == "event: changed"


def test_the_head_of_a_stream_is_answered_as_the_stream_is_and_ends(wire, stranger, desk):
    run_cast.published(desk, step("one"))
    run = wire.value("start_workflow", workflowId="team.sample")["session"]["runId"]
    own, other = ({"Authorization": f"Bearer {key}"} for key in (wire.key, stranger.key))

    for path in (f"/api/v1/runs/{run}/stream", "/api/v1/checkpoints/stream"):
        head = httpx.head(wire.url + path, headers=own)
        with httpx.stream("GET", wire.url + path, headers=own) as stream:
            streamed = {name: stream.headers[name] for name in ("content-type", "cache-control", "x-accel-buffering")}
        assert (head.status_code, head.content) == (200, b"")
        assert {name: head.headers[name] for name in streamed} == streamed
        assert httpx.head(wire.url + path).status_code == 401
    assert httpx.head(f"{wire.url}/api/v1/runs/{run}/stream", headers=other).status_code == 404


def test_a_stream_is_refused_in_the_words_of_rest(wire, stranger, desk):
    run_cast.published(desk, step("one"))
    run = wire.value("start_workflow", workflowId="team.sample")["session"]["runId"]

    nobody = httpx.get(f"{wire.url}/api/v1/runs/{run}/stream")
    other = httpx.get(f"{wire.url}/api/v1/runs/{run}/stream", headers={"Authorization": f"Bearer {stranger.key}"})

    assert (nobody.status_code, nobody.json()["code"]) == (401, "UNAUTHENTICATED")
    assert (other.status_code, other.json()["code"]) == (404, "NOT_FOUND")
