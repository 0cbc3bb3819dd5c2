"""The recorder: no call is lost, none waits, and no failure of the trace reaches the call that it tells of."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import OperationalError, connection

from teams_app.engine.actors import Actor, ActorKind, Door
from teams_app.engine.ids import uuid7
from tests.trace_calls import made, rows
from traces_app.models import TraceEvent
from traces_app.services import recording
from traces_app.services.recording import Recorder, bytes_of
from traces_app.services.writing import write_calls

ROOT = Path(__file__).parents[2]
AGENT = Actor(
    kind=ActorKind.AGENT_KEY,
    id="key_agent",
    name="an agent",
    team_id=uuid7(unix_ms=1_700_000_000_000, random=os.urandom(10)),
    door=Door.MCP,
)


class Shelf:
    """Where a recorder writes instead of the database. `fails` are the errors of the next tries."""

    def __init__(self, *fails):
        self.batches = []
        self.fails = list(fails)
        self.written = threading.Event()

    def __call__(self, calls):
        if self.fails:
            raise self.fails.pop(0)
        self.batches.append([call.tool for call in calls])
        self.written.set()

    @property
    def tools(self):
        return [tool for batch in self.batches for tool in batch]


def counted(name):
    from prometheus_client import REGISTRY

    return REGISTRY.get_sample_value(f"workrail_trace_{name}_total")


def tools(count):
    return [f"tool-{number}" for number in range(count)]


def test_a_call_is_written_in_the_background_within_the_interval():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=0.02)

    recorder.record(made(AGENT, "one"))

    assert shelf.written.wait(5)
    recorder.close()
    assert shelf.tools == ["one"]


def test_what_gathers_is_written_at_once():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=0.3)

    for name in tools(20):
        recorder.record(made(AGENT, name))
    recorder.close()

    assert shelf.batches == [tools(20)]


def test_a_full_batch_does_not_wait_for_the_interval():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=600, batch_calls=5)

    for name in tools(5):
        recorder.record(made(AGENT, name))

    assert shelf.written.wait(5)
    recorder.close()
    assert shelf.tools == tools(5)


def test_what_comes_while_calls_are_written_gathers_for_the_next_writing():
    shelf = Shelf()

    def write(calls):
        shelf(calls)
        for name in (f"{call.tool} and on" for call in calls if "on" not in call.tool):
            recorder.record(made(AGENT, name))

    recorder = Recorder(write=write, interval_seconds=None)
    for name in tools(3):
        recorder.record(made(AGENT, name))

    recorder.flush()
    assert shelf.batches == [tools(3)]
    recorder.flush()

    assert shelf.batches == [tools(3), [f"{name} and on" for name in tools(3)]]


def test_a_flush_leaves_nothing_behind():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=None)
    for name in tools(3):
        recorder.record(made(AGENT, name))

    recorder.flush()

    assert shelf.tools == tools(3)


def test_a_full_buffer_makes_the_call_write_and_counts_it():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=None, most_buffered=2)
    before = counted("written_in_call")

    for name in tools(4):
        recorder.record(made(AGENT, name))
    recorder.flush()

    assert sorted(shelf.tools) == tools(4)
    assert counted("written_in_call") == before + 2


def test_in_an_outage_calls_wait_in_their_order():
    shelf = Shelf(OperationalError("gone"), psycopg.OperationalError("gone"))
    recorder = Recorder(write=shelf, interval_seconds=None)
    lost = counted("lost")
    for name in tools(3):
        recorder.record(made(AGENT, name))

    recorder.flush()
    recorder.record(made(AGENT, "later"))
    recorder.flush()
    recorder.flush()

    assert shelf.tools == [*tools(3), "later"]
    assert counted("lost") == lost


def test_an_outage_beyond_the_buffer_loses_calls_aloud_and_breaks_none():
    shelf = Shelf(OperationalError("gone"))
    recorder = Recorder(write=shelf, interval_seconds=None, most_buffered=2)
    lost = counted("lost")

    for name in tools(3):
        recorder.record(made(AGENT, name))
    recorder.flush()

    assert shelf.tools == tools(2)
    assert counted("lost") == lost + 1


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"notes": "x" * 100_000}, id="a long text"),
        pytest.param({"context": {"list": [[] for _ in range(2_000)]}}, id="many values"),
        pytest.param({"x" * 100_000: 1}, id="a long name"),
        pytest.param({"list": [0] * 30_000}, id="more values than are looked at"),
    ],
)
def test_large_calls_fill_the_buffer_by_what_they_hold(said):
    shelf = Shelf(*[OperationalError("gone")] * 100)
    recorder = Recorder(write=shelf, interval_seconds=None, most_buffered_bytes=1_000_000)
    before = counted("written_in_call")

    for number in range(20):
        recorder.record(made(AGENT, f"large-{number}", arguments=said))
        recorder.flush()
    recorder.record(made(AGENT, "small"))

    assert 0 < counted("written_in_call") - before <= 20
    shelf.fails.clear()
    recorder.flush()
    assert "small" in shelf.tools
    assert len(shelf.tools) <= 11


def test_a_reply_counts_for_what_a_call_holds():
    assert bytes_of(made(AGENT, reply=b"x" * 100_000)) > 100_000 > bytes_of(made(AGENT, reply={"one": "small reply"}))


def test_the_room_of_calls_that_were_written_is_free_again():
    shelf = Shelf()
    recorder = Recorder(write=shelf, interval_seconds=None, most_buffered_bytes=200_000)
    before = counted("written_in_call")

    for number in range(10):
        recorder.record(made(AGENT, f"tool-{number}", arguments={"notes": "x" * 100_000}))
        recorder.flush()

    assert shelf.tools == tools(10)
    assert counted("written_in_call") == before


def test_a_call_that_cannot_be_written_takes_no_other_with_it():
    shelf = Shelf(ValueError("the batch"), ValueError("the first"))
    recorder = Recorder(write=shelf, interval_seconds=None)
    lost = counted("lost")
    for name in tools(3):
        recorder.record(made(AGENT, name))

    recorder.flush()

    assert shelf.tools == ["tool-1", "tool-2"]
    assert counted("lost") == lost + 1


@pytest.mark.django_db(transaction=True)
def test_a_burst_from_eight_threads_is_written_whole():
    recorder = Recorder(write=lambda calls: write_calls(calls=calls), interval_seconds=0.05)
    per_thread = 5_000 // 8

    def burst(thread):
        for number in range(per_thread):
            recorder.record(made(AGENT, f"t{thread}-{number}", arguments={"number": number}))

    threads = [threading.Thread(target=burst, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()

    found = TraceEvent.objects.filter(team_id=AGENT.team_id).values_list("tool", flat=True)
    assert sorted(found) == sorted(f"t{thread}-{number}" for thread in range(8) for number in range(per_thread))


@pytest.mark.django_db
def test_many_calls_are_one_statement(django_assert_num_queries):
    write_calls(calls=[made(AGENT)])
    with django_assert_num_queries(2) as captured:
        write_calls(calls=[made(AGENT, name) for name in tools(200)])

    assert all("SAVEPOINT" in query["sql"] for query in captured)
    assert len(rows()) == 201


@pytest.mark.django_db
def test_a_process_sees_its_own_calls_before_they_were_due(monkeypatch):
    recorder = Recorder(write=lambda calls: write_calls(calls=calls), interval_seconds=None)
    monkeypatch.setattr(recording, "recorder", recorder)
    recorder.record(made(AGENT, "mine"))

    recording.flush_calls()

    assert [row.tool for row in rows()] == ["mine"]


@pytest.mark.django_db(transaction=True)
def test_a_web_server_that_is_told_to_end_writes_first(monkeypatch):
    """Its end is told in an event loop, where Django refuses to touch the database."""
    from workrail_site.mcp.mounts import Mounts

    recorder = Recorder(write=lambda calls: write_calls(calls=calls), interval_seconds=None)
    monkeypatch.setattr(recording, "recorder", recorder)
    recorder.record(made(AGENT, "last"))
    told = [{"type": "lifespan.shutdown"}, {"type": "lifespan.startup"}]
    sent = []

    async def receive():
        return told.pop()

    async def send(message):
        sent.append(message["type"])

    mounts = Mounts({}, threads=1, max_body_bytes=1024)
    asyncio.run(mounts({"type": "lifespan"}, receive, send))

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert names() == ["last"]


# Ends of processes: each script records, and ends as it says

SCRIPT = """
import os, sys, time
import django
django.setup()
from tests.trace_calls import made
from tests.services.test_traces_recording import AGENT
from traces_app.services import recording
from traces_app.models import TraceEvent

