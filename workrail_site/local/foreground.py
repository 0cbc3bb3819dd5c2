"""Runs a command that has the terminal to itself, while servers run for it in the background."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def run_in_foreground(command: Sequence[str], *, environ: Mapping[str, str], folder: Path | None = None) -> int:
    """Leaves the terminal, and Ctrl-C, to the command. What was started for it ends after it, however it ends."""
    with subprocess.Popen(command, env=dict(environ), cwd=folder) as process, _signals_for(process):
        return process.wait()


@contextlib.contextmanager
def _signals_for(process: subprocess.Popen[bytes]) -> Iterator[None]:
    def wait_for_command(_number: int, _frame: object) -> None:
        """The terminal has sent it to the command as well."""

    def pass_on(number: int, _frame: object) -> None:
        process.send_signal(number)

    wanted = {signal.SIGINT: wait_for_command, signal.SIGTERM: pass_on, signal.SIGHUP: pass_on}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
