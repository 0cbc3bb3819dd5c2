"""The secrets of a local installation: made once, kept in the home, readable by their owner only."""

import base64
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from workrail_site.local.problems import SetupProblem

_SECRET_KEY_BYTES = 48
_TOKEN_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKeys:
    secret_key: str
    token_key: str
    token_key_previous: str = ""

    def as_environ(self) -> dict[str, str]:
        values = {
            "WORKRAIL_SECRET_KEY": self.secret_key,
            "WORKRAIL_TOKEN_KEY": self.token_key,
            "WORKRAIL_TOKEN_KEY_PREVIOUS": self.token_key_previous,
        }
        return {name: value for name, value in values.items() if value}


def ensure_keys(path: Path) -> LocalKeys:
    if not path.exists():
        _write(path, new_keys())
    return read_keys(path)


def new_keys() -> LocalKeys:
    token_key = base64.urlsafe_b64encode(secrets.token_bytes(_TOKEN_KEY_BYTES)).decode()
    return LocalKeys(secret_key=secrets.token_urlsafe(_SECRET_KEY_BYTES), token_key=token_key)


def read_keys(path: Path) -> LocalKeys:
    try:
        return LocalKeys(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise SetupProblem(
            f"{path} does not hold the keys of this installation ({error}).",
            next_move="put it back from a copy; without one move it away: people sign in again, old tokens are refused",
        ) from error


def _write(path: Path, keys: LocalKeys) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(keys), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
