"""What people and programs read of sessions and runs by REST."""

import hashlib

import orjson
import pytest

from tests import run_doors
from tests.run_cast import plain_steps, published, soon, start
from tests.run_doors import V1, begin_run, go_on
from tests.step_documents import step
from workflows_app.services import extensions

pytestmark = pytest.mark.django_db

# Being told a step again reads in a read-only transaction, which Postgres allows only at the outermost.
outermost = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


def items(api, path):
    response = api.get(f"{V1}{path}")
    assert response.status_code == 200, response.content
    return response.json()["items"]


def all_pages(api, path, limit):
    found, cursor = [], None
    while True:
        page = api.get(f"{V1}{path}?limit={limit}{f'&cursor={cursor}' if cursor else ''}").json()
        found.extend(page["items"])
        cursor = page["nextCursor"]
        if cursor is None:
            return found


@pytest.fixture
def several(doors):
    """Four sessions, an hour apart, each of another kind."""
    published(doors.desk, *plain_steps(1), workflow_id="team.short")
    published(doors.desk, step("write", notesOptional=False), workflow_id="team.strict")
    from sessions_app.engine.runs import ObservationKey

    begun = {
        "open": start(doors.desk, "team.short", title="Flaky checkout", goal="Why it times out", now=soon(0)).value,
        "done": start(doors.desk, "team.short", title="Release notes", goal="Write them", now=soon(60)).value,
        "stuck": start(doors.desk, "team.strict", title="Upgrade 100%", goal="The date library", now=soon(120)).value,
        "labelled": start(
            doors.desk,
            "team.short",
            title="Another",
            goal="Something else",
            observations={ObservationKey.GIT_BRANCH: "fix/SHOP-1-x", ObservationKey.TICKET: "SHOP-1"},
            now=soon(180),
        ).value,
    }
    go_on(doors.agent, begun["done"])
    go_on(doors.agent, begun["stuck"], notes="")
    return {name: value["session"] for name, value in begun.items()}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"open", "done", "stuck", "labelled"}),
        ("status=in_progress", {"open", "labelled"}),
        ("status=complete", {"done"}),
        ("status=blocked", {"stuck"}),
        ("workflow=team.strict", {"stuck"}),
        ("workflow=team.short&status=complete", {"done"}),
        ("workflow=team.strict&status=complete", set()),
        ("branch=fix/shop-1", {"labelled"}),
        ("branch=SHOP", set()),
        ("ticket=SHOP-1", {"labelled"}),
        ("text=FLAKY", {"open"}),
        ("text=times out", {"open"}),
        ("text=100%25", {"stuck"}),
        ("text=_", set()),
    ],
)
def test_sessions_are_found_by_what_they_and_their_runs_are(doors, several, query, found):
    names = {session["sessionId"]: name for name, session in several.items()}

    assert {names[item["id"]] for item in items(doors.agent, f"/sessions?{query}")} == found


def test_sessions_come_with_the_latest_activity_first_and_count_their_runs(doors, several):
    listed = items(doors.agent, "/sessions")

    assert [item["lastActivityAt"] for item in listed] == sorted(
        (item["lastActivityAt"] for item in listed), reverse=True
    )
    assert {item["title"]: item["runs"] for item in listed} == {
        "Flaky checkout": {"in_progress": 1},
        "Release notes": {"complete": 1},
        "Upgrade 100%": {"blocked": 1},
        "Another": {"in_progress": 1},
    }


def test_runs_are_found_by_status_workflow_session_and_goal(doors, several):
    def runs(query):
        return [item["id"] for item in items(doors.agent, f"/runs?{query}")]

    assert runs("status=blocked") == [several["stuck"]["runId"]]
    assert runs("workflow=team.strict") == [several["stuck"]["runId"]]
    assert runs(f"session={several['open']['sessionId']}") == [several["open"]["runId"]]
    assert runs("text=date library") == [several["stuck"]["runId"]]


