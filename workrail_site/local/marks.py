"""What a folder of files amounts to, for the marks that say what a later start need not do again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest_of(checkout: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(checkout)).encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
