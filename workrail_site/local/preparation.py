"""Runs `workrail_site.local.prepare` and hears what it says: what it changes goes on the stream, the outcome does not."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workrail_site.local.outcome import CommandOutcome, read_outcome
from workrail_site.local.places import Places
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LineSink, LocalProgram, start, stop_together

_GRACE_SECONDS = 25


class _Listener:
    def __init__(self, sink: LineSink) -> None:
        self._sink = sink
        self.outcome: CommandOutcome | None = None

    def __call__(self, name: str, line: str) -> None:
        found = read_outcome(line)
        if found is not None:
            self.outcome = found
        elif line.startswith("  Applying"):
            self._sink(name=name, line=line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    child: Child
    listener: _Listener

    def wait(self) -> CommandOutcome:
        self.child.process.wait()
        lines = self.child.last_lines()
        if self.listener.outcome is None:
            raise SetupProblem(
                f"the database could not be prepared; the last lines were:\n{lines}",
                next_move="./workrail doctor checks the servers and the migrations",
            )
        return self.listener.outcome


@contextlib.contextmanager
def preparing(python: str, *, environ: Mapping[str, str], places: Places, sink: LineSink) -> Iterator[Preparation]:
    listener = _Listener(sink)
    command = [python, "-m", "workrail_site.local.prepare"]
    child = start(LocalProgram(name="prepare", command=command, environ=environ, folder=places.checkout), sink=listener)
    try:
        yield Preparation(child=child, listener=listener)
    finally:
        stop_together([child], grace_seconds=_GRACE_SECONDS)
