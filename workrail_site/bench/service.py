"""The service in process: the same function that every door calls, in so many threads."""

import os
import statistics
import threading
import time
from dataclasses import dataclass, field

from django.db import connection
from django.utils import timezone

from sessions_app.engine.obligations import Submission
from sessions_app.services.runs import Beginning, Reply, advance_run, start_run
from workrail_site.bench.figures import Figure
from workrail_site.bench.stage import NOTES, Stage

EVENTS_PER_ADVANCE = 5


@dataclass(slots=True)
class _Tally:
    calls: int = 0
    latencies_ms: list[float] = field(default_factory=list)


def measure_service(*, stage: Stage, clients: int, seconds: float) -> Figure:
    tallies = [_Tally() for _ in range(clients)]
    ready = threading.Barrier(clients + 1)
    stop = threading.Event()
    threads = [threading.Thread(target=_work, args=(stage, tally, ready, stop), daemon=True) for tally in tallies]
    for thread in threads:
        thread.start()
    ready.wait()
    begun, used = time.perf_counter(), time.process_time()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    calls = sum(tally.calls for tally in tallies)
    return Figure(
        name="service in process",
        clients=clients,
        calls=calls,
        seconds=time.perf_counter() - begun,
        latencies_ms=[ms for tally in tallies for ms in tally.latencies_ms],
        cpu_us=(time.process_time() - used) / max(calls, 1) * 1e6,
    )


def begin(stage: Stage) -> Reply:
    beginning = Beginning(workflow_id=stage.workflow_id, goal="Measure")
    return start_run(actor=stage.actor, beginning=beginning, now=timezone.now(), entropy=os.urandom)


def advance(stage: Stage, reply: Reply) -> Reply:
    tokens = reply.value["nextCall"]["params"]
    return advance_run(
        actor=stage.actor,
        state_token=tokens["stateToken"],
        ack_token=tokens["ackToken"],
        submission=Submission(notes=NOTES),
        now=timezone.now(),
        entropy=os.urandom,
    )


def age_ratio(*, stage: Stage, events: int, calls: int) -> float:
    """What an advance takes in a session of so many events, over what one takes at event 5; measured in turns."""
    old = begin(stage)
    for _ in range(events // EVENTS_PER_ADVANCE):
        old = advance(stage, old)
    times: dict[str, list[float]] = {"young": [], "old": []}
    for _ in range(calls):
        _, took = _timed(stage, begin(stage))
        times["young"].append(took)
        old, took = _timed(stage, old)
        times["old"].append(took)
    return statistics.median(times["old"]) / statistics.median(times["young"])


def _timed(stage: Stage, reply: Reply) -> tuple[Reply, float]:
    begun = time.perf_counter()
    following = advance(stage, reply)
    return following, time.perf_counter() - begun


def _work(stage: Stage, tally: _Tally, ready: threading.Barrier, stop: threading.Event) -> None:
    try:
        reply = begin(stage)
        for _ in range(10):
            reply = advance(stage, reply)
        ready.wait()
        while not stop.is_set():
            begun = time.perf_counter()
            reply = advance(stage, reply)
            tally.latencies_ms.append((time.perf_counter() - begun) * 1e3)
            tally.calls += 1
    finally:
        connection.close()
