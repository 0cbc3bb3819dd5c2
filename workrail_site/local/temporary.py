"""Short private folders for sockets and for the data of tests, and the removal of those that a killed process left."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from workrail_site.local.accounts import Account, can_enter, give
from workrail_site.local.problems import SetupProblem

# Linux takes 107 bytes for the path of a socket, macOS 103; PostgreSQL adds `/pg/.s.PGSQL.5432.lock` to the folder.
_LONGEST_BYTES = 75
_PREFIX = "workrail-"
_RANDOM_BYTES = 8
_LOCK = "in-use"


@contextlib.contextmanager
def short_folder(account: Account | None) -> Iterator[Path]:
    """The account may pass through it to its own part, `pg`; nobody else enters."""
    with working_folder(base=_find_base(account)) as folder:
        if account is not None:
            folder.chmod(0o711)
        (folder / "pg").mkdir(mode=0o700)
        give(account, folder / "pg")
        yield folder


@contextlib.contextmanager
def working_folder(*, base: Path, prefix: str = _PREFIX) -> Iterator[Path]:
    """It goes when the work is done, and where the process is killed, with the next one that is made beside it."""
    _sweep(base, prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    try:
        with _marked_as_used(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_base(account: Account | None) -> Path:
    for base in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]):
        is_short = len(os.fsencode(base)) + len(_PREFIX) + _RANDOM_BYTES < _LONGEST_BYTES
        if is_short and os.access(base, os.W_OK) and (account is None or can_enter(account, Path(base))):
            return Path(base)
    raise SetupProblem(
        f"no folder is short enough for a unix socket: the path of {tempfile.gettempdir()} has "
        f"{len(os.fsencode(tempfile.gettempdir()))} bytes, and fewer than {_LONGEST_BYTES - len(_PREFIX)} fit.",
        next_move="name a writable folder with a short path: TMPDIR=/tmp ./workrail up",
    )


@contextlib.contextmanager
def _marked_as_used(folder: Path) -> Iterator[None]:
    with (folder / f"{_LOCK}.new").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Only now under its name: there is no moment at which the mark is there and not locked.
        (folder / f"{_LOCK}.new").rename(folder / _LOCK)
        yield


def _sweep(base: Path, prefix: str) -> None:
    for folder in base.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.geteuid() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    with (folder / _LOCK).open(encoding="utf-8") as file:
        return _can_lock(file)


def _can_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