def test_runs_and_sessions_are_found_by_every_name_of_their_workflow(doors, several):
    extensions.set_alias(actor=doors.desk.person, alias="old-strict", workflow_id="team.strict", now=soon(0))
    stuck = several["stuck"]

    for query in ("workflow=old-strict", "workflow=old-strict&status=blocked"):
        assert [item["id"] for item in items(doors.agent, f"/runs?{query}")] == [stuck["runId"]]
        assert [item["id"] for item in items(doors.agent, f"/sessions?{query}")] == [stuck["sessionId"]]
    assert items(doors.agent, "/runs?workflow=old-strict&status=complete") == []
    assert items(doors.agent, "/runs?workflow=older") == []
    assert items(doors.stranger, "/runs?workflow=old-strict") == []


@pytest.mark.parametrize("path", ["/sessions", "/runs"])
def test_pages_join_without_a_gap_and_without_a_repeat(doors, path):
    """Also where several have the same time."""
    published(doors.desk, *plain_steps(1), workflow_id="team.short")
    for minute in (0, 0, 0, 5, 5, 9):
        start(doors.desk, "team.short", now=soon(minute))

    whole = [item["id"] for item in items(doors.agent, path)]

    assert len(set(whole)) == 6
    for limit in (1, 2, 5):
        assert [item["id"] for item in all_pages(doors.agent, path, limit)] == whole


@pytest.mark.parametrize("kind", ["nodes", "events", "outputs"])
def test_pages_of_a_run_join_too(doors, kind):
    value = begin_run(doors, *plain_steps(4))
    artifacts = [{"kind": "note", "n": number} for number in range(3)]
    for _ in range(3):
        value = go_on(doors.agent, value, output={"notesMarkdown": "Done.", "artifacts": artifacts}).json()
    path = f"/runs/{value['session']['runId']}/{kind}"

    whole = items(doors.agent, path)

    assert len(whole) > 3
    assert all_pages(doors.agent, path, 2) == whole


def test_a_run_is_told_with_its_session_tip_and_gaps(doors):
    value = begin_run(
        doors, step("write", notesOptional=False), *plain_steps(1), preferences={"preset": "full_auto_never_stop"}
    )
    go_on(doors.agent, value, notes="")

    told = doors.agent.get(f"{V1}/runs/{value['session']['runId']}").json()

    assert told["session"]["id"] == value["session"]["sessionId"]
    assert told["tip"]["pending"] == "step-0"
    assert told["tip"]["preferences"]["autonomy"] == "full_auto_never_stop"
    assert told["openGaps"] == {"critical": 1}


@outermost
def test_the_tree_shows_where_a_run_forked_and_which_way_leads_to_its_tip(doors):
    value = begin_run(doors)
    go_on(doors.agent, value, notes="One way.")
    told = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]}).json()
    go_on(doors.agent, told, notes="Another way.")

    tree = doors.agent.get(f"{V1}/runs/{value['session']['runId']}/tree").json()

    assert [(line["depth"], line["branches"], line["isOnWay"], line["isTip"]) for line in tree["lines"]] == [
        (0, 2, True, False),
        (1, 0, False, False),
        (0, 0, True, True),
    ]
    assert tree["before"] is None


def test_a_node_is_told_with_all_that_hangs_on_it(doors):
    value = begin_run(doors, step("write", notesOptional=False), *plain_steps(1), context={"quantity": 3})
    path = f"{V1}/runs/{value['session']['runId']}"
    root = doors.agent.get(path).json()["run"]["tip"]
    go_on(doors.agent, value, notes="", output={"artifacts": [{"kind": "note", "text": "x"}]})
    tip = doors.agent.get(path).json()["run"]["tip"]

    at_root, at_tip = (doors.agent.get(f"{V1}/nodes/{node}").json() for node in (root, tip))

    assert [child["id"] for child in at_root["children"]] == [tip]
    assert [(attempt["kind"], attempt["to"]) for attempt in at_root["attempts"]] == [("ack", tip)]
    assert [output["artifactKind"] for output in at_root["outputs"]] == ["note"]
    assert (at_root["blockers"], at_root["retryable"], at_root["context"]) == ([], None, {"quantity": 3})
    assert [blocker["code"] for blocker in at_tip["blockers"]] == ["MISSING_REQUIRED_NOTES"]
    assert at_tip["retryable"] is True
    assert at_tip["node"]["kind"] == "blocked_attempt"


