"""Servers that the environment names are asked before anything is built on them: one sentence, and the next move."""

import psycopg
import redis

from workrail_site.environment import BadEnvironmentError
from workrail_site.local.problems import SetupProblem
from workrail_site.local.servers import Addresses
from workrail_site.servers import read_postgres_url, read_redis_url

_PATIENCE_SECONDS = 5


def refuse_unreachable(named: Addresses) -> None:
    """Nothing is asked of what is not named: it is started here."""
    if named.database_url:
        _ask_database(named.database_url)
    if named.redis_url:
        _ask_redis(named.redis_url)


def _ask_database(url: str) -> None:
    try:
        read_postgres_url(url)
        psycopg.connect(url, connect_timeout=_PATIENCE_SECONDS).close()
    except BadEnvironmentError as error:
        raise SetupProblem(str(error), next_move="mend DATABASE_URL, or unset it to use the embedded server") from error
    except (psycopg.Error, ValueError) as error:
        raise SetupProblem(
            f"the PostgreSQL that DATABASE_URL names does not let us in: {_first_line(error)}",
            next_move="start it or mend DATABASE_URL; unset it to use the embedded server",
        ) from error


def _ask_redis(url: str) -> None:
    try:
        client = redis.Redis.from_url(
            read_redis_url(url), socket_connect_timeout=_PATIENCE_SECONDS, socket_timeout=_PATIENCE_SECONDS
        )
        with client:
            client.ping()
    except BadEnvironmentError as error:
        raise SetupProblem(str(error), next_move="mend REDIS_URL, or unset it to use the embedded server") from error
    except (redis.RedisError, ValueError, OSError) as error:
        raise SetupProblem(
            f"the Redis that REDIS_URL names does not let us in: {_first_line(error)}",
            next_move="start it or mend REDIS_URL; unset it to use the embedded server",
        ) from error


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split("\n")[0].split()) or type(error).__name__
