"""The keys that sign tokens. A generation is a random salt in the database; the key is derived from the server's secret."""

import hashlib
import hmac
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from django.conf import settings
from django.db import transaction

from sessions_app.engine.tokens import Keyring
from sessions_app.models import TokenKey
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import ForbiddenError

# For so long another process may go on minting with the key before a rotation; that key is trusted as the previous one.
CACHE_SECONDS = 15.0
_SALT_BYTES = 32
_RETIRED_KEPT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    generation: int
    ring: Keyring


class _Cache:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: Keys | None = None
        self.until = 0.0


_cache = _Cache()


def current_keys() -> Keys:
    """The keys in force; read from the database at most once in `CACHE_SECONDS`."""
    keys = _cache.keys
    if keys is not None and monotonic() < _cache.until:
        return keys
    with _cache.lock:
        if _cache.keys is None or monotonic() >= _cache.until:
            _cache.keys = _read_keys()
            _cache.until = monotonic() + CACHE_SECONDS
        return _cache.keys


def forget_keys() -> None:
    """Read them again at the next call."""
    _cache.until = 0.0


def rotate_keys(*, actor: Actor, now: datetime, entropy: Callable[[int], bytes]) -> int:
    """Begin a new generation: the one before stays trusted, older ones are retired. Returns the new generation."""
    if actor.kind is not ActorKind.SYSTEM:
        actor.require(Permission.MANAGE_TEAM)
        raise ForbiddenError(
            "The signing keys belong to the server, not to a team.",
            suggestion="Run `./workrail keys rotate` on the server.",
        )
    with transaction.atomic(durable=True):
        # The unique generation closes the race: of two rotations at once one fails and has nothing to undo.
        latest = TokenKey.objects.order_by("-generation").values_list("generation", flat=True).first() or 0
        row = TokenKey.objects.create(
            generation=latest + 1, salt=entropy(_SALT_BYTES), created_by=actor.id, created_at=now
        )
    forget_keys()
    return row.generation


def _read_keys() -> Keys:
    rows = list(TokenKey.objects.order_by("-generation").values_list("generation", "salt")[:_RETIRED_KEPT])
    generations = [*((number, bytes(salt)) for number, salt in rows), (0, b"")]
    derived = [_derive(settings.TOKEN_KEY, number, salt) for number, salt in generations]
    older = settings.TOKEN_KEY_PREVIOUS
    roots_before = [] if older is None else [_derive(older, number, salt) for number, salt in generations]
    previous = derived[1] if len(derived) > 1 else (roots_before[0] if roots_before else None)
    retired = [*derived[2:], *roots_before]
    return Keys(
        generation=generations[0][0], ring=Keyring(current=derived[0], previous=previous, retired=tuple(retired))
    )


def _derive(root: bytes, generation: int, salt: bytes) -> bytes:
    return hmac.digest(root, b"token key %d " % generation + salt, hashlib.sha256)
