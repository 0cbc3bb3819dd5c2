"""Asks the web server whether it can do its work."""

import http.client
import json
from dataclasses import dataclass

_TIMEOUT_SECONDS = 5
_FIRST_REFUSAL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    is_ready: bool
    text: str


def ask_readiness(host: str, port: int, *, name: str = "localhost") -> Readiness:
    """`name` is what the site is asked for as: it may answer to public names only."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/readyz", headers={"Host": name})
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return Readiness(is_ready=False, text=f"no answer ({error})")
    finally:
        connection.close()
    return Readiness(is_ready=answer.status < _FIRST_REFUSAL, text=_summary(answer.status, body))


def _summary(status: int, body: str) -> str:
    try:
        parts = json.loads(body)
    except ValueError:
        return f"HTTP {status}"
    return (
        ", ".join(f"{name} {value}" for name, value in parts.items()) if isinstance(parts, dict) else f"HTTP {status}"
    )
