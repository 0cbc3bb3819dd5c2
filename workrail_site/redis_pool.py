"""The process's one pool of Redis connections."""

import threading
import time
from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

_TIMEOUT_SECONDS = 0.25
# Once Redis did not answer, it is left alone for so long: every request that asks would wait for it.
_REST_SECONDS = 5.0


@cache
def client() -> redis.Redis:
    """Answers or fails within half a second: whoever asks has something better to do than to wait for Redis."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        # A connection that was closed while it rested is replaced once.
        retry=Retry(NoBackoff(), 1),
    )


class Rest:
    """Whether Redis is to be left alone. One thread asks again when the time is over; the others wait for what it finds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    def is_on(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if self._until == 0.0:
                return False
            if now < self._until:
                return True
            self._until = now + _REST_SECONDS
            return False

    def begin(self) -> None:
        with self._lock:
            self._until = time.monotonic() + _REST_SECONDS

    def end(self) -> None:
        with self._lock:
            self._until = 0.0
