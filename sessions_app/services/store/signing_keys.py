"""The keys that sign tokens. A generation is a random salt in the database; the key is derived from the server's secret."""

import hashlib
import hmac
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from sessions_app.engine import tokens
from sessions_app.engine.tokens import Keyring, Token, TokenBadSignatureError, TokenKind
from sessions_app.models import TokenKey
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import ForbiddenError, PreconditionFailedError
from workflows_app.selectors.asked import asked

# For so long a process remembers the keys that it has read.
CACHE_SECONDS = 15.0
# A new key signs when each process has read it: what any of them mints, all of them know.
KNOWN_AFTER = timedelta(seconds=2 * CACHE_SECONDS)
# A token that nobody here has signed makes them be read again, no more often than that.
_DOUBT_SECONDS = 1.0
_SALT_BYTES = 32
# So many generations are known at all: more than two a day for the longest time that a key may be trusted are refused.
_KNOWN = 512
_ROTATIONS_A_DAY = 2
_A_DAY = timedelta(days=1)


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
        if latest.ring == keys.ring:
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
    """Begin a new generation; returns its number. What signed before stays trusted as long as an agent may be idle.

    A third one within a day is refused: it would protect nothing that the two before it do not.
    """
    if actor.kind is not ActorKind.SYSTEM:
        actor.require(Permission.MANAGE_TEAM)
        raise ForbiddenError(
            "The signing keys belong to the server, not to a team.",
            suggestion="Run `./workrail keys rotate` on the server.",
        )
    try:
        with transaction.atomic(durable=True):
            # The unique generation closes the race: of two rotations at once one fails and has nothing to undo. It is read
            # before they are counted, so that a rotation between the two reads is counted, or makes this one fail.
            latest = TokenKey.objects.order_by("-generation").values_list("generation", flat=True).first() or 0
            _refuse_haste(now)
            row = TokenKey.objects.create(
                generation=latest + 1, salt=entropy(_SALT_BYTES), created_by=actor.id, created_at=now
            )
    except IntegrityError as error:
        raise PreconditionFailedError(
            "The keys were changed by somebody else at this moment.", suggestion="`./workrail keys show` tells them."
        ) from error
    forget_keys()
    return row.generation


def moment_of_the_database() -> datetime:
    """By which the age of a key is told, whatever the clock of the machine says that rotates."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def _refuse_haste(now: datetime) -> None:
    if TokenKey.objects.filter(created_at__gt=now - _A_DAY).count() < _ROTATIONS_A_DAY:
        return
    raise PreconditionFailedError(
        f"The keys were changed {_ROTATIONS_A_DAY} times within a day. Another key would protect nothing that these do not: "
        f"tokens that were signed before are trusted for {settings.TOKEN_TRUST_DAYS} days, so that no agent at work is stranded.",
        suggestion="Wait a day. If a key is known to others, set another WORKRAIL_TOKEN_KEY without "
        "WORKRAIL_TOKEN_KEY_PREVIOUS: that ends the trust in all of them at once.",
    )


@asked
def read_generations() -> list[tuple[int, bytes, timedelta]]:
    """The number, the salt and the age of each, the newest first."""
    age = ExpressionWrapper(Now() - F("created_at"), output_field=DurationField())
    rows = TokenKey.objects.order_by("-generation").annotate(age=age).values_list("generation", "salt", "age")
    return [(number, bytes(salt), since) for number, salt, since in rows[:_KNOWN]]


def _read_keys() -> Keys:
    rows = read_generations()
    generations = [*((number, salt) for number, salt, _ in rows), (0, b"")]
    trust = timedelta(days=settings.TOKEN_TRUST_DAYS)
    signs = next((place for place, (*_, since) in enumerate(rows) if since >= KNOWN_AFTER), len(rows))
    # Each ended when the next one began. The one before that which signs stays trusted however long ago that was.
    trusted = 1 + max(min(signs + 1, len(rows)), sum(1 for *_, since in rows if since < trust))
    derived = [_derive(settings.TOKEN_KEY, number, salt) for number, salt in generations]
    # While the server's secret is being changed, what the old one signed stays trusted as well.
    older = settings.TOKEN_KEY_PREVIOUS
    before = [] if older is None else [_derive(older, number, salt) for number, salt in generations]
    ring = Keyring(
        current=derived[signs],
        previous=(*derived[:signs], *derived[signs + 1 : trusted], *before[:trusted]),
        retired=(*derived[trusted:], *before[trusted:]),
    )
    return Keys(generation=generations[signs][0], ring=ring)


def _derive(root: bytes, generation: int, salt: bytes) -> bytes:
    return hmac.digest(root, b"token key %d " % generation + salt, hashlib.sha256)
