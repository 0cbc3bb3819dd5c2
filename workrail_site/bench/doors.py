"""REST and MCP over real sockets against a web server of its own, as `up` starts it."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from workrail_site.bench.figures import Figure
from workrail_site.bench.stage import NOTES, Stage

_STATE = re.compile(rb'\\?"stateToken\\?": ?\\?"(st\.v1\.[0-9a-z]+)')
_ACK = re.compile(rb'\\?"ackToken\\?": ?\\?"(ack\.v1\.[0-9a-z]+)')
_PORT = 8971
_STARTED_WITHIN_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """How one door is asked to begin and to advance."""

    name: str
    path: str
    headers: dict[str, str]

    def start(self, stage: Stage) -> dict[str, object]:
        params: dict[str, object] = {"workflowId": stage.workflow_id, "goal": "Measure"}
        return self._wrapped("start_workflow", params)

    def advance(self, state: str, ack: str) -> dict[str, object]:
        params: dict[str, object] = {"stateToken": state, "ackToken": ack, "output": {"notesMarkdown": NOTES}}
        return self._wrapped("continue_workflow", params)

    def _wrapped(self, tool: str, params: dict[str, object]) -> dict[str, object]:
        if self.name == "REST":
            return params
        return {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": params},
        }

    def path_of(self, *, starts: bool) -> str:
        if self.name != "REST":
            return self.path
        return self.path if starts else f"{self.path}/continue"


def rest_door() -> Door:
    return Door(name="REST", path="/api/v1/runs", headers={})


def mcp_door() -> Door:
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    return Door(name="MCP", path="/mcp/rail", headers=headers)


@contextmanager
def web_server(environment: dict[str, str], *, threads: int = 8) -> Iterator[None]:
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", str(_PORT)]
    command += ["--workers", "1", "--no-ws", "workrail_site.asgi:application"]
    server = subprocess.Popen(
        command,
        env={**environment, "WORKRAIL_WEB_THREADS": str(threads)},
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_ready(server)
        yield
    finally:
        server.terminate()
        server.wait(timeout=30)


def measure_door(*, stage: Stage, door: Door, clients: int, seconds: float) -> Figure:
    latencies, elapsed = asyncio.run(_clients(stage, door, clients, seconds))
    return Figure(name=door.name, clients=clients, calls=len(latencies), seconds=elapsed, latencies_ms=latencies)


async def _clients(stage: Stage, door: Door, clients: int, seconds: float) -> tuple[list[float], float]:
    connections = [await _Client.open(stage, door) for _ in range(clients)]
    for client in connections:
        await client.begin()
    begun = time.perf_counter()
    until = begun + seconds
    results = await asyncio.gather(*(client.work(until) for client in connections))
    return [ms for latencies in results for ms in latencies], time.perf_counter() - begun


class _Client:
    """One connection that is kept, one run that goes on and on."""

    def __init__(self, stage: Stage, door: Door, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self.stage = stage
        self.door = door
        self.reader, self.writer = streams
        self.state = self.ack = ""

    @classmethod
    async def open(cls, stage: Stage, door: Door) -> "_Client":
        return cls(stage, door, await asyncio.open_connection("127.0.0.1", _PORT))

    async def begin(self) -> None:
        self._take(await self._call(self.door.path_of(starts=True), self.door.start(self.stage)))

    async def work(self, until: float) -> list[float]:
        latencies = []
        path = self.door.path_of(starts=False)
        while (begun := time.perf_counter()) < until:
            self._take(await self._call(path, self.door.advance(self.state, self.ack)))
            latencies.append((time.perf_counter() - begun) * 1e3)
        self.writer.close()
        return latencies

    def _take(self, body: bytes) -> None:
        state, ack = _STATE.search(body), _ACK.search(body)
        if state is None or ack is None:
            raise RuntimeError(f"{self.door.name} answered no tokens: {body[:400]!r}")
        self.state, self.ack = state[1].decode(), ack[1].decode()

    async def _call(self, path: str, body: dict[str, object]) -> bytes:
        data = json.dumps(body).encode()
        headers = {
            "Host": f"127.0.0.1:{_PORT}",
            "Authorization": f"Bearer {self.stage.key}",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **self.door.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + data)
        return await self._answer()

    async def _answer(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if length is not None:
            return await self.reader.readexactly(int(length[1]))
        parts = []
        while size := int((await self.reader.readline()).strip() or b"0", 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readline()
        return b"".join(parts)


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
