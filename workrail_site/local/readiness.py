"""Asks the web server whether it can do its work. `python -m workrail_site.local.readiness` is the health check of
the container: it exits with 0 when the server is ready, and else says what is missing.
"""

import http.client
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_TIMEOUT_SECONDS = 5
_FIRST_REFUSAL = 400
_PORT = "8000"


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


def public_name(environ: Mapping[str, str]) -> str:
    """A name that the site answers to: the first of those that it is allowed."""
    return environ.get("WORKRAIL_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".") or "localhost"


def main(environ: Mapping[str, str]) -> int:
    port = int(environ.get("GRANIAN_PORT") or _PORT)
    answer = ask_readiness("127.0.0.1", port, name=public_name(environ))
    print(answer.text)
    return 0 if answer.is_ready else 1


if __name__ == "__main__":
    sys.exit(main(os.environ))
