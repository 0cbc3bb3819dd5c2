"""One stream for what all children print: a line at a time, each under the name of its child."""

import sys
import threading
from typing import TextIO

from workrail_site.local.disk import says_full

_COLOURS = {"web": "36", "worker": "35", "beat": "34", "postgres": "33", "valkey": "33", "prepare": "32"}
_NAME_WIDTH = 8
# What Valkey says as if it were a warning: advice for machines that do nothing else, and that it was asked to stop.
_NOISE = ("Memory overcommit must be enabled", "scheduling shutdown", "ready to exit, bye bye")


class LogStream:
    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._has_colours = out.isatty()
        # Whether one of them has said that its disk is full; whoever fails after that need not guess why.
        self.heard_of_full_disk = False

    def __call__(self, name: str, line: str) -> None:
        self.heard_of_full_disk = self.heard_of_full_disk or says_full(line)
        if line and not _is_noise(name, line):
            self._write(f"{self._label(name)} | {line}\n")

    def _label(self, name: str) -> str:
        padded = name.ljust(_NAME_WIDTH)
        return f"\x1b[{_COLOURS.get(name, '37')}m{padded}\x1b[0m" if self._has_colours else padded

    def _write(self, text: str) -> None:
        with self._lock:
            try:
                self._out.write(text)
                self._out.flush()
            except (BrokenPipeError, ValueError):
                # Whoever read the stream is gone; that is no reason to stop serving.
                return


def _is_noise(name: str, line: str) -> bool:
    """PostgreSQL's own diary stays in the child's tail, for the case that it does not start."""
    return (name == "postgres" and line.startswith("LOG:")) or any(text in line for text in _NOISE)
