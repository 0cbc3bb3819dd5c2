"""Starts again what died, later each time. Whatever else runs goes on meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, field

from workrail_site.local.disk import says_full
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, describe_end, stop_together
from workrail_site.local.venvs import say

# One that ran for so long had not died of what killed it before.
STEADY_SECONDS = 60.0
# Then something is wrong that starting again does not mend.
MOST_DEATHS = 8
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0

Start = Callable[[], Child]


@dataclass(slots=True, kw_only=True)
class _Watched:
    """`children` is the list that ends it with the others; the child keeps its place in it."""

    children: list[Child]
    place: int
    start: Start
    born_s: float
    deaths: int = 0
    due_s: float | None = None

    @property
    def child(self) -> Child:
        return self.children[self.place]


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """For the main thread: the kernel's parent-death signal follows the thread that forked."""

    watched: list[_Watched] = field(default_factory=list)

    def add(self, children: list[Child], place: int, start: Start, *, now_s: float) -> None:
        self.watched.append(_Watched(children=children, place=place, start=start, born_s=now_s))

    def look(self, *, now_s: float) -> None:
        """Raises a SetupProblem when something keeps dying."""
        for each in self.watched:
            if each.due_s is not None:
                if now_s >= each.due_s:
                    self._start(each, now_s)
            elif not each.child.is_alive:
                self._died(each, describe_end(each.child), now_s)

    def _died(self, each: _Watched, how: str, now_s: float) -> None:
        child = each.child
        # What it started in turn must not stay behind with its port or its files.
        stop_together([child], grace_seconds=0)
        if says_full(child.last_lines()):
            raise SetupProblem(
                f"{child.name} {how}. Its last lines:\n{child.last_lines()}", next_move="free some space on its disk"
            )
        each.deaths = 1 if now_s - each.born_s > STEADY_SECONDS else each.deaths + 1
        if each.deaths > MOST_DEATHS:
            raise SetupProblem(
                f"{child.name} {how}, {each.deaths} times in a row, so everything was stopped. Its last lines:\n"
                f"{child.last_lines()}",
                next_move="see the lines above; ./workrail doctor checks the set-up, ./workrail up starts again",
            )
        wait = min(_FIRST_WAIT_SECONDS * 2 ** (each.deaths - 1), _LONGEST_WAIT_SECONDS)
        each.due_s = now_s + wait
        say(f"{child.name} {how}; it is started again in {wait:g} s, the others go on")

    def _start(self, each: _Watched, now_s: float) -> None:
        each.due_s, each.born_s = None, now_s
        try:
            each.children[each.place] = each.start()
        except SetupProblem as problem:
            self._died(each, f"did not start ({problem.message.splitlines()[0]})", now_s)
