"""Remembers beside the data which migrations it has seen, so that a later start need not wait to be told again.

The mark only says what may run at the same time. The migrations run at every start, marked or not.
"""

from pathlib import Path

from workrail_site.local.marks import digest_of

_NAME = "workrail-migrations"


def is_marked(data: Path, *, checkout: Path) -> bool:
    mark = data / _NAME
    return mark.is_file() and mark.read_text() == _digest(checkout)


def write_mark(data: Path, *, checkout: Path) -> None:
    (data / _NAME).write_text(_digest(checkout))


def _digest(checkout: Path) -> str:
    """Of our own migrations, and of the lock, which says those of the libraries."""
    return digest_of(checkout, [checkout / "locks/core.txt", *sorted(checkout.glob("*/migrations/*.py"))])
