"""Whether the web server keeps memory: what it has after the first calls, and after so many as some hours bring."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workrail_site.bench.clients import BenchClient
from workrail_site.bench.doors import BenchDoor
from workrail_site.bench.every_call import agents_doors
from workrail_site.bench.processor_time import processes_of
from workrail_site.bench.stage import BenchStage
from workrail_site.bench.web import Server

_MEBIBYTE = 1024 * 1024
_WARM_CALLS = 50
_LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHeld:
    """What the processes of the web server hold, what they share counted once."""

    calls: int
    memory_bytes: int


def measure_memory(*, stage: BenchStage, server: Server, calls: int) -> list[MemoryHeld]:
    """Calls of all kinds that agents make, in turns; looked at after the first of each and then at equal distances.

    Empty where the system tells no memory in /proc.
    """
    if memory_bytes(server.pid) is None:
        return []
    return asyncio.run(_measured(stage, server, calls, agents_doors()))


async def _measured(stage: BenchStage, server: Server, calls: int, doors: Sequence[BenchDoor]) -> list[MemoryHeld]:
    clients = [await BenchClient.begun(stage, door, port=server.port) for door in doors]
    for client in clients:
        for _ in range(min(_WARM_CALLS, max(1, calls // _LOOKS // len(doors)))):
            await client.step()
    found = [_held(server, 0)]
    done = 0
    while done < calls:
        await clients[done % len(clients)].step()
        done += 1
        if done == calls or done % max(1, calls // _LOOKS) == 0:
            found.append(_held(server, done))
    for client in clients:
        client.close()
    return found


def _held(server: Server, calls: int) -> MemoryHeld:
    return MemoryHeld(calls=calls, memory_bytes=memory_bytes(server.pid) or 0)


def memory_bytes(pid: int) -> int | None:
    """Of a process and its children; None where there is no such file."""
    try:
        return sum(_proportional_bytes(each) for each in processes_of(pid))
    except OSError:
        return None


def _proportional_bytes(pid: int) -> int:
    lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def memory_table(found: Sequence[MemoryHeld]) -> str:
    if not found:
        return "This system does not tell in /proc what a process holds."
    first = found[0].memory_bytes
    rows = [f"{'calls':>10}{'MiB':>10}{'more':>10}"]
    rows += [
        f"{each.calls:>10}{each.memory_bytes / _MEBIBYTE:>10.1f}{(each.memory_bytes - first) / _MEBIBYTE:>10.1f}"
        for each in found
    ]
    return "\n".join(rows)


def as_json(found: Sequence[MemoryHeld]) -> list[dict[str, int]]:
    return [{"calls": each.calls, "memoryBytes": each.memory_bytes} for each in found]
