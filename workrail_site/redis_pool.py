"""The process's one pool of Redis connections."""

from functools import cache

import redis
from django.conf import settings

_TIMEOUT_SECONDS = 2


@cache
def client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
    )
