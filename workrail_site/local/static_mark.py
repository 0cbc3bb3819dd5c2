"""Remembers beside the collected static files what they were collected from."""

from pathlib import Path

from workrail_site.local.marks import digest_of

_NAME = "workrail-collected"


def is_marked(folder: Path, *, checkout: Path) -> bool:
    mark = folder / _NAME
    return mark.is_file() and mark.read_text() == _digest(checkout)


def write_mark(folder: Path, *, checkout: Path) -> None:
    (folder / _NAME).write_text(_digest(checkout))


def remove_mark(folder: Path) -> None:
    """Before they are collected anew: what ends halfway must not count."""
    (folder / _NAME).unlink(missing_ok=True)


def _digest(checkout: Path) -> str:
    """Of our own files, of the settings that say how they are kept, and of the lock, which says those of the libraries."""
    ours = (path for path in sorted((checkout / "static").rglob("*")) if path.is_file())
    return digest_of(checkout, [checkout / "locks/core.txt", checkout / "workrail_site/settings.py", *ours])
