"""Histories by seed: run, told when one breaks a promise, and made shorter so that somebody can read it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workrail_site.simulation.faults import Chance, SimulatedFault
from workrail_site.simulation.store import MemoryStore
from workrail_site.simulation.tables import BrokenConstraintError
from workrail_site.simulation.truth import Truth
from workrail_site.simulation.workflows import shelf
from workrail_site.simulation.world import FindingError, World

STEPS = 60

MakeStore = Callable[..., MemoryStore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What a history is told by: the same plot is the same history."""

    seed: int
    steps: int = STEPS
    without: frozenset[SimulatedFault] = frozenset()

    def as_json(self) -> dict[str, Any]:
        return {"seed": self.seed, "steps": self.steps, "without": sorted(fault.name for fault in self.without)}


def plot_from(data: Mapping[str, Any]) -> Plot:
    return Plot(
        seed=data["seed"],
        steps=data["steps"],
        without=frozenset(SimulatedFault[name] for name in data.get("without", ())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What came of a plot. `finding` is empty where every promise was kept."""

    plot: Plot
    digest: str
    finding: str
    transcript: tuple[str, ...]
    transitions: int
    faults: Mapping[SimulatedFault, int]
    calls: int
    repeats: int

    def told(self) -> str:
        """For whoever looks for the fault."""
        lines = "\n".join(self.transcript)
        left_out = f", without {', '.join(sorted(self.plot.without))}" if self.plot.without else ""
        return f"Seed {self.plot.seed}, {self.plot.steps} steps{left_out}: {self.finding}\n{lines}"


def live(plot: Plot, *, make_store: MakeStore = MemoryStore) -> History:
    """One history. Whatever a service raises that no caller can mend is a finding too."""
    kept = shelf()
    store = make_store(published=kept.published, programs=kept.programs)
    world = World(chance=Chance(seed=plot.seed, without=plot.without), store=store, watch=Truth(store=store))
    finding = ""
    try:
        world.run(plot.steps)
    except (FindingError, BrokenConstraintError) as error:
        finding = str(error)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        finding = f"{type(error).__name__}: {error}"
    return History(
        plot=plot,
        digest=world.digest,
        finding=finding,
        transcript=tuple(world.transcript),
        transitions=store.transitions,
        faults=dict(world.chance.happened),
        calls=sum(request.deliveries for request in world.requests),
        repeats=sum(request.deliveries - 1 for request in world.requests if request.deliveries),
    )


def live_all(seeds: Iterable[int], *, make_store: MakeStore = MemoryStore) -> Iterator[History]:
    return (live(Plot(seed=seed), make_store=make_store) for seed in seeds)


def shortened(history: History, *, make_store: MakeStore = MemoryStore) -> History:
    """The same finding, or another, in fewer steps and with fewer kinds of faults."""
    shortest = history
    for fault in SimulatedFault:
        shortest = _if_still(
            shortest,
            Plot(seed=history.plot.seed, steps=shortest.plot.steps, without=shortest.plot.without | {fault}),
            make_store,
        )
    low, high = 0, shortest.plot.steps
    while high - low > 1:
        middle = (low + high) // 2
        plot = Plot(seed=history.plot.seed, steps=middle, without=shortest.plot.without)
        found = _if_still(shortest, plot, make_store)
        low, high = (low, middle) if found.plot == plot else (middle, high)
        shortest = found
    return shortest


def _if_still(history: History, plot: Plot, make_store: MakeStore) -> History:
    found = live(plot, make_store=make_store)
    return found if found.finding else history
