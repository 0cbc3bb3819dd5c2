"""Answers that are given on the event loop, before a thread is taken: that the process lives, and what is refused there."""

import msgspec

from teams_app.engine.errors import WorkrailError
from teams_app.engine.redaction import shown_without_keys
from workrail_site.bodies import Message, Scope
from workrail_site.errors import ERRORS, PROBLEM_JSON, problem_of, retry_after_seconds
from workrail_site.refusal_page import draw_early_refusal
from workrail_site.request_ids import request_id_from

_ALIVE = b'{"status": "ok"}'
_ALIVE_AT = "/healthz"
# Of an address that is refused for its length no more is said back.
_LONGEST_PATH = 500
_SAFE = frozenset({"GET", "HEAD"})
_FOR_ALL = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


def asks_whether_alive(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["path"] == _ALIVE_AT and scope["method"] in _SAFE


def alive(scope: Scope) -> tuple[Message, Message]:
    """A process whose threads are all busy is alive: who asks must not have to wait for one of them."""
    return _answer(200, b"application/json", _ALIVE if scope["method"] == "GET" else b"")


def refusal(scope: Scope, error: WorkrailError) -> tuple[Message, Message]:
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    request_id = request_id_from(given.decode("latin-1"))
    shown = shown_without_keys(str(scope["path"]), most=_LONGEST_PATH)
    problem = problem_of(error=error, instance=shown, request_id=request_id)
    seconds = retry_after_seconds(error)
    more = () if seconds is None else ((b"retry-after", str(seconds).encode()),)
    more = (*more, (b"x-request-id", request_id.encode()))
    if scope["path"].startswith("/api/"):
        return _answer(problem.status, PROBLEM_JSON.encode(), msgspec.json.encode(problem), *more)
    if any(name == b"accept" and b"text/html" in value for name, value in scope["headers"]):
        page = draw_early_refusal(error=error, request_id=request_id)
        return _answer(problem.status, b"text/html; charset=utf-8", page.encode(), *more)
    words = f"{ERRORS[error.code].title}\n\n{error.message} {error.suggestion or ''}\n"
    return _answer(problem.status, b"text/plain; charset=utf-8", words.encode(), *more)


def _answer(status: int, kind: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> tuple[Message, Message]:
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *_FOR_ALL, *headers],
    }
    return start, {"type": "http.response.body", "body": body}
