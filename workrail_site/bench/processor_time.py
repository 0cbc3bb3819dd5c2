"""How long the processors have worked for a process and its children, where the system tells it in /proc."""

import os
from pathlib import Path

_PROC = Path("/proc")
# Of what stands behind the name of the program, which may hold blanks itself: utime and stime.
_UTIME, _STIME = 11, 12


def processor_seconds(pid: int) -> float | None:
    """None where there is no such file: the figure is left out then."""
    try:
        ticks = sum(_ticks(each) for each in processes_of(pid))
    except OSError:
        return None
    return ticks / os.sysconf("SC_CLK_TCK")


def processes_of(pid: int) -> list[int]:
    """The process and its children, theirs too. Raises OSError where the system does not tell."""
    found = [pid]
    for thread in (_PROC / str(pid) / "task").iterdir():
        for child in (thread / "children").read_text("utf-8").split():
            found += processes_of(int(child))
    return found


def _ticks(pid: int) -> int:
    fields = (_PROC / str(pid) / "stat").read_text("utf-8").rpartition(")")[2].split()
    return int(fields[_UTIME]) + int(fields[_STIME])
