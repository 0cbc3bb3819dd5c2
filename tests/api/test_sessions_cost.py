"""What calls cost, in round trips to Postgres and in queries, however long a run or a list is."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import run_doors
from tests.round_trips import counted_round_trips
from tests.run_cast import plain_steps, soon, start
from tests.run_doors import V1, begin_run, go_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def doors():
    return run_doors.open_doors()


def test_an_advance_is_two_round_trips(doors):
    """Three are allowed: one reads, one writes. The key is known by then, and its limits are counted elsewhere."""
    value = go_on(doors.agent, begin_run(doors, *plain_steps(6))).json()

    with counted_round_trips() as first:
        advanced = go_on(doors.agent, value)
    with counted_round_trips() as second:
        go_on(doors.agent, advanced.json())

    assert (first.count, second.count) == (2, 2)


def test_a_replay_is_one_round_trip(doors):
    value = begin_run(doors)
    go_on(doors.agent, value)

    with counted_round_trips() as replay:
        go_on(doors.agent, value)

    assert replay.count == 1


PATHS = {
    "sessions": ("/sessions", 2),
    "sessions by text": ("/sessions?text=try", 2),
    # One more looks whether the team knows a workflow by that name.
    "sessions by run": ("/sessions?status=in_progress&workflow=team.sample", 3),
    "session": ("/sessions/{session}", 2),
    "runs": ("/runs", 1),
    "runs of session": ("/sessions/{session}/runs", 2),
    "run": ("/runs/{run}", 5),
    "tree": ("/runs/{run}/tree", 2),
    "nodes": ("/runs/{run}/nodes", 2),
    "outputs": ("/runs/{run}/outputs", 2),
    "gaps": ("/runs/{run}/gaps", 2),
    "events": ("/runs/{run}/events", 3),
    "session events": ("/sessions/{session}/events", 2),
}


@pytest.mark.parametrize(("path", "queries"), PATHS.values(), ids=PATHS)
def test_a_list_costs_the_same_however_long_it_is(doors, path, queries):
    value = begin_run(doors, *plain_steps(8))
    short = _cost(doors, path, value)
    for minute in range(5):
        start(doors.desk, now=soon(minute))
        value = go_on(doors.agent, value).json()

    assert (short, _cost(doors, path, value)) == (queries, queries)


@pytest.mark.django_db(transaction=True)
def test_a_node_costs_the_same_whatever_hangs_on_it(doors):
    value = begin_run(doors)
    node = doors.agent.get(f"{V1}/runs/{value['session']['runId']}").json()["run"]["tip"]
    bare = _cost(doors, f"/nodes/{node}", value)
    for _ in range(3):
        told = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]}).json()
        go_on(doors.agent, told)

    assert (bare, _cost(doors, f"/nodes/{node}", value)) == (8, 8)


def _cost(doors, path, value):
    session, run = value["session"]["sessionId"], value["session"]["runId"]
    with CaptureQueriesContext(
        connection,
    ) as captured:
        response = doors.agent.get(V1 + path.format(session=session, run=run))
    assert response.status_code == 200
    return len(captured)
