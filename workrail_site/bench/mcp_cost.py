"""What the door of MCP costs beside what it leads to: processor time per call, of the same process in the same run."""

from collections.abc import Mapping
from typing import Any, ClassVar

from workrail_site.bench import doors, service
from workrail_site.bench.figures import Figure
from workrail_site.bench.stage import BenchStage

CLIENTS = 8


class BareView(doors.BenchDoor):
    """A view of Django's that asks nobody who it is and reads no table."""

    name = "a bare view"

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return self.go_on(b"")

    def go_on(self, answer: bytes) -> doors.Ask:  # noqa: ARG002  the door's signature
        return doors.Ask(method="GET", path="/.well-known/workrail-signing-keys", body={})


class TrivialTool(doors.McpDoor):
    """A tool that tells how many workflows there are."""

    name = "health_check by MCP"
    path = "/mcp/navigation"
    headers: ClassVar[Mapping[str, str]] = doors.McpDoor.headers

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return self._ask("health_check", {})

    def go_on(self, answer: bytes) -> doors.Ask:
        if b'"result"' not in answer:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        return self._ask("health_check", {})


def measure_costs(*, stage: BenchStage, server: doors.Server, seconds: float) -> list[tuple[Figure, Figure]]:
    """Each figure of the door with the one that it is held against."""

    def at(door: doors.BenchDoor) -> Figure:
        return doors.measure_door(stage=stage, server=server, door=door, clients=CLIENTS, seconds=seconds)

    bare = at(BareView())
    in_process = service.measure_service(stage=stage, walk=service.advancing(), clients=1, seconds=seconds)
    return [
        (at(TrivialTool()), bare),
        (at(doors.McpDoor()), in_process),
        (at(doors.RestDoor()), in_process),
    ]


def cost_table(found: list[tuple[Figure, Figure]]) -> str:
    """Without /proc there is no processor time, and no row."""
    rows = [f"{'':28}{'CPU us':>9}{'against':>30}{'CPU us':>9}{'ratio':>8}"]
    for ours, base in found:
        if ours.cpu_us and base.cpu_us:
            ratio = ours.cpu_us / base.cpu_us
            rows.append(f"{ours.name:28}{ours.cpu_us:>9.0f}{base.name:>30}{base.cpu_us:>9.0f}{ratio:>8.2f}")
    return "\n".join(rows)


def as_json(found: list[tuple[Figure, Figure]]) -> list[dict[str, Any]]:
    return [{"name": ours.name, "cpuUs": ours.cpu_us, "base": base.name, "baseUs": base.cpu_us} for ours, base in found]
