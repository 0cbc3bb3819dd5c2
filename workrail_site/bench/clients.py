"""Clients over real sockets: each asks again when it was answered, or all of them at a rate that does not wait for answers."""

import asyncio
import json
import re
import statistics
import time
from collections.abc import Awaitable
from copy import copy
from itertools import count

from workrail_site.bench.doors import Ask, BenchDoor
from workrail_site.bench.figures import Figure
from workrail_site.bench.processor_time import processor_seconds
from workrail_site.bench.stage import BenchStage
from workrail_site.bench.web import Server

_WARM_CALLS = 10
_LIMITED = b'"RATE_LIMITED"'
_AFTER_MS = re.compile(rb"afterMs\\*\": *(\d+)")


class BenchClient:
    """One connection that is kept, one run that goes on and on."""

    def __init__(
        self,
        stage: BenchStage,
        door: BenchDoor,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        port: int,
    ) -> None:
        self._stage = stage
        # A door may remember what it has asked; clients do not share that.
        self._door = copy(door)
        self._reader, self._writer = streams
        self._port = port
        self._answer = b""

    @property
    def answer(self) -> bytes:
        """The latest."""
        return self._answer

    @classmethod
    async def opened(cls, stage: BenchStage, door: BenchDoor, *, port: int) -> "BenchClient":
        return cls(stage, door, await asyncio.open_connection("127.0.0.1", port), port)

    @classmethod
    async def begun(cls, stage: BenchStage, door: BenchDoor, *, port: int) -> "BenchClient":
        client = await cls.opened(stage, door, port=port)
        await client.begin()
        return client

    async def begin(self) -> None:
        await self._served(self._door.begin(self._stage))

    async def work(self, until: float) -> list[float]:
        latencies = []
        while time.perf_counter() < until:
            latencies.append(await self.step())
        self.close()
        return latencies

    async def step(self) -> float:
        """The milliseconds of one call that counts."""
        while not (ask := self._door.go_on(self._answer)).counts:
            await self._served(ask)
        begun = time.perf_counter()
        await self._served(ask)
        return (time.perf_counter() - begun) * 1e3

    async def _served(self, ask: Ask) -> None:
        """Many clients of one team are told to wait for their turn; each asks again when it is told to."""
        await self.call(ask)
        while _LIMITED in self._answer:
            told = _AFTER_MS.search(self._answer)
            await asyncio.sleep(int(told[1]) / 1e3 if told else 1.0)
            await self.call(ask)

    def close(self) -> None:
        self._writer.close()

    async def call(self, ask: Ask) -> int:
        """The status of the answer, which is kept. A server closes a connection that rests for long; then there is another."""
        try:
            return await self._exchange(ask)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            return await self._exchange(ask)

    async def _exchange(self, ask: Ask) -> int:
        data = json.dumps(ask.body).encode() if ask.method == "POST" else b""
        headers = {
            "Host": f"127.0.0.1:{self._port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **self._door.credentials(self._stage),
            **self._door.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._writer.write(f"{ask.method} {ask.path} HTTP/1.1\r\n{lines}\r\n".encode() + data)
        status, self._answer = await self._read()
        return status

    async def _read(self) -> tuple[int, bytes]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), await self._read_body(head)

    async def _read_body(self, head: bytes) -> bytes:
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if length is not None:
            return await self._reader.readexactly(int(length[1]))
        parts = []
        while size := int((await self._reader.readline()).strip() or b"0", 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readline()
        return b"".join(parts)


def measure_door(
    *, stage: BenchStage, server: Server, door: BenchDoor, clients: int, seconds: float, per_second: float = 0.0
) -> Figure:
    """`cpu_us` is that of the web server. With `per_second` a call begins at each moment that is due, whether or not those
    before it were answered, and its time counts from that moment: what waits in a queue is not left out.
    """

    async def begun() -> list[BenchClient]:
        return [await BenchClient.begun(stage, door, port=server.port) for _ in range(clients)]

    return asyncio.run(_measured(begun(), server, door.name, seconds, per_second))


async def _measured(
    begun_clients: Awaitable[list[BenchClient]], server: Server, name: str, seconds: float, per_second: float
) -> Figure:
    connections = await begun_clients
    used = processor_seconds(server.pid)
    begun = time.perf_counter()
    if per_second:
        due = _Due(begun, per_second, begun + seconds)
        works = [due.work(client) for client in connections]
    else:
        works = [client.work(begun + seconds) for client in connections]
    latencies = [ms for each in await asyncio.gather(*works) for ms in each]
    elapsed, spent = time.perf_counter() - begun, processor_seconds(server.pid)
    return Figure(
        name=f"{name}, {per_second:g}/s" if per_second else name,
        clients=len(connections),
        calls=len(latencies),
        seconds=elapsed,
        latencies_ms=latencies,
        cpu_us=None if used is None or spent is None else (spent - used) / max(len(latencies), 1) * 1e6,
    )


class _Due:
    """The moments at which calls are due, each taken by the client that is free first."""

    def __init__(self, begun: float, per_second: float, until: float) -> None:
        self._begun, self._per_second, self._until = begun, per_second, until
        self._turns = count()

    async def work(self, client: BenchClient) -> list[float]:
        latencies = []
        while (due := self._begun + next(self._turns) / self._per_second) < self._until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await client.step()
            latencies.append((time.perf_counter() - due) * 1e3)
        client.close()
        return latencies


def ratio_in_turns(*, stage: BenchStage, server: Server, door: BenchDoor, base: BenchDoor, calls: int) -> float:
    """What a call at one door takes over what one at the other takes, at the median."""
    times = asyncio.run(_in_turns(stage, server, (door, base), calls))
    return statistics.median(times[0]) / statistics.median(times[1])


async def _in_turns(
    stage: BenchStage, server: Server, doors: tuple[BenchDoor, BenchDoor], calls: int
) -> tuple[list[float], ...]:
    clients = [await BenchClient.begun(stage, door, port=server.port) for door in doors]
    for client in clients:
        for _ in range(_WARM_CALLS):
            await client.step()
    found: tuple[list[float], ...] = ([], [])
    for _ in range(calls):
        for client, times in zip(clients, found, strict=True):
            times.append(await client.step())
    for client in clients:
        client.close()
    return found
