"""The children of the starter: started so that none outlives it, watched, and ended in order."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from workrail_site.local import guard
from workrail_site.local.accounts import Account
from workrail_site.local.problems import SetupProblem

_TAIL_LINES = 25
_POLL_SECONDS = 0.02


class LineSink(Protocol):
    """Takes one line of a child's output."""

    def __call__(self, name: str, line: str) -> None: ...


def ignore_line(name: str, line: str) -> None:
    """For servers whose output is only wanted when they fail: the tail of the child keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    name: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals
    pump: threading.Thread
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_lines(self) -> str:
        self.pump.join(timeout=1)
        return "\n".join(f"    {line}" for line in self.tail) or "    (it printed nothing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProgram:
    """What to run. The stop signal is also what the kernel sends when the starter is killed, unless another one is named."""

    name: str
    command: Sequence[str]
    environ: Mapping[str, str]
    folder: Path
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals | None = None
    account: Account | None = None


def start(program: LocalProgram, *, sink: LineSink) -> Child:
    """Call from the main thread only: the kernel's parent-death signal follows the thread that forked."""
    process = subprocess.Popen(
        [*_guarded(program), *program.command[1:]],
        cwd=program.folder,
        env=dict(program.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A session of its own: Ctrl-C in the terminal reaches the starter alone, which then ends the rest in order.
        start_new_session=True,
    )
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    pump = threading.Thread(target=_pump, args=(program.name, process.stdout, tail, sink), daemon=True)
    pump.start()
    return Child(name=program.name, process=process, stop_signal=program.stop_signal, pump=pump, tail=tail)


def _guarded(program: LocalProgram) -> list[str]:
    executable = shutil.which(program.command[0], path=program.environ.get("PATH"))
    if executable is None:
        raise SetupProblem(
            f"{program.command[0]}, which runs the {program.name}, is missing.",
            next_move="./workrail doctor says what is wrong with the environment",
        )
    return guarded(executable, died_with=program.death_signal or program.stop_signal, account=program.account)


def guarded(executable: str, *, died_with: signal.Signals, account: Account | None) -> list[str]:
    """What starts the program so that it ends when this process does; its arguments come after it."""
    uid, gid = (account.uid, account.gid) if account else (guard.KEEP_ACCOUNT,) * 2
    numbers = [str(number) for number in (os.getpid(), died_with.value, uid, gid)]
    return [sys.executable, "-I", "-S", guard.__file__, *numbers, executable]


def _pump(name: str, stream: IO[bytes] | None, tail: deque[str], sink: LineSink) -> None:
    if stream is None:
        return
    with stream:
        for raw in stream:
            line = raw.decode(errors="replace").rstrip()
            tail.append(line)
            sink(name=name, line=line)


def first_ended(children: Iterable[Child]) -> Child | None:
    return next((child for child in children if not child.is_alive), None)


def stop_together(children: Sequence[Child], *, grace_seconds: float, hurry: threading.Event | None = None) -> None:
    """Asks all at once and waits; the grace is shared, and `hurry` (a second Ctrl-C) ends it early.

    Afterwards the whole session of each is killed, also after a clean end: what a child started in turn must not stay
    behind with its port or its files.
    """
    for child in children:
        if child.is_alive:
            _signal(child.process.pid, child.stop_signal)
    deadline = time.monotonic() + grace_seconds
    hurry = hurry or threading.Event()
    while any(child.is_alive for child in children) and time.monotonic() < deadline:
        if hurry.wait(_POLL_SECONDS):
            break
    for child in children:
        _signal_group(child.process.pid, signal.SIGKILL)
        child.process.wait()
        child.pump.join(timeout=1)


def describe_end(child: Child) -> str:
    code = child.process.returncode
    if code is None:
        return "is running"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return
