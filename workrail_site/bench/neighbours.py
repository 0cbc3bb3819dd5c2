"""What one team notices when another floods the server: its own calls, alone and beside so many that never pause."""

import asyncio
import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from django.utils import timezone

from teams_app.engine.actors import Scope
from teams_app.services.keys import issue_key
from teams_app.services.teams import found_team
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services.publishing import publish_revision
from workflows_app.services.workflows import create_workflow
from workrail_site.bench.clients import BenchClient
from workrail_site.bench.doors import BenchDoor
from workrail_site.bench.figures import Figure
from workrail_site.bench.stage import BenchStage, endless_document
from workrail_site.bench.web import Server

_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What the flood was answered: how often in all, and with which status."""

    statuses: dict[int, int]

    def told(self) -> str:
        return ", ".join(f"{count} times {status}" for status, count in sorted(self.statuses.items()))


def second_team(stage: BenchStage) -> BenchStage:
    """Another team with the same workflow and a key of its own."""
    now = timezone.now()
    owner = replace(stage.owner, team_id=found_team(actor=stage.owner, name="Neighbours", now=now).id)
    source = Source(format=SourceFormat.STEPS_JSON, files={"endless.json": json.dumps(endless_document()).encode()})
    saved = create_workflow(actor=owner, source=source, message="", now=now)
    publish_revision(actor=owner, workflow_id=stage.workflow_id, number=saved.revision.number, base=None, now=now)
    issued = issue_key(actor=owner, name="neighbour", scopes=frozenset(Scope), expires_at=None, now=now)
    return replace(stage, key=issued.text)


def measure_neighbours(
    *, quiet: BenchStage, loud: BenchStage, server: Server, door: BenchDoor, clients: int, seconds: float
) -> tuple[Sequence[Figure], Noise]:
    """The quiet team's calls without and with the flood, which comes from another process: it must not hold up the clock."""
    alone = asyncio.run(_walk(quiet, server, door, seconds))
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("fork")) as apart:
        flood = apart.submit(_flooded, loud, server, door, clients, seconds + 2)
        # The flood is under way before anything is measured.
        time.sleep(1)
        beside = asyncio.run(_walk(quiet, server, door, seconds))
        statuses = flood.result()
    figures = (
        Figure(name=f"{door.name}, alone", clients=1, calls=len(alone), seconds=seconds, latencies_ms=alone),
        Figure(name=f"{door.name}, beside a flood", clients=1, calls=len(beside), seconds=seconds, latencies_ms=beside),
    )
    return figures, Noise(statuses=statuses)


def _flooded(loud: BenchStage, server: Server, door: BenchDoor, clients: int, seconds: float) -> dict[int, int]:
    async def all_at_once() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(_flood(loud, server, door, until, statuses) for _ in range(clients)))

    statuses: dict[int, int] = {}
    asyncio.run(all_at_once())
    return statuses


async def _walk(stage: BenchStage, server: Server, door: BenchDoor, seconds: float) -> list[float]:
    """As an agent does, with a pause after each answer."""
    client = await BenchClient.begun(stage, door, port=server.port)
    latencies = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        latencies.append(await client.step())
        await asyncio.sleep(_PAUSE_SECONDS)
    client.close()
    return latencies


async def _flood(stage: BenchStage, server: Server, door: BenchDoor, until: float, statuses: dict[int, int]) -> None:
    """The same request over and over, whatever is answered."""
    client = await BenchClient.opened(stage, door, port=server.port)
    ask = door.begin(stage)
    while time.perf_counter() < until:
        status = await client.call(ask)
        statuses[status] = statuses.get(status, 0) + 1
    client.close()
