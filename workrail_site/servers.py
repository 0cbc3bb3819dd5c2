"""Where Postgres and Redis are: the two URLs of the environment, translated for Django and for Celery."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from workrail_site.environment import BadEnvironmentError

_POSTGRES = frozenset({"postgres", "postgresql"})
_REDIS_OVER_TCP = frozenset({"redis", "rediss"})
_HOST = re.compile(r"(?:\[(?P<address>[^\]]+)\]|(?P<host>[^:\[\]]*))(?::(?P<port>\d{0,5}))?")
_OWN_FIELDS = frozenset({"host", "port", "user", "password", "dbname"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    name: str
    user: str
    password: str
    host: str
    port: str
    options: dict[str, str]


def read_postgres_url(url: str, *, name: str = "DATABASE_URL") -> PostgresAddress:
    """Understands what libpq does: the parts of the URL, several hosts, and the same parts as query arguments
    (`?host=/a/socket`).
    """
    parts = urlsplit(url)
    if parts.scheme not in _POSTGRES:
        raise BadEnvironmentError(f"{name} must begin with postgresql://. Workrail runs on Postgres only.")
    query = dict(parse_qsl(parts.query))
    database = query.get("dbname") or unquote(parts.path.removeprefix("/"))
    if not database:
        raise BadEnvironmentError(f"{name} names no database. Write postgresql://user@host/workrail.")
    host, port = _hosts(parts.netloc.rpartition("@")[2], name)
    return PostgresAddress(
        name=database,
        user=query.get("user") or unquote(parts.username or ""),
        password=query.get("password") or unquote(parts.password or ""),
        host=query.get("host") or host,
        port=query.get("port") or port,
        options={key: value for key, value in query.items() if key not in _OWN_FIELDS},
    )


def _hosts(text: str, name: str) -> tuple[str, str]:
    """`db1:5432,db2` as libpq takes hosts and ports: two lists with commas. A port that is left out is empty."""
    hosts, ports = [], []
    for each in text.split(","):
        found = _HOST.fullmatch(each)
        if found is None:
            raise BadEnvironmentError(f"{name} names {each!r} as a server. Write host:port, or [address]:port.")
        hosts.append(unquote(found["address"] or found["host"]))
        ports.append(found["port"] or "")
    return ",".join(hosts), ",".join(ports) if any(ports) else ""


def read_redis_url(url: str) -> str:
    if urlsplit(url).scheme in _REDIS_OVER_TCP | {"unix"}:
        return url
    raise BadEnvironmentError("REDIS_URL must begin with redis://, rediss:// or unix://.")


def celery_url(redis_url: str) -> str:
    """Celery spells a unix socket in its own way; over TCP the URL is the same."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = dict(parse_qsl(parts.query)).get("db", "0")
    account = f"{parts.netloc}@" if parts.netloc and not parts.netloc.endswith("@") else parts.netloc
    return f"redis+socket://{account}{parts.path}?{urlencode({'virtual_host': database})}"
