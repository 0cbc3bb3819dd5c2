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

from sessions_app.engine import tokens
from sessions_app.engine.tokens import Keyring, Token, TokenBadSignatureError, TokenKind
from sessions_app.models import TokenKey
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import ForbiddenError

# For so long another process may go on minting with the key before a rotation; that key is trusted as the previous one.
CACHE_SECONDS = 15.0
# A token that nobody here has signed makes them be read again, no more often than that.
_DOUBT_SECONDS = 1.0
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
        self.read_at = 0.0

    def younger_than(self, seconds: float) -> Keys | None:
        return self.keys if monotonic() < self.read_at + seconds else None


_cache = _Cache()


def current_keys() -> Keys:
    """The keys in force; read from the database at most once in `CACHE_SECONDS`."""
    return _keys_younger_than(CACHE_SECONDS)


def read_token(*, kind: TokenKind, text: str) -> tuple[Token, Keys]:
    """The token, and the keys that it was read with.

    One whose signature is not known here may have been minted by another process just after a rotation.
    """
    keys = current_keys()
    try:
        return tokens.read(keyring=keys.ring, kind=kind, text=text), keys
    except TokenBadSignatureError:
        latest = _keys_younger_than(_DOUBT_SECONDS)
        if latest.generation == keys.generation:
            raise
        return tokens.read(keyring=latest.ring, kind=kind, text=text), latest


def forget_keys() -> None:
    """Read them again at the next call."""
    _cache.keys = None


def _keys_younger_than(seconds: float) -> Keys:
    keys = _cache.younger_than(seconds)
    if keys is not None:
        return keys
    with _cache.lock:
        keys = _cache.younger_than(seconds)
        if keys is None:
            keys = _cache.keys = _read_keys()
            _cache.read_at = monotonic()
        return keys


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
    # While the server's secret is being changed, what the old one signed last stays trusted as well.
    older = settings.TOKEN_KEY_PREVIOUS
    before = [] if older is None else [_derive(older, number, salt) for number, salt in generations]
    ring = Keyring(
        current=derived[0],
        previous=(*derived[1:2], *before[:1]),
        retired=(*derived[2:], *before[1:]),
    )
    return Keys(generation=generations[0][0], ring=ring)


def _derive(root: bytes, generation: int, salt: bytes) -> bytes:
    return hmac.digest(root, b"token key %d " % generation + salt, hashlib.sha256)
