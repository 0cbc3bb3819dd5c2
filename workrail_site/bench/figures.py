"""Figures of one run, printed as ratios: absolute ones say more about the machine than about the code."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one way of doing the work reached with so many clients. `cpu_us` is this side's processor time per call."""

    name: str
    clients: int
    calls: int
    seconds: float
    latencies_ms: Sequence[float] = ()
    cpu_us: float | None = None

    @property
    def rate(self) -> float:
        return self.calls / self.seconds if self.seconds else 0.0

    def percentile(self, percent: int) -> float | None:
        if len(self.latencies_ms) < 2:
            return None
        return statistics.quantiles(self.latencies_ms, n=100, method="inclusive")[percent - 1]


def table(figures: Sequence[Figure], *, base: str) -> str:
    """A row for each figure; the ratio is to the rate of `base` with as many clients."""
    bases = {figure.clients: figure.rate for figure in figures if figure.name == base}
    head = f"{'':34}{'clients':>8}{'per s':>10}{'ratio':>8}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'CPU us':>9}"
    return "\n".join([head, *(_row(figure, bases.get(figure.clients)) for figure in figures)])


def as_json(figures: Sequence[Figure]) -> list[dict[str, object]]:
    """The same for programs: rates and times are this machine's, so compare those of one run."""
    return [
        {
            "name": figure.name,
            "clients": figure.clients,
            "calls": figure.calls,
            "perSecond": figure.rate,
            "p50Ms": figure.percentile(50),
            "p95Ms": figure.percentile(95),
            "p99Ms": figure.percentile(99),
            "cpuUs": figure.cpu_us,
        }
        for figure in figures
    ]


def _row(figure: Figure, base: float | None) -> str:
    ratio = f"{figure.rate / base:.2f}" if base else ""
    cells = [_number(figure.percentile(percent), "{:.2f}") for percent in (50, 95, 99)]
    cpu = _number(figure.cpu_us, "{:.0f}")
    return (
        f"{figure.name:34}{figure.clients:>8}{figure.rate:>10.0f}{ratio:>8}"
        f"{cells[0]:>9}{cells[1]:>9}{cells[2]:>9}{cpu:>9}"
    )


def _number(value: float | None, shape: str) -> str:
    return "" if value is None else shape.format(value)


def best_seconds(work: Callable[[], object], *, rounds: int) -> float:
    """The quickest of some rounds: what the work takes when nothing else wants the machine."""
    quickest = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        quickest = min(quickest, time.perf_counter() - begun)
    return quickest
