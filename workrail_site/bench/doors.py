"""REST and MCP over real sockets against a web server of its own, as `up` starts it."""

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from workrail_site.bench.figures import Figure
from workrail_site.bench.processor_time import processor_seconds
from workrail_site.bench.service import activity_after, manifest, offers
from workrail_site.bench.stage import LOOP_ID, NOTES, BenchStage

_STATE = re.compile(rb'\\?"stateToken\\?": ?\\?"(st\.v1\.[0-9a-z]+)')
_ACK = re.compile(rb'\\?"ackToken\\?": ?\\?"(ack\.v1\.[0-9a-z]+)')
_PORT = 8971
_STARTED_WITHIN_SECONDS = 30
_WARM_CALLS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request; what only leads to the next one that counts is not counted."""

    path: str
    body: dict[str, Any]
    counts: bool = True
    method: str = "POST"


class BenchDoor(ABC):
    """How one door is asked to begin, and to go on from an answer."""

    name: str
    headers: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def begin(self, stage: BenchStage) -> Ask: ...

    @abstractmethod
    def go_on(self, answer: bytes) -> Ask: ...


class RestDoor(BenchDoor):
    name = "advance by REST"

    def begin(self, stage: BenchStage) -> Ask:
        return Ask(path="/api/v1/runs", body=_beginning(stage))

    def go_on(self, answer: bytes) -> Ask:
        return Ask(path="/api/v1/runs/continue", body=_advance(answer))


class McpDoor(BenchDoor):
    """The rail's tools."""

    name = "advance by MCP"
    headers: ClassVar[Mapping[str, str]] = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    path = "/mcp/rail"

    def begin(self, stage: BenchStage) -> Ask:
        return self._ask("start_workflow", _beginning(stage))

    def go_on(self, answer: bytes) -> Ask:
        return self._ask("continue_workflow", _advance(answer))

    def _ask(self, tool: str, arguments: dict[str, Any], *, counts: bool = True) -> Ask:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return Ask(path=self.path, body=body, counts=counts)


class NavigationDoor(McpDoor):
    name = "complete_step by MCP"
    path = "/mcp/navigation"

    def begin(self, stage: BenchStage) -> Ask:
        return self._ask("nav_start", {"workflow_id": stage.workflow_id})

    def go_on(self, answer: bytes) -> Ask:
        situation = json.loads(answer).get("result", {}).get("structuredContent", {})
        if not situation.get("success"):
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        state = situation["state"]
        for offer in offers(situation):
            if offer["action"] == "complete_step":
                return self._ask("nav_action", {"state": state, "action": "complete_step", "step_id": offer["step"]})
        return self._ask("nav_action", {"state": state, "action": "advance_loop", "loop_id": LOOP_ID}, counts=False)


class SessionDoor(McpDoor):
    name = "next_activity by MCP"
    path = "/mcp/session"

    def begin(self, stage: BenchStage) -> Ask:
        return self._ask("start_session", {"workflow_id": stage.activities_id})

    def go_on(self, answer: bytes) -> Ask:
        value = json.loads(answer).get("result", {}).get("structuredContent", {})
        if "session_token" not in value:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        here = value.get("id", "")
        done = {"step_manifest": manifest()} if here else {}
        following = {"session_token": value["session_token"], "activity_id": activity_after(here)}
        return self._ask("next_activity", {**following, **done})


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    pid: int


@contextmanager
def web_server(environment: dict[str, str], *, workers: int = 1, threads: int = 8) -> Iterator[Server]:
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", str(_PORT)]
    command += ["--workers", str(workers), "--no-ws", "workrail_site.asgi:application"]
    server = subprocess.Popen(
        command,
        env={**environment, "WORKRAIL_WEB_THREADS": str(threads)},
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_ready(server)
        yield Server(pid=server.pid)
    finally:
        server.terminate()
        server.wait(timeout=30)


def measure_door(*, stage: BenchStage, server: Server, door: BenchDoor, clients: int, seconds: float) -> Figure:
    """`cpu_us` is that of the web server."""
    used = processor_seconds(server.pid)
    latencies, elapsed = asyncio.run(_clients(stage, door, clients, seconds))
    spent = processor_seconds(server.pid)
    return Figure(
        name=door.name,
        clients=clients,
        calls=len(latencies),
        seconds=elapsed,
        latencies_ms=latencies,
        cpu_us=None if used is None or spent is None else (spent - used) / max(len(latencies), 1) * 1e6,
    )


def ratio_in_turns(*, stage: BenchStage, door: BenchDoor, base: BenchDoor, calls: int) -> float:
    """What a call at one door takes over what one at the other takes, at the median."""
    times = asyncio.run(_in_turns(stage, (door, base), calls))
    return statistics.median(times[0]) / statistics.median(times[1])


async def _in_turns(stage: BenchStage, doors: tuple[BenchDoor, BenchDoor], calls: int) -> tuple[list[float], ...]:
    clients = [await _Client.begun(stage, door) for door in doors]
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


async def _clients(stage: BenchStage, door: BenchDoor, clients: int, seconds: float) -> tuple[list[float], float]:
    connections = [await _Client.begun(stage, door) for _ in range(clients)]
    begun = time.perf_counter()
    until = begun + seconds
    results = await asyncio.gather(*(client.work(until) for client in connections))
    return [ms for latencies in results for ms in latencies], time.perf_counter() - begun


async def open_client(stage: BenchStage, door: BenchDoor, *, begins: bool = True) -> "_Client":
    if begins:
        return await _Client.begun(stage, door)
    return _Client(stage, door, await asyncio.open_connection("127.0.0.1", _PORT))


class _Client:
    """One connection that is kept, one run that goes on and on."""

    def __init__(
        self, stage: BenchStage, door: BenchDoor, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        self._stage = stage
        self._door = door
        self._reader, self._writer = streams
        self._answer = b""

    @classmethod
    async def begun(cls, stage: BenchStage, door: BenchDoor) -> "_Client":
        client = cls(stage, door, await asyncio.open_connection("127.0.0.1", _PORT))
        await client.call(door.begin(stage))
        return client

    async def work(self, until: float) -> list[float]:
        latencies = []
        while time.perf_counter() < until:
            latencies.append(await self.step())
        self.close()
        return latencies

    async def step(self) -> float:
        """The milliseconds of one call that counts."""
        while not (ask := self._door.go_on(self._answer)).counts:
            await self.call(ask)
        begun = time.perf_counter()
        await self.call(ask)
        return (time.perf_counter() - begun) * 1e3

    def close(self) -> None:
        self._writer.close()

    async def call(self, ask: Ask) -> int:
        """The status of the answer, which is kept."""
        data = json.dumps(ask.body).encode() if ask.method == "POST" else b""
        headers = {
            "Host": f"127.0.0.1:{_PORT}",
            "Authorization": f"Bearer {self._stage.key}",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
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


def _beginning(stage: BenchStage) -> dict[str, Any]:
    return {"workflowId": stage.workflow_id, "goal": "Measure"}


def _advance(answer: bytes) -> dict[str, Any]:
    """From the tokens of an answer, in whichever of its forms they stand."""
    state, ack = _STATE.search(answer), _ACK.search(answer)
    if state is None or ack is None:
        raise RuntimeError(f"There are no tokens in {answer[:400]!r}")
    return {"stateToken": state[1].decode(), "ackToken": ack[1].decode(), "output": {"notesMarkdown": NOTES}}


def _await_ready(server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _STARTED_WITHIN_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{_PORT}/readyz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("The web server did not become ready.")
