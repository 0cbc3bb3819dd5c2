"""Storms: agents and a person at work, something dies, and afterwards what they were answered is held against what is stored."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg

from workrail_site.local.problems import SetupProblem
from workrail_site.storms.callers import AGENTS, StormCall, StormCaller, StormPerson, all_answered
from workrail_site.storms.faults import FaultKind, drawn, kinds_of
from workrail_site.storms.site import StormSite
from workrail_site.storms.stage import StormStage

# So much is answered between two kills.
_CALLS_BETWEEN = (3, 25)
_NAP_SECONDS = 0.1
# Nobody is judged by time; but who is not answered for so long will not be.
_PATIENCE_SECONDS = 300.0
_REPEATERS = 4

Tell = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class StormReport:
    """What was killed and what came of it. A storm without findings lost nothing, doubled nothing and answered nothing twice
    otherwise.
    """

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    storms: int = 0
    answered: int = 0
    reads: int = 0
    by_person: int = 0
    failures: int = 0
    repeats: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "kills": dict(self.kills), "restarts": dict(self.restarts)}

    def told(self) -> str:
        lines = [f"{count:6}  {name}" for name, count in self.kills.most_common()]
        lines += [f"     -  {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join(
            (
                f"{self.kills.total()} kills in {self.storms} storms, seed {self.seed}:",
                *lines,
                f"{self.answered} calls were acknowledged, beside {self.reads} that read, and {self.by_person} answers of a person.",
                f"{self.failures} calls were not answered and came again; {self.repeats} that were answered came again.",
                f"{len(self.findings)} findings.",
                *self.findings,
            )
        )


def live_through(
    *,
    site: StormSite,
    stage: StormStage,
    kills: int,
    at_a_time: int,
    seed: int,
    tell: Tell,
    seconds: float | None = None,
) -> StormReport:
    """So many kills, in storms of `at_a_time`; after each storm everything is judged. `seconds` ends it early, between two."""
    chance, seen = random.Random(seed), StormReport(seed=seed, skipped=site.skipped)
    kinds, began = kinds_of(site), time.monotonic()
    callers = _callers(site, stage, seed)
    while seen.kills.total() < kills and (seconds is None or time.monotonic() - began < seconds):
        seen.storms += 1
        count = min(at_a_time, kills - seen.kills.total())
        with_threads = _at_work(callers)
        try:
            for _ in range(count):
                _await_work(site, callers, seen, chance.randint(*_CALLS_BETWEEN))
                _strike(site, seen, drawn(kinds, chance, number=seen.kills.total()), chance, tell)
        finally:
            _come_home(site, seen, callers, with_threads)
        _judge(site, seen, callers, tell)
        _add_up(seen, callers)
        tell(
            f"storm {seen.storms}: {seen.kills.total()} kills, {seen.answered} calls acknowledged, {len(seen.findings)} findings"
        )
    return seen


def _callers(site: StormSite, stage: StormStage, seed: int) -> list[StormCaller]:
    agents: list[StormCaller] = [
        AGENTS[number % len(AGENTS)](
            name=f"Agent {number}",
            port=site.port,
            key=key,
            chance=random.Random(seed + number + 1),
        )
        for number, key in enumerate(stage.keys)
    ]
    person = StormPerson(name="Person", port=site.port, key=stage.token, chance=random.Random(seed))
    return [*agents, person]


def _at_work(callers: Sequence[StormCaller]) -> list[threading.Thread]:
    threads = [threading.Thread(target=caller.run, daemon=True) for caller in callers]
    for caller, thread in zip(callers, threads, strict=True):
        caller.stop.clear()
        thread.start()
    return threads


def _strike(site: StormSite, seen: StormReport, kind: FaultKind, chance: random.Random, tell: Tell) -> None:
    try:
        said = kind.do(site, chance)
    except psycopg.OperationalError as error:
        # It was dead already, or is not there yet: that is what the storm is about.
        said = f"{kind.name} found no PostgreSQL: {str(error).splitlines()[0]}"
    seen.kills[kind.name] += 1
    seen.restarts.update(site.revive())
    tell(f"{seen.kills.total():5}  {said}")


def _await_work(site: StormSite, callers: Sequence[StormCaller], seen: StormReport, calls: int) -> None:
    """Until so many more are answered; what is dead is started again meanwhile."""
    until, deadline = _acknowledged(callers) + calls, time.monotonic() + _PATIENCE_SECONDS
    while _acknowledged(callers) < until:
        seen.restarts.update(site.revive())
        if time.monotonic() > deadline:
            raise SetupProblem(
                f"nothing was answered for {_PATIENCE_SECONDS:.0f} seconds after {seen.kills.total()} kills",
                next_move="look at what the processes have printed",
            )
        time.sleep(_NAP_SECONDS)


def _acknowledged(callers: Sequence[StormCaller]) -> int:
    return sum(len(caller.ledger.answered) for caller in callers)


def _come_home(
    site: StormSite, seen: StormReport, callers: Sequence[StormCaller], threads: Sequence[threading.Thread]
) -> None:
    """Each caller finishes the call that it is in."""
    for caller in callers:
        caller.stop.set()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while any(thread.is_alive() for thread in threads):
        seen.restarts.update(site.revive())
        if time.monotonic() > deadline:
            raise SetupProblem(
                "a call was never answered after a storm", next_move="look at what the processes have printed"
            )
        time.sleep(_NAP_SECONDS)


# Judging


def _judge(site: StormSite, seen: StormReport, callers: Sequence[StormCaller], tell: Tell) -> None:
    tell("judging: every acknowledged call once more, the log, verify_store")
    _repeat_all(callers)
    stored = site.notes()
    answered = [(caller, ask) for caller, ask, _ in all_answered(callers) if not _begins(ask)]
    for caller, ask in answered:
        found = stored.get(ask.note, 0)
        if found != 1:
            what = "lost" if found == 0 else f"recorded {found} times"
            seen.findings.append(f"an acknowledged advance was {what}: {caller.name}, {ask.note!r}")
    doubled = [note for note, count in stored.items() if count > 1]
    seen.findings.extend(f"notes are there {stored[note]} times: {note!r}" for note in doubled)
    unsound = site.unsound()
    if unsound:
        seen.findings.append(f"verify_store: {unsound}")


def _begins(ask: StormCall) -> bool:
    """The start of a run has no notes; a second one under the same key is answered the first."""
    return ask.path == "/api/v1/runs"


def _repeat_all(callers: Sequence[StormCaller]) -> None:
    threads = [threading.Thread(target=_repeat, args=[caller], daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _repeat(caller: StormCaller) -> None:
    for ask, digest in caller.ledger.answered:
        caller.repeat(ask, digest)


def _add_up(seen: StormReport, callers: Sequence[StormCaller]) -> None:
    """What the callers have kept is judged, and forgotten; a person's answers too."""
    for caller in callers:
        caller.hang_up()
        ledger = caller.ledger
        seen.answered += len(ledger.answered)
        seen.reads += ledger.reads
        seen.failures += ledger.failures
        seen.repeats += ledger.repeats
        seen.findings.extend(_told_of(ledger.differing, "a repeated call was answered otherwise"))
        seen.findings.extend(_told_of(ledger.defects, "a call met a defect"))
        seen.findings.extend(_told_of(ledger.refusals, "a call was refused"))
        if isinstance(caller, StormPerson):
            seen.by_person += caller.answers
            caller.answers = 0
        caller.ledger = type(ledger)()


def _told_of(found: Sequence[str], what: str) -> Iterator[str]:
    return (f"{what}: {each}" for each in found)