def test_no_reading_hands_out_a_token(doors):
    """Tokens are for whoever drives the run; a key that only reads must not become one that drives."""
    value = begin_run(doors)
    go_on(doors.agent, value)
    session, run = value["session"]["sessionId"], value["session"]["runId"]
    node = doors.reader.get(f"{V1}/runs/{run}").json()["run"]["tip"]
    paths = [
        f"/sessions/{session}",
        f"/sessions/{session}/events",
        f"/runs/{run}",
        f"/runs/{run}/tree",
        f"/runs/{run}/outputs",
        f"/nodes/{node}",
    ]

    for path in paths:
        body = doors.reader.get(f"{V1}{path}").content
        assert b"st.v1." not in body
        assert b"ack.v1." not in body


def test_events_are_the_bytes_whose_digests_make_the_chain(doors):
    value = begin_run(doors)
    go_on(doors.agent, value)
    session = value["session"]["sessionId"]
    before = "sha256:" + "0" * 64

    for event in items(doors.agent, f"/sessions/{session}/events"):
        raw = doors.agent.get(f"{V1}/sessions/{session}/events/{event['index']}")
        assert raw.headers["Content-Type"] == "application/json"
        assert f"sha256:{hashlib.sha256(raw.content).hexdigest()}" == event["digest"]
        assert orjson.loads(raw.content) == event["event"]
        assert event["event"]["previousDigest"] == before
        before = event["digest"]

    assert doors.agent.get(f"{V1}/sessions/{session}").json()["headDigest"] == before


def test_a_page_of_events_holds_the_canonical_bytes_as_they_are(doors):
    value = begin_run(doors, context={"z": 1, "a": "é"})
    session = value["session"]["sessionId"]

    page = doors.agent.get(f"{V1}/sessions/{session}/events").content
    raw = doors.agent.get(f"{V1}/sessions/{session}/events/0").content

    assert raw in page


def test_events_of_a_run_are_those_of_the_session_that_speak_of_it(doors):
    value = begin_run(doors, observations={"ticket": "SHOP-1"})
    second = doors.agent.post(
        f"{V1}/runs", {"workflowId": "team.sample", "sessionId": value["session"]["sessionId"]}
    ).json()

    told = items(doors.agent, f"/runs/{second['session']['runId']}/events")

    assert {event["run"] for event in told} == {second["session"]["runId"]}
    assert told[0]["kind"] == "run_started"


@pytest.mark.parametrize(
    "path",
    [
        "/sessions/{session}",
        "/sessions/{session}/runs",
        "/sessions/{session}/events",
        "/sessions/{session}/events/0",
        "/sessions/{session}/outputs",
        "/sessions/{session}/preferences",
        "/runs/{run}",
        "/runs/{run}/tree",
        "/runs/{run}/nodes",
        "/runs/{run}/events",
        "/runs/{run}/outputs",
        "/runs/{run}/gaps",
        "/runs/{run}/preferences",
        "/nodes/{node}",
        "/runs?session={session}",
    ],
)
def test_another_teams_rows_are_the_same_as_none(doors, path):
    value = begin_run(doors)
    names = {"session": value["session"]["sessionId"], "run": value["session"]["runId"]}
    names["node"] = doors.agent.get(f"{V1}/runs/{names['run']}").json()["run"]["tip"]
    nobody = {name: f"{text.partition('_')[0]}_{'a' * 26}" for name, text in names.items()}

    own = doors.agent.get(V1 + path.format(**names))
    foreign = doors.stranger.get(V1 + path.format(**names))
    missing = doors.stranger.get(V1 + path.format(**nobody))

    assert (own.status_code, foreign.status_code, missing.status_code) == (200, 404, 404)
    assert _without_place(foreign) == _without_place(missing)


@outermost
def test_another_teams_tokens_are_the_same_as_none(doors):
    value = begin_run(doors)
    tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}

    advanced = doors.stranger.post(f"{V1}/runs/continue", tokens)
    told = doors.stranger.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]})
    listed = [doors.stranger.get(f"{V1}{path}").json()["items"] for path in ("/sessions", "/runs")]

    assert (advanced.status_code, told.status_code) == (404, 404)
    assert advanced.json()["code"] == told.json()["code"] == "TOKEN_UNKNOWN_NODE"
    assert listed == [[], []]


def _without_place(response):
    return {name: value for name, value in response.json().items() if name not in {"instance", "requestId"}}
