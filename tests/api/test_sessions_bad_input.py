"""What is refused by REST, with which code, and that the refusal says what to do."""

import pytest

from tests import run_doors
from tests.run_cast import events, plain_steps, published
from tests.run_doors import V1, begin_run

pytestmark = pytest.mark.django_db

ID = "a" * 26
ST, ACK, CHK = "stateToken", "ackToken", "checkpointToken"


@pytest.fixture
def doors():
    return run_doors.open_doors()


BODIES = {
    "start without a workflow": ("/runs", {}, 400, "VALIDATION_ERROR", "workflowId"),
    "start with a misspelt field": (
        "/runs",
        {"workflowId": "team.sample", "gaol": "x"},
        400,
        "VALIDATION_ERROR",
        "goal",
    ),
    "start with a list": ("/runs", [], 400, "VALIDATION_ERROR", ""),
    "start with nothing known": ("/runs", {"workflowId": "team.unknown"}, 404, "NOT_FOUND", "workflow"),
    "start with a long goal": ("/runs", {"workflowId": "team.sample", "goal": "x" * 2049}, 400, "VALIDATION_ERROR", ""),
    "start with a wrong mode": (
        "/runs",
        {"workflowId": "team.sample", "preferences": {"autonomy": "full_auto"}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "start with a mode said twice": (
        "/runs",
        {"workflowId": "team.sample", "preferences": {"preset": "guided", "autonomy": "guided"}},
        400,
        "VALIDATION_ERROR",
        "preset",
    ),
    "start in a session that is none": (
        "/runs",
        {"workflowId": "team.sample", "sessionId": "mine"},
        400,
        "VALIDATION_ERROR",
        "sessionId",
    ),
    "start in a session that is not there": (
        "/runs",
        {"workflowId": "team.sample", "sessionId": f"sess_{ID}"},
        404,
        "NOT_FOUND",
        "session",
    ),
    "start with a reserved key": (
        "/runs",
        {"workflowId": "team.sample", "context": {"__proto__": 1}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "start with an empty observation": (
        "/runs",
        {"workflowId": "team.sample", "observations": {"gitBranch": " "}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "start on two lines": (
        "/runs",
        {"workflowId": "team.sample", "observations": {"ticket": "A-1\nB-2"}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "start with U+0000": ("/runs", {"workflowId": "team.sample", "goal": "a\x00b"}, 400, "VALIDATION_ERROR", ""),
    "continue without a token": ("/runs/continue", {}, 400, "VALIDATION_ERROR", ST),
    "continue with an empty token": ("/runs/continue", {ST: ""}, 400, "VALIDATION_ERROR", ST),
    "continue with no token": ("/runs/continue", {ST: "hello"}, 400, "TOKEN_INVALID_FORMAT", ST),
    "continue with another kind": ("/runs/continue", {ST: "ack.v1.abc"}, 400, "TOKEN_INVALID_FORMAT", ST),
    "continue with a later version": ("/runs/continue", {ST: "st.v9.abc"}, 400, "TOKEN_UNSUPPORTED_VERSION", ST),
    "continue with a forged token": ("/runs/continue", {ST: f"st.v1.{'0' * 42}"}, 400, "TOKEN_BAD_SIGNATURE", ST),
    "output without ack": (
        "/runs/continue",
        {ST: "{state}", "output": {"notesMarkdown": "x"}},
        400,
        "VALIDATION_ERROR",
        ACK,
    ),
    "context without ack": ("/runs/continue", {ST: "{state}", "context": {"a": 1}}, 400, "VALIDATION_ERROR", ACK),
    "mode without ack": (
        "/runs/continue",
        {ST: "{state}", "preferences": {"preset": "guided"}},
        400,
        "VALIDATION_ERROR",
        ACK,
    ),
    "advance without ack": ("/runs/continue", {ST: "{state}", "intent": "advance"}, 400, "VALIDATION_ERROR", ACK),
    "rehydrate with ack": (
        "/runs/continue",
        {ST: "{state}", ACK: "{ack}", "intent": "rehydrate"},
        400,
        "VALIDATION_ERROR",
        "intent",
    ),
    "an intent that is none": ("/runs/continue", {ST: "{state}", "intent": "go"}, 400, "VALIDATION_ERROR", "intent"),
    "an artifact without a kind": (
        "/runs/continue",
        {ST: "{state}", ACK: "{ack}", "output": {"artifacts": [{"x": 1}]}},
        400,
        "VALIDATION_ERROR",
        "kind",
    ),
    "an artifact that is no object": (
        "/runs/continue",
        {ST: "{state}", ACK: "{ack}", "output": {"artifacts": ["x"]}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "too many artifacts": (
        "/runs/continue",
        {ST: "{state}", ACK: "{ack}", "output": {"artifacts": [{"kind": "x"}] * 21}},
        400,
        "VALIDATION_ERROR",
        "",
    ),
    "notes in a misspelt field": (
        "/runs/continue",
        {ST: "{state}", ACK: "{ack}", "output": {"notes": "x"}},
        400,
        "VALIDATION_ERROR",
        "notesMarkdown",
    ),
    "a checkpoint with half its tokens": (
        "/runs/checkpoint",
        {ST: "{state}", "output": {}},
        400,
        "VALIDATION_ERROR",
        CHK,
    ),
    "a checkpoint without output": (
        "/runs/checkpoint",
        {ST: "{state}", CHK: "{checkpoint}"},
        400,
        "VALIDATION_ERROR",
        "output",
    ),
    "an ack as a checkpoint": (
        "/runs/checkpoint",
        {ST: "{state}", CHK: "{ack}", "output": {"notesMarkdown": "x"}},
        400,
        "TOKEN_INVALID_FORMAT",
        CHK,
    ),
    "a session without a title": ("/sessions", {"title": ""}, 400, "VALIDATION_ERROR", "title"),
    "a note on no session": (
        "/sessions/checkpoint",
        {"sessionToken": "st.v1.x", "output": {"notesMarkdown": "x"}},
        400,
        "TOKEN_INVALID_FORMAT",
        "",
    ),
    "a search by a misspelt field": ("/sessions/resume", {"querry": "x"}, 400, "VALIDATION_ERROR", "'query'"),
    "a search of a novel": ("/sessions/resume", {"query": "x" * 1001}, 400, "VALIDATION_ERROR", "query"),
    "nothing observed": ("/sessions/{session}/observations", {}, 400, "VALIDATION_ERROR", "gitBranch"),
    "an observation of null": ("/sessions/{session}/observations", {"ticket": None}, 400, "VALIDATION_ERROR", ""),
    "an observation of no session": (f"/sessions/sess_{ID}/observations", {"ticket": "A-1"}, 404, "NOT_FOUND", ""),
    "a gap that is none": ("/gaps/gap_1/resolve", {"summary": "x"}, 404, "NOT_FOUND", "gap"),
    "a gap that is not there": (f"/gaps/gap_{'0' * 32}/resolve", {"summary": "x"}, 403, "FORBIDDEN", ""),
}


@pytest.mark.parametrize(("path", "body", "status", "code", "says"), BODIES.values(), ids=BODIES)
def test_a_body_is_refused_and_the_refusal_says_why(doors, path, body, status, code, says):
    value = begin_run(doors)
    names = {
        "{state}": value["stateToken"],
        "{ack}": value["ackToken"],
        "{checkpoint}": value["checkpointToken"],
    }
    before = len(events(value))

    sent = (
        {key: names.get(item, item) if isinstance(item, str) else item for key, item in body.items()} if body else body
    )
    response = doors.agent.post(V1 + path.replace("{session}", value["session"]["sessionId"]), sent)

    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code)
    assert says in f"{problem['detail']} {problem['details']}"
    assert problem["details"]["suggestion"]
    assert len(events(value)) == before


QUERIES = {
    "no status": "/sessions?status=finished",
    "misspelt": "/sessions?state=complete",
    "limit of none": "/sessions?limit=0",
    "limit of many": "/runs?limit=201",
    "a cursor of another list": "/runs?cursor=cur1.AAAA",
    "a word of NUL": "/sessions?text=%00",
    "twice": "/runs?status=complete&status=blocked",
    "before of none": "/runs/{run}/tree?before=-1",
    "before of text": "/runs/{run}/tree?before=x",
    "before too far": "/runs/{run}/tree?before=99999999999",
    "long text": f"/sessions?text={'x' * 201}",
}


@pytest.mark.parametrize("path", QUERIES.values(), ids=QUERIES)
def test_a_query_is_refused(doors, path):
    value = begin_run(doors)

    response = doors.agent.get(V1 + path.replace("{run}", value["session"]["runId"]))

    assert (response.status_code, response.json()["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "path",
    [
        "/sessions/mine",
        f"/sessions/run_{ID}",
        f"/sessions/sess_{ID[:-1]}",
        f"/sessions/sess_{'z' * 26}",
        f"/sessions/sess_{ID}",
        f"/sessions/sess_{ID}/events/x",
        f"/sessions/sess_{ID}/events/99999999999999999999",
        "/runs/none",
        f"/runs/run_{ID}",
        f"/runs/run_{ID}/tree",
        f"/nodes/node_{ID}",
        f"/runs?session=sess_{ID}",
    ],
)
def test_an_id_that_cannot_be_one_is_the_same_as_one_that_is_not_there(doors, path):
    response = doors.agent.get(V1 + path)

    assert (response.status_code, response.json()["code"]) == (404, "NOT_FOUND")


def test_an_event_beyond_the_log_is_not_there(doors):
    session = begin_run(doors)["session"]["sessionId"]

    for index in ("999", "2147483647", "4294967295"):
        assert doors.agent.get(f"{V1}/sessions/{session}/events/{index}").status_code == 404


def test_tokens_of_two_steps_do_not_belong_together(doors):
    value, other = begin_run(doors), begin_run(doors, workflow_id="team.other")

    response = doors.agent.post(
        f"{V1}/runs/continue", {"stateToken": value["stateToken"], "ackToken": other["ackToken"]}
    )

    assert (response.status_code, response.json()["code"]) == (409, "TOKEN_SCOPE_MISMATCH")


def test_a_key_that_only_reads_drives_nothing(doors):
    value = begin_run(doors)
    tokens = {ST: value[ST], ACK: value[ACK]}
    calls = {
        "/runs": {"workflowId": "team.sample"},
        "/runs/continue": tokens,
        "/runs/checkpoint": {ST: value[ST], CHK: value[CHK], "output": {"notesMarkdown": "x"}},
        "/sessions": {"title": "x"},
        f"/sessions/{value['session']['sessionId']}/observations": {"ticket": "A-1"},
    }

    answers = {path: doors.reader.post(V1 + path, body).status_code for path, body in calls.items()}

    assert answers == dict.fromkeys(calls, 403)


def test_a_long_idempotency_key_is_refused(doors):
    published(doors.desk, *plain_steps(1))

    response = doors.agent.post(f"{V1}/runs", {"workflowId": "team.sample"}, **{"Idempotency-Key": "x" * 201})

    assert (response.status_code, response.json()["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("path", ["/runs/{run}/preferences", "/sessions/{session}/preferences", "/preferences"])
@pytest.mark.parametrize(
    "body", [{}, {"autonomy": "wild"}, {"preset": "guided", "riskPolicy": "balanced"}, {"mode": 1}]
)
def test_preferences_that_say_nothing_or_too_much_are_refused(doors, path, body):
    value = begin_run(doors)
    names = {"run": value["session"]["runId"], "session": value["session"]["sessionId"]}

    response = doors.owner("PUT", V1 + path.format(**names), body)

    assert (response.status_code, response.json()["code"]) == (400, "VALIDATION_ERROR")
