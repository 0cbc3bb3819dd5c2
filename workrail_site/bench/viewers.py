"""What people who look at a run that goes on cost: the processor of the web server, and the time of an agent's calls beside them."""

import asyncio
import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from teams_app.engine.ids import Prefix, from_text
from workrail_site.bench.clients import BenchClient
from workrail_site.bench.doors import McpDoor
from workrail_site.bench.every_call import signed_in_cookie
from workrail_site.bench.figures import Figure
from workrail_site.bench.processor_time import processor_seconds
from workrail_site.bench.stage import BenchStage
from workrail_site.bench.web import Server
from workrail_site.live import MOST_OF_ONE

# An agent that works, and does not only call.
_PAUSE_SECONDS = 0.02
_RUN = re.compile(rb'\\?"runId\\?": ?\\?"(run_[0-9a-z]+)')
_EVENT = re.compile(rb"^event: ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """An agent's advances beside so many viewers of its run; `events` is how many those were sent in all."""

    viewers: int
    events: int
    figure: Figure


def measure_viewers(*, stage: BenchStage, server: Server, viewers: Sequence[int], seconds: float) -> list[Watched]:
    # One sign-in holds only so many streams.
    cookies = [signed_in_cookie() for _ in range(0, max(viewers, default=0), MOST_OF_ONE)]
    return [asyncio.run(_measured(stage, server, count, seconds, cookies)) for count in viewers]


async def _measured(stage: BenchStage, server: Server, viewers: int, seconds: float, cookies: Sequence[str]) -> Watched:
    agent = await BenchClient.begun(stage, McpDoor(), port=server.port)
    streams = [await _Stream.opened(server, agent.answer, cookies[number // MOST_OF_ONE]) for number in range(viewers)]
    tasks = [asyncio.ensure_future(each.read()) for each in streams]
    used, began, times = processor_seconds(server.pid), time.perf_counter(), []
    while time.perf_counter() < began + seconds:
        times.append(await agent.step())
        await asyncio.sleep(_PAUSE_SECONDS)
    elapsed, spent = time.perf_counter() - began, processor_seconds(server.pid)
    agent.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    cpu_us = None if used is None or spent is None else (spent - used) / len(times) * 1e6
    figure = Figure(
        name=f"advance beside {viewers} viewers",
        clients=1,
        calls=len(times),
        seconds=elapsed,
        latencies_ms=times,
        cpu_us=cpu_us,
    )
    return Watched(viewers=viewers, events=sum(each.events for each in streams), figure=figure)


class _Stream:
    """A page of the Studio that is open, as its browser keeps it up to date."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.events = 0

    @classmethod
    async def opened(cls, server: Server, answer: bytes, cookie: str) -> "_Stream":
        named = _RUN.search(answer)
        run_id = from_text(Prefix.RUN, named[1].decode()) if named else None
        if run_id is None:
            raise RuntimeError(f"There is no run in {answer[:400]!r}")
        stream = cls(*await asyncio.open_connection("127.0.0.1", server.port))
        head = f"GET /studio/live/run/{run_id}/?search= HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        stream._writer.write(f"{head}Cookie: sessionid={cookie}\r\nAccept: text/event-stream\r\n\r\n".encode())
        status = int((await stream._reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])
        if status != 200:
            raise RuntimeError(f"A viewer was answered {status}.")
        return stream

    async def read(self) -> None:
        try:
            while chunk := await self._reader.read(65536):
                self.events += len(_EVENT.findall(chunk))
        finally:
            with contextlib.suppress(OSError):
                self._writer.close()


def as_json(found: Sequence[Watched]) -> list[dict[str, object]]:
    return [
        {
            "viewers": each.viewers,
            "events": each.events,
            "advances": each.figure.calls,
            "p50Ms": each.figure.percentile(50),
            "p95Ms": each.figure.percentile(95),
            "cpuUs": each.figure.cpu_us,
        }
        for each in found
    ]
