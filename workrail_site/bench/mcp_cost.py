"""What the doors cost beside what they lead to: processor time per call, in turns, so that all meet the same machine.

A tool is held against a bare view of Django that does the same, an advance against the service in process and against a bare
view that calls it. The view authenticates, counts and traces as the door does; `bare_site` says what it leaves out.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from traces_app.services.recording import INTERVAL_SECONDS
from workrail_site.bench import doors, service
from workrail_site.bench.clients import BenchClient
from workrail_site.bench.figures import Figure
from workrail_site.bench.processor_time import processor_seconds
from workrail_site.bench.serving import serving
from workrail_site.bench.stage import BenchStage
from workrail_site.bench.web import Server

# Short turns: what else the machine does changes from second to second.
_CALLS_OF_A_TURN = 50
_WARM_CALLS = 100
# A server writes the trace of a turn some time after it, and that belongs to the turn too.
_SETTLED_AFTER_SECONDS = 1.5 * INTERVAL_SECONDS


class BareTrivial(doors.BenchDoor):
    name = "the same by a bare view"

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return doors.Ask(path="/bare/trivial")

    def go_on(self, answer: bytes) -> doors.Ask:
        if b"healthy" not in answer:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        return doors.Ask(path="/bare/trivial")


class BareAdvance(doors.RestDoor):
    name = "an advance by a bare view"
    start, advance = "/bare/start", "/bare/advance"


class TrivialTool(doors.McpDoor):
    """A tool that tells how many workflows there are."""

    name = "health_check by MCP"
    path = "/mcp/navigation"

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return self._ask("health_check", {})

    def go_on(self, answer: bytes) -> doors.Ask:
        if b'"result"' not in answer:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        return self._ask("health_check", {})


@dataclass(slots=True, kw_only=True)
class Turns:
    """One way, its turns so far, and whose processor time counts."""

    name: str
    turn: Callable[[int], Awaitable[list[float]]]
    processor: Callable[[], float | None]
    clients: int
    cpu: list[float] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0

    async def take(self, calls: int) -> None:
        used, began = self.processor(), time.perf_counter()
        times = await self.turn(calls)
        self.seconds += time.perf_counter() - began
        await asyncio.sleep(_SETTLED_AFTER_SECONDS)
        spent = self.processor()
        self.times_ms += times
        if used is not None and spent is not None:
            self.cpu.append(spent - used)

    def figure(self) -> Figure:
        calls = len(self.times_ms)
        cpu_us = sum(self.cpu) / calls * 1e6 if self.cpu else None
        return Figure(
            name=self.name,
            clients=self.clients,
            calls=calls,
            seconds=self.seconds,
            latencies_ms=self.times_ms,
            cpu_us=cpu_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSites:
    """The site, and the site of bare views."""

    site: Server
    bare: Server


def measure_costs(
    *, stage: BenchStage, places: ComparedSites, calls: int, clients: int = 1, warm_calls: int = _WARM_CALLS
) -> list[tuple[Figure, Figure]]:
    """Each figure of a door with the one that it is held against. The service in process comes to the database as the doors do."""
    with serving(stage.actor):
        return asyncio.run(_measured(stage, places, calls, clients, warm_calls))


async def _measured(
    stage: BenchStage, places: ComparedSites, calls: int, clients: int, warm_calls: int
) -> list[tuple[Figure, Figure]]:
    ways = [
        (doors.McpDoor(), places.site),
        (doors.RestDoor(), places.site),
        (BareAdvance(), places.bare),
        (TrivialTool(), places.site),
        (BareTrivial(), places.bare),
    ]
    async with AsyncExitStack() as stack:
        in_turns = [await _by_clients(stage, door, server, clients, stack) for door, server in ways]
        # In the one thread that asgiref keeps for it, whose connection would hold up the end of the database.
        in_turns.append(_in_process(stage))
        stack.push_async_callback(sync_to_async(connections.close_all))
        for each in in_turns:
            await each.turn(warm_calls)
        for number in range(max(1, calls // _CALLS_OF_A_TURN)):
            for each in in_turns if number % 2 else reversed(in_turns):
                await each.take(min(calls, _CALLS_OF_A_TURN))
    mcp, rest, bare_advance, tool, bare_tool, in_process = (each.figure() for each in in_turns)
    return [
        (tool, bare_tool),
        (mcp, in_process),
        (mcp, bare_advance),
        (rest, in_process),
        (rest, bare_advance),
    ]


async def _by_clients(
    stage: BenchStage, door: doors.BenchDoor, server: Server, clients: int, stack: AsyncExitStack
) -> Turns:
    opened = [await BenchClient.begun(stage, door, port=server.port) for _ in range(clients)]
    for client in opened:
        stack.callback(client.close)

    async def one(client: BenchClient, calls: int) -> list[float]:
        return [await client.step() for _ in range(calls)]

    async def turn(calls: int) -> list[float]:
        each = await asyncio.gather(*(one(client, max(1, calls // clients)) for client in opened))
        return [ms for times in each for ms in times]

    return Turns(name=door.name, turn=turn, processor=partial(processor_seconds, server.pid), clients=clients)


def _in_process(stage: BenchStage) -> Turns:
    """In a thread, as behind a door: where an event loop runs Django refuses its tables. The servers are children of this
    process, and their processor time is not its own.
    """
    walk = service.advancing()
    at: list[dict[str, Any]] = []

    def advance(calls: int) -> list[float]:
        value = at.pop() if at else walk.begin(stage)
        times = []
        for _ in range(calls):
            value = walk.prepare(stage, value)
            began = time.perf_counter()
            value = walk.step(stage, value)
            times.append((time.perf_counter() - began) * 1e3)
        at.append(value)
        return times

    return Turns(name=walk.name, turn=sync_to_async(advance), processor=time.process_time, clients=1)


def cost_table(found: Sequence[tuple[Figure, Figure]]) -> str:
    """Without /proc there is no processor time, and no row."""
    rows = [f"{'':28}{'CPU us':>9}{'p50 ms':>9}{'against':>30}{'CPU us':>9}{'p50 ms':>9}{'ratio':>8}"]
    for ours, base in found:
        if ours.cpu_us and base.cpu_us:
            ratio = ours.cpu_us / base.cpu_us
            rows.append(f"{_cells(ours, 28)}{_cells(base, 30, '>')}{ratio:>8.2f}")
    return "\n".join(rows)


def _cells(figure: Figure, width: int, side: str = "<") -> str:
    return f"{figure.name:{side}{width}}{figure.cpu_us:>9.0f}{figure.percentile(50) or 0.0:>9.2f}"


def as_json(found: Sequence[tuple[Figure, Figure]]) -> list[Mapping[str, Any]]:
    return [
        {
            "name": ours.name,
            "cpuUs": ours.cpu_us,
            "p50Ms": ours.percentile(50),
            "base": base.name,
            "baseUs": base.cpu_us,
            "clients": ours.clients,
        }
        for ours, base in found
    ]
