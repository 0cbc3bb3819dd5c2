"""Redis that is down, or that takes connections and never answers: every door goes on, and says in the log that it does."""

import contextlib
import os
import socket
import subprocess
import sys
import threading

import httpx
import pytest

from tests.clusters import eventually
from tests.mcp.conftest import agent_of, running_site
from tests.run_cast import published

# Far above what a call takes, and far below what a client of the broker waits by itself.
PATIENCE_SECONDS = 4.0


@contextlib.contextmanager
def silent(taken=None):
    """Takes every connection and says nothing."""
    taken = [] if taken is None else taken
    with socket.socket() as listener:
        listener.settimeout(0.2)
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        ended = threading.Event()

        def take():
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    taken.append(listener.accept())

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        ended.set()
        thread.join(2)
        for connection, _ in taken:
            connection.close()


@contextlib.contextmanager
def closed():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield port


@pytest.fixture(params=[silent, closed], ids=["silent", "closed"], scope="module")
def broken_site(request, django_db_setup, tmp_path_factory):
    with request.param() as port:
        environ = {"REDIS_URL": f"redis://127.0.0.1:{port}/0", "WORKRAIL_ENV": "development"}
        with running_site(tmp_path_factory.mktemp("broken"), environ) as site:
            yield site


PUBLISH = """
import workrail_site.asgi
from celery import signature
for _ in range(3):
    try:
        signature("teams_app.tasks.expire_keys", immutable=True).apply_async()
    except Exception as error:
        print(type(error).__name__)
"""


def done_beside(port, program):
    """What a program prints and logs, with its broker at this port."""
    environ = {**os.environ, "REDIS_URL": f"redis://127.0.0.1:{port}/0", "WORKRAIL_ENV": "development"}
    # A client of the broker waits for ever by itself, or for twenty seconds each time.
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=50, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("broken", [silent, closed])
def test_asking_for_a_task_gives_up_soon(broken):
    with broken() as port:
        assert done_beside(port, PUBLISH)[0].split() == ["OperationalError"] * 3


ASK_OFTEN = """
import workrail_site.asgi
from sessions_app import jobs as sessions_jobs
from teams_app import jobs
from teams_app.engine.actors import NO_TEAM
for _ in range(20):
    jobs.ask_to_deliver(team_id=NO_TEAM)
    sessions_jobs.ask_to_announce()
"""


def test_of_many_who_ask_a_silent_broker_the_first_waits_and_the_others_leave_it_alone():
    taken = []
    with silent(taken) as port:
        _printed, logged = done_beside(port, ASK_OFTEN)

    assert logged.count("task_left_to_schedule") == 40
    # One who asks is tried twice, and another one where five seconds have passed.
    assert len(taken) < 10


ASK_WHILE_IT_SERVES = """
import asyncio, logging, sys
from workrail_site.asgi import application
from teams_app import jobs
from teams_app.engine.actors import NO_TEAM

async def serve():
    heard, said = asyncio.Queue(), asyncio.Queue()
    await heard.put({"type": "lifespan.startup"})
    serving = asyncio.create_task(application({"type": "lifespan", "asgi": {"version": "3.0"}}, heard.get, said.put))
    print((await said.get())["type"], file=sys.stderr, flush=True)
    for _ in range(3):
        await asyncio.to_thread(jobs.ask_to_deliver, team_id=NO_TEAM)
    print("went on", file=sys.stderr, flush=True)
    await heard.put({"type": "lifespan.shutdown"})
    await serving

asyncio.run(serve())
"""


def test_whoever_asks_of_a_server_goes_on_before_it_is_found_out_that_the_broker_is_silent():
    with silent() as port:
        _printed, logged = done_beside(port, ASK_WHILE_IT_SERVES)

    before, after = logged.split("went on")
    assert "lifespan.startup.complete" in before
    assert "task_left_to_schedule" not in before
    # What waited is asked, or told, before the process ends.
    assert after.count("task_left_to_schedule") == 3


def test_no_request_waits_for_a_broken_broker(broken_site, transactional_db):
    from tests.run_cast import make_desk, notes_free

    desk = make_desk()
    ship = notes_free("ship", requireConfirmation={"kind": "human_approval"})
    published(desk, notes_free("first"), ship, workflow_id="team.gated")
    wire = agent_of(broken_site, desk.owner)
    begun = wire("start_workflow", workflowId="team.gated", goal="Try it")
    asked = wire("continue_workflow", stateToken=begun.value["stateToken"], ackToken=begun.value["ackToken"])
    headers = {"Authorization": f"Bearer {wire.key}"}
    with httpx.Client(base_url=broken_site.url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        read, page = client.get("/api/v1/whoami"), client.get("/studio/login/")
        alive, ready = client.get("/healthz"), client.get("/readyz")

    assert not asked.is_error
    assert (read.status_code, page.status_code, alive.status_code) == (200, 200, 200)
    assert (ready.status_code, ready.json()["status"], ready.json()["redis"]) == (200, "degraded", "unreachable")
    assert "throttle_without_redis" in broken_site.logged()


def test_work_that_cannot_be_asked_for_is_told_in_a_line_each_time(broken_site, transactional_db):
    from tests.run_cast import make_desk, plain_steps

    desk = make_desk()
    published(desk, *plain_steps(1))
    wire = agent_of(broken_site, desk.owner)
    wire("start_workflow", workflowId="team.sample", goal="Try it")
    headers = {"Authorization": f"Bearer {wire.key}"}
    before = len(broken_site.logged())
    with httpx.Client(base_url=broken_site.url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        (session,) = client.get("/api/v1/sessions").json()["items"]
        asked = [client.post(f"/api/v1/sessions/{session['id']}/export").status_code for _ in range(3)]

    assert asked == [202] * 3
    eventually(lambda: broken_site.logged()[before:].count("task_left_to_schedule") == 3, "a line for each")
    assert "Traceback" not in broken_site.logged()[before:]
