"""One user at a time for the embedded servers: a lock that the kernel gives back when its holder dies, however it dies."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from workrail_site.local.problems import SetupProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimHolder:
    """Who uses the data, for whoever comes second."""

    pid: int
    command: str
    url: str = ""
    database_url: str = ""
    redis_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    file: IO[str]
    # Who held it last, if that one did not give it back: it was killed, and may have left things behind.
    killed: ClaimHolder | None

    def write(self, holder: ClaimHolder) -> None:
        self.file.seek(0)
        self.file.truncate()
        json.dump(asdict(holder), self.file)
        self.file.flush()


@contextlib.contextmanager
def claimed(path: Path, *, command: str) -> Iterator[Claim]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(read_holder(path), path) from None
        claim = Claim(file=file, killed=read_holder(path))
        claim.write(ClaimHolder(pid=os.getpid(), command=command))
        try:
            yield claim
        finally:
            # Emptied however it ends, except when it is killed: that is how the next one knows.
            file.seek(0)
            file.truncate()


def read_holder(path: Path) -> ClaimHolder | None:
    try:
        return ClaimHolder(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def current_holder(path: Path) -> ClaimHolder | None:
    """Who holds the lock now; None when nobody does."""
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return read_holder(path) or ClaimHolder(pid=0, command="another command")
    return None


def _taken(holder: ClaimHolder | None, path: Path) -> SetupProblem:
    elsewhere = "WORKRAIL_HOME=~/another ./workrail up --port 8001 starts a second one on data of its own"
    if holder is None:
        return SetupProblem(
            f"another command is using the data in {path.parent}.", next_move=f"wait for it; {elsewhere}"
        )
    if holder.url:
        return SetupProblem(
            f"Workrail is already running on this data: process {holder.pid}, {holder.url}",
            next_move=f"use that one, or end it with Ctrl-C in its terminal (kill -INT {holder.pid}); {elsewhere}",
        )
    return SetupProblem(
        f"`./workrail {holder.command}` (process {holder.pid}) is using the data in {path.parent}.",
        next_move=f"wait for it to end, or keep `./workrail up` running and give commands beside it; {elsewhere}",
    )
