"""The services in process: the same functions that every door calls, in so many threads."""

import os
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import connection
from django.utils import timezone

from sessions_app.engine.actions import Action, AdvanceLoop, CompleteStep
from sessions_app.engine.decisions import EnterActivity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.engine.submissions import Submission
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.handed_over import HandoverCall, enter_activity
from sessions_app.services.moves.runs import advance_run
from sessions_app.services.moves.session_tokens import Wish, begin as begin_session
from sessions_app.services.moves.steered import steer_run
from workrail_site.bench.figures import Figure
from workrail_site.bench.stage import ACTIVITIES, LOOP_ID, NOTES, BenchStage, activity_steps
from workrail_site.dialects.activities.speech import ACTIVITIES as HANDED_OVER
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.rail.replies import RAIL

EVENTS_PER_ADVANCE = 5
_WARM_CALLS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWalk:
    """A way to take a run on. `prepare` leads to where `step` may be measured, and is not."""

    name: str
    begin: Callable[[BenchStage], dict[str, Any]]
    step: Callable[[BenchStage, dict[str, Any]], dict[str, Any]]
    prepare: Callable[[BenchStage, dict[str, Any]], dict[str, Any]] = lambda _stage, value: value


@dataclass(slots=True)
class _Tally:
    calls: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    failed: Exception | None = None


def advancing() -> BenchWalk:
    return BenchWalk(name="advance in process", begin=begin, step=advance, prepare=_unless_complete)


def steering() -> BenchWalk:
    """The same workflow by hand: its steps are measured, the beginning of a round of its loop is not."""
    return BenchWalk(name="complete_step in process", begin=_begin_by_hand, step=_complete, prepare=_go_round)


def measure_service(*, stage: BenchStage, walk: BenchWalk, clients: int, seconds: float) -> Figure:
    tallies = [_Tally() for _ in range(clients)]
    ready = threading.Barrier(clients + 1)
    stop = threading.Event()
    # Each in the context of whoever measures, which says whose rows the database shows.
    works = [partial(copy_context().run, _work, stage, walk, tally, ready, stop) for tally in tallies]
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    with suppress(threading.BrokenBarrierError):
        ready.wait()
    begun, used = time.perf_counter(), time.process_time()
    if not ready.broken:
        stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    failed = next((tally.failed for tally in tallies if tally.failed is not None), None)
    if failed is not None:
        raise failed
    calls = sum(tally.calls for tally in tallies)
    return Figure(
        name=walk.name,
        clients=clients,
        calls=calls,
        seconds=time.perf_counter() - begun,
        latencies_ms=[ms for tally in tallies for ms in tally.latencies_ms],
        cpu_us=(time.process_time() - used) / max(calls, 1) * 1e6,
    )


def handing() -> BenchWalk:
    """From one activity to the next, with a manifest of the steps of the one that is left."""
    return BenchWalk(name="next_activity in process", begin=_begin_session, step=_enter_next)


def begin(stage: BenchStage) -> dict[str, Any]:
    beginning = Beginning(workflow_id=stage.workflow_id, goal="Measure")
    return start_run(actor=stage.actor, beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=RAIL).value


def advance(stage: BenchStage, value: dict[str, Any]) -> dict[str, Any]:
    tokens = value["nextCall"]["params"]
    reply = advance_run(
        actor=stage.actor,
        state_token=tokens["stateToken"],
        ack_token=tokens["ackToken"],
        submission=Submission(notes=NOTES),
        now=timezone.now(),
        entropy=os.urandom,
        speech=RAIL,
    )
    return reply.value


