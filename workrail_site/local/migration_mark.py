"""Remembers beside the data which migrations it has seen, so that a later start need not wait to be told again.

The mark only says what may run at the same time. The migrations run at every start, marked or not.
"""

import hashlib
from pathlib import Path

_NAME = "workrail-migrations"


def is_marked(data: Path, *, checkout: Path) -> bool:
    mark = data / _NAME
    return mark.is_file() and mark.read_text() == _digest(checkout)


def write_mark(data: Path, *, checkout: Path) -> None:
    (data / _NAME).write_text(_digest(checkout))


def _digest(checkout: Path) -> str:
    """Of our own migrations, and of the lock, which says those of the libraries."""
    files = [checkout / "locks/core.txt", *sorted(checkout.glob("*/migrations/*.py"))]
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(checkout)).encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
