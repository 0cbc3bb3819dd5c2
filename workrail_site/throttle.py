"""How often somebody may ask in a minute, counted in Redis for all processes together.

A process takes a few permits at a time, so that most requests cost no round trip: of a limit of 6,000 it takes 60 at
once, of a limit below 200 one by one. Permits that a process has taken and not used are lost at the end of the minute.
"""

import threading
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

import redis
import structlog
from django.conf import settings

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import RateLimitedError, retry_after
from teams_app.engine.ids import Prefix, to_text
from teams_app.jobs import Rest
from workrail_site import redis_pool

log = structlog.get_logger(__name__)

CALLER, TEAM = "caller", "team"
_WINDOW_SECONDS = 60
_LEASES_PER_LIMIT = 100
_MOST_LEASES = 10_000


@dataclass(slots=True)
class _Lease:
    """`is_last`: when these permits are used up, nobody gets more before the minute is over. `beyond` are those that no
    process had taken when these were.
    """

    window: int
    left: int
    is_last: bool
    beyond: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much of a limit is left, as far as this process knows. Others may be using it at the same time."""

    name: str
    limit: int
    left: int
    ends_in_seconds: int


_leases: dict[str, _Lease] = {}
_lock = threading.Lock()
_rest = Rest()


def spend_for(*, actor: Actor, now: datetime) -> None:
    """One request of this actor. Raises RateLimitedError when its own limit or its team's is used up."""
    if actor.kind is ActorKind.SYSTEM:
        return
    spend(bucket=_own_of(actor), limit=settings.THROTTLE_ACTOR_PER_MINUTE, now=now)
    spend(bucket=_team_of(actor), limit=settings.THROTTLE_TEAM_PER_MINUTE, now=now)


def spend_from_lease(*, actor: Actor, now: datetime) -> bool:
    """As `spend_for`, when this process still holds permits for it; False, when it would have to ask for more.

    Whoever is told False calls `spend_for`; a permit of the actor's may then have been taken twice, once in a lease.
    """
    window = _window_of(now)
    limits = (
        (_own_of(actor), settings.THROTTLE_ACTOR_PER_MINUTE),
        (_team_of(actor), settings.THROTTLE_TEAM_PER_MINUTE),
    )
    return all(limit == 0 or _take_held(bucket, window) is True for bucket, limit in limits)


def allowances_of(*, actor: Actor, now: datetime) -> tuple[Allowance, ...]:
    """Of the limits that the actor is held to, without asking anybody."""
    window = _window_of(now)
    ends_in_seconds = max(1, (window + 1) * _WINDOW_SECONDS - int(now.timestamp()))
    limits = (
        (CALLER, _own_of(actor), settings.THROTTLE_ACTOR_PER_MINUTE),
        (TEAM, _team_of(actor), settings.THROTTLE_TEAM_PER_MINUTE),
    )
    return tuple(
        Allowance(name=name, limit=limit, left=_left(bucket, window, limit), ends_in_seconds=ends_in_seconds)
        for name, bucket, limit in limits
        if limit
    )


def _left(bucket: str, window: int, limit: int) -> int:
    with _lock:
        held = _leases.get(bucket)
    return held.left + held.beyond if held is not None and held.window == window else limit


def spend(*, bucket: str, limit: int, now: datetime) -> None:
    """One permit of `limit` a minute; a limit of 0 is none."""
    if limit == 0:
        return
    window = _window_of(now)
    if not _take(bucket, limit, window):
        ends_in_ms = int(((window + 1) * _WINDOW_SECONDS - now.timestamp()) * 1000)
        raise RateLimitedError(
            f"More than {limit} requests in a minute.",
            suggestion="Wait until the minute has passed, then go on more slowly.",
            details={"limitPerMinute": limit},
            retry=retry_after(ms=max(ends_in_ms, 1)),
        )


def _window_of(now: datetime) -> int:
    return int(now.timestamp()) // _WINDOW_SECONDS


def _own_of(actor: Actor) -> str:
    """A token has a limit of its own, as a key has: a script does not take the Studio from its person."""
    return actor.id if actor.token is None else actor.token.id


def _team_of(actor: Actor) -> str:
    return to_text(Prefix.TEAM, actor.team_id)


def _take_held(bucket: str, window: int) -> bool | None:
    """Whether a permit is granted, as far as this process knows; None when it does not."""
    with _lock:
        held = _leases.get(bucket)
        if held is not None and held.window == window and (held.left > 0 or held.is_last):
            return _use(held)
    return None


def _take(bucket: str, limit: int, window: int) -> bool:
    held = _take_held(bucket, window)
    if held is not None:
        return held
    # Outside the lock, for it is a round trip. Of two threads that ask at once both get permits, and the later lease
    # replaces the earlier: a few are lost, none is given twice.
    lease = _ask(bucket, limit, window)
    with _lock:
        if len(_leases) >= _MOST_LEASES:
            _leases.clear()
        _leases[bucket] = lease
        return _use(lease)


def _use(lease: _Lease) -> bool:
    if lease.left <= 0:
        return False
    lease.left -= 1
    return True


def _ask(bucket: str, limit: int, window: int) -> _Lease:
    """What this process gets of the limit, at most its share."""
    if _rest.is_on():
        return _Lease(window=window, left=limit, is_last=True)
    share = max(1, limit // _LEASES_PER_LIMIT)
    # Of what strangers typed where a name or a link belongs nothing is told: it may be a password, or the link of somebody.
    name = f"workrail:throttle:{sha256(bucket.encode('utf-8', 'replace')).hexdigest()}:{window}"
    try:
        with redis_pool.client().pipeline(transaction=False) as pipe:
            pipe.incrby(name, share)
            pipe.expire(name, 2 * _WINDOW_SECONDS)
            used = int(pipe.execute()[0])
    except redis.RedisError as error:
        # Without Redis each process counts for itself: a limit is protection, not permission.
        _rest.begin()
        log.warning("throttle_without_redis", error=str(error))
        return _Lease(window=window, left=limit, is_last=True)
    _rest.end()
    granted = max(0, min(share, limit - (used - share)))
    return _Lease(window=window, left=granted, is_last=granted < share, beyond=max(0, limit - used))
