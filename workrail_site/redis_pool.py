"""The process's one pool of Redis connections."""

from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

_TIMEOUT_SECONDS = 0.25


@cache
def client() -> redis.Redis:
    """Answers or fails within a quarter of a second, and half a one where it has to connect again: whoever asks has something
    better to do than to wait for Redis.
    """
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        # A connection that was closed while it rested is replaced once. Who says nothing is not asked again.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
