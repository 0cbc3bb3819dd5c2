"""Runs simulated histories of agents and people with every fault, by seed, and prints the first that breaks a promise.

Nothing of the installation is read or written: the store is in memory.
"""

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workrail_site.simulation.seeds import STEPS, History, Plot, live, shortened

_TOLD_EVERY = 1_000
# So many findings are made shorter and printed; of the others their seeds are told.
_PRINTED = 3


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seeds", type=int, default=20_000, help="how many")
        parser.add_argument("--first", type=int, default=0, help="the first of them")
        parser.add_argument("--steps", type=int, default=STEPS, help="calls of each history, beside those in between")
        parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
        parser.add_argument("--json", type=Path, help="a file for what was seen")
        parser.add_argument("--transcript", action="store_true", help="print each history, call by call")

    def handle(self, *_args: Any, **options: Any) -> None:
        plots = [
            Plot(seed=seed, steps=options["steps"])
            for seed in range(options["first"], options["first"] + options["seeds"])
        ]
        seen = _Seen()
        for history in _histories(plots, options["processes"]):
            seen.add(history)
            if history.finding:
                # At once: a long search may be interrupted.
                self.stdout.write(f"seed {history.plot.seed}: {history.finding}")
            if options["transcript"]:
                self.stdout.write("\n".join(history.transcript))
            if seen.histories % _TOLD_EVERY == 0:
                self.stdout.write(f"{seen.histories} histories, {len(seen.findings)} findings")
        self.stdout.write(seen.told())
        if options["json"] is not None:
            options["json"].write_text(json.dumps(seen.as_json(), indent=2) + "\n", "utf-8")
        self._tell(seen.findings)

    def _tell(self, findings: list[History]) -> None:
        if not findings:
            self.stdout.write("No promise was broken.")
            return
        for finding in findings[:_PRINTED]:
            short = shortened(finding)
            self.stdout.write(f"\n{short.told()}\nKeep it as a line of tests/properties/kept_seeds.json:")
            self.stdout.write(json.dumps(short.plot.as_json() | {"found": short.finding}))
        seeds = ", ".join(str(finding.plot.seed) for finding in findings)
        raise CommandError(f"{len(findings)} histories broke a promise: seeds {seeds}.")


def _histories(plots: list[Plot], processes: int) -> Iterator[History]:
    if processes == 1:
        yield from map(live, plots)
        return
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap(live, plots, chunksize=10)


class _Seen:
    def __init__(self) -> None:
        self.histories = self.calls = self.repeats = self.transitions = 0
        self.faults: Counter[str] = Counter()
        self.findings: list[History] = []

    def add(self, history: History) -> None:
        self.histories += 1
        self.calls += history.calls
        self.repeats += history.repeats
        self.transitions += history.transitions
        self.faults.update({fault.value: count for fault, count in history.faults.items()})
        if history.finding:
            self.findings.append(history)

    def told(self) -> str:
        lines: Iterable[str] = (f"{count:10,}  {name}" for name, count in self.faults.most_common())
        return (
            f"{self.histories:,} histories: {self.calls:,} calls, of which {self.repeats:,} came again, and "
            f"{self.transitions:,} transitions.\n" + "\n".join(lines)
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "histories": self.histories,
            "calls": self.calls,
            "repeats": self.repeats,
            "transitions": self.transitions,
            "faults": dict(self.faults),
            "findings": [each.plot.as_json() | {"found": each.finding} for each in self.findings],
        }
