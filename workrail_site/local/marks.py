"""Marks beside what was made of some files, by which a later start knows that it need not wait for it, or make it again."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMark:
    """`files` are those of a checkout that it was made of."""

    name: str
    files: Callable[[Path], Iterable[Path]]

    def is_in(self, folder: Path, *, checkout: Path) -> bool:
        mark = folder / self.name
        return mark.is_file() and mark.read_text("utf-8") == self._digest(checkout)

    def write(self, folder: Path, *, checkout: Path) -> None:
        (folder / self.name).write_text(self._digest(checkout), "utf-8")

    def remove(self, folder: Path) -> None:
        """Before it is made anew: what ends halfway must not count."""
        (folder / self.name).unlink(missing_ok=True)

    def _digest(self, checkout: Path) -> str:
        """With the lock, which says which libraries there are."""
        digest = hashlib.sha256()
        for file in (checkout / "locks/core.txt", *self.files(checkout)):
            digest.update(str(file.relative_to(checkout)).encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()


def _static_files(checkout: Path) -> Iterable[Path]:
    return (path for path in sorted((checkout / "static").rglob("*")) if path.is_file())


# Data that has seen these migrations. They run at every start, marked or not; it only says what may run at the same time.
MIGRATED = FolderMark(name="workrail-migrations", files=lambda checkout: sorted(checkout.glob("*/migrations/*.py")))
# Static files that were collected of these, under settings that say how they are kept.
COLLECTED = FolderMark(
    name="workrail-collected",
    files=lambda checkout: [checkout / "workrail_site/settings.py", *_static_files(checkout)],
)