def record(name, count=1):
    for _ in range(count):
        recording.recorder.record(made(AGENT, name))

def wait_for(count):
    deadline = time.monotonic() + 20
    while TraceEvent.objects.count() < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
"""


def run(script):
    settings = connection.settings_dict
    user, password = quote(settings["USER"] or ""), quote(settings["PASSWORD"] or "")
    name, host, port = settings["NAME"], quote(settings["HOST"] or "", safe=""), settings["PORT"]
    url = f"postgresql:///{name}?host={host}&user={user}&password={password}" + (f"&port={port}" if port else "")
    environ = {
        **os.environ,
        "DATABASE_URL": url,
        "WORKRAIL_ENV": "development",
        "DJANGO_SETTINGS_MODULE": "workrail_site.settings",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + script],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def names():
    return sorted(row.tool for row in rows())


@pytest.mark.django_db(transaction=True)
def test_a_process_that_ends_writes_first():
    done = run("record('last words', 30)")

    assert done.returncode == 0, done.stderr
    assert names() == ["last words"] * 30


@pytest.mark.django_db(transaction=True)
def test_a_kill_loses_what_was_recorded_since_the_last_writing_and_no_more():
    done = run(
        "record('before', 40); wait_for(40); recording.recorder._interval_seconds = 600\n"
        "recording.flush_calls(); record('written', 2); recording.flush_calls()\n"
        "record('lost', 3); os.kill(os.getpid(), 9)"
    )

    assert done.returncode == -9, done.stderr
    assert names() == ["before"] * 40 + ["written"] * 2


@pytest.mark.django_db(transaction=True)
def test_a_fork_writes_its_own_calls_and_not_its_parents():
    done = run(
        "record('parent'); pid = os.fork()\n"
        "if pid == 0:\n"
        "    record('child'); recording.close_recorder(); os._exit(0)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0\n"
        "record('parent again')"
    )

    assert done.returncode == 0, done.stderr
    assert names() == ["child", "parent", "parent again"]