def age_ratio(*, stage: BenchStage, events: int, calls: int) -> float:
    """What an advance takes in a session of so many events, over what one takes at event 5; measured in turns."""
    old = begin(stage)
    for _ in range(events // EVENTS_PER_ADVANCE):
        old = advance(stage, old)
    times: dict[str, list[float]] = {"young": [], "old": []}
    for _ in range(calls):
        _, took = _timed(stage, advancing(), begin(stage))
        times["young"].append(took)
        old, took = _timed(stage, advancing(), old)
        times["old"].append(took)
    return statistics.median(times["old"]) / statistics.median(times["young"])


def ratio_in_turns(*, stage: BenchStage, walk: BenchWalk, base: BenchWalk, calls: int) -> float:
    """What a step of one walk takes over what one of the other takes, at the median."""
    walks = (walk, base)
    values = [each.begin(stage) for each in walks]
    times: list[list[float]] = [[], []]
    for call in range(_WARM_CALLS + calls):
        for turn, each in enumerate(walks):
            values[turn], took = _timed(stage, each, each.prepare(stage, values[turn]))
            if call >= _WARM_CALLS:
                times[turn].append(took)
    return statistics.median(times[0]) / statistics.median(times[1])


def _timed(stage: BenchStage, walk: BenchWalk, value: dict[str, Any]) -> tuple[dict[str, Any], float]:
    begun = time.perf_counter()
    following = walk.step(stage, value)
    return following, time.perf_counter() - begun


def _work(stage: BenchStage, walk: BenchWalk, tally: _Tally, ready: threading.Barrier, stop: threading.Event) -> None:
    try:
        value = walk.begin(stage)
        for _ in range(_WARM_CALLS):
            value = walk.step(stage, walk.prepare(stage, value))
        ready.wait()
        while not stop.is_set():
            value, took = _timed(stage, walk, walk.prepare(stage, value))
            tally.latencies_ms.append(took * 1e3)
            tally.calls += 1
    except threading.BrokenBarrierError:
        # Another has failed, and tells.
        return
    except Exception as error:  # noqa: BLE001  told by whoever waits for the threads
        tally.failed = error
        ready.abort()
        stop.set()
    finally:
        connection.close()


def _unless_complete(stage: BenchStage, value: dict[str, Any]) -> dict[str, Any]:
    """Another run, where this one has come to its end."""
    return begin(stage) if value["isComplete"] else value


def _begin_by_hand(stage: BenchStage) -> dict[str, Any]:
    beginning = Beginning(workflow_id=stage.workflow_id, dialect=Dialect.NAVIGATION)
    begun = start_run(actor=stage.actor, beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=NAVIGATION)
    return begun.value


def _complete(stage: BenchStage, value: dict[str, Any]) -> dict[str, Any]:
    step = next(offer for offer in offers(value) if offer["action"] == "complete_step")
    return _steer(stage, value, CompleteStep(step_id=step["step"]))


def _go_round(stage: BenchStage, value: dict[str, Any]) -> dict[str, Any]:
    while not any(offer["action"] == "complete_step" for offer in offers(value)):
        ended = value.get("complete", False)
        value = _begin_by_hand(stage) if ended else _steer(stage, value, AdvanceLoop(loop_id=LOOP_ID))
    return value


def _steer(stage: BenchStage, value: dict[str, Any], action: Action) -> dict[str, Any]:
    following = steer_run(
        actor=stage.actor,
        state_token=value["state"],
        action=action,
        now=timezone.now(),
        entropy=os.urandom,
        speech=NAVIGATION,
    ).value
    if not following["success"]:
        raise RuntimeError(f"The run cannot be taken on by hand: {following}")
    return following


def _begin_session(stage: BenchStage) -> dict[str, Any]:
    wish = Wish(dialect=Dialect.SESSION, workflow_id=stage.activities_id)
    begun = begin_session(actor=stage.actor, wish=wish, now=timezone.now(), entropy=os.urandom)
    return {"session_token": begun.held.token, "activity_id": ""}


def _enter_next(stage: BenchStage, value: dict[str, Any]) -> dict[str, Any]:
    call = HandoverCall(
        actor=stage.actor,
        dialect=Dialect.SESSION,
        token=value["session_token"],
        now=timezone.now(),
        entropy=os.urandom,
        speech=HANDED_OVER,
    )
    here = value["activity_id"]
    done = (
        tuple(ManifestEntry(step_id=entry["step_id"], output=entry["output"]) for entry in manifest()) if here else None
    )
    command = EnterActivity(activity_id=activity_after(here), manifest=done, asks_on_entry=True)
    return enter_activity(call, command).reply.value


def activity_after(activity_id: str) -> str:
    """The other of the two; the first at the beginning."""
    return ACTIVITIES[1] if activity_id == ACTIVITIES[0] else ACTIVITIES[0]


def manifest() -> list[dict[str, str]]:
    """What was done in an activity: all its steps, with as many words as an advance has notes."""
    steps = activity_steps()
    share = len(NOTES) // len(steps)
    return [{"step_id": step_id, "output": NOTES[:share]} for step_id in steps]


def offers(situation: dict[str, Any]) -> list[dict[str, Any]]:
    """What a run by hand must or may do next."""
    actions = situation["availableActions"]
    return [*actions["required"], *actions["optional"]]
