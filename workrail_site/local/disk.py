"""A disk without room, said in one sentence, whoever has met it first: the starter, a server, or what they have started."""

import errno
import shutil
from pathlib import Path

from workrail_site.local.problems import SetupProblem

_MEBIBYTE = 1024 * 1024
# What a new cluster with all its tables takes, and what PostgreSQL needs to go on writing: one segment of its log.
NEW_CLUSTER_BYTES = 160 * _MEBIBYTE
RUNNING_BYTES = 20 * _MEBIBYTE
_SAID = ("No space left on device", "Check free disk space", "Disk quota exceeded", "wrote only")
_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT})


def refuse_full(folder: Path, *, needed_bytes: int) -> None:
    """Before anything is written that would stay half-written."""
    free = shutil.disk_usage(nearest(folder)).free
    if free < needed_bytes:
        raise full_disk(folder, needed_bytes=needed_bytes)


def says_full(text: str) -> bool:
    """Whether these are the words of a program that had no room."""
    return any(each in text for each in _SAID)


def is_about(error: Exception) -> bool:
    return (isinstance(error, OSError) and error.errno in _NUMBERS) or says_full(str(error))


def full_disk(folder: Path, *, needed_bytes: int = RUNNING_BYTES) -> SetupProblem:
    place = nearest(folder)
    free = shutil.disk_usage(place).free // _MEBIBYTE
    return SetupProblem(
        f"the disk of {place} is full: {free} MiB are free, and PostgreSQL needs {needed_bytes // _MEBIBYTE}.",
        next_move="free some space there and run the command again; nothing that was committed is lost",
    )


def nearest(folder: Path) -> Path:
    """The folder, or what it would be made in."""
    return next(path for path in (folder, *folder.parents) if path.exists())
